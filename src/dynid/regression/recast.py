r"""Friction in the words of another program: damping, one dry friction and a rotor inertia for each joint.

What a simulator's file cannot say is fitted anew in what it can, over the motion of the log. MuJoCo's dry friction is
soft, :math:`F\,\mathrm{clip}\bigl((\ddot q/b + \dot q)/v\bigr)`; rate b and slip velocity v are fitted too. Plain dry
friction is the sign of the velocity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.friction.mujoco import MUJOCO_RATE
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Samples
from dynid.recording.filters import LowPass

__all__ = [
    "DMAX",
    "LoggedMotion",
    "PassiveRows",
    "RecastFriction",
    "crisp_rate",
    "logged_motion",
    "recast_friction",
    "rows_of_log",
]

DMAX = 0.95
"""Largest impedance of MuJoCo's default solimpfriction, which its rate is made with, dimensionless."""


def crisp_rate(timestep: float) -> float:
    """b in 1/s of the fastest friction constraint that MuJoCo allows with a step (s): a time constant of two steps."""
    return 2.0 / (DMAX * 2.0 * timestep)


SLIPS = np.geomspace(1e-4, 0.4, 19)
"""Slip velocities that are tried first, relative to the joint's largest speed."""
FINER = np.geomspace(0.65, 1.55, 7)
"""Those tried next, relative to the best of the first."""
N_KEPT = 400
"""Samples of a log's motion that a model keeps."""


