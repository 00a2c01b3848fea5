"""Charts of torque: measured and predicted, what it is made of, how the log was conditioned, errors side by side."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.recording.conditioning import Samples
from dynid.validation.band import WITHIN_95
from dynid.validation.torque import Contributions, Validation
from dynid.writers.report.drawing import MAX_POINTS, Trace, curve, effort_axis, line, packed, panel, shown
from dynid.writers.report.page import Figure

__all__ = [
    "bars_figure",
    "correlation_figure",
    "parts_figure",
    "parts_figures",
    "raw_figure",
    "singular_values_figure",
    "spectrum_figure",
    "torque_figures",
    "torque_units",
]

MEASURED, PREDICTED, RESIDUAL = "@c0", "@c1", "@c2"
"""Colours that mean the same in every chart."""
EFFECTS = (
    ("inertia", "@c0", "solid"),
    ("Coriolis", "@c4", "dot"),
    ("gravity", "@c3", "solid"),
    ("friction, drives", "@c1", "dash"),
)
"""Parts of the torque, their colours, and dashes that tell them apart without colour."""
_RAW_SECONDS = 3.0
"""Length of the raw torque that is shown, s: a few swings of a joint."""
_PER_OCTAVE = 16
"""Points of the spectrum in an octave."""
_SPECTRUM_SAMPLES = 200_000
"""Samples that the spectrum is computed from, so that a log of hours costs no more than one of minutes."""
_WINDOW = 65_536
"""Longest window of Welch's method, samples."""


def torque_units(robot: Robot) -> tuple[str, ...]:
    """The unit of each joint's torque: N·m or N."""
    return tuple("N·m" if joint.type == "revolute" else "N" for joint in robot.joints)


def torque_figures(
    validation: Validation, units: Sequence[str], *, link: str, n_points: int = MAX_POINTS
) -> tuple[Figure, ...]:
    """For every joint measured and predicted torque over time (s), and their difference below, in `units`."""
    t, residual = validation.t, validation.residual
    error = validation.error
    figures = []
    for j, (name, unit) in enumerate(zip(validation.joint_names, units, strict=True)):
        below: Trace = {**line("difference", RESIDUAL, width=1.0), "yaxis": "y2"}
        traces: list[Trace] = [
            {**line("measured", MEASURED, width=2.4), **curve(t, validation.measured[:, j], n_points)},
            {**line("predicted", PREDICTED, width=1.2), **curve(t, validation.predicted[:, j], n_points)},
            *_band_traces(validation, j, n_points),
            {**below, **curve(t, residual[:, j], n_points)},
        ]
        layout: dict[str, object] = {
            "xaxis": {"title": {"text": "time / s"}, "anchor": "y2"},
            "yaxis": {"title": {"text": effort_axis(unit)}, "domain": [0.36, 1.0]},
            "yaxis2": {"title": {"text": f"diff. / {unit}"}, "domain": [0.0, 0.28], "nticks": 4},
            "hovermode": "x unified",
        }
        said = f"error {error.relative_percent_joint[j]:.2f} %, RMSE {error.rmse[j]:.3g} {unit}"
        inside = validation.coverage[j]
        said += f"; {100.0 * inside:.0f} % of the differences inside their 95 % band" if np.isfinite(inside) else ""
        figures.append(Figure(tuple(traces), layout, said, 330, name, wide=False, link=link))
    return tuple(figures)


def _band_traces(validation: Validation, joint: int, n_points: int) -> list[Trace]:
    """Both ends of the band that holds 95 % of the differences of the next run, about zero."""
    band = validation.band
    if band is None or not np.all(np.isfinite(band.prediction_std[:, joint])):
        return []
    half = WITHIN_95 * band.prediction_std[:, joint]
    edge: Trace = {**line("95 % band", PREDICTED, width=0.6), "yaxis": "y2", "opacity": 0.45, "legendgroup": "band"}
    return [
        {**edge, **curve(validation.t, half, n_points)},
        {**edge, "showlegend": False, "fill": "tonexty", **curve(validation.t, -half, n_points)},
    ]


