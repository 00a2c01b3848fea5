"""A report of a small arm for the tests of reports: known truth, and names that try to break out of the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from dynid.chain import Robot
from dynid.recording import Conditioning, Samples
from dynid.recording.log_settings import LogSettings
from dynid.regression import OLS, Estimate, Feasible, IdentifiedModel, Regression, SampleRows, compress
from dynid.review.findings import Finding, Severity
from dynid.validation import Validation, compare_torque, judge
from dynid.workflow.identification import Comparison, Identification
from dynid.writers import Report, identification_report
from tests.regression.logs import Truth, exciting_motion, truth
from tests.robots import random_robot

HOSTILE = (
    '<script>alert(1)</script><a href="javascript:">',
    '"><img src=x onerror="alert(\'2\')">',
    "</script><b>%{x}</b> @ink &lt; ${x}",
)


@dataclass(frozen=True)
class Words:
    """A measurement whose sentences are given."""

    evidence: str
    cause: str
    fix: str


FINDINGS = (
    Finding(
        code="jitter", severity=Severity.INFO, measured=Words("stamps vary by 2 %", cause="<i>no</i> clock", fix="none")
    ),
    Finding(
        code="standstill",
        severity=Severity.WARNING,
        joint=HOSTILE[0],
        measured=Words("40 % of the log", cause="pauses", fix='[[column]]\nname = "q1"'),
    ),
)


@dataclass(frozen=True)
class Case:
    """Everything a report is made from."""

    model: IdentifiedModel
    estimate: Estimate
    samples: Samples
    train: Validation
    held_out: Validation
    regression: Regression

    def report(self) -> Report:
        return identification_report(
            Identification(
                model=self.model,
                estimate=self.estimate,
                regression=self.regression,
                samples=self.samples,
                train=self.train,
                validation=(self.held_out,),
                findings=FINDINGS,
                verdict=judge(self.model, self.estimate, self.train, [self.held_out], FINDINGS),
                comparisons=(Comparison("nominal", 12.0, 13.0), Comparison(HOSTILE[1], 0.9)),
                notes=("A note.",),
            )
        )


def named(robot: Robot, names: tuple[str, ...]) -> Robot:
    """The same robot whose joints and links have other names."""
    joints = tuple(
        replace(joint, name=name, link=replace(joint.link, name=f"link {name}"))
        for joint, name in zip(robot.joints, names, strict=True)
    )
    return replace(robot, joints=joints, name=f"arm {names[0]}")


def made_model(
    estimate: Estimate, regression: Regression, samples: Samples, origin: dict[str, object]
) -> IdentifiedModel:
    """An estimate as `identify` saves it."""
    settings = LogSettings(cutoff_hz=samples.plan.low_pass.cutoff_hz)
    results = {"condition_number": estimate.condition_number, "n_rows": estimate.n_rows}
    return IdentifiedModel.of(estimate, regression, settings=settings, results=results, provenance=origin)


@cache
def case(*, feasible: bool = True) -> Case:
    """An arm of three joints, one of them prismatic, with a fitted and an unseen log."""
    rng = np.random.default_rng(5)
    robot = named(random_robot(rng, 3), HOSTILE)
    first = truth(robot, np.random.default_rng(6), duration=12.0)
    motion = exciting_motion(robot, np.random.default_rng(7), duration=12.0, rate_hz=200.0)
    second = replace(first, motion=motion, tau=first.model.torque(motion, first.theta))
    samples, unseen = _samples(first, rng), _samples(second, rng)
    regression = compress(SampleRows(first.model, first.base, (samples,)))
    estimate = (Feasible() if feasible else OLS()).fit(regression)
    origin: dict[str, object] = {
        "dynid": "0",
        "inputs": {"<log>.csv": "ab" * 32},
        "options": {"fit": {"gain": None, "lock": []}},
    }
    model = made_model(estimate, regression, samples, origin)
    train, held_out = (compare_torque(first.model, model.parameters, part) for part in (samples, unseen))
    return Case(model, estimate, samples, train, held_out, regression)


def _samples(log: Truth, rng: np.random.Generator) -> Samples:
    recording = log.recording(rng, 0.01)
    return Conditioning(cutoff_hz=20.0).plan(recording).apply(recording)
