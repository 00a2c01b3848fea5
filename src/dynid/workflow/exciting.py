"""ExcitingTrajectory and ExcitingPoses: a motion or poses inside every limit, and how well they show the parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.excitation.criteria import ExcitationReport
from dynid.excitation.design import Excitation
from dynid.excitation.limits.certificate import LimitCertificate
from dynid.excitation.limits.clearance import Clearance
from dynid.excitation.limits.motion_limits import MotionLimits
from dynid.excitation.poses import PoseDesign
from dynid.excitation.trajectory import Trajectory
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted

__all__ = ["ExcitingPoses", "ExcitingTrajectory"]

KINDS = ("position", "velocity", "acceleration", "jerk", "effort")
"""Quantities that a joint has limits of."""
UNITS = {"revolute": "rad", "prismatic": "m"}
"""Of positions, by the type of a joint."""


class LimitUseJson(TypedDict):
    """How far a motion goes towards one limit, in the unit of the quantity."""

    quantity: str
    label: str
    reached: float
    limit: float


class LimitsJson(TypedDict):
    """Whether every limit is kept."""

    kept: bool
    unchecked: list[str]
    uses: list[LimitUseJson]


class ClearanceJson(TypedDict):
    """What the links keep clear of, and what is not checked."""

    kept: str
    clearance: float
    shapes: str
    unchecked: list[str]


class PredictedJson(TypedDict):
    """σ of one base parameter that measuring the motion will give."""

    label: str
    std: float
    unit: str


class ExcitingTrajectoryJson(TypedDict):
    """All that `excite` tells of a motion."""

    robot: str
    n_dof: int
    n_parameters: int
    n_base: int
    condition_number: float
    scaled_condition_number: float
    log_det: float
    duration: float
    status: str
    seed: int
    limits: LimitsJson
    clearance: ClearanceJson | None
    start: list[float]
    rehearsal_duration: float | None
    parameters: list[PredictedJson]


class ExcitingPosesJson(TypedDict):
    """All that `excite` tells of poses."""

    robot: str
    n_dof: int
    n_base: int
    n_poses: int
    condition_number: float
    seed: int
    clearance: ClearanceJson | None


def _clearance_json(clear: Clearance | None) -> ClearanceJson | None:
    if clear is None:
        return None
    return {
        "kept": clear.kept,
        "clearance": clear.surroundings.clearance,
        "shapes": clear.capsules.told,
        "unchecked": list(clear.unchecked),
    }


@dataclass(frozen=True, eq=False)
class ExcitingTrajectory(PrintsAsDocument):
    """The result of `dynid.excite`: a motion inside every limit; `dynid.save` it as a .csv."""

    model: TorqueModel
    """The robot with the friction that will be fitted."""
    base: BaseParameters
    trajectory: Trajectory
    """From rest to rest (SI)."""
    certificate: LimitCertificate
    """That every limit is kept."""
    limits: MotionLimits
    """Of the joints, margins taken off."""
    report: ExcitationReport
    """How well it shows the base parameters."""
    std: Float[Array, " n_base"]
    """σ of the base parameters to expect, in their units, when it and all earlier motions are measured."""
    rate: float
    """Of the file and of that measurement, Hz."""
    seed: int
    found: Excitation | None = None
    """How it was found, where it was searched for."""
    controllers: Mapping[str, Path] = field(default_factory=dict)
    """Files that `dynid.save` writes for controllers, by the names of `CONTROLLERS`: ros, urscript, franka."""
    picture: bool = True
    """Whether `dynid.save` writes a picture."""
    inputs: tuple[Path, ...] = ()
    """Files it was made from: none of them is ever replaced by its own."""
    notes: tuple[str, ...] = ()
    """What could not be done as asked, a sentence each."""
    clear: Clearance | None = None
    """What its links keep clear of, and what is not checked; None where nobody looked."""
    floor_said: float | Literal["none"] | None = None
    """The floor that was asked for, m, for its motion file; None where nobody asked."""
    scale: float = 1.0
    """Part of its speed at which `dynid.save` also writes it, as a rehearsal; 1 for none (a ratio)."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was not checked, and what ended the search, a sentence each."""
        # What is said on the first line is not said twice.
        known = () if self.clear is None else self.clear.left_out
        unchecked = (f"not checked: {text}" for text in self.certificate.unchecked if text not in known)
        advice = "" if self.found is None else self.found.status.value
        return *self.notes, *unchecked, *((advice,) if advice else ())

    @property
    def start(self) -> Float[Array, " n_dof"]:
        """The pose (rad or m) in which it starts, at rest."""
        return self.trajectory.at(np.zeros(1)).q[0]

    @property
    def rehearsal(self) -> Trajectory | None:
        """The same motion at a part of its speed; None where none was asked for."""
        return None if self.scale == 1.0 else self.trajectory.slowed(self.scale)

    def json(self) -> ExcitingTrajectoryJson:
        """What scripts read of it (SI)."""
        model, base, certificate = self.model, self.base, self.certificate
        return {
            "robot": model.robot.name,
            "n_dof": model.n_dof,
            "n_parameters": model.n_params,
            "n_base": base.n_base,
            "condition_number": self.report.condition_number,
            "scaled_condition_number": self.report.scaled_condition_number,
            "log_det": self.report.log_det,
            "duration": self.trajectory.duration,
            "status": "ready-made" if self.found is None else self.found.status.name.lower(),
            "seed": self.seed,
            "limits": {
                "kept": certificate.holds,
                "unchecked": list(certificate.unchecked),
                "uses": [
                    {"quantity": use.quantity, "label": use.label, "reached": use.reached, "limit": use.limit}
                    for use in certificate.uses
                ],
            },
            "clearance": _clearance_json(self.clear),
            "start": self.start.tolist(),
            "rehearsal_duration": None if self.rehearsal is None else self.rehearsal.duration,
            "parameters": [
                {"label": label, "std": float(value), "unit": column.unit}
                for label, value, column in zip(base.labels(), self.std, base.leading_columns, strict=True)
            ],
        }

    def document(self) -> Document:
        """The motion beside its limits, as the terminal shows it."""
        robot, report, certificate = self.model.robot, self.report, self.certificate
        searched = "" if self.found is None else f", found in {counted(self.found.n_evaluations, 'evaluation')}"
        scaled = f"{report.scaled_condition_number:.4g} with scaled columns"
        rows = tuple(_joint_row(certificate, name) for name in robot.joint_names)
        others = [use for use in certificate.uses if use.quantity not in (*KINDS, "−position")]
        closest = max(others, key=lambda use: use.reached, default=None)
        told = closest and f"{closest.quantity} {closest.label}: {-1e3 * closest.reached:.1f} mm to spare"
        slow = "" if self.rehearsal is None else f"; rehearsal in {self.rehearsal.duration:.1f} s"
        return (
            *(() if self.clear is None else (Line("clearance", str(self.clear)),)),
            Line(
                "robot",
                f"{robot.name}   {counted(robot.n_dof, 'joint')}, {counted(self.base.n_base, 'base parameter')}",
            ),
            Line("motion", f"{self.trajectory.duration:.2f} s from rest to rest{searched}{slow}"),
            Line("start", ", ".join(f"{x:.4g} {UNITS[j.type]}" for x, j in zip(self.start, robot.joints, strict=True))),
            Line("condition", f"{report.condition_number:.4g} as it is, {scaled}"),
            Grid(("joint", *_headers(robot)), rows),
            *((Line("closest", told),) if told else ()),
        )

    def __repr__(self) -> str:
        seconds, number = self.trajectory.duration, self.report.condition_number
        return f"ExcitingTrajectory({self.model.robot.name!r}: {seconds:.2f} s, condition number {number:.4g})"


