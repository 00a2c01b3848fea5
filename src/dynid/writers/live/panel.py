"""The panel of the page: large numbers, charts, events, buttons. Every text of a source or a robot file is escaped."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from dynid.arrays import Array, Float
from dynid.workflow.live_view import LiveView

__all__ = ["LivePanel", "events_html", "health_html", "mass_html", "source_html"]

CHART_POINTS = 400
"""Points of a chart: as many as its width shows."""
SHOWN_EVENTS = 12
"""Latest events in the list."""
WITHIN_95 = 1.96
"""Standard deviations (dimensionless) within which 95 % of a normal variable lie."""
STYLE = "font-family:system-ui,sans-serif;line-height:1.15"
COLOURS = {"good": "#1a7f37", "bad": "#b42318", "measured": "#1f4e9c", "predicted": "#c2410c", "load": "#7c3aed"}


def mass_html(view: LiveView) -> str:
    """The load in figures that are read from two metres away."""
    load = view.load
    interval = WITHIN_95 * load.mass_std
    touched = (
        f"<div style='font-size:28px;color:{COLOURS['bad']};font-weight:700'>contact</div>" if view.in_contact else ""
    )
    return (
        f"<div style='{STYLE};text-align:center'><div id='dynid-mass' style='font-size:84px;font-weight:700;"
        f"color:{COLOURS['load']};font-variant-numeric:tabular-nums'>{load.mass:.2f} kg</div>"
        f"<div style='font-size:30px;color:#555'>± {interval:.2f} kg (95 %)</div>{touched}</div>"
    )


def health_html(view: LiveView) -> str:
    """One sentence, green or red."""
    colour = COLOURS["good" if view.healthy else "bad"]
    return (
        f"<div id='dynid-health' style='{STYLE};font-size:22px;color:{colour};padding:6px'>"
        f"{html.escape(view.health)}</div>"
    )


def source_html(view: LiveView) -> str:
    """What came from the source, and how fast."""
    rate = f"{view.rate_hz:.0f}/s" if np.isfinite(view.rate_hz) else "–"
    latency = f"{1e3 * view.latency:.1f} ms" if np.isfinite(view.latency) else "–"
    return (
        f"<div id='dynid-source' style='{STYLE};font-size:15px;color:#555;padding:4px'>{html.escape(str(view.counts))}"
        f" · {rate} · {latency} · {view.t:.1f} s</div>"
    )


def events_html(view: LiveView) -> str:
    """The latest events, the newest first."""
    rows = "".join(
        f"<tr><td style='text-align:right;padding-right:12px'>{event.t:.2f} s</td><td><b>{html.escape(event.kind)}</b>"
        f"</td><td style='text-align:right;padding-left:12px'>{event.mass:.2f} kg</td></tr>"
        for event in reversed(view.events[-SHOWN_EVENTS:])
    )
    body = rows or "<tr><td>none yet</td></tr>"
    return f"<div id='dynid-events' style='{STYLE};font-size:20px'><table style='width:100%'>{body}</table></div>"


class LivePanel:
    """Everything of the page that is no 3D."""

    def __init__(self, server: Any, joint_names: tuple[str, ...]) -> None:
        """Build it on a server of viser."""
        gui, self._joints = server.gui, joint_names
        self.mass = gui.add_html("")
        self.health = gui.add_html("")
        self.mass_chart = self._chart(gui, "load mass, kg", ("mass", "95 %", "95 %"), COLOURS["load"])
        self.joint = gui.add_dropdown("Joint", list(joint_names))
        self.torque_chart = self._chart(gui, "torque", ("predicted", "95 %", "95 %", "measured"), COLOURS["predicted"])
        self.buttons = {name: gui.add_button(name) for name in ("Tare", "Reset", "Mark", "Save")}
        with gui.add_folder("Events"):
            self.events = gui.add_html("")
        with gui.add_folder("Record and identify", expand_by_default=False):
            self.buttons |= {name: gui.add_button(name) for name in ("Record anew", "Identify")}
            self.verdict = gui.add_html("")
        with gui.add_folder("Calibrate by hanging a weight", expand_by_default=False):
            self.weight = gui.add_number("Known mass, kg", 1.0, min=0.01, max=1000.0, step=0.001)
            self.buttons |= {name: gui.add_button(name) for name in ("Empty", "Loaded", "Done")}
            self.calibration = gui.add_html("")
        self.notice = gui.add_html("")
        self.source = gui.add_html("")

    def _chart(self, gui: Any, title: str, names: tuple[str, ...], colour: str) -> Any:
        import viser.uplot as uplot

        faint = f"{colour}55"
        series: list[Any] = [uplot.Series(label="s")]
        for name in names:
            stroke = COLOURS["measured"] if name == "measured" else faint if name == "95 %" else colour
            series.append(uplot.Series(label=name, stroke=stroke, width=1 if name == "95 %" else 2))
        data = tuple(np.array([0.0, 1.0]) * 0.0 + k for k in range(len(series)))
        return gui.add_uplot(
            data=data,
            series=tuple(series),
            title=title,
            bands=({"series": (2, 3), "fill": faint},),
            scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
            legend=uplot.Legend(show=False),
            aspect=2.2,
        )

    def show(self, view: LiveView, *, charts: bool) -> None:
        """Show a view; the charts only where asked for."""
        _put(self.mass, mass_html(view))
        _put(self.health, health_html(view))
        _put(self.source, source_html(view))
        _put(self.events, events_html(view))
        if not charts:
            return
        if len(view.mass) > 1:
            t, mass, std = _thinned(view.mass).T
            spread = WITHIN_95 * std
            self.mass_chart.data = tuple(map(np.ascontiguousarray, (t, mass, mass + spread, mass - spread)))
        if len(view.torque) > 1:
            n, j = len(self._joints), self._joints.index(self.joint.value)
            rows = _thinned(view.torque)
            t, measured, predicted = rows[:, 0], rows[:, 1 + j], rows[:, 1 + n + j]
            spread = WITHIN_95 * rows[:, 1 + 2 * n + j]
            lines = (t, predicted, predicted + spread, predicted - spread, measured)
            self.torque_chart.data = tuple(map(np.ascontiguousarray, lines))

    def say(self, words: str, *, where: str = "notice") -> None:
        """A line of plain text under the buttons, or at the `verdict` or the `calibration`."""
        place = {"notice": self.notice, "verdict": self.verdict, "calibration": self.calibration}[where]
        _put(place, f"<div id='dynid-{where}' style='{STYLE};font-size:18px;padding:4px'>{html.escape(words)}</div>")


def _put(handle: Any, content: str) -> None:
    if handle.content != content:
        handle.content = content


def _thinned(rows: Float[Array, "n_points n_columns"]) -> Float[Array, "n_shown n_columns"]:
    step = max(1, -(-len(rows) // CHART_POINTS))
    # From the newest backwards, so that points stay where they are while the chart moves on.
    return rows[::-1][::step][::-1]
