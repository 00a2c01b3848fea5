"""The section of the report that `track` writes: parameters over time with 2σ bands, NIS, events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dynid.tracking import Health, LoadEvent, TrackedParameters, Tracker
from dynid.writers import Figure, Section, Table

__all__ = ["Trail", "tracking_section"]

MAX_DRAWN = 12
"""Parameters drawn; those that moved most, in units of their final standard deviation."""
BAND = "rgba(20,99,165,0.15)"
LINE = "#1463a5"


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
    said = health.sentences or ("The filter is in good health: its innovations are as large as it expects.",)
    tables = (Table(("time / s", "event", "load mass / kg"), _event_rows(trail.events)),) if trail.events else ()
    figures = (_parameters_figure(trail), _nis_figure(trail, band)) if trail.t else ()
    return Section("Parameters while the robot moves", tuple(said), tables, figures)


def _event_rows(events: Sequence[LoadEvent]) -> tuple[tuple[str, ...], ...]:
    return tuple((f"{event.t:.3f}", event.kind, f"{event.mass:.3f}") for event in events)


def _parameters_figure(trail: Trail) -> Figure:
    last = trail.values[-1]
    values = np.array([kept.values for kept in trail.values])
    lower, upper = (np.array([getattr(kept, name) for kept in trail.values]) for name in ("lower", "upper"))
    moved = np.abs(values[-1] - values[0]) / np.maximum(last.std, 1e-300)
    drawn = np.sort(np.argsort(-moved)[:MAX_DRAWN])
    traces: list[dict[str, object]] = []
    layout: dict[str, object] = {"grid": {"rows": -(-len(drawn) // 2), "columns": 2, "pattern": "independent"}}
    t = [float(f"{value:.5g}") for value in trail.t]
    for place, s in enumerate(drawn):
        number = "" if place == 0 else str(place + 1)
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": False, "type": "scatter", "mode": "lines"}
        layout[f"xaxis{number}"] = {"title": {"text": "time / s"}}
        unit = f" / {last.units[s]}" if last.units[s] else ""
        layout[f"yaxis{number}"] = {"title": {"text": f"{last.symbols[s]}{unit}"}}
        edge = {"line": {"width": 0}, "hoverinfo": "skip"}
        traces.append({**axes, **edge, "x": t, "y": lower[:, s].tolist()})
        traces.append({**axes, **edge, "x": t, "y": upper[:, s].tolist(), "fill": "tonexty", "fillcolor": BAND})
        traces.append({**axes, "x": t, "y": values[:, s].tolist(), "name": last.symbols[s], "line": {"color": LINE}})
    caption = "Parameters over time with their 2σ bands" + (
        f"; the {len(drawn)} of {len(moved)} that moved most" if len(drawn) < len(moved) else ""
    )
    return Figure(tuple(traces), layout, caption, height=200 * -(-len(drawn) // 2) + 60)


def _nis_figure(trail: Trail, band: tuple[float, float]) -> Figure:
    t = [float(f"{value:.5g}") for value in trail.t]
    nis = [float(f"{value:.4g}") if np.isfinite(value) else None for value in trail.nis]
    traces: list[dict[str, object]] = [
        {"type": "scatter", "mode": "markers", "name": "NIS", "x": t, "y": nis, "marker": {"size": 3, "color": LINE}}
    ]
    for name, level in (("2.5 %", band[0]), ("97.5 %", band[1])):
        line = {"line": {"dash": "dash", "color": "#d1495b"}}
        traces.append(
            {"type": "scatter", "mode": "lines", "name": name, "x": [t[0], t[-1]], "y": [level, level], **line}
        )
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "time / s"}},
        "yaxis": {"title": {"text": "normalised innovation squared"}, "type": "log"},
    }
    return Figure(tuple(traces), layout, "NIS and the band that holds 95 % of it in a healthy filter", height=320)
