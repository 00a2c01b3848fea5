"""What `identify` fits: the rows of the logs, with the friction, rotors and delay that were asked for or chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.friction.table import FRICTION, friction_models
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Plan, Samples
from dynid.regression.estimate import Estimate, Estimator, FitError, LinkBelief
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.feasible.link_prior import GEOMETRY_STD
from dynid.regression.feasible.link_ranges import link_ranges
from dynid.regression.feasible.link_spread import link_spreads
from dynid.regression.feasible.prior import NOMINAL_STD, Prior
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.validation.left_out import left_out_error
from dynid.workflow.contract import ChosenJson
from dynid.workflow.identify_job import IdentifyJob
from dynid.workflow.logs import Log, compressed
from dynid.workflow.motion_choice import LEAST_GAIN, attenuation_words, choose_motion
from dynid.workflow.progress import Progress, silent

if TYPE_CHECKING:
    from dynid.regression.friction.choice import FrictionChoice
    from dynid.regression.friction.delay import DelayChoice
    from dynid.regression.friction.rows import FrictionRows

__all__ = [
    "FittedRows",
    "fitted_rows",
    "quick_fit",
    "refits_itself",
    "simulator_friction",
    "with_likeliest_links",
    "with_link_numbers",
]


ENOUGH = 0.8
"""Share of what the best friction explains beyond Coulomb's that a simulator's own must explain to be taken."""
ROOM = 0.1
"""Relative: where left-out segments are predicted nearly as well as fitted ones are, friction is not searched twice.
It saves time alone: one measured and three simulated arms lie within it, and a second search gained on none of them."""


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
    search: ChosenJson | None = None
    """Which of two searches of friction was taken, where there were two."""
    links: ChosenJson | None = None
    """How far links may be from the robot file, where the logs ask for more than it says."""
    encoders: tuple[str, str] = ("", "")
    """What noise of the positions takes off inertias, and a warning where it matters; empty where encoders are fine."""

    @property
    def chosen(self) -> list[ChosenJson]:
        """What was chosen and what each choice gained: for the arm as a whole, then friction joint by joint."""
        found: list[ChosenJson] = []
        choice, delay = self.choice, self.delay
        if choice is not None and choice.rotors is not None:
            rotors = choice.rotors
            found.append(_chosen("rotor inertia", None, rotors.taken, rotors.change_percent, rotors.reason))
        found += [told for told in (self.search, self.links) if told is not None]
        if delay is not None:
            found.append(_chosen("delay", None, delay.delay, delay.change_percent, delay.reason))
        found += [
            _chosen("motion", None, text.partition(":")[0].removeprefix("motion by "), None, text)
            for text in self.samples.plan.choices
            if text.startswith("motion by ")
        ]
        if self.encoders[0]:
            found.append(_chosen("encoders", None, "as logged", None, self.encoders[0]))
        if choice is not None:
            for j, joint in enumerate(self.model.robot.joint_names):
                names = "+".join(name for name in dict.fromkeys(choice.names[j]) if name in FRICTION) or "none"
                before, after = float(choice.start_percent[j]), float(choice.left_out_percent[j])
                change = 100.0 * (after / before - 1.0) if before > 0.0 else 0.0
                found.append(_chosen("friction", joint, names, change, choice.reasons[j]))
        return found


def _chosen(
    setting: str, joint: str | None, value: str | float | bool, change: float | None, reason: str
) -> ChosenJson:
    return {"setting": setting, "joint": joint, "value": value, "change_percent": change, "reason": reason}


def with_likeliest_links(job: IdentifyJob, fit: FittedRows) -> tuple[IdentifyJob, FittedRows]:
    """The job with links further off than the robot file says (%), where that predicts left-out segments better.

    The evidence proposes the spreads; it cannot tell a wrong file from wrong friction, but left-out segments can.
    """
    wider = replace(job, fit=replace(job.fit, widened=True))
    if job.fit.prior_std is not None or job.fit.link_prior is None or not refits_itself(job.fit.made_estimator()):
        return job, fit
    found = wider.fit.fit(fit.regression, job.seed)
    if found.belief is None or np.all(found.belief.guessed):
        return job, fit
    if np.max(found.belief.std[~found.belief.guessed]) <= NOMINAL_STD:
        return job, fit
    errors = [left_out_error(fit.regression, quick_fit(each.fit.made_estimator(job.seed))) for each in (job, wider)]
    if errors[0] is None or errors[1] is None:
        return job, fit
    before, after = (error.relative_percent for error in errors if error is not None)
    taken = after < (1.0 - LEAST_GAIN) * before
    said = found.rule.partition(": ")[2]
    told = f"error on left-out segments {before:.3g} %, {after:.3g} % with {said}, as the evidence of the logs has it"
    value = float(np.max(found.belief.std)) if taken else NOMINAL_STD
    spread = _chosen("links", None, value, 100.0 * (after / before - 1.0), f"links: {told}")
    return wider if taken else job, replace(fit, links=spread)


def fitted_rows(
    job: IdentifyJob, model: TorqueModel, base: BaseParameters, logs: Sequence[Log], progress: Progress
) -> FittedRows:
    """The rows of the logs (SI), with what was asked for or chosen; `model` is what an automatic choice starts from."""
    fit = _fitted_rows(job, model, base, logs, progress)
    if logs[0].is_long:
        return fit
    return replace(fit, encoders=attenuation_words(fit.model, fit.base, logs[0].first_piece(), fit.samples))


def _fitted_rows(
    job: IdentifyJob, model: TorqueModel, base: BaseParameters, logs: Sequence[Log], progress: Progress
) -> FittedRows:
    progress("reading and conditioning the logs")
    plans, held = _conditioned(job, model, base, logs, progress)
    if not job.fit.searches_friction:
        return FittedRows(model, base, compressed(model, base, logs, plans, held, progress), held[0], tuple(held))
    from dynid.regression.friction.choice import choose_friction
    from dynid.regression.friction.delay import choose_delay

    progress("searching friction curves")
    simulator = simulator_friction(model.robot)
    search = partial(
        choose_friction, friction=job.fit.friction, rotors=job.fit.chooses_rotors, simulator=simulator,
        simulated=job.fit.is_for_simulator,
    )  # fmt: skip
    belief = _guessed_links(job, model, base, logs, plans, held)
    rows = _search_rows(job, model, logs, held, belief)
    choice, delay = search(rows), None
    if job.fit.chooses_delay:
        progress("looking for a delay of the torque")
        delay = choose_delay(rows, choice.models, choice.weights)
        if delay.sure:
            plans = [plan.with_delay(delay.delay, delay.reason) for plan in plans]
            held = [plan.apply(log.first_piece()) for plan, log in zip(plans, logs, strict=True)]
            rows = _search_rows(job, model, logs, held, belief)
            choice = search(rows)
    if simulator is not None and job.fit.is_automatic:
        choice = _as_simulated(rows, choice, simulator)

    def fitted(choice: FrictionChoice) -> FittedRows:
        found = job.fit.torque_model(model.robot, choice)
        own = base_parameters(found)
        progress("compressing the logs")
        regression = compressed(found, own, logs, plans, held, progress)
        return FittedRows(found, own, regression, held[0], tuple(held), choice, delay)

    first = fitted(choice)
    once = simulator is not None or not job.fit.is_automatic or any(log.is_long for log in logs)
    if once or rows.prior is None or belief is not None or not job.fit.least_spread < GEOMETRY_STD:
        return first
    refit = quick_fit(job.fit.made_estimator(job.seed))
    error = left_out_error(first.regression, refit)
    if error is None or error.relative_percent <= (1.0 + ROOM) * refit(first.regression).fit.relative_percent:
        return first
    progress("searching friction curves once more")
    return _predicting_better(first, error, fitted(search(_known_less(rows))), refit)


def _known_less(rows: FrictionRows) -> FrictionRows:
    """The rows with nominal links that are no better known than guesses from geometry."""
    from dynid.regression.feasible.link_prior import base_prior_rows

    assert rows.base is not None
    return replace(rows, prior=base_prior_rows(rows.model, rows.base, Prior(rule="map", std=GEOMETRY_STD)))


def _predicting_better(
    first: FittedRows, error: FitError, second: FittedRows, refit: Callable[[Regression], Estimate]
) -> FittedRows:
    """The second of two searches where its friction lets the estimator predict left-out segments better (%).

    A search goes step by step and knows links by a Gaussian alone: where it ends depends on what it is told of them,
    and it does not see what physical consistency makes of its choice. The estimator does.
    """
    other = left_out_error(second.regression, refit)
    if other is None:
        return first
    before, after = error.relative_percent, other.relative_percent
    better = after < (1.0 - LEAST_GAIN) * before
    word = "second" if better else "first"
    told = f"error on left-out segments {before:.3g} %, {after:.3g} % with links known to ± {100 * GEOMETRY_STD:g} %"
    reason = f"{word} of two searches of friction: {told}"
    return replace(
        second if better else first,
        search=_chosen("friction search", None, word, 100.0 * (after / before - 1.0), reason),
    )


def quick_fit(estimator: Estimator) -> Callable[[Regression], Estimate]:
    """The fit (SI) for repeated use: refits take factors, and what they predict hardly depends on the estimator."""
    return estimator.fit if refits_itself(estimator) else Feasible().fit


def refits_itself(estimator: Estimator) -> bool:
    """Whether an estimator is quick, and takes factors alone."""
    return not estimator.needs_rows and estimator.name != "retrieval"


def _as_simulated(rows: FrictionRows, choice: FrictionChoice, simulator: str) -> FrictionChoice:
    """The friction that a simulator applies in place of the best, where it explains nearly as much.

    What it does not say would be lost in the simulator, and parameters that lean on it with it.
    """
    from dynid.regression.friction.choice import choose_friction
    from dynid.regression.friction.rows import never_reversing

    drives = tuple(joint_model for joint_model in choice.models if not joint_model.is_friction)
    if any("constant" in model.kinds for model in drives) and never_reversing(rows.samples):
        return choice  # on a joint that never reverses no spring goes with dry friction
    simple = choose_friction(rows, (*drives, *friction_models(f"viscous+{simulator}")))
    errors = (choice.start_percent, choice.left_out_percent, simple.left_out_percent)
    start, best, plain = (np.maximum(x, 1e-9) ** 2 for x in errors)
    gain = np.sum((start - plain) / start) / max(float(np.sum((start - best) / start)), 1e-12)
    if not gain >= ENOUGH:
        return choice
    told = tuple(f"{reason}; {100.0 * gain:.0f} % of what the best friction explains" for reason in simple.reasons)
    return replace(simple, reasons=told, rotors=choice.rotors, start_percent=choice.start_percent)


def simulator_friction(robot: Robot) -> str | None:
    """The friction that the simulator of the robot file applies: who brings an MJCF file means MuJoCo."""
    path = Path(robot.source)
    if path.suffix.lower() not in (".xml", ".mjcf") or not path.is_file():
        return None
    with path.open("rb") as file:
        return "mujoco" if b"<mujoco" in file.read(2**16) else None


def _guessed_links(
    job: IdentifyJob,
    model: TorqueModel,
    base: BaseParameters,
    logs: Sequence[Log],
    plans: Sequence[Plan],
    held: Sequence[Samples],
) -> LinkBelief | None:
    """What a fit with the simplest friction takes guessed links for (SI); None where the robot file has links.

    Links that nothing holds leave directions of β open that hardly show in the logs. Prediction of left-out segments
    then hangs on rounding, and with it the choice of friction.
    """
    known = [joint.link for joint in model.robot.joints if joint.link.known and joint.link.nominal is not None]
    if job.fit.link_prior is None or known:
        return None
    return Feasible(prior=job.fit.link_prior).fit(compressed(model, base, logs, plans, held, silent)).belief


def _search_rows(
    job: IdentifyJob,
    model: TorqueModel,
    logs: Sequence[Log],
    held: Sequence[Samples],
    belief: LinkBelief | None,
) -> FrictionRows:
    """Rows that friction is searched on, with what is known of the links before."""
    from dynid.regression.feasible.link_prior import base_prior_rows, believed_base_rows
    from dynid.regression.friction.rows import friction_rows

    rigid = TorqueModel(model.robot, job.fit.drives)
    base = base_parameters(rigid)
    whole = [samples for log, samples in zip(logs, held, strict=True) if not log.is_long]
    rows = friction_rows(rigid, base, whole or held[:1])
    prior = job.fit.link_prior
    if belief is not None:
        return replace(rows, prior=believed_base_rows(rigid, base, belief))
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
        if log.is_long:
            samples = plan.apply(piece)
        else:
            plan, samples = choose_motion(model, base, piece, plan)
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
