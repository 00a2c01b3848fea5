"""The page of a rollout: measured and simulated motion, the error over the horizon with its floor, and reversals."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.validation.rollout import ClosedLoop, OpenLoop
from dynid.workflow.rollout import ModelRollout, RolledModel
from dynid.writers.report.charts import MEASURED, RESIDUAL
from dynid.writers.report.drawing import Trace, curve, line, panel, shown
from dynid.writers.report.page import Figure, Report, Section, Table

__all__ = ["growth_figures", "overlay_figures", "rollout_report"]

_COLOURS = ("@c1", "@c4", "@c3", "@c5", "@c2")
"""Of the models, in their order."""
_SHOWN_WINDOWS = 12
"""Windows that are drawn over the measured motion."""


def rollout_report(result: ModelRollout) -> Report:
    """The whole page (rad or m over s) as a value."""
    sections: list[Section] = []
    rolled = [(model, model.open_loop) for model in result.models if model.open_loop is not None]
    if rolled:
        sections.append(Section("Error over the horizon", (_HORIZON,), figures=growth_figures(result)))
        sections.append(Section("Measured and simulated", (_OVERLAY,), figures=overlay_figures(rolled[0][1])))
        sections.append(Section("Around velocity reversals", (_REVERSALS,), tables=(_reversal_table(result),)))
    loops = [model for model in result.models if model.closed_loop is not None]
    if loops:
        sections.append(Section("Closed loop", (_CLOSED,), figures=_loop_figures(loops)))
    return Report(f"Rollout of {result.models[0].name}", f"{result.robot} on {result.log}.", tuple(sections))


_HORIZON = (
    "RMS over all windows, from measured states and with the measured torque as input. The floor is what the noise of "
    "the log alone makes of it: no model can be judged better than that."
)
_OVERLAY = "Simulated windows over the measured motion; each starts from the measured state."
_REVERSALS = (
    "RMS error of velocity within 0.1 s after a joint turns, and elsewhere. A model whose dry friction is wrong errs "
    "at reversals first."
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
        traces.append({**line("noise alone", RESIDUAL, dash="dot"), **curve(first.t, 1e3 * first.floor[:, j])})
        figures.append(
            panel(traces, "time since the start / s", f"RMS error / {result.unit}", title=name, link="growth")
        )
    return tuple(figures)


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
