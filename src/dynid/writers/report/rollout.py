"""The page of a rollout: measured and simulated motion, the error over the horizon with its floor, and reversals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from dynid.arrays import Array, Float
from dynid.validation.rollout import ClosedLoop, OpenLoop
from dynid.workflow.rollout_result import COASTING, ModelRollout, RolledModel
from dynid.writers.report.charts import MEASURED, RESIDUAL
from dynid.writers.report.drawing import Trace, curve, line, panel, shown
from dynid.writers.report.page import Figure, Report, Section, Table

__all__ = ["growth_figures", "overlay_figures", "reversal_figures", "rollout_report", "rollout_sections"]

_COLOURS = ("@c1", "@c4", "@c3", "@c5", "@c2")
"""Of the models, in their order."""
_SHOWN_WINDOWS = 12
"""Windows that are drawn over the measured motion."""
_SOON = 0.05
"""Share of the horizon from which on errors are drawn whole; they start at zero, which no decade holds."""
_AROUND = 0.25
"""Time in s before and after a reversal that is drawn."""
_SPEED_UNIT = "velocity error / (mrad/s or mm/s)"


def rollout_report(result: ModelRollout) -> Report:
    """The whole page (rad or m over s) as a value."""
    title, error = f"Rollout of {result.models[0].name}", result.error(seen=False)
    told = f"{result.robot} on {result.log}: {error}."
    if error.has_open_loop:
        told += f" The model leaves {error.left:.2g} of the error of constant velocity."
        told += " Noise of the log explains all of it." if error.is_noise else ""
    told += " The robot file is better." if error.beaten else ""
    return Report(title, told, rollout_sections(result))


def rollout_sections(result: ModelRollout) -> tuple[Section, ...]:
    """Sections of a page on what simulated motions are worth (rad or m over s)."""
    sections: list[Section] = []
    rolled = [(model, model.open_loop) for model in result.models if model.open_loop is not None]
    if rolled:
        windows = _window_table(result)
        sections.append(Section("Error over the horizon", (_HORIZON,), (windows,), growth_figures(result)))
        sections.append(Section("Measured and simulated", (_OVERLAY,), figures=overlay_figures(rolled[0][1])))
        reversals = _reversal_table(result)
        sections.append(
            Section("Around velocity reversals", (_REVERSALS,), tables=(reversals,), figures=reversal_figures(result))
        )
    loops = [model for model in result.models if model.closed_loop is not None]
    if loops:
        sections.append(Section("Closed loop", (_CLOSED,), (_loop_table(loops, result.unit),), _loop_figures(loops)))
    return tuple(sections)


_HORIZON = (
    "RMS error over all windows, each simulated from the measured state with the measured torque as input. Noise "
    "alone is the error that measurement noise would cause with a perfect model: errors below it cannot be told apart. "
    "Constant velocity needs no model: every joint keeps the velocity it has at the start of the window. A model that "
    "does no better is of no use for simulation here."
)
_OVERLAY = "Simulated windows over the measured motion; each starts from the measured state."
_REVERSALS = (
    "RMS error of velocity around the times at which a joint turns, and in the table within 0.1 s after them and "
    "elsewhere. A model whose dry friction is wrong errs at reversals first."
)
_CLOSED = "The whole log repeated under its controller and reference."


def growth_figures(result: ModelRollout) -> tuple[Figure, ...]:
    """RMS error of every joint (mrad or mm) over the time since the start of a window (s)."""
    rolled = [(model.name, model.open_loop) for model in result.models if model.open_loop is not None]
    first = rolled[0][1]
    figures = []
    for j, name in enumerate(first.joint_names):
        traces: list[Trace] = [
            {**line(shown(label), _COLOURS[k % len(_COLOURS)]), **curve(found.t, 1e3 * _finite(found.growth[:, j]))}
            for k, (label, found) in enumerate(rolled)
        ]
        if result.coasting is not None:
            growth = 1e3 * result.coasting.growth[:, j]
            traces.append({**line(COASTING, "@soft", dash="dash"), **curve(result.coasting.t, growth)})
        traces.append({**line("noise alone", RESIDUAL, dash="dot"), **curve(first.t, 1e3 * first.floor[:, j])})
        drawn = panel(traces, "time since the start / s", f"RMS error / {result.unit}", title=name, link="growth")
        others = [found for _, found in rolled[1:]] + ([] if result.coasting is None else [result.coasting])
        figures.append(replace(drawn, layout=_decades(drawn.layout, first, others, j)))
    return tuple(figures)


def _decades(layout: Mapping[str, object], first: OpenLoop, others: Sequence[OpenLoop], j: int) -> dict[str, object]:
    """The layout with errors of joint j over decades, from those of noise shortly after the start on."""
    soon = max(1, round(_SOON * (len(first.t) - 1)))
    low = [x for x in (first.floor[soon, j], first.growth[soon, j]) if x > 0.0]
    high = [x for found in (first, *others) if np.isfinite(x := found.growth[-1, j])]
    ends = [float(np.log10(1e3 * max(x, 1e-9))) for x in (min([*low, *high]), 1.5 * max([*low, *high]))]
    return {**layout, "yaxis": {**cast(dict[str, object], layout["yaxis"]), "type": "log", "range": ends}}


def overlay_figures(found: OpenLoop) -> tuple[Figure, ...]:
    """Measured positions and simulated windows (rad or m) of every joint, one after the other in time (s)."""
    length = float(found.t[-1])
    chosen: list[int] = []
    for k, start in enumerate(found.starts.tolist()):
        if not chosen or start >= found.starts[chosen[-1]] + length - 1e-9:
            chosen.append(k)
    chosen = chosen[:_SHOWN_WINDOWS]
    t = np.concatenate([np.append(found.starts[k] + found.t, found.starts[k] + length) for k in chosen])
    figures = []
    for j, name in enumerate(found.joint_names):
        measured, simulated = (
            np.concatenate([np.append(_finite(values[k, :, j]), np.nan) for k in chosen])
            for values in (found.measured, found.simulated)
        )
        traces: list[Trace] = [
            {**line("measured", MEASURED, width=2.4), **curve(t, measured)},
            {**line("simulated", _COLOURS[0], width=1.2), **curve(t, simulated)},
        ]
        figures.append(panel(traces, "time / s", "position / rad or m", title=name, link="overlay"))
    return tuple(figures)


def _finite(values: Float[Array, " n_samples"]) -> Float[Array, " n_samples"]:
    return np.where(np.isfinite(values), values, np.nan)


def reversal_figures(result: ModelRollout) -> tuple[Figure, ...]:
    """RMS error of velocity (mrad/s or mm/s) of every joint over the time before and after it turns (s)."""
    rolled = [(model.name, model.open_loop) for model in result.models if model.open_loop is not None]
    figures = []
    for j, name in enumerate(rolled[0][1].joint_names):
        traces: list[Trace] = []
        for k, (label, found) in enumerate(rolled):
            t, error = _around_reversals(found, j)
            # A model that runs away says nothing of friction.
            if len(t) and np.all(np.isfinite(found.simulated)):
                traces.append({**line(shown(label), _COLOURS[k % len(_COLOURS)]), **curve(t, 1e3 * error)})
        if traces:
            figures.append(panel(traces, "time since it turned / s", _SPEED_UNIT, title=name, link="reversal"))
    return tuple(figures)


def _around_reversals(found: OpenLoop, j: int) -> tuple[Float[Array, " n_times"], Float[Array, " n_times"]]:
    """Times before and after joint j turns (s), and the RMS error of its velocity there; empty where it never does."""
    step = float(found.t[1] - found.t[0])
    speed, error = (
        np.diff(values[:, :, j], axis=1) / step
        for values in (found.measured, np.where(np.isfinite(found.simulated), found.simulated, np.nan) - found.measured)
    )
    width = min(round(_AROUND / step), speed.shape[1] - 1)
    total, count = np.zeros(2 * width + 1), np.zeros(2 * width + 1)
    # Where the velocity hovers about zero, noise turns a joint that rests.
    moving = 0.05 * float(np.sqrt(np.mean(speed**2)))
    for window in range(len(speed)):
        v = speed[window]
        for k in np.flatnonzero(v[1:] * v[:-1] < 0.0) + 1:
            low, high = max(k - width, 0), min(k + width + 1, len(v))
            if max(abs(v[low]), abs(v[high - 1])) < moving:
                continue
            square = error[window, low:high] ** 2
            seen = np.isfinite(square)
            total[low - k + width : high - k + width] += np.where(seen, square, 0.0)
            count[low - k + width : high - k + width] += seen
    if not np.any(count):
        return np.zeros(0), np.zeros(0)
    return step * np.arange(-width, width + 1), np.sqrt(
        np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    )


def _window_table(result: ModelRollout) -> Table:
    """RMS and end errors of all joints together, by window."""
    rolled = [(model.name, model.open_loop) for model in result.models if model.open_loop is not None]
    beside = [] if result.coasting is None else [(COASTING, result.coasting)]
    rows = []
    for seconds in result.horizons:
        for name, found in (*rolled, *beside):
            values = (_all(found.rms(seconds)), _all(found.end(seconds)), found.tool_end(seconds))
            rows.append((f"{seconds:g}", name, *(_milli(x) for x in values), *(_milli(x) for x in found.rms(seconds))))
        noise = rolled[0][1].noise(seconds)
        rows.append((f"{seconds:g}", "noise alone", _milli(_all(noise)), "–", "–", *(_milli(x) for x in noise)))
    headers = ("window / s", "model", f"RMS / {result.unit}", "at its end", "tool at its end / mm")
    return Table((*headers, *rolled[0][1].joint_names), tuple(rows))


def _all(values: Float[Array, " n_dof"]) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _milli(value: float) -> str:
    return f"{1e3 * value:.3g}" if np.isfinite(value) else "–"


def _loop_table(models: Sequence[RolledModel], unit: str) -> Table:
    rows = [
        (m.name, _milli(_all(loop.rms)), f"{loop.share_percent:.2f}", _milli(loop.tool), *map(_milli, loop.rms))
        for m in models
        if (loop := m.closed_loop) is not None
    ]
    names = models[0].closed_loop.joint_names if models[0].closed_loop is not None else ()
    return Table(("model", f"RMS / {unit}", "% of the tracking error", "tool / mm", *names), tuple(rows))


def _reversal_table(result: ModelRollout) -> Table:
    rows = []
    for model in result.models:
        if model.open_loop is None:
            continue
        near, away = model.open_loop.near_reversal
        for name, a, b in zip(model.open_loop.joint_names, near, away, strict=True):
            ratio = f"{a / b:.2f}" if b > 0.0 and np.isfinite(a) else "–"
            rows.append((model.name, name, f"{1e3 * a:.3g}", f"{1e3 * b:.3g}", ratio))
    return Table(("model", "joint", "after a reversal / (mrad/s or mm/s)", "elsewhere", "ratio"), tuple(rows))


def _loop_figures(models: list[RolledModel]) -> tuple[Figure, ...]:
    loops: list[tuple[str, ClosedLoop]] = [(m.name, m.closed_loop) for m in models if m.closed_loop is not None]
    first = loops[0][1]
    figures = []
    for j, name in enumerate(first.joint_names):
        real = first.reference[:, j] - first.measured[:, j]
        traces: list[Trace] = [{**line("tracking error, measured", MEASURED, width=2.0), **curve(first.t, 1e3 * real)}]
        for k, (label, loop) in enumerate(loops):
            error = 1e3 * _finite(loop.simulated[:, j] - loop.measured[:, j])
            traces.append(
                {**line(f"{shown(label)} − measured", _COLOURS[k % len(_COLOURS)], width=1.2), **curve(loop.t, error)}
            )
        figures.append(panel(traces, "time / s", "mrad or mm", title=name, link="loop"))
    return tuple(figures)
