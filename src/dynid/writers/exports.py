"""What every export has in common: who may be exported, on which motion it is checked, and what is reported of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.consistency import consistency
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion, random_motion
from dynid.errors import ExportError
from dynid.regression.model import IdentifiedModel

__all__ = ["Exported", "export_motion", "full_links", "refuse_impossible", "relative_error"]

N_STATES = 64
"""States on which a file must re-predict the torque before it appears."""
TOLERANCE = 1e-6
"""Largest difference over the largest value, dimensionless."""
IMPOSSIBLE = "NOT PHYSICALLY POSSIBLE"
"""What a file says that was written by force."""


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how it was checked."""

    path: Path
    format: str
    error: float
    """Largest difference from dynid's own torque over the largest torque, dimensionless."""
    n_states: int
    """States compared."""
    checked_by: str
    """Who read the file back."""
    left_out: tuple[str, ...] = ()
    """What the model has and the format cannot say."""
    notices: tuple[str, ...] = ()
    """What else the reader of the file should know."""
    how: str = ""
    """Which file was edited in place, or why a fresh one was written."""


def refuse_impossible(model: IdentifiedModel, path: Path, *, force: bool) -> tuple[str, ...]:
    """Nothing for a possible robot; otherwise what is impossible about it, where `force` lets it pass.

    Raises:
        ExportError: the parameters are no possible robot's.
    """
    if not model.links:
        problem = f"the estimator {model.estimator} gives no link parameters, only combinations of them"
        if not force:
            raise ExportError(f"{path}: {problem}; use --estimator feasible, or dynid retrieve")
        return (problem,)
    names = model.model.robot.link_names
    failing = [
        f"{name} ({', '.join(consistency(link).failing)})"
        for name, link in zip(names, model.links, strict=True)
        if not consistency(link).holds
    ]
    if not failing:
        return ()
    problem = f"physically impossible: {', '.join(failing)}"
    if not force:
        raise ExportError(f"{path}: not written, {problem}; use --estimator feasible, or dynid retrieve")
    return (problem,)


def full_links(model: IdentifiedModel, path: Path) -> Float[Array, "n_links 10"]:
    """Ten numbers a link (SI) for a file that says mass, centre of mass and inertia.

    Raises:
        ExportError: a link without mass has a first moment, so that it has no centre of mass.
    """
    links = model.parameters[: model.model.n_inertial].reshape(-1, 10)
    for name, pi in zip(model.model.robot.link_names, links, strict=True):
        if pi[0] == 0.0 and np.any(pi[1:4]):
            raise ExportError(
                f"{path}: not written, {name} has no mass but a first moment, so it has no centre of mass; "
                "identify with --estimator feasible"
            )
    return links


def export_motion(model: TorqueModel, n_states: int = N_STATES) -> Motion:
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


def xml_comment(text: str) -> str:
    """Text for the inside of an XML comment, on one line, without the double hyphen that would end it."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return f" {re.sub('-(?=-)', '- ', printable)} "


def demand_agreement(path: Path, errors: Sequence[tuple[str, float]]) -> float:
    """The largest of several relative errors.

    Raises:
        ExportError: one is above the tolerance, so the file must not appear.
    """
    for what, error in errors:
        if not error <= TOLERANCE:
            raise ExportError(f"{path}: not written, read back its {what} is off by {error:.1e} of the largest")
    return max(error for _, error in errors)