@dataclass(frozen=True, eq=False)
class LoggedMotion:
    """How the joints moved in the training log, at some samples, and what friction and rotors took there."""

    dq: Float[Array, "n_kept n_dof"]
    """rad/s or m/s."""
    ddq: Float[Array, "n_kept n_dof"]
    """rad/s² or m/s²."""
    tau: Float[Array, "n_kept n_dof"]
    """Torque of friction and rotors by the model, N·m or N."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def stored(self) -> dict[str, object]:
        """As JSON holds it (SI)."""
        return {"dq": self.dq.tolist(), "ddq": self.ddq.tolist(), "tau": self.tau.tolist()}

    @classmethod
    def restored(cls, content: Mapping[str, object], n_dof: int) -> LoggedMotion:
        """What `stored` wrote (SI).

        Raises:
            ValueError: for anything else.
        """
        parts = [np.array(content[name], dtype=float) for name in ("dq", "ddq", "tau")]
        if any(part.shape != (len(parts[0]), n_dof) or not np.all(np.isfinite(part)) for part in parts):
            raise ValueError("its motion is not three tables of finite numbers")
        return cls(*parts)


def logged_motion(model: TorqueModel, theta: Float[Array, " n_params"], samples: Samples) -> LoggedMotion:
    """The motion of a log (SI) at `N_KEPT` samples at most, with what the joints of a model take."""
    motions = [segment.motion for segment in samples.segments]
    dq, ddq = (np.concatenate([getattr(motion, name) for motion in motions]) for name in ("dq", "ddq"))
    tau = np.concatenate([model.joint_torque(motion, theta) for motion in motions])
    kept = np.unique(np.linspace(0, len(dq) - 1, N_KEPT).round().astype(int))
    # Seven digits: what is kept is a shape to fit to, not a measurement.
    return LoggedMotion(
        *(np.array([float(f"{x:.6g}") for x in part[kept].ravel()]).reshape(len(kept), -1) for part in (dq, ddq, tau))
    )


@dataclass(frozen=True, eq=False)
class PassiveRows:
    """Motion of the joints and the torque that friction and rotors take; a low-pass where it is measured."""

    dq: tuple[Float[Array, "n_samples n_dof"], ...]
    """A part for each segment, rad/s or m/s."""
    ddq: tuple[Float[Array, "n_samples n_dof"], ...]
    tau: tuple[Float[Array, "n_samples n_dof"], ...]
    """Torque less that of the links, N·m or N."""
    low_pass: LowPass | None = None
    every: int = 1
    """Rows kept of the low-passed ones."""

    @classmethod
    def of_motion(cls, motion: LoggedMotion) -> PassiveRows:
        """Rows of the motion that a model keeps (SI)."""
        return cls((motion.dq,), (motion.ddq,), (motion.tau,))

    def thin(self, parts: tuple[Float[Array, "n_samples n_dof"], ...]) -> Float[Array, "n_rows n_dof"]:
        """A signal of every sample (SI) as rows: low-passed and thinned as in the fit."""
        if self.low_pass is None:
            return np.concatenate(parts)
        return np.concatenate([self.low_pass.thinned(np.ascontiguousarray(part), self.every) for part in parts])


def rows_of_log(model: TorqueModel, theta: Float[Array, " n_params"], samples: Samples) -> PassiveRows:
    """What friction and rotors took in a log (SI): its measured torque less that of the links."""
    rigid = TorqueModel(model.robot)
    links = theta[: model.n_inertial]
    motions = [segment.motion for segment in samples.segments]
    rest = tuple(segment.tau - rigid.torque(segment.motion, links) for segment in samples.segments)
    plan = samples.plan
    return PassiveRows(tuple(m.dq for m in motions), tuple(m.ddq for m in motions), rest, plan.low_pass, plan.every)


@dataclass(frozen=True, eq=False)
class RecastFriction:
    """Damping, dry friction, rotor inertia and offset of every joint in another program's model (SI)."""

    damping: Float[Array, " n_dof"]
    dry: Float[Array, " n_dof"]
    rotor: Float[Array, " n_dof"]
    offset: Float[Array, " n_dof"]
    rate: Float[Array, " n_dof"]
    """b of MuJoCo's soft friction, 1/s; infinite for plain dry friction."""
    slip: Float[Array, " n_dof"]
    """v of MuJoCo's soft friction, rad/s or m/s; 0 for plain dry friction."""
    cost: Float[Array, " n_dof"]
    """RMS of what is left, N·m or N."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def recast_friction(
    rows: PassiveRows,
    kind: Literal["mujoco", "dry"],
    *,
    timestep: float = 0.002,
    rotors: bool = True,
    offsets: bool = False,
) -> RecastFriction:
    """The best damping, dry friction, rotor inertia (and offset) of every joint for some rows (SI).

    Args:
        rows: what friction and rotors took.
        kind: MuJoCo's soft friction, or plain dry friction.
        timestep: MuJoCo's, s.
        rotors: whether the program has rotor inertias.
        offsets: whether it has a constant torque.
    """
    v, a, tau = rows.thin(rows.dq), rows.thin(rows.ddq), rows.thin(rows.tau)
    n_dof = v.shape[1]
    speed = np.maximum(np.max(np.abs(np.concatenate(rows.dq)), axis=0), 1e-9)
    found = np.full((7, n_dof), np.nan)
    found[6] = np.inf

    def attempt(rate: float, slip: Float[Array, " n_dof"]) -> None:
        curve = rows.thin(
            tuple(np.clip((ddq / rate + dq) / slip, -1.0, 1.0) for dq, ddq in zip(rows.dq, rows.ddq, strict=True))
        )
        for j in range(n_dof):
            columns = [v[:, j], curve[:, j]]
            columns += [a[:, j]] if rotors else []
            A = np.column_stack([*columns, *([np.ones(len(v))] if offsets else [])])
            values = np.linalg.lstsq(A, tau[:, j], rcond=None)[0]
            if np.any(values[: len(columns)] < 0.0):
                from scipy.optimize import nnls

                signed = nnls(np.column_stack([A, -A[:, len(columns) :]]), tau[:, j])[0]
                values = np.concatenate([signed[: len(columns)], -np.diff(signed[len(columns) :])])
            rest = float(np.linalg.norm(A @ values - tau[:, j]))
            if rest < found[6, j]:
                offset = values[-1] if offsets else 0.0
                found[:, j] = (values[0], values[1], values[2] if rotors else 0.0, offset, rate, slip[j], rest)

    if kind == "dry":
        attempt(np.inf, 1e-9 * speed)
        found[5] = 0.0
    else:
        rates = (MUJOCO_RATE, crisp_rate(timestep))
        for rate in rates:
            for share in SLIPS:
                attempt(rate, share * speed)
        best = np.array(found[4:6])
        for rate in rates:
            for share in FINER:
                attempt(rate, np.where(best[0] == rate, share * best[1], SLIPS[0] * speed))
    damping, dry, rotor, offset, speeds, slips, rest = found
    return RecastFriction(damping, dry, rotor, offset, speeds, slips, rest / np.sqrt(len(v)))
