"""What every export has in common: which models are exported, on which motion the file is checked, what is reported."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.consistency import consistency
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion, random_motion
from dynid.errors import ExportError, InconsistentModel
from dynid.recording.conditioning import Samples
from dynid.regression.model import IdentifiedModel

__all__ = [
    "ExportOptions",
    "Exported",
    "export_motion",
    "full_links",
    "relative_error",
    "require_agreement",
    "require_consistent",
    "torque_error",
    "warning_line",
    "xml_comment",
]

N_CHECKED = 64
"""States on which a file must re-predict the torque before it appears: far more than any joint has parameters."""
AGREEMENT = 1e-6
"""Largest difference over the largest value, dimensionless, that an export may have; round-off gives 1e-15."""
WARNING = "NOT PHYSICALLY CONSISTENT"
"""What a file says that was written by force."""


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """What an exporter may be told; it leaves alone what it has no use for."""

    template: Path | None = None
    """A robot file to edit in place of writing a fresh one."""
    lock: Mapping[str, float] = field(default_factory=dict)
    """Where joints stood that move in the template but not in the model, rad or m."""
    prefix: str | None = None
    """What names start with in generated code; the robot's name where None."""
    force: bool = False
    """Write parameters that are not physically consistent, and say so in the file; write what simulates far worse."""
    log: Samples | None = None
    """The training log, conditioned with the delay of the fit, for what must be refitted; None for the model's own
    account of it."""
    aligned: Samples | None = None
    """The same without a delay."""
    filter: Literal["load"] | None = None
    """In place of the model's functions the filter that follows a load, for the C header."""
    rate: float = 1000.0
    """Samples per second that the filter will be given, Hz."""
    half_window: float = 0.1
    """Half the window that gives the filter its accelerations, s."""
    max_mass: float = 5.0
    """The heaviest load, kg."""
    false_alarms: float = 0.5
    """Contacts that may be invented in 3600 s of free motion."""


DEFAULTS = ExportOptions()
"""A fresh file of physically consistent parameters."""


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how it was checked."""

    path: Path
    format: str
    """Name of the exporter, ``urdf``."""
    error: float
    """Largest difference from dynid's own torque over the largest torque, dimensionless."""
    n_states: int
    """States compared; 0 where the file holds a load and no torque."""
    checked_by: str
    """Who read the file back."""
    left_out: tuple[str, ...] = ()
    """What the model has and the format cannot say."""
    notices: tuple[str, ...] = ()
    """What else the reader of the file should know."""
    consistent: bool = True
    """False for parameters that are not physically consistent, written by force; the first notice says why."""
    subject: str = ""
    """The robot, or ``load``."""
    how: str = ""
    """For a robot file: which file was edited in place, or that it is fresh and why."""

    @property
    def check(self) -> str:
        """How the file was checked, as a sentence."""
        states = f" on {self.n_states} states" if self.n_states else ""
        return f"{self.checked_by}; largest difference {self.error:.1e}{states}"

    def __str__(self) -> str:
        lines = [("wrote", f"{self.path} ({self.format}{f' of {self.subject}' if self.subject else ''})")]
        lines += [("file", self.how)] if self.how else []
        lines += [("read back", self.check)]
        lines += [("left out", sentence) for sentence in self.left_out]
        lines += [("notice", sentence) for sentence in self.notices]
        return "\n".join(f"{label:<11}{text}" for label, text in lines)

    def __repr__(self) -> str:
        return f"Exported({str(self.path)!r}, {self.format!r}: {self.check})"


def require_consistent(model: IdentifiedModel, path: Path, *, force: bool) -> tuple[str, ...]:
    """Nothing for a physically consistent model; otherwise what is wrong with it, where `force` lets it pass.

    Raises:
        InconsistentModel: a link is not physically consistent, or there are no link parameters.
    """
    if not model.links:
        problem = f"the estimator {model.estimator} gives base parameters only, no link parameters"
    else:
        checks = zip(model.model.robot.link_names, map(consistency, model.links), strict=True)
        failing = [f"{name} ({', '.join(check.failing)})" for name, check in checks if not check.holds]
        if not failing:
            return ()
        problem = f"not physically consistent: {', '.join(failing)}"
    if not force:
        raise InconsistentModel(
            f"{path}: not written, {problem}; identify with the estimator feasible, or retrieve the full parameters"
        )
    return (problem,)


def full_links(model: IdentifiedModel, path: Path) -> Float[Array, "n_links 10"]:
    """Ten inertial parameters a link (SI) for a file that says mass, centre of mass and inertia.

    Raises:
        ExportError: a link without mass has a first moment, so that it has no centre of mass.
    """
    links = model.parameters[: model.model.n_inertial].reshape(-1, 10)
    for name, pi in zip(model.model.robot.link_names, links, strict=True):
        if pi[0] == 0.0 and np.any(pi[1:4]):
            raise ExportError(
                f"{path}: not written, {name} has no mass but a first moment, so it has no centre of mass; "
                "identify with the estimator feasible"
            )
    return links


def export_motion(model: TorqueModel, n_states: int = N_CHECKED) -> Motion:
    """States (SI) on which exports are compared; a continuous path where friction remembers it."""
    rng = np.random.default_rng(0)
    if not model.has_memory:
        return random_motion(model.robot, n_states, rng)
    start = random_motion(model.robot, 1, rng)
    steps = rng.normal(size=(n_states, model.n_dof)) * 10.0 ** rng.uniform(-5.0, -1.5, (n_states, model.n_dof))
    dq, ddq = rng.uniform(-1.0, 1.0, (2, n_states, model.n_dof))
    return Motion(np.arange(n_states, dtype=float), start.q + np.cumsum(steps, axis=0), dq, ddq)


def relative_error(mine: Float[Array, "..."], theirs: Float[Array, "..."], scale: float = 0.0) -> float:
    """Largest difference over the largest value, dimensionless; infinite where theirs is not finite.

    Args:
        mine: what it should be.
        theirs: what was read back.
        scale: what the difference is relative to where no value is as large, in their unit.
    """
    if not np.all(np.isfinite(theirs)):
        return float("inf")
    largest = max(float(np.max(np.abs(mine), initial=0.0)), scale, 1e-300)
    return float(np.max(np.abs(mine - theirs), initial=0.0)) / largest


def torque_error(model: IdentifiedModel, theta: Float[Array, " n_params"]) -> float:
    """Relative error (dimensionless) of the torque that parameters read back from a file predict, θ in SI."""
    motion = export_motion(model.model)
    return relative_error(model.model.torque(motion, model.parameters), model.model.torque(motion, theta))


def require_agreement(path: Path, errors: Sequence[tuple[str, float]]) -> float:
    """The largest of several relative errors (dimensionless), each with the name of what was compared.

    Raises:
        ExportError: one is above the tolerance, so the file must not appear.
    """
    for what, error in errors:
        if not error <= AGREEMENT:
            raise ExportError(f"{path}: not written, read back its {what} is off by {error:.1e} of the largest")
    return max(error for _, error in errors)


def warning_line(problems: Sequence[str]) -> str:
    """What a file written by force says of itself; empty where nothing is wrong."""
    return f"{WARNING}: {'; '.join(problems)}" if problems else ""


def xml_comment(text: str) -> str:
    """Text for the inside of an XML comment, on one line, without the double hyphen that would end it."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return f" {re.sub('-(?=-)', '- ', printable)} "
