"""Results of `payload`: a load, or drive gains, as people and scripts read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from dynid.arrays import Transform
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.regression.drive_gains import DriveGains
from dynid.regression.model import IdentifiedModel
from dynid.regression.payload import Payload
from dynid.regression.status import Status
from dynid.workflow.contract import ErrorJson, Numbers, error_json
from dynid.workflow.prediction import band_statements

__all__ = ["GainsIdentification", "PayloadIdentification"]

LIMITS = {
    "gains": (
        "the scale of the torques",
        "calibrate the gains with a known mass, or state what is known of them",
    ),
    "friction": ("friction that drifts", "log both runs warm, one soon after the other, reversing often"),
    "arm": ("the model of the empty arm", "identify it from longer or more logs"),
    "noise": ("motion and noise of this log", "log longer, with more tilt and speed of the last joints"),
}
"""Sources of uncertainty by name: what they are called, and what makes them smaller."""
_AXES = "xyz"
_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of a tensor, row by row."""
_DIALOGUE = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
"""The same in the order of a controller's load dialogue: moments first."""


class LoadErrorJson(ErrorJson):
    """How well the load explains its log."""

    log: str


class FrameJson(TypedDict):
    """The frame that a load is given in."""

    name: str
    T_link_frame: Numbers


class LoadStdJson(TypedDict):
    """Standard deviations of a load, SI."""

    mass: float
    com: Numbers
    inertia_com: Numbers


class LoadJson(TypedDict):
    """A load, SI, in its frame."""

    mass: float
    com: Numbers
    inertia_com: Numbers
    frame: FrameJson
    std: LoadStdJson


class AccuracyJson(TypedDict):
    """What limits the accuracy of the mass: shares of its variance, in %, that add up to 100."""

    gains_percent: float
    friction_percent: float
    arm_percent: float
    noise_percent: float
    gain_std: Numbers
    """Relative σ of the scale of each joint's torque."""
    gain_source: str


class PayloadJson(TypedDict):
    """All that `payload` tells of a load."""

    robot: str
    n_dof: int
    n_parameters: int
    n_base: int
    estimator: str
    status: str
    consistent: bool
    train: LoadErrorJson
    without_load: ErrorJson
    payload: LoadJson
    accuracy: NotRequired[AccuracyJson]


class GainJson(TypedDict):
    """The gain of one drive."""

    joint: str
    value: float
    std: float
    unit: str


class GainsJson(TypedDict):
    """All that `payload` tells of drive gains."""

    robot: str
    n_dof: int
    status: str
    gains: list[GainJson]
    relative_covariance: Numbers
    """Of the gains over their values."""


