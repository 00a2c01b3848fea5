"""The report of an identification: what was found, how sure it is, and how it was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.prose import counted, with_std
from dynid.recording.conditioning import Samples, Segment
from dynid.regression.estimate import UNRELIABLE, Estimate
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.review.findings import Finding
from dynid.validation.torque import Contributions, Validation, contributions
from dynid.workflow.identification import Comparison, Identification
from dynid.workflow.reduction import ReducedModel
from dynid.writers.report.animation import moving_arm
from dynid.writers.report.charts import (
    bars_figure,
    correlation_figure,
    parts_figure,
    parts_figures,
    raw_figure,
    singular_values_figure,
    spectrum_figure,
    torque_figures,
    torque_units,
)
from dynid.writers.report.drawing import MAX_POINTS
from dynid.writers.report.friction_charts import friction_figures
from dynid.writers.report.link_charts import links_figure
from dynid.writers.report.page import Figure, Report, Section, Table, Tile
from dynid.writers.report.rollout import rollout_sections
from dynid.writers.report.tables import (
    base_parameter_table,
    conditioning_table,
    error_table,
    findings_table,
    full_table,
    joint_table,
    link_table,
    provenance_tables,
    range_table,
    short_name,
)

__all__ = ["identification_report"]

_DRAWN_LOGS = 6
"""Held-out logs whose curves are drawn; the errors of all stand in the table."""
_ALL_POINTS = 150_000
"""Points of all curves together: the report stays small, however long and many the logs."""
_DRAWN_SAMPLES = 60_000
"""Samples that the pictures of friction and of the parts of the torque are made from."""


def identification_report(result: Identification) -> Report:
    """The whole report (SI) as a value; writing it is another matter."""
    model, estimate, samples, train = result.model, result.estimate, result.samples, result.train
    held_out, units = result.validation, torque_units(model.model.robot)
    drawn = list(held_out)[:_DRAWN_LOGS]
    n_curves = model.model.n_dof * (3 * (1 + len(drawn)) + 4)
    n_points = int(np.clip(_ALL_POINTS // n_curves, 100, MAX_POINTS))
    zoom = "Drag to zoom into a segment, which all joints follow; double-click to see everything again."
    sections = [
        _glance(model, estimate, samples, train, held_out, result.notes),
        _findings(result.findings),
        Section(
            "Torque of the training log",
            (f"{short_name(train.log)}: relative error {train.error.relative_percent:.2f} % over all joints. {zoom}",),
            figures=torque_figures(train, units, link="fit", n_points=n_points),
        ),
        _unseen(model, train, held_out, drawn, n_points),
        *_in_simulator(result),
        _parts(model, samples, n_points),
        _motion(model, samples),
        _compared(estimate, train, held_out, result.comparisons),
        _base_parameters(estimate),
        *([_essential(result.reduced)] if result.reduced is not None else []),
        *([_links(model, estimate, samples)] if model.links else []),
        _friction(model, samples),
        _condition(estimate, result.regression),
        _conditioning(samples, units),
        _method(model, estimate),
    ]
    return Report(
        title=f"Dynamics of {model.model.robot.name}",
        verdict=result.verdict.summary,
        sections=tuple(sections),
        footer=f"Written by dynid {model.provenance.get('dynid', '')}. All numbers in SI units.",
        criteria=result.verdict.criteria,
    )


def _in_simulator(result: Identification) -> tuple[Section, ...]:
    """What rollouts say, where a simulator is the purpose: all logs in words, the first in curves."""
    if not result.rollouts:
        return ()
    first, *others = rollout_sections(result.rollouts[0])
    told = tuple(f"{short_name(one.log)}: {one.error(seen=False)}." for one in result.rollouts)
    if len(result.rollouts) > 1:
        told = (*told, f"Tables and curves are of {short_name(result.rollouts[0].log)}.")
    opening = replace(first, title=f"In the simulator: {first.title.lower()}", paragraphs=(*told, *first.paragraphs))
    return (opening, *(replace(one, title=f"In the simulator: {one.title.lower()}") for one in others))


def _glance(
    model: IdentifiedModel,
    estimate: Estimate,
    samples: Samples,
    train: Validation,
    held_out: Sequence[Validation],
    notes: Sequence[str],
) -> Section:
    robot = model.model.robot
    seconds = sum(s.motion.t[-1] - s.motion.t[0] for s in samples.segments)
    moving = {kind: sum(joint.type == kind for joint in robot.joints) for kind in ("revolute", "prismatic")}
    kinds = ", ".join(f"{count} {kind}" for kind, count in moving.items() if count)
    shown_part = "first segment of the log" if notes else "used of the log"
    tiles = [
        Tile("Robot", robot.name, f"{counted(robot.n_dof, 'joint')}: {kinds}"),
        Tile("Log", f"{seconds:.1f} s", f"{shown_part}, at {samples.plan.low_pass.rate_hz:.4g} Hz"),
        Tile("Rows of regression", f"{estimate.n_rows}", f"from {samples.n_samples} samples"),
        Tile("Base parameters", f"{len(estimate.beta)}", f"of {model.model.n_params} parameters"),
        Tile("Estimator", estimate.estimator, counted(estimate.iterations, "iteration")),
        Tile("Error, training log", f"{train.error.relative_percent:.2f} %", "all joints"),
    ]
    if held_out:
        errors = [v.error.relative_percent for v in held_out]
        detail = "all joints" if len(errors) == 1 else f"worst of {len(errors)} logs"
        tiles.append(Tile("Error, held-out log", f"{max(errors):.2f} %", detail))
    tiles.append(Tile("Condition number", f"{estimate.condition_number:.4g}", f"rank {estimate.rank}"))
    if model.links:
        total = sum(link.mass for link in model.links)
        sure = f"{total:.4g}" if model.spreads is None else with_std(total, model.spreads.total_mass_std)
        where = "in part chosen" if model.spreads is None else "data and prior"
        tiles.append(Tile("Mass of all links", f"{sure} kg", f"{where}, see Links"))
    table = joint_table(robot, samples, estimate)
    return Section("Robot and data", tuple(notes), (table,), tiles=tuple(tiles))


def _motion(model: IdentifiedModel, samples: Samples) -> Section:
    """The arm through the longest segment of the training log."""
    longest = max(samples.segments, key=lambda one: one.motion.t[-1] - one.motion.t[0])
    motion, seconds = longest.motion, longest.motion.t[-1] - longest.motion.t[0]
    what = (
        f"The arm through {seconds:.1f} s of the training log; press play, or drag the slider. Links are drawn as lines"
    )
    figure = moving_arm(model.model.robot, motion.t, motion.q)
    return Section("The arm in motion", (f"{what} with a thickness, from joint to joint.",), figures=(figure,))


def _findings(findings: Sequence[Finding]) -> Section:
    if not findings:
        return Section("Review of the logs", ("Every check passed.",))
    return Section("Review of the logs", (), (findings_table(findings),))


def _unseen(
    model: IdentifiedModel, train: Validation, held_out: Sequence[Validation], drawn: Sequence[Validation], n: int
) -> Section:
    robot = model.model.robot
    tables = (error_table(robot, train, held_out),)
    if not held_out:
        text = (
            "No log was held out. How the model predicts a held-out log is the test that counts: identify again with "
            "another log to validate, or validate this model on one."
        )
        return Section("Torque of held-out logs", (text,), tables)
    texts = [f"{short_name(v.log)}: relative error {v.error.relative_percent:.2f} % over all joints." for v in held_out]
    if len(drawn) < len(held_out):
        texts.append(f"Curves of the first {len(drawn)} logs are drawn.")
    figures: list[Figure] = []
    for k, validation in enumerate(drawn):
        group = torque_figures(validation, torque_units(robot), link=f"unseen{k}", n_points=n)
        figures += [
            replace(f, title=f"{f.title} · {short_name(validation.log)}") if len(drawn) > 1 else f for f in group
        ]
    return Section("Torque of held-out logs", tuple(texts), tables, tuple(figures))


def _segments(samples: Samples) -> list[Segment]:
    """Segments with at most so many samples in all as pictures are made from."""
    left, chosen = _DRAWN_SAMPLES, []
    for segment in samples.segments:
        count = min(left, segment.motion.n_samples)
        if count > 2 * samples.plan.low_pass.half_length + samples.plan.every:
            chosen.append(Segment(segment.motion.part(0, count), segment.tau[:count]))
            left -= count
    return chosen or [samples.segments[0]]


def _low_passed(samples: Samples, values: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_rows n_dof"]:
    return samples.plan.low_pass.thinned(np.ascontiguousarray(values), samples.plan.every)


def _parts(model: IdentifiedModel, samples: Samples, n_points: int) -> Section:
    times, pieces = [], []
    for segment in _segments(samples):
        whole = contributions(model.model, model.parameters, segment.motion)
        effects = (whole.inertia, whole.coriolis, whole.gravity, whole.joint_terms)
        rows = [_low_passed(samples, effect) for effect in effects]
        places = samples.plan.low_pass.half_length + samples.plan.every * np.arange(len(rows[0]))
        times.append(segment.motion.t[places])
        pieces.append(rows)
    parts = Contributions(*(np.concatenate([rows[k] for rows in pieces]) for k in range(4)))
    t, names, units = np.concatenate(times), model.model.robot.joint_names, torque_units(model.model.robot)
    text = "The predicted torque of the training log, split into the effects that need it; the parts add up to it."
    figures = (
        parts_figure(names, units, parts),
        *parts_figures(t, names, units, parts, link="fit", n_points=n_points),
    )
    return Section("What the torque is made of", (text,), figures=figures)


def _compared(
    estimate: Estimate, train: Validation, held_out: Sequence[Validation], comparisons: Sequence[Comparison]
) -> Section:
    own = max((v.error.relative_percent for v in held_out), default=np.nan)
    entries = [Comparison(f"this model ({estimate.estimator})", estimate.fit.relative_percent, own), *comparisons]
    names = [entry.name for entry in entries]
    groups = [
        ("training log", [entry.relative_percent for entry in entries]),
        ("held-out log", [entry.held_out_percent for entry in entries]),
    ]
    shown_groups = [group for group in groups if np.any(np.isfinite(group[1]))]
    caption = "Relative torque error of each parameter set: on all rows of the fit, and on the worst held-out log."
    figure = bars_figure(names, shown_groups, "relative error / %", caption)
    rows = tuple(
        (entry.name, *(_percent(x) for x in (entry.relative_percent, entry.held_out_percent))) for entry in entries
    )
    headers = ("parameters", "training log / %", "held-out log / %")
    return Section("Beside other parameter sets", (), (Table(headers, rows),), (figure,))


def _percent(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "–"


def _base_parameters(estimate: Estimate) -> Section:
    texts = (
        "Torque reveals only these combinations of parameters. σ allows for differences that are correlated in time; "
        "the column beside it counts every row as independent, as papers do, and is too small wherever data were "
        "filtered or the model misses something.",
        f"Identified: σ is at most {100 * UNRELIABLE:.0f} % of the value. Only in combination: it would be, were the "
        "other base parameters known. At a bound: a limit decided. Chosen by prior: the motion does not show it, the "
        "rule of the estimator decided; left open where it has none. σ above 30 %: what the data say is mostly noise.",
    )
    return Section("Base parameters", texts, (base_parameter_table(estimate),))


def _essential(reduced: ReducedModel) -> Section:
    found = reduced.essential
    texts = (
        f"{len(found.kept)} of {found.base.n_base} base parameters predict as well as all of them; the others do not "
        "stand clear of their σ. They were left out one after the other, the least clear first; how many stay was "
        "decided on parts of the logs left out of the fit. Links, exports and the other sections are of the whole set.",
        f"Left out: {', '.join(found.dropped) or 'none'}.",
    )
    grids = (reduced.errors(), reduced.parameters())
    return Section("Essential parameters", texts, tuple(Table(grid.headers, grid.rows) for grid in grids))


def _links(model: IdentifiedModel, estimate: Estimate, samples: Samples) -> Section:
    text = (
        f"Torque fixes only the base parameters; one full set was chosen: {model.rule or 'no rule is known'}. "
        "The origin tells which numbers the data fixed."
    )
    if model.spreads is not None:
        text += (
            " σ is that of data and prior together; the share from the data is how much of its prior variance the "
            "data took away."
        )
    pose = np.mean(np.concatenate([segment.motion.q for segment in samples.segments]), axis=0)
    figure = links_figure(model.model.robot, model.links, pose)
    tables = [link_table(model)]
    if model.ranges is not None:
        tables.append(range_table(model))
    if len(model.labels) == model.model.n_params:
        tables.append(full_table(model, estimate))
    return Section("Links", (text,), tuple(tables), (figure,))


def _friction(model: IdentifiedModel, samples: Samples) -> Section:
    terms, torque_model = model.model.terms, model.model
    if not terms:
        return Section("Friction", ("The model has no friction.",))
    own = model.parameters[torque_model.n_inertial :].reshape(-1, len(terms))
    names = torque_model.robot.joint_names
    rows = tuple((name, *(f"{x:.4g}" for x in values)) for name, values in zip(names, own, strict=True))
    headers = ("joint", *(f"{term.name} / {term.units[0]}" for term in terms))
    texts = tuple(f"{text}." for text in _choices(model))
    lead = "Measured torque less that of links and rotors, over velocity, and the friction that was identified."
    figures = friction_figures(torque_model, model.parameters, *_friction_cloud(model, samples))
    return Section("Friction", (lead, *texts, *_shape_texts(model)), (Table(headers, rows),), figures)


def _choices(model: IdentifiedModel) -> list[str]:
    """What was chosen for the arm as a whole, then why each joint has which friction."""
    chosen, friction = model.results.get("chosen"), model.results.get("friction")
    whole = [choice for choice in chosen if isinstance(choice, dict)] if isinstance(chosen, list) else []
    told = [str(choice.get("reason")) for choice in whole if choice.get("joint") is None]
    return [*told, *(map(str, friction) if isinstance(friction, list) else ())]


def _friction_cloud(
    model: IdentifiedModel, samples: Samples
) -> tuple[Float[Array, "n_rows n_dof"], Float[Array, "n_rows n_dof"]]:
    """Velocity, and the torque that neither links nor rotors explain, low-passed."""
    torque_model, rest = model.model, model.parameters.copy()
    is_friction = [joint_model.is_friction for joint_model in torque_model.joint_models for _ in joint_model.terms]
    own = rest[torque_model.n_inertial :].reshape(torque_model.n_dof, -1)
    own[:, np.array(is_friction, dtype=bool)] = 0.0
    velocity, residual = [], []
    for segment in _segments(samples):
        left = segment.tau - torque_model.torque(segment.motion, rest)
        velocity.append(_low_passed(samples, segment.motion.dq))
        residual.append(_low_passed(samples, left))
    return np.concatenate(velocity), np.concatenate(residual)


def _shape_texts(model: IdentifiedModel) -> tuple[str, ...]:
    """The numbers that bend friction curves, which are no part of θ."""
    texts = []
    for joint_model in model.model.joint_models:
        for shape, row in zip(joint_model.shapes, joint_model.shape, strict=True):
            numbers = ", ".join(f"{value:.4g}" for value in row)
            texts.append(f"{joint_model.name}: {shape.name} {numbers} {shape.units[0]}, by joint.")
    return tuple(texts)


def _condition(estimate: Estimate, regression: Regression | None) -> Section:
    text = (
        f"Condition number {estimate.condition_number:.4g}, rank {estimate.rank} of {len(estimate.beta)}. A large "
        "condition number means that noise is magnified in some directions: design a motion that excites more."
    )
    figures = [correlation_figure(estimate.base.leading, estimate.correlation)]
    if regression is not None:
        values = np.linalg.svd(regression.stacked().R, compute_uv=False)
        figures.append(singular_values_figure(values))
    return Section("Conditioning of the problem", (text,), figures=tuple(figures))


def _conditioning(samples: Samples, units: Sequence[str]) -> Section:
    chosen = "; ".join(samples.plan.choices)
    text = f"Chosen from the data: {chosen}. The regressor passed the same low-pass as the torque."
    figures = tuple(figure for figure in (spectrum_figure(samples), raw_figure(samples, units)) if figure is not None)
    return Section("How the log was conditioned", (text,), (conditioning_table(samples),), figures)


def _method(model: IdentifiedModel, estimate: Estimate) -> Section:
    units = torque_units(model.model.robot)
    deviations = estimate.uncertainty.noise if estimate.weights is None else 1.0 / estimate.weights
    rows = tuple(
        (name, "equal" if estimate.weights is None else f"{noise:.3g}", unit, f"{inflation:.1f}")
        for name, noise, unit, inflation in zip(
            model.model.robot.joint_names, deviations, units, estimate.uncertainty.inflation, strict=True
        )
    )
    weights = Table(
        ("joint", "noise its rows were weighed by", "unit", "variance over that of independent rows"),
        rows,
        "How rows were weighed, and how far their differences are correlated",
    )
    text = f"Estimator {estimate.estimator}, {counted(estimate.iterations, 'iteration')}, {estimate.n_rows} rows."
    return Section("Where it comes from", (text,), (*provenance_tables(model.provenance), weights))
