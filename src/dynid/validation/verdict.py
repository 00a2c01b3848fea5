"""Whether an identification is good, usable or not good enough, by criteria that the report states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float
from dynid.regression.estimate import UNRELIABLE, Estimate, FitError
from dynid.regression.model import IdentifiedModel
from dynid.regression.status import Status
from dynid.review.findings import Finding, Severity
from dynid.validation.simulator import SimulatorError
from dynid.validation.torque import Validation

__all__ = ["Criterion", "Mark", "Verdict", "judge"]

Mark = Literal["good", "usable", "not good enough"]
"""What an identification earns, on one criterion or on all of them; the worst criterion decides."""
_MARKS: tuple[Mark, ...] = ("good", "usable", "not good enough")
GOOD_ERROR, USABLE_ERROR = 5.0, 15.0
"""Relative torque error over all joints, in %, up to which a model is good, or usable."""
GOOD_JOINT, USABLE_JOINT = 15.0, 40.0
"""Relative torque error of the worst joint, in %; at 100 % predicting no torque at all would be as good."""
RESOLUTION = 0.01
"""Share of a joint's effort limit that joint torque sensors, and currents times a torque constant, are accurate to at
best. A joint whose error is within that is predicted as well as its torque is measured."""
NOISE_LIMITED = 1.5
"""Error over the noise that the low-pass lets through up to which noise, and not the model, limits a joint."""
PLAUSIBLE_MASS, PLAUSIBLE_LINK = 2.0, 3.0
"""Factor by which the mass of all links, or of one of them, may differ from the nominal one in a good model."""
_SMALL_LINK = 0.05
"""Share of the nominal mass of an arm that any link may have: a flange of 50 g says little about what hangs on it."""
MASS_PER_REACH = (2.0, 400.0)
"""kg/m³: mass of an arm over its reach cubed, from plastic servo arms to 300 kg-payload robots and beyond (a UR10e
has 13, a Panda 29, a KR300 72)."""

GOOD_ROLLOUT, USABLE_ROLLOUT = 0.1, 0.5
"""What a model may leave of the error of constant velocity in rollouts: a tenth is a simulator to tune a
controller in, half has learned more of the motion than it misses, and at 1 it is worth no more than no model."""
GOOD_SHARE, USABLE_SHARE = 5.0, 30.0
"""Error of a closed loop relative to the real tracking error, in %; at 100 % a perfect robot would explain as much."""


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
    left_out: FitError | None = None,
    rate_hz: float | None = None,
    rollouts: Sequence[SimulatorError] = (),
) -> Verdict:
    """The verdict on a model (errors in %), from how the fit ended and how it predicts what it was not fitted to.

    Args:
        model: what was found.
        estimate: with its uncertainty and status.
        train: prediction of the log it was fitted to.
        held_out: predictions of logs that were not used in the fit.
        findings: of the review of the logs; None where they were not reviewed.
        left_out: error on segments of the training logs that were left out in turn; stands in for a held-out log.
        rate_hz: samples per second of the training log, Hz: tells how much of its noise the low-pass lets through.
        rollouts: simulated motions, where a simulator is the purpose: they decide then, and torque alone does not.
    """
    shared = any(finding.code == "same-log" for finding in findings or ())
    judged = _judged(train, held_out, shared, left_out)
    torque: tuple[Criterion, ...] = (
        Criterion(
            f"Torque of the {judged.of}",
            _capped(_within(judged.error.relative_percent, GOOD_ERROR, USABLE_ERROR), judged.seen),
            f"{judged.error.relative_percent:.2f} %{judged.caveat}",
            f"good up to {GOOD_ERROR:g} % on a held-out log, usable up to {USABLE_ERROR:g} %",
        ),
        _worst_joint(model, judged.error, rate_hz),
    )
    if rollouts:
        torque = tuple(replace(c, mark="usable") if c.mark == "not good enough" else c for c in torque)
    criteria = [_ended(model, estimate), *_simulated(rollouts), *torque, _consistent(model, estimate)]
    if model.links:
        criteria.append(_mass(model))
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
    summary = _summary(model, estimate, train, held_out, plain.mark, left_out)
    told = [f"In simulation of {_which(worst)}: {worst}." for worst in [_worst(rollouts)] if worst is not None]
    return Verdict(plain.criteria, " ".join([summary.strip(), *told]))


@dataclass(frozen=True, eq=False)
class _Judged:
    """The prediction that a model is judged by."""

    error: FitError
    of: str
    """What was predicted."""
    seen: bool
    """Whether the fit has seen it."""
    caveat: str = ""


def _judged(train: Validation, held_out: Sequence[Validation], shared: bool, left_out: FitError | None) -> _Judged:
    if held_out:
        worst = max(held_out, key=lambda v: _size(v.error.relative_percent))
        caveat = "; logs share samples, so this proves nothing about prediction" if shared else ""
        return _Judged(worst.error, "held-out log", shared, caveat)
    if left_out is not None:
        return _Judged(left_out, "left-out segments", False, "; what drifts from run to run cannot be seen in them")
    return _Judged(train.error, "training log", True, "; no held-out log was predicted")


def _worst(rollouts: Sequence[SimulatorError]) -> SimulatorError | None:
    return max(rollouts, key=lambda one: _size(one.left if one.has_open_loop else one.share_percent), default=None)


def _which(one: SimulatorError) -> str:
    return "the training log" if one.seen else "the held-out log"


def _simulated(rollouts: Sequence[SimulatorError]) -> tuple[Criterion, ...]:
    """What rollouts say of a model that is meant for a simulator; the log it does worst on decides."""
    worst = _worst(rollouts)
    if worst is None:
        return ()
    found, criteria = f"{worst}{'; no held-out log was simulated' if worst.seen else ''}", []
    if worst.has_open_loop:
        mark = _capped(_within(_size(worst.left), GOOD_ROLLOUT, USABLE_ROLLOUT), worst.seen)
        if worst.is_noise and mark == "not good enough":
            mark, found = "usable", f"{found}; noise of the log explains it"
        asked = (
            f"good up to {GOOD_ROLLOUT:g} of the error of constant velocity, by joint, usable up to {USABLE_ROLLOUT:g} "
            "or where noise explains it"
        )
        left = f"{worst.left:.2g} of constant velocity's: {found}"
        criteria.append(Criterion(f"Rollouts of {_which(worst)}", mark, left, asked))
    elif np.isfinite(worst.share_percent):
        mark = _capped(_within(worst.share_percent, GOOD_SHARE, USABLE_SHARE), worst.seen)
        asked = f"good up to {GOOD_SHARE:g} % of the tracking error, usable up to {USABLE_SHARE:g} %"
        criteria.append(Criterion(f"Closed loop of {_which(worst)}", mark, found, asked))
    beaten = [one.log for one in rollouts if one.beaten]
    told = f"the robot file is better on {', '.join(beaten)}" if beaten else "better than the robot file"
    known = any(len(one.nominal) or np.isfinite(one.nominal_share_percent) for one in rollouts)
    if known:
        name = "Rollouts beside the robot file"
        criteria.append(Criterion(name, "not good enough" if beaten else "good", told, "better on every log"))
    return tuple(criteria)


def _ended(model: IdentifiedModel, estimate: Estimate) -> Criterion:
    mark: Mark = "good"
    if estimate.status is not Status.CONVERGED:
        filled = estimate.status is Status.RANK_DEFICIENT and model.consistent
        mark = "usable" if filled else "not good enough"
    return Criterion(
        "How the fit ended", mark, estimate.status.value or "converged", "converged, every base parameter excited"
    )


def _worst_joint(model: IdentifiedModel, error: FitError, rate_hz: float | None) -> Criterion:
    """The joint with the largest error, of those whose error is not what the measurement of its torque allows."""
    relative = np.where(np.isfinite(error.relative_percent_joint), error.relative_percent_joint, 0.0)
    limited = (error.rmse <= _resolved(model, rate_hz)) & (relative > GOOD_JOINT)
    names = model.robot.joint_names
    joint = int(np.argmax(np.where(limited, -1.0, relative)))
    found = f"{names[joint]}: {relative[joint]:.2f} %"
    if np.any(limited):
        told = ", ".join(f"{names[j]} {relative[j]:.0f} %" for j in np.flatnonzero(limited))
        found += f"; {told}: as well as so small a torque is measured"
    return Criterion(
        "Worst joint",
        _within(relative[joint], GOOD_JOINT, USABLE_JOINT),
        found,
        f"good up to {GOOD_JOINT:g} %, usable up to {USABLE_JOINT:g} %, or as good as its noise allows",
    )


def _resolved(model: IdentifiedModel, rate_hz: float | None) -> Float[Array, " n_dof"]:
    """Error (N·m or N) of each joint that its measurement explains: noise in the band, or the sensor's accuracy."""
    effort = np.array([joint.limits.effort for joint in model.robot.joints])
    least = np.where(np.isfinite(effort), RESOLUTION * effort, 0.0)
    return np.maximum(least, NOISE_LIMITED * _noise_in_band(model, rate_hz))


