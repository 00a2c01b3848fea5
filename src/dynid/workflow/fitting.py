"""What `identify` fits: the rows of the logs, with the friction, rotors and delay that were asked for or chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Plan, Samples
from dynid.regression.estimate import Estimate
from dynid.regression.feasible.link_ranges import link_ranges
from dynid.regression.feasible.link_spread import link_spreads
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.workflow.identify_job import IdentifyJob
from dynid.workflow.logs import Log, compressed
from dynid.workflow.progress import Progress

if TYPE_CHECKING:
    from dynid.regression.friction.choice import FrictionChoice
    from dynid.regression.friction.delay import DelayChoice
    from dynid.regression.friction.rows import FrictionRows

__all__ = ["FittedRows", "fitted_rows", "with_link_numbers"]


@dataclass(frozen=True, eq=False)
class FittedRows:
    """A model and the rows it is fitted to."""

    model: TorqueModel
    base: BaseParameters
    regression: Regression
    samples: Samples
    """Of the first log."""
    runs: tuple[Samples, ...] = ()
    """Of every log; of a long one its first piece."""
    choice: FrictionChoice | None = None
    """Friction, where it was searched for."""
    delay: DelayChoice | None = None
    """Delay of the torque, where it was chosen with the friction."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """What was chosen for the arm as a whole and what each choice gained, a sentence each."""
        rotors = self.choice.rotors if self.choice is not None else ""
        return tuple(text for text in (rotors, self.delay.reason if self.delay is not None else "") if text)


def fitted_rows(
    job: IdentifyJob, model: TorqueModel, base: BaseParameters, logs: Sequence[Log], progress: Progress
) -> FittedRows:
    """The rows of the logs (SI), with what was asked for or chosen; `model` is what an automatic choice starts from."""
    progress("reading and conditioning the logs")
    plans, held = _conditioned(job, model, base, logs, progress)
    if not job.fit.searches_friction:
        return FittedRows(model, base, compressed(model, base, logs, plans, held, progress), held[0], tuple(held))
    from dynid.regression.friction.choice import choose_friction
    from dynid.regression.friction.delay import choose_delay

    progress("searching friction curves")
    rows = _search_rows(job, model, logs, held)
    choice = choose_friction(rows, job.fit.friction, rotors=job.fit.chooses_rotors)
    delay = None
    if job.fit.chooses_delay:
        progress("looking for a delay of the torque")
        delay = choose_delay(rows, choice.models, choice.weights)
        if delay.sure:
            plans = [plan.with_delay(delay.delay, delay.reason) for plan in plans]
            held = [plan.apply(log.first_piece()) for plan, log in zip(plans, logs, strict=True)]
            rows = _search_rows(job, model, logs, held)
            choice = choose_friction(rows, job.fit.friction, rotors=job.fit.chooses_rotors)
    model = job.fit.torque_model(model.robot, choice)
    base = base_parameters(model)
    progress("compressing the logs")
    return FittedRows(
        model, base, compressed(model, base, logs, plans, held, progress), held[0], tuple(held), choice, delay
    )


def _search_rows(job: IdentifyJob, model: TorqueModel, logs: Sequence[Log], held: Sequence[Samples]) -> FrictionRows:
    """Rows that friction is searched on, with what is known of the links before."""
    from dynid.regression.feasible.link_prior import base_prior_rows
    from dynid.regression.friction.rows import friction_rows

    rigid = TorqueModel(model.robot, job.fit.drives)
    base = base_parameters(rigid)
    whole = [samples for log, samples in zip(logs, held, strict=True) if not log.is_long]
    rows = friction_rows(rigid, base, whole or held[:1])
    prior = job.fit.link_prior
    return rows if prior is None else replace(rows, prior=base_prior_rows(rigid, base, prior))


def _conditioned(
    job: IdentifyJob, model: TorqueModel, base: BaseParameters, logs: Sequence[Log], progress: Progress
) -> tuple[list[Plan], list[Samples]]:
    """How each log is conditioned, and the samples of each; of a long log those of its first piece."""
    delay, slow = job.fit.typed_delay, job.fit.chosen_min_velocity
    if delay is None or slow is None:
        from dynid.regression.auto_settings import estimated_delay, velocity_threshold
    plans: list[Plan] = []
    held: list[Samples] = []
    for number, log in enumerate(logs):
        if len(logs) > 1:
            progress(f"reading: {log.name}", number / len(logs))
        piece = log.first_piece()
        plan = replace(log.settings, delay=delay).plan(piece, min_velocity=slow or 0.0)
        if delay is None:
            found = estimated_delay(model, base, piece, plan)
            plan = plan.with_delay(found, f"torque lags by {1e3 * found:.2f} ms, where the full model fits best")
        samples = plan.apply(piece)
        if slow is None:
            choice = velocity_threshold(model, base, samples)
            plan = plan.with_min_velocity(choice.chosen, f"rows slower than {choice.chosen:.3g} rad/s masked")
            samples = plan.apply(piece)
        plans.append(plan)
        held.append(samples)
    return plans, held


def with_link_numbers(
    job: IdentifyJob, model: IdentifiedModel, estimate: Estimate, fit: FittedRows, progress: Progress
) -> IdentifiedModel:
    """The model with the standard deviations (SI) of its links, and with their ranges where these are asked for."""
    if estimate.theta is None:
        return model
    constraints = job.fit.constraints()
    spreads = link_spreads(estimate, fit.regression, constraints.compile(estimate.model), model.covariance)
    if not job.fit.ranges:
        return replace(model, spreads=spreads)
    progress("ranges of equal fits")
    return replace(model, spreads=spreads, ranges=link_ranges(estimate, fit.regression, constraints))