def _effects(parts: Contributions) -> tuple[Float[Array, "n_samples n_dof"], ...]:
    return parts.inertia, parts.coriolis, parts.gravity, parts.joint_terms


def parts_figure(joint_names: Sequence[str], units: Sequence[str], parts: Contributions) -> Figure:
    """Share of each effect in the torque of each joint, in % of the sum of their RMS (N·m or N)."""
    sizes = np.array([np.sqrt(np.mean(values**2, axis=0)) for values in _effects(parts)])
    total = np.maximum(sizes.sum(axis=0), 1e-300)
    traces: list[Trace] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": label,
            "y": [shown(name) for name in joint_names],
            "x": packed(100.0 * size / total),
            "text": [f"{value:.3g} {unit}" for value, unit in zip(size, units, strict=True)],
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "constraintext": "inside",
            "textfont": {"color": "@paper"},
            "hovertemplate": "%{text} RMS, %{x:.1f} %",
            "marker": {"color": colour, "line": {"color": "@paper", "width": 1}},
        }
        for (label, colour, _), size in zip(EFFECTS, sizes, strict=True)
    ]
    layout: dict[str, object] = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "share of the effects' RMS / %"}, "range": [0, 100]},
        "yaxis": {"type": "category", "autorange": "reversed"},
        "bargap": 0.25,
        "legend": {"traceorder": "normal"},
    }
    caption = "RMS torque that each effect needs; effects may cancel, so shares are of the sum of their sizes."
    return Figure(tuple(traces), layout, caption, height=110 + 30 * len(joint_names))


def parts_figures(
    t: Float[Array, " n_samples"],
    joint_names: Sequence[str],
    units: Sequence[str],
    parts: Contributions,
    *,
    link: str,
    n_points: int = MAX_POINTS,
) -> tuple[Figure, ...]:
    """For every joint the parts of its torque over time (s), in `units`."""
    figures = []
    for j, (name, unit) in enumerate(zip(joint_names, units, strict=True)):
        traces: list[Trace] = [
            {**line(label, colour, dash=dash), **curve(t, values[:, j], n_points)}
            for (label, colour, dash), values in zip(EFFECTS, _effects(parts), strict=True)
        ]
        figures.append(panel(traces, "time / s", effort_axis(unit), title=name, height=280, link=link))
    return tuple(figures)


def bars_figure(names: Sequence[str], groups: Sequence[tuple[str, Sequence[float]]], what: str, caption: str) -> Figure:
    """Horizontal bars of relative errors (%), one row a name and one colour a group; no bar where one is nan."""
    colours = (MEASURED, PREDICTED, "@c3", "@c4")
    finite = [value for _, values in groups for value in values if np.isfinite(value) and value > 0.0]
    wide = bool(finite) and max(finite) > 30.0 * min(finite)
    traces: list[Trace] = []
    for k, (label, values) in enumerate(groups):
        drawn = np.array(values, dtype=float)
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": shown(label),
                "y": [_wrapped(name) for name in names],
                "x": packed(drawn),
                "text": [f"{value:.2f} %" if np.isfinite(value) else "" for value in drawn],
                "textposition": "outside",
                "cliponaxis": False,
                "textfont": {"color": "@ink"},
                "hovertemplate": "%{text}",
                "marker": {"color": colours[k % len(colours)], "pattern": {"shape": ("", "/", "x", ".")[k % 4]}},
            }
        )
    axis: dict[str, object] = {
        "title": {"text": what + (", logarithmic" if wide else "")},
        "type": "log" if wide else "linear",
    }
    if finite and not wide:
        axis["range"] = [0.0, 1.15 * max(finite)]
    elif finite:
        axis["range"] = [np.log10(0.5 * min(finite)), np.log10(3.0 * max(finite))]
    layout: dict[str, object] = {
        "xaxis": axis,
        "yaxis": {"type": "category", "autorange": "reversed"},
        "barmode": "group",
        "showlegend": len(groups) > 1,
        "legend": {"traceorder": "normal"},
        "margin": {"l": 10, "r": 60, "t": 8, "b": 42},
    }
    return Figure(tuple(traces), layout, caption, height=110 + (22 + 22 * len(groups)) * len(names))


