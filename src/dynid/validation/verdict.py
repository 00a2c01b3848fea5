"""Whether an identification is good, usable or not good enough, by criteria that the report states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.regression.estimate import UNRELIABLE, Estimate
from dynid.regression.model_file import IdentifiedModel
from dynid.regression.status import Status
from dynid.review.findings import Finding, Severity
from dynid.validation.torque import Validation

__all__ = [
    "GOOD_ERROR",
    "GOOD_JOINT",
    "USABLE_ERROR",
    "USABLE_JOINT",
    "Criterion",
    "Mark",
    "judge",
    "verdict",
    "verdict_json",
    "worst",
]

Mark = Literal["good", "usable", "not good enough"]
_MARKS: tuple[Mark, ...] = ("good", "usable", "not good enough")
GOOD_ERROR, USABLE_ERROR = 5.0, 15.0
"""Relative torque error over all joints, in %, up to which a model is good, or usable."""
GOOD_JOINT, USABLE_JOINT = 30.0, 100.0
"""Relative torque error of the worst joint, in %; at 100 % predicting no torque at all would be as good."""


@dataclass(frozen=True)
class Criterion:
    """One thing a result is judged by: what was found (with its unit), and what is asked."""

    name: str
    mark: Mark
    found: str
    asked: str


def worst(criteria: tuple[Criterion, ...]) -> Mark:
    """The mark of a whole: that of its worst criterion."""
    return max((criterion.mark for criterion in criteria), key=_MARKS.index, default="good")


def judge(
    model: IdentifiedModel,
    estimate: Estimate,
    train: Validation,
    held_out: Sequence[Validation],
    findings: Sequence[Finding] | None = None,
) -> tuple[Criterion, ...]:
    """What the mark of a result follows from (errors in %)."""
    shared = any(finding.code == "same-log" for finding in findings or ())
    seen = not held_out or shared
    judged = max(held_out, key=lambda v: _size(v.error.relative_percent), default=train)
    error = judged.error
    joint = int(np.nanargmax(error.relative_percent_joint)) if np.any(np.isfinite(error.relative_percent_joint)) else 0
    name = f"{judged.joint_names[joint]}: " if judged.joint_names else ""
    criteria = [
        Criterion(
            "How the fit ended",
            "good" if estimate.status is Status.CONVERGED else "not good enough",
            estimate.status.value or "converged",
            "converged, every coefficient excited",
        ),
        Criterion(
            "Torque of motion it was fitted to" if seen else "Torque of motion it had not seen",
            _capped(_within(error.relative_percent, GOOD_ERROR, USABLE_ERROR), seen),
            f"{error.relative_percent:.2f} %" + (f"; {_untried(shared)} (--validate LOG)" if seen else ""),
            f"good up to {GOOD_ERROR:g} % on unseen motion, usable up to {USABLE_ERROR:g} %",
        ),
        Criterion(
            "Worst joint",
            _within(error.relative_percent_joint[joint], GOOD_JOINT, USABLE_JOINT),
            f"{name}{error.relative_percent_joint[joint]:.2f} %",
            f"good up to {GOOD_JOINT:g} %, usable up to {USABLE_JOINT:g} %",
        ),
        _possible(model, estimate),
    ]
    if findings is not None:
        errors = sorted({finding.code for finding in findings if finding.severity is Severity.ERROR})
        criteria.append(
            Criterion(
                "What the doctor says of the log",
                "not good enough" if errors else "good",
                f"errors: {', '.join(errors)}" if errors else "no errors",
                "no errors",
            )
        )
    return tuple(criteria)


def _untried(shared: bool) -> str:
    return "logs share samples, so this proves nothing about unseen motion" if shared else "no unseen motion was tried"


def _size(value: float) -> float:
    return value if np.isfinite(value) else np.inf


def _within(value: float, good: float, usable: float) -> Mark:
    return "good" if value <= good else "usable" if value <= usable else "not good enough"


def _capped(mark: Mark, seen: bool) -> Mark:
    return "usable" if seen and mark == "good" else mark


def _possible(model: IdentifiedModel, estimate: Estimate) -> Criterion:
    name, asked = "Physically possible links", "every link possible; without a full set, usable to predict torque"
    if model.consistent:
        return Criterion(name, "good", "every link is possible", asked)
    if model.links:
        return Criterion(name, "not good enough", "the full parameter set is not possible", asked)
    return Criterion(name, "usable", _no_full_set(estimate), asked)


def _no_full_set(estimate: Estimate) -> str:
    if estimate.gives_links:
        return f"{estimate.estimator} found no full set"
    return f"{estimate.estimator} gives no full parameter set; --estimator feasible does"


def verdict(
    model: IdentifiedModel, estimate: Estimate, train: Validation, held_out: Sequence[Validation], mark: Mark
) -> str:
    """One paragraph for a hurried reader (errors in %)."""
    words = {
        "good": "This model is good: ",
        "usable": "This model is usable: ",
        "not good enough": "This model is not good enough: ",
    }
    text = words[mark] + (
        f"{len(estimate.beta)} combinations of parameters, estimated from {estimate.n_rows} rows, explain the "
        f"torque of the log to {train.error.relative_percent:.2f} %"
    )
    if held_out:
        error = max(_size(v.error.relative_percent) for v in held_out)
        text += f" and that of motion they had not seen to {error:.2f} %"
    else:
        text += "; how they predict motion they have not seen was not tried"
    reliable = sum(word == "identified" for word in estimate.trust)
    text += f". {reliable} of them are known to better than {100 * UNRELIABLE:.0f} % of their value. "
    if model.consistent:
        text += "The full parameter set is physically possible and can be exported. "
    elif model.links:
        text += "The full parameter set is NOT physically possible. "
    else:
        text += f"The estimator {_no_full_set(estimate)}. "
    return text + (f"Advice: {estimate.status.value}." if estimate.status.value else "")


def verdict_json(criteria: tuple[Criterion, ...]) -> dict[str, object]:
    """The mark and what it follows from, as scripts read it (errors in %)."""
    return {
        "mark": worst(criteria),
        "criteria": [{"name": c.name, "mark": c.mark, "found": c.found, "asked": c.asked} for c in criteria],
    }
