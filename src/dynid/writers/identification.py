"""The report of an identification: what was found, how sure it is, and how it was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.chain.consistency import consistency
from dynid.dynamics.terms import OnJoints, ShapedModel
from dynid.recording.signals import Samples
from dynid.regression.estimate import Estimate
from dynid.validation.validate import Validation, contributions
from dynid.writers.charts import correlation_figure, friction_figure, links_figure, parts_figure, torque_figure
from dynid.writers.model_file import IdentifiedModel
from dynid.writers.report import Report, Section, Table

__all__ = ["Comparison", "identification_report"]


@dataclass(frozen=True)
class Comparison:
    """The error of another parameter set on the same rows."""

    name: str
    relative_percent: float
    """100·‖τ − τ̂‖/‖τ‖, %."""


def identification_report(
    model: IdentifiedModel,
    estimate: Estimate,
    samples: Samples,
    train: Validation,
    held_out: Sequence[Validation],
    comparisons: Sequence[Comparison] = (),
) -> Report:
    """The whole report (SI) as a value; writing it is another matter."""
    sections = [
        _data(estimate, samples),
        Section("Torque it was fitted to", (_error_text(train),), figures=(torque_figure(train),)),
        *(
            Section(f"Torque it had not seen: {v.log}", (_error_text(v),), figures=(torque_figure(v),))
            for v in held_out
        ),
        _errors(train, held_out, comparisons),
        _parts(model, samples),
        _coefficients(estimate),
    ]
    if model.links:
        sections.append(_links(model))
    sections += [_friction(model, samples), _correlation(estimate), _method(model, estimate, samples)]
    return Report(
        title=f"Dynamics of {model.model.robot.name}",
        verdict=verdict(model, estimate, train, held_out),
        sections=tuple(sections),
        footer=f"dynid {model.provenance.get('dynid', '')} · inputs {model.provenance.get('inputs', {})}",
    )


def verdict(model: IdentifiedModel, estimate: Estimate, train: Validation, held_out: Sequence[Validation]) -> str:
    """One paragraph for a hurried reader."""
    text = (
        f"{len(estimate.beta)} combinations of parameters were estimated from {estimate.n_rows} rows; they explain the "
        f"torque of the log to {train.error.relative_percent:.2f} %"
    )
    if held_out:
        worst = max(v.error.relative_percent for v in held_out)
        text += f", and that of motion they had not seen to {worst:.2f} %"
    reliable = sum(word == "identified" for word in estimate.trust)
    text += f". {reliable} of them are known to better than 30 % of their value. "
    if model.consistent:
        text += "The full parameter set is physically possible and can be exported. "
    elif model.links:
        text += "The full parameter set is NOT physically possible. "
    else:
        text += f"The estimator {estimate.estimator} gives no full parameter set; --estimator feasible does. "
    return text + (f"Note: {estimate.status.value}." if estimate.status.value else "")


def _error_text(validation: Validation) -> str:
    error = validation.error
    return f"Relative error {error.relative_percent:.2f} % over all joints; drag to zoom, double-click to reset."


def _data(estimate: Estimate, samples: Samples) -> Section:
    motion = samples.segments[0].motion
    robot = estimate.model.robot
    speed = np.max([np.max(np.abs(s.motion.dq), axis=0) for s in samples.segments], axis=0)
    turns = np.sum([np.sum(np.diff(np.sign(s.motion.dq), axis=0) != 0, axis=0) for s in samples.segments], axis=0)
    rows = tuple(
        (
            name,
            f"{np.min(motion.q[:, j]):.3g} … {np.max(motion.q[:, j]):.3g}",
            f"{speed[j]:.3g}",
            str(int(turns[j])),
            f"{np.sqrt(np.mean(samples.segments[0].tau[:, j] ** 2)):.3g}",
        )
        for j, name in enumerate(robot.joint_names)
    )
    seconds = sum(s.motion.t[-1] - s.motion.t[0] for s in samples.segments)
    text = (
        f"{samples.source}: {seconds:.1f} s used in {len(samples.segments)} stretch(es), "
        f"{samples.n_samples} samples, {estimate.n_rows} rows of regression."
    )
    headers = ("joint", "position / rad", "largest speed / rad/s", "reversals", "RMS torque / N·m")
    return Section("Robot and data", (text,), (Table(headers, rows),))


def _errors(train: Validation, held_out: Sequence[Validation], comparisons: Sequence[Comparison]) -> Section:
    headers = ("log", "total / %", *(f"{name} / %" for name in train.joint_names))
    rows = [
        (label, f"{v.error.relative_percent:.2f}", *(f"{x:.2f}" for x in v.error.relative_percent_joint))
        for label, v in [(f"{train.log} (fit)", train), *((v.log, v) for v in held_out)]
    ]
    rmse = [
        (label, *(f"{x:.3g}" for x in v.error.rmse), *(f"{x:.2f}" for x in v.whiteness[:0]))
        for label, v in [(f"{train.log} (fit)", train), *((v.log, v) for v in held_out)]
    ]
    tables = [
        Table(headers, tuple(rows), "Relative error 100·‖τ − τ̂‖/‖τ‖"),
        Table(("log", *(f"{name} / N·m" for name in train.joint_names)), tuple(rmse), "RMSE"),
    ]
    if comparisons:
        others = tuple((other.name, f"{other.relative_percent:.2f}") for other in comparisons)
        tables.append(Table(("parameters", "relative error / %"), others, "Other parameter sets on the same rows"))
    return Section("Errors", (), tuple(tables))


def _parts(model: IdentifiedModel, samples: Samples) -> Section:
    motion = samples.segments[0].motion
    parts = contributions(model.model, model.parameters, motion.part(0, min(motion.n_samples, 20_000)))
    return Section("What the torque is made of", (), figures=(parts_figure(model.model.robot.joint_names, parts),))


def _coefficients(estimate: Estimate) -> Section:
    rows = tuple(
        (label, f"{value:.5g}", f"{std:.2g}", f"{white:.2g}", _percent(std, value), column.unit, trust)
        for label, value, std, white, column, trust in zip(
            estimate.base.labels(),
            estimate.beta,
            estimate.std,
            estimate.uncertainty.white_std,
            estimate.base.leading_columns,
            estimate.trust,
            strict=True,
        )
    )
    headers = ("combination", "value", "σ", "σ as in the papers", "σ / |value|", "unit", "trust")
    text = (
        "σ allows for residuals that are correlated in time; the next column counts every row as independent, "
        "as papers do, and is too small wherever data were filtered or the model misses something."
    )
    return Section("Coefficients", (text,), (Table(headers, rows),))


def _percent(std: float, value: float) -> str:
    return f"{100.0 * std / abs(value):.1f} %" if value and np.isfinite(std) else "–"


def _links(model: IdentifiedModel) -> Section:
    rows = []
    for name, link in zip(model.model.robot.link_names, model.links, strict=True):
        tensor = link.to_order("urdf")[4:]
        check = consistency(link)
        rows.append(
            (
                name,
                f"{link.mass:.4f}",
                ", ".join(f"{x:.4f}" for x in link.com),
                ", ".join(f"{x:.3g}" for x in tensor),
                f"{check.margin:.2e}",
                "yes" if check.holds else f"no: {', '.join(check.failing)}",
            )
        )
    labels: dict[str, list[str]] = {}
    for symbol, label in zip(model.model.symbols, model.labels, strict=False):
        labels.setdefault(label, []).append(symbol)
    counted = "; ".join(f"{label}: {', '.join(names)}" for label, names in labels.items())
    headers = (
        "link",
        "mass / kg",
        "centre of mass / m",
        "xx, xy, xz, yy, yz, zz about it / kg·m²",
        "margin",
        "possible",
    )
    text = f"Torque fixes only the coefficients; {model.rule}. How each parameter came about: {counted}."
    robot = model.model.robot
    return Section("Links", (text,), (Table(headers, tuple(rows)),), (links_figure(robot, model.links),))


def _friction(model: IdentifiedModel, samples: Samples) -> Section:
    terms = model.model.terms
    if not terms:
        return Section("Friction", ("The model has no friction.",))
    own = model.parameters[model.model.n_inertial :].reshape(-1, len(terms))
    names = model.model.robot.joint_names
    rows = tuple((name, *(f"{x:.4g}" for x in values)) for name, values in zip(names, own, strict=True))
    headers = ("joint", *(f"{term.name} / {term.units[0]}" for term in terms))
    speed = np.max([np.max(np.abs(s.motion.dq), axis=0) for s in samples.segments], axis=0)
    figure = friction_figure(model.model, model.parameters, speed)
    reasons = model.results.get("friction")
    texts = tuple(str(text) for text in reasons) if isinstance(reasons, list) else ()
    return Section("Friction", (*texts, *_shape_texts(model)), (Table(headers, rows),), (figure,))


def _shape_texts(model: IdentifiedModel) -> tuple[str, ...]:
    """The numbers that bend friction curves, which are no part of θ."""
    texts = []
    for whole in model.model.joint_models:
        inner = whole.model if isinstance(whole, OnJoints) else whole
        if isinstance(inner, ShapedModel):
            for shape, row in zip(inner.shapes, inner.shape, strict=True):
                numbers = ", ".join(f"{value:.4g}" for value in row)
                texts.append(f"{inner.name}: {shape.name} {numbers} {shape.units[0]}, by joint.")
    return tuple(texts)


def _correlation(estimate: Estimate) -> Section:
    text = (
        f"Condition number {estimate.condition_number:.4g}, rank {estimate.rank} of {len(estimate.beta)}. Coefficients "
        "that are strongly correlated are known better in combination than one by one."
    )
    return Section(
        "Conditioning of the problem",
        (text,),
        figures=(correlation_figure(estimate.base.leading, estimate.correlation),),
    )


def _method(model: IdentifiedModel, estimate: Estimate, samples: Samples) -> Section:
    plan = samples.plan
    weights = "equal" if estimate.weights is None else ", ".join(f"{1 / w:.3g}" for w in estimate.weights) + " N·m"
    lines = (
        f"Estimator {estimate.estimator}, {estimate.iterations} iteration(s). Row noise by joint: {weights}.",
        f"Conditioning: {'; '.join(plan.choices)}. The regressor passed the same low-pass as the torque.",
        f"Variance of the coefficients over that of independent rows, by joint: "
        f"{', '.join(f'{x:.1f}' for x in estimate.uncertainty.inflation)}.",
        f"Provenance: {dict(model.provenance)}",
    )
    return Section("How it was done", lines)