def _wrapped(name: str) -> str:
    """A name in short lines, so that bars have room beside it on a telephone."""
    return "<br>".join(shown(part) for part in textwrap.wrap(name, 24, break_long_words=True)[:4])


def correlation_figure(labels: Sequence[str], correlation: Float[Array, "n_base n_base"]) -> Figure:
    """Correlation of the base parameters, dimensionless."""
    values = np.clip(np.nan_to_num(correlation, posinf=0.0, neginf=0.0), -1.0, 1.0)
    names = [shown(label) for label in labels]
    trace: Trace = {
        "type": "heatmap",
        "x": names,
        "y": names,
        "z": packed(values),
        "zmin": -1,
        "zmax": 1,
        "colorscale": [[0.0, "@c2"], [0.5, "@paper"], [1.0, "@c0"]],
        "hovertemplate": "%{x} and %{y}: %{z:.2f}<extra></extra>",
        "colorbar": {"thickness": 12, "title": {"text": ""}},
    }
    layout: dict[str, object] = {
        "xaxis": {"type": "category", "tickangle": -90, "tickfont": {"size": 10}, "showgrid": False},
        "yaxis": {"type": "category", "autorange": "reversed", "tickfont": {"size": 10}, "showgrid": False},
    }
    caption = (
        "Correlation of the base parameters' errors, −1 to 1, by leading parameter: pairs far from 0 are known better "
        "together than one by one."
    )
    return Figure((trace,), layout, caption, height=min(860, 170 + 11 * len(names)))


def singular_values_figure(values: Float[Array, " n_base"]) -> Figure:
    """Singular values of the regressor (mixed units), relative to the largest; their span is the condition number."""
    shares = values / max(float(np.max(values, initial=0.0)), 1e-300)
    trace: Trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "singular value",
        "x": packed(np.arange(1.0, len(shares) + 1.0)),
        "y": packed(np.maximum(shares, 1e-18)),
        "line": {"color": MEASURED, "width": 1},
        "marker": {"color": MEASURED, "size": 5},
        "showlegend": False,
    }
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "direction, best excited first"}},
        "yaxis": {"title": {"text": "singular value, relative"}, "type": "log", "exponentformat": "power"},
    }
    caption = "Singular values of the regressor over the largest: the last is one over the condition number."
    return Figure((trace,), layout, caption, height=320)