@dataclass(frozen=True, eq=False)
class PayloadIdentification(PrintsAsDocument):
    """The result of `dynid.payload`: print it to read it, `dynid.save` it as a JSON file."""

    load: Payload
    """Mass, centre of mass and inertia with σ, and the errors with and without it (SI)."""
    model: IdentifiedModel
    """Of the arm without load."""
    log: str
    """The log with the load: its file, or what a log in memory calls itself."""
    frame: str
    """The frame the load is given in: flange, or the link whose frame it is."""
    T_link_frame: Transform
    """That frame in the last link's frame; m."""
    warnings: tuple[str, ...] = ()
    """What is weak about the result, a sentence each."""
    inputs: tuple[Path, ...] = ()
    """The files it was made from."""

    def json(self) -> PayloadJson:
        """What scripts read of it (SI)."""
        load, error = self.load, error_json(self.load.fit)
        content: PayloadJson = {
            "robot": self.model.robot.name,
            "n_dof": self.model.model.n_dof,
            "n_parameters": self.model.model.n_params,
            "n_base": self.model.base.n_base,
            "estimator": "payload",
            "status": load.status.name.lower(),
            "consistent": load.status is Status.CONVERGED,
            "train": {"log": self.log, **error},
            "without_load": error_json(load.without),
            "payload": {
                "mass": load.mass,
                "com": load.com,
                "inertia_com": load.inertia_com,
                "frame": {"name": self.frame, "T_link_frame": self.T_link_frame},
                "std": {"mass": load.mass_std, "com": load.com_std, "inertia_com": load.inertia_com_std},
            },
        }
        if load.limits and self.model.residuals is not None:
            content["accuracy"] = {
                "gains_percent": load.limits["gains"],
                "friction_percent": load.limits["friction"],
                "arm_percent": load.limits["arm"],
                "noise_percent": load.limits["noise"],
                "gain_std": self.model.residuals.gain_std,
                "gain_source": self.model.residuals.gain_source,
            }
        return content

    @property
    def limited_by(self) -> str:
        """What limits the accuracy of the mass: shares of its variance in %, the largest first, and what would help."""
        limits = sorted(self.load.limits.items(), key=lambda item: -item[1])
        if not limits or not np.isfinite(self.load.mass_std):
            return "not known"
        shares = ", ".join(f"{LIMITS[name][0]} {share:.0f} %" for name, share in limits if share >= 0.5)
        return f"{shares}; {LIMITS[limits[0][0]][1]}"

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        load = self.load
        before, after = load.without.relative_percent, load.fit.relative_percent
        rows = [("mass", f"{load.mass:.4f}", f"{load.mass_std:.4f}", "kg")]
        com = zip(_AXES, load.com, load.com_std, strict=True)
        rows += [(f"com {axis}", f"{value:.4f}", f"{std:.4f}", "m") for axis, value, std in com]
        tensor, spread = load.inertia_com, load.inertia_com_std
        rows += [(f"I {_AXES[a]}{_AXES[b]}", f"{tensor[a, b]:.5f}", f"{spread[a, b]:.5f}", "kg·m²") for a, b in _UPPER]
        frame = self.frame if self.frame == "flange" else f"{self.frame} frame"
        inertia = ", ".join(f"I{_AXES[a]}{_AXES[b]} {tensor[a, b]:.5f}" for a, b in _DIALOGUE)
        return (
            Line("robot", f"{self.model.robot.name}   {counted(self.model.model.n_dof, 'joint')}"),
            Line("log", f"{self.log}   {before:.2f} % empty, {after:.2f} % with the load"),
            Grid(("load", "value", "± 1σ", "unit"), tuple(rows), (1, 2)),
            Line("accuracy", f"of the mass is limited by {self.limited_by}"),
            *(Line("", sentence) for sentence in band_statements(self.model)),
            Line("settings", f"for the load dialogue of a controller, {frame}:"),
            Line("", f"mass {load.mass:.3f} kg"),
            Line("", "centre of gravity " + ", ".join(f"{1e3 * x:.1f}" for x in load.com) + " mm"),
            Line("", f"inertia about it {inertia} kg·m²"),
        )

    def __repr__(self) -> str:
        load = self.load
        return (
            f"PayloadIdentification({self.model.robot.name!r}: {load.mass:.4f} ± {load.mass_std:.2g} kg, "
            f"{load.without.relative_percent:.2f} % empty, {load.fit.relative_percent:.2f} % with the load)"
        )


@dataclass(frozen=True, eq=False)
class GainsIdentification(PrintsAsDocument):
    """The result of `dynid.payload` with a known mass: print it to read it, `dynid.save` it as a JSON file."""

    found: DriveGains
    """The gains with σ, N·m/A."""
    model: IdentifiedModel
    """What gave robot and rotors."""
    known_mass: float
    """Of the load, kg."""
    warnings: tuple[str, ...] = ()
    """What is weak about the result, a sentence each."""
    inputs: tuple[Path, ...] = ()
    """The files it was made from."""

    @property
    def gains(self) -> tuple[float, ...]:
        """What the other jobs take as `gains`, N·m/A."""
        return tuple(self.found.gains.tolist())

    def json(self) -> GainsJson:
        """What scripts read of it (N·m/A)."""
        found = self.found
        return {
            "robot": self.model.robot.name,
            "n_dof": self.model.model.n_dof,
            "status": found.status.name.lower(),
            "gains": [
                {"joint": name, "value": float(gain), "std": float(std), "unit": "N·m/A"}
                for name, gain, std in zip(found.joint_names, found.gains, found.std, strict=True)
            ],
            "relative_covariance": found.relative_covariance,
        }

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        found, robot = self.found, self.model.robot
        rows = tuple(
            (name, f"{gain:.4f}", f"{std:.4f}")
            for name, gain, std in zip(found.joint_names, found.gains, found.std, strict=True)
        )
        return (
            Line("robot", f"{robot.name}   {counted(robot.n_dof, 'joint')}; scale set by {self.known_mass:g} kg"),
            Grid(("joint", "gain / N·m/A", "± 1σ"), rows, (1, 2)),
        )

    def __repr__(self) -> str:
        gains = ", ".join(f"{gain:.4g}" for gain in self.gains)
        return f"GainsIdentification({self.model.robot.name!r}: {gains} N·m/A by {self.known_mass:g} kg)"