def _headers(robot: Robot) -> tuple[str, ...]:
    """What stands above the cells of a joint (rad or m, per s, …)."""
    lengths = [unit for kind, unit in UNITS.items() if kind in {joint.type for joint in robot.joints}]
    units = [" or ".join(f"{length}{rate}" for length in lengths) for rate in ("", "/s", "/s²", "/s³")]
    return (*(f"{kind} / {unit}" for kind, unit in zip(KINDS[:4], units, strict=True)), f"{KINDS[4]}, of its limit")


def _joint_row(certificate: LimitCertificate, joint: str) -> tuple[str, ...]:
    """How far a joint goes, and how far it may, quantity by quantity."""
    uses = {use.quantity: use for use in certificate.uses if use.label == joint}
    low, high = uses["−position"], uses["position"]
    cells = [joint, f"{-low.reached:.4g} … {high.reached:.4g}  of  {-low.limit:.4g} … {high.limit:.4g}"]
    for kind in KINDS[1:4]:
        use = uses[kind]
        cells.append("" if np.isinf(use.limit) else f"{use.reached:.4g} of {use.limit:.4g}")
    efforts = [use.reached for use in certificate.uses if use.quantity == "effort" and use.label == joint]
    cells.append(f"{100.0 * (1.0 + max(efforts)):.0f} %" if efforts else "")
    return tuple(cells)


@dataclass(frozen=True, eq=False)
class ExcitingPoses(PrintsAsDocument):
    """The result of `dynid.excite` for static poses; `dynid.save` it as a .csv."""

    robot: Robot
    design: PoseDesign
    """The poses (rad or m)."""
    seed: int
    inputs: tuple[Path, ...] = ()
    """Files it was made from: none of them is ever replaced by its own."""
    warnings: tuple[str, ...] = ()
    """What could not be done as asked, a sentence each."""
    clear: Clearance | None = None
    """What its links keep clear of in these poses, and what is not checked; None where nobody looked."""

    @property
    def poses(self) -> Float[Array, "n_poses n_dof"]:
        """rad or m, in an order that keeps moves short."""
        return self.design.poses

    def json(self) -> ExcitingPosesJson:
        """What scripts read of it (SI)."""
        return {
            "robot": self.robot.name,
            "n_dof": self.robot.n_dof,
            "n_base": len(self.design.labels),
            "n_poses": len(self.poses),
            "condition_number": self.design.condition_number,
            "seed": self.seed,
            "clearance": _clearance_json(self.clear),
        }

    def document(self) -> Document:
        """How many poses, and how well they show what they can."""
        counts = (
            f"{counted(self.robot.n_dof, 'joint')}, {len(self.design.labels)} base parameters that these poses can show"
        )
        moves = "; not checked: the moves between the poses"
        return (
            *(() if self.clear is None else (Line("clearance", f"{self.clear}{moves}"),)),
            Line("robot", f"{self.robot.name}   {counts}"),
            Line("poses", f"{len(self.poses)}, condition number {self.design.condition_number:.4g}"),
        )

    def __repr__(self) -> str:
        number = self.design.condition_number
        return f"ExcitingPoses({self.robot.name!r}: {len(self.poses)} poses, condition number {number:.4g})"
