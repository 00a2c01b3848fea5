"""Identification: what an identification found, how sure it is, and what was wrong with the logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.dynamics.model import TorqueModel
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.recording.conditioning import Samples
from dynid.regression.bootstrap import Bootstrap
from dynid.regression.estimate import Estimate
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.review.findings import Finding
from dynid.validation.torque import Validation
from dynid.validation.verdict import Verdict
from dynid.workflow.contract import (
    ChosenJson,
    IdentificationJson,
    base_parameters_json,
    findings_json,
    links_json,
    parameters_json,
    validation_json,
    verdict_json,
)
from dynid.workflow.identified_links import IdentifiedLink, identified_links, links_grid
from dynid.workflow.prediction import band_statements
from dynid.workflow.reduction import ReducedModel
from dynid.workflow.rollout_result import ModelRollout

__all__ = ["Comparison", "Identification"]


@dataclass(frozen=True)
class Comparison:
    """The error of another parameter set on the same rows."""

    name: str
    relative_percent: float
    """100·‖τ − τ̂‖/‖τ‖, %, on the rows of the fit; nan where it was not tried on them."""
    held_out_percent: float = np.nan
    """The same on the worst held-out log, %; nan without one."""


@dataclass(frozen=True, eq=False)
class Identification(PrintsAsDocument):
    """The result of `dynid.identify`: print it to read it, `dynid.save` it for its files."""

    model: IdentifiedModel
    """What later jobs take."""
    estimate: Estimate
    """Base parameters with σ, and the full parameters where the estimator gives them."""
    regression: Regression
    """The rows it was fitted to, compressed."""
    samples: Samples
    """The first training log, conditioned; of a streamed log its first piece."""
    train: Validation
    """Prediction of these samples."""
    validation: tuple[Validation, ...]
    """Predictions of the held-out logs."""
    findings: tuple[Finding, ...]
    """What is wrong with the logs."""
    verdict: Verdict
    comparisons: tuple[Comparison, ...]
    """Errors of other parameter sets on the same rows."""
    bootstrap: Bootstrap | None = None
    """Intervals by resampling, where they were asked for."""
    reduced: ReducedModel | None = None
    """The essential parameters, where they were asked for."""
    rollouts: tuple[ModelRollout, ...] = ()
    """Simulated motions of the held-out logs, or of the first training log, where a simulator is the purpose."""
    notes: tuple[str, ...] = ()
    """Sentences about the data, such as that only part of it is drawn."""
    warnings: tuple[str, ...] = ()
    """What is weak about the result, a sentence each."""

    @cached_property
    def links(self) -> Mapping[str, IdentifiedLink]:
        """Links by name (SI); empty where the estimator gives no full parameters."""
        return identified_links(self.model, self.estimate)

    def json(self) -> IdentificationJson:
        """What scripts read of it (SI); `dynid.prose.plain` makes lists of its arrays."""
        model, estimate = self.model, self.estimate
        content: IdentificationJson = {
            "robot": model.robot.name,
            "n_dof": model.model.n_dof,
            "n_parameters": model.model.n_params,
            "n_base": model.base.n_base,
            "rank": estimate.rank,
            "n_rows": estimate.n_rows,
            "condition_number": estimate.condition_number,
            "estimator": estimate.estimator,
            "status": estimate.status.name.lower(),
            "advice": estimate.status.value,
            "consistent": model.consistent,
            "verdict": verdict_json(self.verdict),
            "rule": estimate.rule,
            "conditioning": list(self.samples.plan.choices),
            "friction": list(self.reasons),
            "chosen": list(self.chosen),
            "train": validation_json(self.train),
            "validation": [validation_json(v) for v in self.validation],
            "parameters": base_parameters_json(estimate, self.bootstrap),
            "full_parameters": parameters_json(model, estimate),
            "links": links_json(model),
            "findings": findings_json(self.findings),
            "compared": [
                {
                    "name": c.name,
                    "relative_error_percent": c.relative_percent,
                    "validation_relative_error_percent": c.held_out_percent,
                }
                for c in self.comparisons
            ],
        }
        if self.reduced is not None:
            content["reduced"] = self.reduced.json()
        if self.rollouts:
            content["rollouts"] = [found.json() for found in self.rollouts]
        return content

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why each joint has which friction, a sentence each; empty where it was given."""
        return _texts(self.model.results.get("friction"))

    @property
    def chosen(self) -> tuple[ChosenJson, ...]:
        """What was chosen by prediction of left-out segments, and what each choice gained (%)."""
        told = self.model.results.get("chosen")
        return tuple(told) if isinstance(told, list) else ()

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        model, estimate, samples = self.model.model, self.estimate, self.samples
        counts = f"{counted(model.n_dof, 'joint')}, {self.model.base.n_base} base parameters of {model.n_params}"
        rows = f"{samples.n_samples} samples, {estimate.n_rows} rows"
        steps = f"{counted(estimate.iterations, 'iteration')}, condition number {estimate.condition_number:.4g}"
        links = (links_grid(self.model), Line("rule", estimate.rule)) if self.model.links else ()
        consistent = "yes" if self.model.consistent else "no full parameter set" if not self.model.links else "NO"
        return (
            Line("robot", f"{model.robot.name}   {counts}"),
            Line("recording", f"{samples.source}   {rows}; {'; '.join(samples.plan.choices)}"),
            Line("fit", f"{estimate.estimator}   {steps}"),
            self._base_parameters(),
            *(Line("chosen", choice["reason"]) for choice in self.chosen if choice["joint"] is None),
            *(Line("friction", reason) for reason in self.reasons),
            *links,
            errors_grid(model, [("fit", self.train), *(("held out", v) for v in self.validation)]),
            *self._band(),
            *(Line("rollout", f"{one.log}: {one.error(seen=False)}") for one in self.rollouts),
            *(self.reduced.document() if self.reduced is not None else ()),
            Line("consistent", consistent),
            Line("verdict", self.verdict.mark),
        )

    def _band(self) -> tuple[Line, ...]:
        """How many held-out torques lie in their band, and what it rests on."""
        told = band_statements(self.model)
        inside = [float(np.mean(v.coverage)) for v in self.validation if not v.raw]
        held = f"{100.0 * min(inside):.1f} % of the held-out torques inside; " if inside else ""
        return (Line("95 % band", f"{held}{told[0]}"), *(Line("", sentence) for sentence in told[1:]))

    def _base_parameters(self) -> Grid:
        table = self.estimate.base_table()
        if self.bootstrap is None:
            return table
        ends = zip(table.rows, self.bootstrap.lower, self.bootstrap.upper, strict=True)
        rows = [(*row, f"{low:.4e} … {high:.4e}") for row, low, high in ends]
        return Grid((*table.headers, "95 % of resampled fits"), rows, table.numeric)

    def __repr__(self) -> str:
        held_out = max((v.error.relative_percent for v in self.validation), default=np.nan)
        told = f", {held_out:.2f} % held out" if self.validation else ""
        return (
            f"Identification({self.model.robot.name!r}: {self.verdict.mark}, "
            f"{self.train.error.relative_percent:.2f} % fitted{told}, {self.estimate.estimator})"
        )


def errors_grid(model: TorqueModel, predicted: list[tuple[str, Validation]]) -> Grid:
    """Relative errors (%) of predicted logs, in total and by joint; each under a word of its own."""
    rows = [
        (kind, v.log, f"{v.error.relative_percent:.2f}", *(f"{x:.2f}" for x in v.error.relative_percent_joint))
        for kind, v in predicted
    ]
    headers = ("", "log", "error / %", *(f"{name} / %" for name in model.robot.joint_names))
    return Grid(headers, tuple(rows), tuple(range(2, len(headers))))


def _texts(told: object) -> tuple[str, ...]:
    return tuple(str(text) for text in told) if isinstance(told, list | tuple) else ()
