"""Entry: how one method did on one arm; judged by motion that it was not fitted to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import numpy as np

import dynid
from benchmarks.leaderboard.arms import Arm
from dynid.dynamics import base_parameters
from dynid.regression import IdentifiedModel
from dynid.regression.feasible.certificate import ProvenFeasible, is_feasible

WINDOW = 0.5
"""s; length of the open-loop rollouts that are judged."""


@dataclass(frozen=True)
class Entry:
    """One line of the leaderboard; nan where something cannot be said."""

    arm: str
    method: str
    train: float = np.nan
    """Error on the training logs, %."""
    unseen: float = np.nan
    """Error on the held-out log, %, torques low-passed as in the fit."""
    raw: float = np.nan
    """The same with the torque as it was logged, %."""
    rollout: float = np.nan
    """RMS of the joint error at the end of an open-loop rollout of 0.5 s, mrad (mm), all joints."""
    consistent: str = ""
    """yes or no for links; some or none: whether any physically consistent links have these base parameters."""
    mass: float = np.nan
    """Of all moving links, kg."""
    coverage: float = np.nan
    """Share of the held-out torques inside their 95 % band, %."""
    seconds: float = np.nan
    megabytes: float = np.nan
    lines: int = 0
    note: str = ""

    def stored(self) -> dict[str, object]:
        """As JSON holds it: nan as null."""
        return {key: None if value != value else value for key, value in asdict(self).items()}

    @classmethod
    def restored(cls, content: dict[str, object]) -> Entry:
        """From what `stored` gave."""
        known = {field.name: content[field.name] for field in fields(cls) if content.get(field.name) is not None}
        return cls(**known)  # type: ignore[arg-type]


def judged(arm: Arm, method: str, model: IdentifiedModel, **cost: float | int | str) -> Entry:
    """How a model does on an arm; `cost` are the fields that the caller measured."""
    train = dynid.validate(model, arm.train, until=arm.split).validation
    held_out = dynid.validate(model, arm.held_out, from_=arm.split).validation[0]
    raw = dynid.validate(model, arm.held_out, from_=arm.split, raw=True).validation[0]
    return Entry(
        arm.name,
        method,
        train=float(np.sqrt(np.mean([v.error.relative_percent**2 for v in train]))),
        unseen=held_out.error.relative_percent,
        raw=raw.error.relative_percent,
        rollout=_rollout(arm, model),
        consistent=_consistent(model),
        mass=float(sum(link.mass for link in model.links)) if model.links else np.nan,
        coverage=100.0 * float(np.nanmean(held_out.coverage)) if np.any(np.isfinite(held_out.coverage)) else np.nan,
        **cost,  # type: ignore[arg-type]
    )


def _consistent(model: IdentifiedModel) -> str:
    if model.links:
        return "yes" if model.consistent else "no"
    found = is_feasible(model.model, base_parameters(model.model), model.beta)
    return "some" if isinstance(found, ProvenFeasible) else "none"


def _rollout(arm: Arm, model: IdentifiedModel) -> float:
    return np.nan
