"""The report of a tracking run: parameters over time with 2σ bands, NIS, events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.tracking.load import LoadEvent
from dynid.tracking.session import TrackedMoment, TrackingResult
from dynid.workflow.filter_comparison import FilterComparison
from dynid.writers.report.drawing import Trace, line, packed, panel
from dynid.writers.report.page import Figure, Report, Section, Table

__all__ = ["tracking_report"]

MAX_DRAWN = 12
"""Parameters drawn; those that changed most, in units of their final standard deviation."""

_LOAD_SYMBOLS = (
    "mL is the mass of the load, mcLx … mcLz are its first moments (mass times centre of mass) and JLxx … JLzz its "
    "inertia, both about the origin of the last link's frame."
)


def tracking_report(result: TrackingResult, compared: FilterComparison | None = None) -> Report:
    """The page of a run: parameters over time (SI), NIS (dimensionless), events; other filters where asked."""
    health = result.health
    repaired = (f"{repair.evidence}; {repair.done}" for repair in result.repairs)
    verdict = (
        _load_sentence(result)
        + f"{health.n_absorbed} samples absorbed, {result.n_skipped} skipped. "
        + " ".join(
            sentence[0].upper() + sentence[1:] + "."
            for sentence in (*repaired, *result.missing.sentences, *health.sentences)
        )
    )
    title = f"{result.model.robot.name} while it moves"
    sections = [*_events(result), _section(result)]
    if compared is not None:
        grid = compared.grid()
        said = f"The last parameters of each on the same log, after {compared.settle:g} s to converge."
        sections.append(Section("Filters side by side", (said,), (Table(grid.headers, grid.rows),)))
    return Report(title, verdict, tuple(sections), "Written by dynid.")


def _load_sentence(result: TrackingResult) -> str:
    """What the arm carries at the end (kg, m), where that was followed."""
    load = result.load
    if load is None:
        return ""
    com = ", ".join(f"{value:.3f}" for value in load.com)
    where = f", its centre of mass at [{com}] m in the frame of the last link" if np.any(load.com) else ""
    return f"At the end the arm carries {load.mass:.3f} ± {load.mass_std:.3f} kg{where}. "


def _events(result: TrackingResult) -> tuple[Section, ...]:
    """What happened, before the curves that show it; nothing where loads and contacts were not followed."""
    if not result.events:
        return () if result.load is None else (Section("Loads and contacts", ("Nothing happened.",)),)
    headers = ("time / s", "event", "load mass / kg", "reaction")
    return (Section("Loads and contacts", (), (Table(headers, _event_rows(result.events)),)),)


def _section(result: TrackingResult) -> Section:
    trail = result.trail
    # What is wrong stands in the verdict.
    said = () if result.health.sentences else ("The filter is healthy: its innovations are as large as it expects.",)
    figures = (*_parameter_figures(trail), _nis_figure(trail, result.nis_band)) if trail else ()
    n_all = len(result.parameters.symbols)
    part = f"; the {MAX_DRAWN} of {n_all} that changed most" if n_all > MAX_DRAWN else ""
    drawn = f"Parameters over time with their 2σ bands{part}."
    meant = () if result.load is None else (_LOAD_SYMBOLS,)
    return Section("Parameters while the robot moves", (*said, drawn, *meant), figures=figures)


def _event_rows(events: Sequence[LoadEvent]) -> tuple[tuple[str, ...], ...]:
    return tuple((f"{event.t:.3f}", event.sentence, f"{event.mass:.3f}", event.reaction) for event in events)


def _parameter_figures(trail: Sequence[TrackedMoment]) -> tuple[Figure, ...]:
    last = trail[-1].parameters
    values, lower, upper = (
        np.array([getattr(moment.parameters, name) for moment in trail]) for name in ("values", "lower", "upper")
    )
    moved = np.abs(values[-1] - values[0]) / np.maximum(last.std, 1e-300)
    drawn = np.sort(np.argsort(-moved)[:MAX_DRAWN])
    t = packed(np.array([moment.t for moment in trail]))
    figures = []
    for s in drawn:
        edge: Trace = {"type": "scatter", "mode": "lines", "x": t, "line": {"width": 0}, "hoverinfo": "skip"}
        traces: list[Trace] = [
            {**edge, "y": packed(lower[:, s]), "showlegend": False},
            {**edge, "y": packed(upper[:, s]), "fill": "tonexty", "fillcolor": "@fill", "name": "± 2σ"},
            {**line("estimate", "@c0", width=2.0), "x": t, "y": packed(values[:, s])},
        ]
        unit = f" / {last.units[s]}" if last.units[s] else ""
        title = last.symbols[s]
        figures.append(panel(traces, "time / s", f"{title}{unit}", title=title, height=240, link="time"))
    return tuple(figures)


def _nis_figure(trail: Sequence[TrackedMoment], band: tuple[float, float]) -> Figure:
    t, nis = packed(np.array([moment.t for moment in trail])), packed(np.array([moment.nis for moment in trail]))
    traces: list[Trace] = [
        {"type": "scatter", "mode": "markers", "name": "NIS", "x": t, "y": nis, "marker": {"size": 3, "color": "@c0"}}
    ]
    ends = packed(np.array([trail[0].t, trail[-1].t]))
    for name, level in (("2.5 %", band[0]), ("97.5 %", band[1])):
        edge = {"x": ends, "y": packed(np.array([level, level]))}
        traces.append({**line(name, "@c2", dash="dash"), **edge})
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "time / s"}},
        "yaxis": {"title": {"text": "normalised innovation squared"}, "type": "log"},
    }
    return Figure(tuple(traces), layout, "NIS and the band that holds 95 % of it in a healthy filter", height=320)
