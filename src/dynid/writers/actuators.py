"""Actuator settings of every joint as YAML, in the words of Isaac Lab: armature, static and dynamic friction."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.disk import write_whole
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion, random_motion
from dynid.errors import ExportError
from dynid.regression.model import IdentifiedModel
from dynid.regression.recast import LoggedMotion, PassiveRows, recast_friction, rows_of_log
from dynid.writers.exported import (
    DEFAULTS,
    Exported,
    ExportOptions,
    export_motion,
    relative_error,
    require_agreement,
)

__all__ = ["write_actuators"]

SLOW = 1e-9
"""Speed next to rest at which breakaway is read, rad/s or m/s."""
N_STATES = 400
"""States of the motion that stands in for a log."""
KEYS = ("armature", "static_friction", "dynamic_friction", "viscous_friction")
"""What is written of each joint."""


def write_actuators(model: IdentifiedModel, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write armature (kg·m²), static, dynamic (N·m) and viscous friction (N·m·s/rad) of every joint as YAML.

    Dynamic and viscous friction and armature are fitted to what friction and rotors take over the log's motion; static
    friction is what it takes to break loose, at least the dynamic one.

    Raises:
        ExportError: a model of coupled motors.
    """
    robot = model.robot
    if robot.transmission is not None:
        raise ExportError(
            f"{path}: not written, motors of {robot.name} move several joints, which actuators here do not"
        )
    if options.log is not None:
        rows, where = rows_of_log(model.model, model.parameters, options.log), "the training log"
    elif model.motion is not None:
        rows, where = PassiveRows.of_motion(model.motion), "the motion that the model keeps of its log"
    else:
        drawn = random_motion(robot, N_STATES, np.random.default_rng(0))
        taken = LoggedMotion(drawn.dq, drawn.ddq, model.model.joint_torque(drawn, model.parameters))
        rows, where = (
            PassiveRows.of_motion(taken),
            "random motion inside the limits, for the model keeps nothing of its log",
        )
    found = recast_friction(rows, "dry")
    static = np.maximum(_breakaway(model.model, model.parameters), found.dry)
    values = np.column_stack([found.rotor, static, found.dry, found.damping])
    tau = rows.thin(rows.tau)
    share = (
        100.0 * float(np.linalg.norm(found.cost)) / max(float(np.linalg.norm(np.sqrt(np.mean(tau**2, axis=0)))), 1e-12)
    )
    text = _text(model, values)
    motion = export_motion(TorqueModel(robot))
    mine, theirs = (_torque(numbers, motion) for numbers in (values, _read(text)))
    error = require_agreement(path, [("friction", relative_error(mine, theirs))])
    write_whole(path, text)
    told = f"fitted over {where}; {share:.2g} % of what friction and rotors take is not explained so"
    by = "dynid's own reader"
    return Exported(path, "yaml", error, motion.n_samples, by, (), (told,), True, robot.name)


def _breakaway(model: TorqueModel, theta: Float[Array, " n_params"]) -> Float[Array, " n_dof"]:
    """Torque (N·m or N) at which a joint breaks loose, the mean of both directions; the whole of a smooth curve near
    rest counts within a hundredth of a rad/s."""
    n = model.n_dof
    speeds = np.array([SLOW, 0.003, 0.01])
    v = np.concatenate([speeds, -speeds])[:, None] * np.ones(n)
    zeros = np.zeros_like(v)
    # A long way before, so that friction with memory has built up.
    q = np.cumsum(v * 1e6, axis=0)
    tau = model.joint_torque(Motion(np.arange(len(v), dtype=float), q, v, zeros), theta)
    k = len(speeds)
    return np.array(0.5 * (np.max(tau[:k], axis=0) - np.min(tau[k:], axis=0)))


def _torque(values: Float[Array, "n_dof 4"], motion: Motion) -> Float[Array, "n_samples n_dof"]:
    """What actuators with these numbers take while they slide, N·m or N."""
    rotor, _, dynamic, viscous = values.T
    return rotor * motion.ddq + dynamic * np.sign(motion.dq) + viscous * motion.dq


def _text(model: IdentifiedModel, values: Float[Array, "n_dof 4"]) -> str:
    lines = [
        f"# {model.robot.name}, identified by dynid {model.provenance.get('dynid', '')}",
        "# kg·m² (kg), N·m (N), N·m (N), N·m·s/rad (N·s/m): the fields of an Isaac Lab actuator, by joint name",
        "actuators:",
    ]
    for name, row in zip(model.robot.joint_names, values, strict=True):
        plain = re.fullmatch(r"[A-Za-z_][\w.-]*", name) is not None
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f"  {name}:" if plain else f'  "{escaped}":')
        lines += [f"    {key}: {float(value) + 0.0!r}" for key, value in zip(KEYS, row, strict=True)]
    return "\n".join(lines) + "\n"


def _read(text: str) -> Float[Array, "n_dof 4"]:
    numbers = [float(line.split(": ")[1]) for line in text.splitlines() if line.startswith("    ")]
    rows: Array = np.array(numbers).reshape(-1, len(KEYS))
    return rows
