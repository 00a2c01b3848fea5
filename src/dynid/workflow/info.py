"""`info`: what a robot is and what its torque can reveal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from dynid.chain.consistency import consistency
from dynid.chain.robot import Joint, Robot
from dynid.chain.transmission import TransmissionLike
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import one_blas_thread
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import RobotLike, RobotOptions, as_torque_model

__all__ = ["RobotInfo", "info"]


class JointJson(TypedDict):
    """One joint with its limits, rad or m, per s, per s², per s³, N·m or N."""

    name: str
    type: str
    link: str
    parent: str | None
    includes: list[str]
    position_limits: list[float]
    velocity_limit: float
    acceleration_limit: float
    jerk_limit: float
    effort_limit: float
    mass: float | None
    """kg."""
    rotor_inertia: float
    """kg·m² or kg, at the joint."""


class ColumnJson(TypedDict):
    """One parameter."""

    owner: str
    name: str
    unit: str
    symbol: str


class BaseLabelJson(TypedDict):
    """One base parameter."""

    label: str
    leading: str
    unit: str


class RobotInfoJson(TypedDict):
    """All that `info` tells."""

    robot: str
    source: str
    n_dof: int
    n_parameters: int
    n_base: int
    gravity: list[float]
    joints: list[JointJson]
    columns: list[ColumnJson]
    base_parameters: list[BaseLabelJson]
    alone: list[str]
    only_in_combination: list[str]
    never_seen: list[str]
    tolerance: float
    impossible_nominal: list[str]
    held: dict[str, float]
    notes: list[str]


@dataclass(frozen=True, eq=False)
class RobotInfo(PrintsAsDocument):
    """The result of `dynid.info`: joints, limits, base parameters, and what torque never shows."""

    model: TorqueModel
    """The robot with the friction that is to be fitted."""
    base: BaseParameters
    """What its torque can reveal."""

    @property
    def robot(self) -> Robot:
        """The robot (SI), as its file has it."""
        return self.model.robot

    @property
    def inconsistent(self) -> tuple[str, ...]:
        """Links whose nominal inertia is not physically consistent."""
        links = (joint.link for joint in self.robot.joints)
        return tuple(link.name for link in links if link.nominal is not None and not consistency(link.nominal).holds)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong with the robot, and what its reader decided by itself, a sentence each."""
        distrusted = {joint.link.name for joint in self.robot.joints if not joint.link.known}
        wrong = ", ".join(name for name in self.inconsistent if name not in distrusted)
        told = (f"nominal inertia of {wrong} is not physically consistent",) if wrong else ()
        return (*self.robot.notes, *told)

    def json(self) -> RobotInfoJson:
        """What scripts read of it (SI)."""
        robot, model, base = self.robot, self.model, self.base
        return {
            "robot": robot.name,
            "source": robot.source,
            "n_dof": robot.n_dof,
            "n_parameters": model.n_params,
            "n_base": base.n_base,
            "gravity": robot.gravity.tolist(),
            "joints": [_joint_json(robot, joint) for joint in robot.joints],
            "columns": [
                {"owner": column.owner, "name": column.name, "unit": column.unit, "symbol": symbol}
                for column, symbol in zip(model.columns, model.symbols, strict=True)
            ],
            "base_parameters": [
                {"label": label, "leading": leading, "unit": column.unit}
                for label, leading, column in zip(base.labels(), base.leading, base.leading_columns, strict=True)
            ],
            "alone": list(base.alone),
            "only_in_combination": list(base.combined),
            "never_seen": list(base.unseen),
            "tolerance": base.tolerance,
            "impossible_nominal": list(self.inconsistent),
            "held": dict(robot.held),
            "notes": list(robot.notes),
        }

    def document(self) -> Document:
        """The robot from top to bottom, as the terminal shows it."""
        robot, base = self.robot, self.base
        counts = f"{counted(robot.n_dof, 'joint')}, {counted(base.n_base, 'base parameter')} of {self.model.n_params}"
        headers = ("", "joint", "type", "link", "position", "velocity", "acceleration", "effort", "nominal mass")
        joints = tuple((str(number), *_joint_row(joint)) for number, joint in enumerate(robot.joints, 1))
        rotors = [
            f"{joint.name} {joint.rotor_inertia:.4g} {'kg·m²' if joint.type == 'revolute' else 'kg'}"
            for joint in robot.joints
            if joint.rotor_inertia
        ]
        labels = tuple(
            (str(k), column.unit, label)
            for k, (label, column) in enumerate(zip(base.labels(), base.leading_columns, strict=True), 1)
        )
        told = f"{', '.join(rotors)} (armature of the file; ask for rotor inertia to fit it)"
        return (
            Line("robot", f"{robot.name}   {counts}"),
            Line("source", robot.source),
            Line("gravity", "  ".join(f"{value:.5g}" for value in robot.gravity) + "  m/s² in base axes"),
            Grid(headers, joints),
            *((Line("rotors", told),) if rotors else ()),
            Grid(("", "unit", "base parameter: what torque can reveal"), labels, (0,)),
            Line("alone", ", ".join(base.alone) or "none"),
            Line("combined", ", ".join(base.combined) or "none"),
            Line("never", ", ".join(base.unseen) or "none"),
        )

    def __repr__(self) -> str:
        seen = f"{counted(self.base.n_base, 'base parameter')} of {self.model.n_params}"
        counts = f"{counted(self.robot.n_dof, 'joint')}, {seen}"
        return f"RobotInfo({self.robot.name!r}: {counts})"


