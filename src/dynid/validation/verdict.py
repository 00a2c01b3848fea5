"""Whether an identification is good, usable or not good enough, by criteria that the report states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dynid.regression.estimate import UNRELIABLE, Estimate
from dynid.regression.model import IdentifiedModel
from dynid.regression.status import Status
from dynid.review.findings import Finding, Severity
from dynid.validation.torque import Validation

__all__ = ["Criterion", "Mark", "Verdict", "judge"]

Mark = Literal["good", "usable", "not good enough"]
"""What an identification earns, on one criterion or on all of them; the worst criterion decides."""
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

    def __str__(self) -> str:
        return f"{self.name}: {self.found} (asked for: {self.asked})"


@dataclass(frozen=True)
class Verdict:
    """The mark of an identification, what it follows from, and a paragraph for a hurried reader."""

    criteria: tuple[Criterion, ...]
    summary: str = ""

    @property
    def mark(self) -> Mark:
        """That of the worst criterion."""
        return max((criterion.mark for criterion in self.criteria), key=_MARKS.index, default="good")

    @property
    def good_enough(self) -> bool:
        """Whether the model is good or usable."""
        return self.mark != "not good enough"

    @property
    def failed(self) -> tuple[Criterion, ...]:
        """The criteria that make it not good enough."""
        return tuple(criterion for criterion in self.criteria if criterion.mark == "not good enough")

    def __str__(self) -> str:
        return "\n".join([self.mark, *(f"  {c.mark:<16} {c}" for c in self.criteria)])


def judge(
    model: IdentifiedModel,
    estimate: Estimate,
    train: Validation,
    held_out: Sequence[Validation],
    findings: Sequence[Finding] | None = None,
) -> Verdict:
    """The verdict on a model (errors in %), from how the fit ended and how it predicts held-out logs.

    Args:
        model: what was found.
        estimate: with its uncertainty and status.
        train: prediction of the log it was fitted to.
        held_out: predictions of logs that were not used in the fit.
        findings: of the review of the logs; None where they were not reviewed.
    """
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
            "converged, every base parameter excited",
        ),
        Criterion(
            "Torque of the training log" if seen else "Torque of the held-out log",
            _capped(_within(error.relative_percent, GOOD_ERROR, USABLE_ERROR), seen),
            f"{error.relative_percent:.2f} %" + (f"; {_untried(shared)}" if seen else ""),
            f"good up to {GOOD_ERROR:g} % on a held-out log, usable up to {USABLE_ERROR:g} %",
        ),
        Criterion(
            "Worst joint",
            _within(error.relative_percent_joint[joint], GOOD_JOINT, USABLE_JOINT),
            f"{name}{error.relative_percent_joint[joint]:.2f} %",
            f"good up to {GOOD_JOINT:g} %, usable up to {USABLE_JOINT:g} %",
        ),
        _consistent(model, estimate),
    ]
    if findings is not None:
        errors = sorted({finding.code for finding in findings if finding.severity is Severity.ERROR})
        criteria.append(
            Criterion(
                "Review of the logs",
                "not good enough" if errors else "good",
                f"errors: {', '.join(errors)}" if errors else "no errors",
                "no errors",
            )
        )
    plain = Verdict(tuple(criteria))
    return Verdict(plain.criteria, _summary(model, estimate, train, held_out, plain.mark))


def _untried(shared: bool) -> str:
    return "logs share samples, so this proves nothing about prediction" if shared else "no held-out log was predicted"


def _size(value: float) -> float:
    return value if np.isfinite(value) else np.inf


def _within(value: float, good: float, usable: float) -> Mark:
    return "good" if value <= good else "usable" if value <= usable else "not good enough"


def _capped(mark: Mark, seen: bool) -> Mark:
    return "usable" if seen and mark == "good" else mark


def _consistent(model: IdentifiedModel, estimate: Estimate) -> Criterion:
    name, asked = "Physically consistent links", "every link; a model without links is usable to predict torque"
    if model.consistent:
        return Criterion(name, "good", "every link is physically consistent", asked)
    if model.links:
        return Criterion(name, "not good enough", "the links are not physically consistent", asked)
    found = "found no consistent links" if estimate.gives_links else "gives no links"
    return Criterion(name, "usable", f"{estimate.estimator} {found}", asked)


def _summary(
    model: IdentifiedModel, estimate: Estimate, train: Validation, held_out: Sequence[Validation], mark: Mark
) -> str:
    """One paragraph for a hurried reader (errors in %)."""
    text = (
        f"This model is {mark}: {len(estimate.beta)} base parameters, estimated from {estimate.n_rows} rows, explain "
        f"the torque of the training log to {train.error.relative_percent:.2f} %"
    )
    if held_out:
        error = max(_size(v.error.relative_percent) for v in held_out)
        text += f" and that of the held-out log to {error:.2f} %"
    else:
        text += "; no held-out log was predicted"
    reliable = sum(word == "identified" for word in estimate.trust)
    text += f". {reliable} of them are known to better than {100 * UNRELIABLE:.0f} % of their value. "
    if model.consistent:
        text += "Every link is physically consistent and can be exported. "
    elif model.links:
        text += "The links are NOT physically consistent. "
    else:
        text += f"The estimator {estimate.estimator} gives no links; the estimator feasible gives them. "
    return text + (f"Advice: {estimate.status.value}." if estimate.status.value else "")