def _noise_in_band(model: IdentifiedModel, rate_hz: float | None) -> Float[Array, " n_dof"]:
    """White noise of single samples, as far as the low-pass lets it through, N·m or N; 0 where it is not known."""
    none = np.zeros(model.robot.n_dof)
    cutoff = model.settings.cutoff_hz
    if model.sample_noise is None or model.noise is None or cutoff is None or rate_hz is None:
        return none
    beyond = 0.5 * rate_hz - cutoff
    if not 0.0 < beyond < np.inf:
        return none
    white = np.maximum(np.asarray(model.sample_noise) ** 2 - np.asarray(model.noise) ** 2, 0.0)
    return np.sqrt(white * cutoff / beyond)


def _mass(model: IdentifiedModel) -> Criterion:
    """Whether the links weigh what the robot file, or the size of the arm, lets expect."""
    masses = np.array([link.mass for link in model.links])
    total = float(np.sum(masses))
    nominal = [joint.link.nominal if joint.link.known else None for joint in model.robot.joints]
    known = np.array([body.mass if body is not None else np.nan for body in nominal])
    reach = max(
        sum(float(np.linalg.norm(model.robot.joints[j].T_parent_joint[:3, 3])) for j in path)
        for path in model.robot.path_to
    )
    if np.all(known > 0.0):
        low, high = float(np.sum(known)) / PLAUSIBLE_MASS, float(np.sum(known)) * PLAUSIBLE_MASS
        most = PLAUSIBLE_LINK * known + _SMALL_LINK * float(np.sum(known))
        odd = [name for name, own, top in zip(model.robot.link_names, masses, most, strict=True) if own > top]
        asked = f"{low:.3g} to {high:.3g} kg, half to twice the robot file's"
    else:
        low, high = MASS_PER_REACH[0] * reach**3, MASS_PER_REACH[1] * reach**3
        odd = []
        asked = f"{low:.3g} to {high:.3g} kg for an arm of {reach:.2f} m"
    plausible = low <= total <= high and not odd
    found = f"{total:.3g} kg" + (f"; {', '.join(odd)} far above the robot file's" if odd else "")
    return Criterion("Mass of all links", "good" if plausible else "usable", found, asked)


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
    model: IdentifiedModel,
    estimate: Estimate,
    train: Validation,
    held_out: Sequence[Validation],
    mark: Mark,
    left_out: FitError | None,
) -> str:
    """One paragraph for a hurried reader (errors in %)."""
    text = (
        f"This model is {mark}: {len(estimate.beta)} base parameters, estimated from {estimate.n_rows} rows, explain "
        f"the torque of the training log to {train.error.relative_percent:.2f} %"
    )
    if held_out:
        error = max(_size(v.error.relative_percent) for v in held_out)
        text += f" and that of the held-out log to {error:.2f} %"
    elif left_out is not None:
        text += f" and left-out segments of it to {left_out.relative_percent:.2f} %"
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
