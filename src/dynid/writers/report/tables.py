"""Tables of the report: parameters with σ and trust, links, errors, findings, and where a result comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.consistency import consistency
from dynid.chain.robot import Robot
from dynid.prose import spread_percent
from dynid.recording.conditioning import Samples
from dynid.regression.estimate import Estimate
from dynid.regression.model import IdentifiedModel
from dynid.review.findings import Finding, Severity
from dynid.validation.torque import Validation
from dynid.workflow.identified_links import number_text
from dynid.writers.report.page import Table

__all__ = [
    "base_parameter_table",
    "conditioning_table",
    "error_table",
    "findings_table",
    "full_table",
    "joint_table",
    "link_table",
    "provenance_tables",
    "range_table",
    "short_name",
]

_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""Findings from the worst on."""
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Entries of a symmetric tensor, row by row."""


def _number(value: float, digits: int = 5) -> str:
    return f"{value:.{digits}g}" if np.isfinite(value) else "–"


def _unit(robot: Robot, revolute: str, prismatic: str) -> str:
    kinds = {joint.type for joint in robot.joints}
    return revolute if kinds == {"revolute"} else prismatic if kinds == {"prismatic"} else f"{revolute} or {prismatic}"


def base_parameter_table(estimate: Estimate) -> Table:
    """Base parameters with autocorrelation-robust σ and with σ of independent rows, in the units of their leaders."""
    rows = tuple(
        (label, _number(value), _number(std, 3), _number(white, 3), spread_percent(std, value), column.unit, origin)
        for label, value, std, white, column, origin in zip(
            estimate.base.labels(),
            estimate.beta,
            estimate.std,
            estimate.uncertainty.white_std,
            estimate.base.leading_columns,
            estimate.origins,
            strict=True,
        )
    )
    headers = ("combination", "value", "σ", "σ, rows independent", "σ/|value| / %", "unit", "origin")
    return Table(headers, rows, badges=(6,))


def full_table(model: IdentifiedModel, estimate: Estimate) -> Table:
    """Every parameter of a full set (SI), with σ where it shows by itself, and how it came about."""
    values = zip(
        model.model.symbols,
        model.model.columns,
        model.parameters,
        estimate.full_std,
        estimate.full_origins,
        strict=True,
    )
    rows = tuple(
        (symbol, column.owner, _number(value), _number(std, 3), column.unit, label)
        for symbol, column, value, std, label in values
    )
    return Table(("parameter", "of", "value", "σ", "unit", "origin"), rows, "All parameters", badges=(5,))


def link_table(model: IdentifiedModel) -> Table:
    """Mass, centre of mass and inertia about it of every link (SI), and whether it is physically consistent."""
    rows = []
    spreads = model.spreads.links if model.spreads is not None else (None,) * len(model.links)
    for name, link, spread in zip(model.model.robot.link_names, model.links, spreads, strict=True):
        check = consistency(link)
        tensor = link.inertia_com
        if spread is None:
            mass, share = f"{link.mass:.4f}", "–"
            com = tuple(f"{value:.4f}" for value in link.com) if link.mass else ("–",) * 3
            inertia = tuple(f"{tensor[a, b]:.3g}" for a, b in _PAIRS)
        else:
            mass, share = number_text(link.mass, spread.mass_std, spread.mass_share), f"{100 * spread.data_share:.0f}"
            com = tuple(number_text(*e) for e in zip(link.com, spread.com_std, spread.com_share, strict=True))
            std, part = spread.inertia_com_std, spread.inertia_com_share
            inertia = tuple(number_text(tensor[p], std[p], part[p]) for p in _PAIRS)
        rows.append((name, mass, *com, *inertia, share, f"{check.margin:.2e}", "yes" if check.holds else "no"))
    headers = (
        "link",
        "mass / kg",
        *(f"c{axis} / m" for axis in "xyz"),
        *(f"I{pair} / kg·m²" for pair in ("xx", "xy", "xz", "yy", "yz", "zz")),
        "from data / %",
        "margin",
        "consistent",
    )
    caption = "Inertia about the centre of mass, in axes of the link's frame"
    if model.spreads is not None:
        caption += "; ± 1σ of data and prior together. Prior only: the data say nothing about it"
    return Table(headers, tuple(rows), caption, badges=(len(headers) - 1,))


def range_table(model: IdentifiedModel) -> Table:
    """Between which values mass (kg) and centre of mass (m) of every link may lie without a worse fit."""
    rows = tuple(
        (name, *(_ends(pair) for pair in (known.mass, *known.com)))
        for name, known in zip(model.model.robot.link_names, model.ranges or (), strict=False)
    )
    headers = ("link", "mass / kg", *(f"c{axis} / m" for axis in "xyz"))
    return Table(headers, rows, "Physically consistent robots whose squared error is at most 0.1 % larger")


def _ends(pair: Float[Array, " 2"]) -> str:
    low, high = (f"{end if abs(end) > 1e-4 else 0.0:.3g}" if np.isfinite(end) else "any" for end in pair)
    return f"{low} … {high}"


def joint_table(robot: Robot, samples: Samples, estimate: Estimate) -> Table:
    """What each joint did in the log: range (rad or m), speed, reversals, torque (N·m or N), and the noise found."""
    motions = [segment.motion for segment in samples.segments]
    speed = np.max([np.max(np.abs(motion.dq), axis=0) for motion in motions], axis=0)
    low = np.min([motion.q.min(axis=0) for motion in motions], axis=0)
    high = np.max([motion.q.max(axis=0) for motion in motions], axis=0)
    turns = np.sum([np.sum(np.diff(np.sign(motion.dq), axis=0) != 0, axis=0) for motion in motions], axis=0)
    power = np.sum([np.sum(segment.tau**2, axis=0) for segment in samples.segments], axis=0)
    rows = []
    for j, joint in enumerate(robot.joints):
        span = joint.limits.upper - joint.limits.lower
        rows.append(
            (
                joint.name,
                f"{low[j]:.3g}",
                f"{high[j]:.3g}",
                f"{100.0 * (high[j] - low[j]) / span:.0f}" if np.isfinite(span) and span > 0.0 else "–",
                f"{speed[j]:.3g}",
                f"{100.0 * speed[j] / joint.limits.velocity:.0f}" if np.isfinite(joint.limits.velocity) else "–",
                str(int(turns[j])),
                f"{np.sqrt(power[j] / samples.n_samples):.3g}",
                f"{estimate.uncertainty.noise[j]:.3g}",
            )
        )
    position, rate, torque = _unit(robot, "rad", "m"), _unit(robot, "rad/s", "m/s"), _unit(robot, "N·m", "N")
    headers = (
        "joint",
        f"lowest / {position}",
        f"highest / {position}",
        "of its range / %",
        f"fastest / {rate}",
        "of its limit / %",
        "reversals",
        f"RMS torque / {torque}",
        f"left by the fit, σ / {torque}",
    )
    return Table(headers, tuple(rows), "What each joint did")


def error_table(robot: Robot, train: Validation, held_out: Sequence[Validation]) -> Table:
    """Relative errors (%), RMSE (N·m or N), explained variance and whiteness, by log and joint."""
    unit = _unit(robot, "N·m", "N")
    rows: list[tuple[str, ...]] = []
    for label, v in [(f"{short_name(train.log)} (fitted)", train), *((short_name(v.log), v) for v in held_out)]:
        error = v.error
        relative = (f"{error.relative_percent:.2f}", *(f"{x:.2f}" for x in error.relative_percent_joint))
        rows += [
            (label, "relative error / %", *relative),
            (label, f"RMSE / {unit}", "–", *(f"{x:.3g}" for x in error.rmse)),
            (label, "variance explained / %", "–", *(f"{100.0 * x:.2f}" for x in v.r_squared)),
            (label, "likeness of neighbouring differences", "–", *(f"{x:.2f}" for x in v.whiteness)),
        ]
    caption = (
        "Relative error is 100·‖τ − τ̂‖/‖τ‖. The last line is the correlation of neighbouring differences: 0 is noise, "
        "1 an effect the model misses, or a low-pass."
    )
    return Table(("log", "measure", "all joints", *train.joint_names), tuple(rows), caption)


def short_name(source: str) -> str:
    """The last part of a path (no unit)."""
    return source.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or source


def findings_table(findings: Sequence[Finding]) -> Table:
    """What the doctor found (evidence carries units), the worst first."""
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.severity))
    several = len({finding.log for finding in findings}) > 1
    rows = tuple(
        (
            f.severity.value,
            f.code,
            (f.joint or "whole log") + (f", {short_name(f.log)}" if several and f.log else ""),
            f.evidence,
            f.cause,
            f.fix,
        )
        for f in ordered
    )
    return Table(("severity", "finding", "where", "evidence", "likely cause", "what to do"), rows, badges=(0,))


def conditioning_table(samples: Samples) -> Table:
    """How the log became rows: rate, filters, delay and masks (SI or Hz)."""
    plan = samples.plan
    low = plan.low_pass
    settings = (
        ("sampling rate of the grid", f"{low.rate_hz:.6g} Hz"),
        ("bandwidth of the motion", f"{plan.bandwidth_hz:.3g} Hz"),
        ("low-pass of torque and regressor", f"{low.cutoff_hz:.3g} Hz, zero phase" if low.active else "none"),
        ("low-pass of the motion", f"{plan.motion_pass.cutoff_hz:.3g} Hz" if plan.motion_pass.active else "none"),
        ("derivatives", plan.differentiation),
        ("rows kept", f"one in {plan.every}"),
        ("torque lags position by", f"{1e3 * plan.delay:.3g} ms"),
        ("rows masked below a speed of", f"{plan.min_velocity:.3g} rad/s" if plan.min_velocity else "none masked"),
        ("lost at each end of a segment", f"{plan.margin:.3g} s"),
        ("segments without a gap", str(len(samples.segments))),
    )
    return Table(("setting", "value"), settings, f"Settings for {short_name(samples.source)}")


def provenance_tables(provenance: Mapping[str, object]) -> tuple[Table, ...]:
    """Inputs with their hashes, versions and options, one to a row (no unit)."""
    tables = []
    inputs = provenance.get("inputs")
    if isinstance(inputs, Mapping) and inputs:
        rows = tuple((str(name), str(digest)) for name, digest in inputs.items())
        tables.append(Table(("file", "SHA-256"), rows, "Inputs"))
    versions = tuple(
        (key, str(value)) for key, value in provenance.items() if key not in ("inputs", "options") and value is not None
    )
    if versions:
        tables.append(Table(("made by", "value"), versions, "Program and versions"))
    options = provenance.get("options")
    if isinstance(options, Mapping) and options:
        tables.append(Table(("option", "value"), tuple(_flattened(options)), "Options"))
    return tuple(tables)


def _flattened(options: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in options.items():
        name = f"{prefix}{key}".rstrip("_")
        if isinstance(value, Mapping):
            rows += _flattened(value, f"{name}.")
        elif value is None or value in ("", [], ()):
            rows.append((name, "not given"))
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(str(item) for item in value)))
        else:
            rows.append((name, {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)))
    return rows