def _joint_json(robot: Robot, joint: Joint) -> JointJson:
    return {
        "name": joint.name,
        "type": joint.type,
        "link": joint.link.name,
        "parent": robot.joint_names[joint.parent] if joint.parent >= 0 else None,
        "includes": list(joint.link.includes),
        "position_limits": [joint.limits.lower, joint.limits.upper],
        "velocity_limit": joint.limits.velocity,
        "acceleration_limit": joint.limits.acceleration,
        "jerk_limit": joint.limits.jerk,
        "effort_limit": joint.limits.effort,
        "mass": None if joint.link.nominal is None else joint.link.nominal.mass,
        "rotor_inertia": joint.rotor_inertia,
    }


def _joint_row(joint: Joint) -> tuple[str, ...]:
    angle, force = ("rad", "N·m") if joint.type == "revolute" else ("m", "N")
    limits = joint.limits
    free = math.isinf(limits.lower) and math.isinf(limits.upper)
    return (
        joint.name,
        joint.type,
        joint.link.name,
        "free" if free else f"{limits.lower:.4g} … {limits.upper:.4g} {angle}",
        _limit(limits.velocity, f"{angle}/s"),
        _limit(limits.acceleration, f"{angle}/s²"),
        _limit(limits.effort, force),
        "" if joint.link.nominal is None else f"{joint.link.nominal.mass:.4g} kg",
    )


def _limit(value: float, unit: str) -> str:
    return "" if math.isinf(value) else f"{value:.4g} {unit}"


@checked_arguments
@one_blas_thread()
def info(
    robot: RobotLike,
    *,
    friction: str = "viscous+coulomb+offset",
    rotor_inertia: bool = False,
    lock: Iterable[str] | Mapping[str, float] = (),
    gravity: tuple[float, float, float] | None = None,
    mount: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ignore_inertials: bool = False,
    tip: str | None = None,
    transmission: TransmissionLike | None = None,
) -> RobotInfo:
    """Joints, limits, base parameters with their labels, and which parameters torque never shows (SI).

    Args:
        robot: built-in name, robot file (URDF, MJCF, TOML) or `Robot`.
        friction: friction columns: none, or names joined by +.
        rotor_inertia: add a rotor inertia to every joint.
        lock: joints to freeze, names or JOINT=VALUE (rad or m).
        gravity: in world axes, m/s²; None is the file's, or −z.
        mount: roll, pitch, yaw of the base in the world, rad.
        ignore_inertials: neither use nor check the inertias of the robot file.
        tip: last link of the arm that is meant; joints off the way to it are held.
        transmission: coupled drives, a TOML file or a matrix with a row for every motor; None is the robot file's.

    Raises:
        RobotError: for what is no robot, naming file and element.
        UnknownName: for friction that does not exist.
    """
    options = RobotOptions.of(lock, gravity, mount, ignore_inertials, tip, transmission)
    model = as_torque_model(options.load(robot), friction, rotor_inertia=rotor_inertia)
    return RobotInfo(model, base_parameters(model))
