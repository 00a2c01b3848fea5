"""The section of the report that `track` writes: parameters over time with 2σ bands, NIS, events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dynid.tracking import Health, LoadEvent, TrackedParameters, Tracker
from dynid.writers import Figure, Section, Table
from dynid.writers.report.drawing import Trace, line, packed, panel

__all__ = ["Trail", "tracking_section"]

MAX_DRAWN = 12
"""Parameters drawn; those that moved most, in units of their final standard deviation."""


@dataclass
class Trail:
    """What is kept of a run for its report."""

    t: list[float] = field(default_factory=list)
    values: list[TrackedParameters] = field(default_factory=list)
    nis: list[float] = field(default_factory=list)
    events: list[LoadEvent] = field(default_factory=list)

    def keep(self, t: float, tracker: Tracker) -> None:
        """Remember the estimate at time t (s)."""
        self.t.append(t)
        self.values.append(tracker.parameters)
        self.nis.append(tracker.nis)


def tracking_section(trail: Trail, health: Health, band: tuple[float, float]) -> Section:
    """Parameters over time (SI) with 2σ bands, NIS (dimensionless) with its band, and events."""
    # What is wrong stands in the verdict.
    said = () if health.sentences else ("The filter is in good health: its innovations are as large as it expects.",)
    tables = (Table(("time / s", "event", "load mass / kg"), _event_rows(trail.events)),) if trail.events else ()
    figures = (*_parameter_figures(trail), _nis_figure(trail, band)) if trail.t else ()
    n_all = len(trail.values[-1].values) if trail.values else 0
    drawn = f"Parameters over time with their 2σ bands; of {n_all}, the {min(MAX_DRAWN, n_all)} that moved most."
    return Section("Parameters while the robot moves", (*said, drawn), tables, figures)


def _event_rows(events: Sequence[LoadEvent]) -> tuple[tuple[str, ...], ...]:
    return tuple((f"{event.t:.3f}", event.kind, f"{event.mass:.3f}") for event in events)


def _parameter_figures(trail: Trail) -> tuple[Figure, ...]:
    last = trail.values[-1]
    values = np.array([kept.values for kept in trail.values])
    lower, upper = (np.array([getattr(kept, name) for kept in trail.values]) for name in ("lower", "upper"))
    moved = np.abs(values[-1] - values[0]) / np.maximum(last.std, 1e-300)
    drawn = np.sort(np.argsort(-moved)[:MAX_DRAWN])
    t = packed(np.array(trail.t))
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


def _nis_figure(trail: Trail, band: tuple[float, float]) -> Figure:
    t = [float(f"{value:.5g}") for value in trail.t]
    nis = [float(f"{value:.4g}") if np.isfinite(value) else None for value in trail.nis]
    traces: list[dict[str, object]] = [
        {"type": "scatter", "mode": "markers", "name": "NIS", "x": t, "y": nis, "marker": {"size": 3, "color": "@c0"}}
    ]
    for name, level in (("2.5 %", band[0]), ("97.5 %", band[1])):
        line = {"line": {"dash": "dash", "color": "@c2"}}
        traces.append(
            {"type": "scatter", "mode": "lines", "name": name, "x": [t[0], t[-1]], "y": [level, level], **line}
        )
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "time / s"}},
        "yaxis": {"title": {"text": "normalised innovation squared"}, "type": "log"},
    }
    return Figure(tuple(traces), layout, "NIS and the band that holds 95 % of it in a healthy filter", height=320)