def _spectrum(
    values: Float[Array, "n_samples n_columns"], rate_hz: float
) -> tuple[Float[Array, " n_frequencies"], Float[Array, "n_frequencies n_columns"]]:
    """Frequencies (Hz) and power density (1/Hz) by Welch's method: half-overlapping Hann windows, means removed.

    Written out, since importing ``scipy.signal`` takes longer than a whole report.
    """
    n = min(len(values), _WINDOW)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n)
    parts = []
    for start in range(0, len(values) - n + 1, max(1, n - n // 2)):
        part = values[start : start + n]
        parts.append(np.abs(np.fft.rfft(window[:, None] * (part - part.mean(axis=0)), axis=0)) ** 2)
    power = np.mean(parts, axis=0) / (rate_hz * np.sum(window**2))
    power[1 : -1 if n % 2 == 0 else None] *= 2.0
    return np.fft.rfftfreq(n, 1.0 / rate_hz), power


def spectrum_figure(samples: Samples) -> Figure | None:
    """Power of the measured torque over frequency (Hz), raw and low-passed; None for a log too short for one."""
    segment = max(samples.segments, key=lambda part: part.motion.n_samples)
    low_pass = samples.plan.low_pass
    tau = segment.tau[:_SPECTRUM_SAMPLES]
    spread = tau.std(axis=0)
    moving = spread > 1e-12 * max(float(np.max(spread, initial=0.0)), 1e-300)
    if len(tau) < 64 or not np.any(moving):
        return None
    scaled = (tau[:, moving] - tau[:, moving].mean(axis=0)) / spread[moving]
    frequency, power = _spectrum(scaled, low_pass.rate_hz)
    frequency, raw = _by_octave(frequency[1:], np.mean(power, axis=1)[1:])
    gain = np.ones_like(frequency)
    if low_pass.active:
        turns = np.outer(frequency / low_pass.rate_hz, np.arange(len(low_pass.kernel)))
        gain = np.abs(np.exp(-2j * np.pi * turns) @ low_pass.kernel) ** 2
    x = packed(frequency)
    floor = 1e-12 * float(np.max(raw))
    traces: list[Trace] = [
        {**line("as logged", "@c7", width=1.4), "x": x, "y": packed(np.maximum(raw, floor))},
        {**line("as fitted", MEASURED, width=2.0), "x": x, "y": packed(np.maximum(raw * gain, floor))},
    ]
    marks = [("bandwidth of the motion", samples.plan.bandwidth_hz, "@c3")]
    if low_pass.active:
        marks.append(("low-pass", low_pass.cutoff_hz, "@c2"))
    top, bottom = float(np.max(raw)), max(float(np.min(raw)) * 0.1, floor)
    for name, at, colour in marks:
        ends = {"x": packed(np.array([at, at])), "y": packed(np.array([bottom, top]))}
        traces.append({**line(f"{name}, {at:.3g} Hz", colour, width=1.5, dash="dash"), **ends})
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "frequency / Hz"}, "type": "log"},
        "yaxis": {
            "title": {"text": "power / 1/Hz"},
            "type": "log",
            "exponentformat": "power",
            "range": [np.log10(bottom), np.log10(3.0 * top)],
        },
    }
    caption = "Spectrum of the torque, mean over the joints, each relative to its own spread."
    return Figure(tuple(traces), layout, caption, 330, "Torque by frequency", wide=False)


def _by_octave(
    frequency: Float[Array, " n_bins"], power: Float[Array, " n_bins"]
) -> tuple[Float[Array, " n_left"], Float[Array, " n_left"]]:
    """Means over segments of equal width on a logarithmic axis."""
    place = np.floor(np.log2(frequency / frequency[0]) * _PER_OCTAVE).astype(int)
    _, index = np.unique(place, return_inverse=True)
    count = np.bincount(index)
    return np.bincount(index, frequency) / count, np.bincount(index, power) / count


def raw_figure(samples: Samples, units: Sequence[str]) -> Figure | None:
    """Some seconds of the joint whose torque (N·m or N) lost most to the low-pass; None where there is none."""
    low_pass = samples.plan.low_pass
    segment = max(samples.segments, key=lambda part: part.motion.n_samples)
    if not low_pass.active or len(segment.tau) <= 2 * low_pass.half_length + 8:
        return None
    lost = low_pass.half_length
    count = min(len(segment.tau), int(_RAW_SECONDS * low_pass.rate_hz) + 2 * lost)
    first = (len(segment.tau) - count) // 2
    tau = segment.tau[first : first + count]
    smooth = low_pass.applied(tau)
    inner = tau[lost : lost + len(smooth)]
    t = segment.motion.t[first + lost : first + lost + len(smooth)]
    share = np.std(inner - smooth, axis=0) / np.maximum(np.std(inner, axis=0), 1e-300)
    j = int(np.argmax(share))
    traces: list[Trace] = [
        {**line("as logged", "@c7", width=1.0), **curve(t, inner[:, j])},
        {**line("as fitted", MEASURED, width=2.2), **curve(t, smooth[:, j])},
    ]
    name = samples.joint_names[j]
    caption = f"The joint that lost most to the low-pass: {name}, {100.0 * share[j]:.1f} % of its spread."
    return panel(traces, "time / s", effort_axis(units[j]), title="Torque over time", caption=caption, height=330)
