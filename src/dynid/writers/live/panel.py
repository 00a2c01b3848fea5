"""The panel of the page: large numbers, charts, events, buttons. Every text of a source or a robot file is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dynid.arrays import Array, Float
from dynid.workflow.live_view import LiveView

__all__ = [
    "LivePanel",
    "contact_html",
    "events_html",
    "health_html",
    "mass_html",
    "source_html",
    "title_html",
    "without_paths",
]

CHART_POINTS = 400
"""Points of a chart: as many as its width shows."""
CHART_SECONDS = 60.0
"""Time in s that a chart spans, up to now."""
TIMES = {-60.0: "−60 s", -40.0: "−40 s", -20.0: "−20 s", 0.0: "now"}
"""Ticks of the time axis, s, and what stands there."""
SHOWN_EVENTS = 6
"""Latest events in the list: as many as a screen has room for beside the charts."""
WITHIN_95 = 1.96
"""Standard deviations (dimensionless) within which 95 % of a normal variable lie."""
WIDTH = 560
"""Of the panel, pixels: the large figures fit, and a screen of 1366 pixels leaves as much for the arm."""
FOLDERS = re.compile(r"(?<![\w/\\.])(?:[A-Za-z]:|~|\.{1,2})?[\\/](?:[^\s\\/'\"<>]+[\\/])+")
"""The folders of a path, with a drive or without."""
STYLE = "font-family:system-ui,sans-serif;line-height:1.2"
COLOURS = {"good": "#1a7f37", "bad": "#b42318", "measured": "#12305f", "predicted": "#ea7317", "load": "#7c3aed"}
LARGER = (
    "<style>.mantine-Button-label{font-size:20px!important}.mantine-Button-root{height:44px!important}"
    ".mantine-Input-input{font-size:18px!important;height:36px!important}"
    ".mantine-Text-root,.mantine-InputWrapper-label,.mantine-Paper-root>.mantine-Paper-root{font-size:18px!important}"
    "</style>"
)
"""What viser makes too small to be read from two metres away: buttons, inputs and their labels."""


def without_paths(text: str) -> str:
    """A message without the folders of this machine: of a path only its last name stays."""
    return FOLDERS.sub("", text)


def mass_html(view: LiveView) -> str:
    """The load in figures that are read from two metres away."""
    load = view.load
    interval = WITHIN_95 * load.mass_std
    return (
        f"{LARGER}<div style='{STYLE};text-align:center;white-space:nowrap;line-height:1'>"
        f"<span id='dynid-mass' style='font-weight:700;color:{COLOURS['load']};font-variant-numeric:tabular-nums'>"
        f"<span style='font-size:110px'>{load.mass:.2f}</span><span style='font-size:56px'> kg</span></span>"
        f"<span style='font-size:34px;color:#555'> ± {interval:.2f}</span></div>"
    )


def contact_html(view: LiveView) -> str:
    """What touches the arm, in red; the place stays empty where nothing does."""
    contact, touched = view.contact, ""
    if contact is not None:
        touched = html.escape(f"contact at {contact.name}, {contact.size:.0f} N")
    look = f"color:#fff;background:{COLOURS['bad']}" if touched else "color:#777"
    return (
        f"<div id='dynid-contact' style='{STYLE};font-size:28px;font-weight:700;text-align:center;border-radius:6px;"
        f"padding:4px;margin:2px 6px;{look}'>{touched or 'no contact'}</div>"
    )


def health_html(view: LiveView) -> str:
    """One sentence, green or red."""
    colour = COLOURS["good" if view.healthy else "bad"]
    return (
        f"<div id='dynid-health' style='{STYLE};font-size:23px;color:{colour};padding:4px 6px;min-height:56px'>"
        f"{html.escape(without_paths(view.health))}</div>"
    )


def source_html(view: LiveView) -> str:
    """What came from the source, and how fast."""
    rate = f"{view.rate_hz:.0f} Hz" if np.isfinite(view.rate_hz) else "–"
    latency = f"{1e3 * view.latency:.1f} ms" if np.isfinite(view.latency) else "–"
    return (
        f"<div id='dynid-source' style='{STYLE};font-size:17px;color:#555;padding:4px 6px'>"
        f"{html.escape(str(view.counts))}<br>{rate}, estimate {latency} after arrival, time {view.t:.1f} s</div>"
    )


def title_html(quantity: str, lines: dict[str, str]) -> str:
    """The title of a chart, which says what it shows and in which colour: words and their colours."""
    said = ", ".join(f"<b style='color:{colour}'>{word}</b>" for word, colour in lines.items())
    return f"<div style='{STYLE};font-size:20px;padding:4px 6px 0'>{html.escape(quantity)}: {said}</div>"


def events_html(view: LiveView) -> str:
    """The latest events, the newest first."""
    rows = "".join(
        f"<tr><td style='text-align:right;padding-right:14px;white-space:nowrap'>{event.t:.1f} s</td>"
        f"<td><b>{html.escape(event.kind)}</b></td>"
        f"<td style='text-align:right;padding-left:14px'>{html.escape(event.detail)}</td></tr>"
        for event in reversed(view.events[-SHOWN_EVENTS:])
    )
    body = rows or "<tr><td>none yet</td></tr>"
    return f"<div id='dynid-events' style='{STYLE};font-size:22px'><table style='width:100%'>{body}</table></div>"


class LivePanel:
    """Everything of the page that is no 3D."""

    def __init__(self, server: Any, joint_names: tuple[str, ...], units: tuple[str, ...]) -> None:
        """Build it on a server of viser; `units` are those of the torques."""
        gui, self._joints, self._units = server.gui, joint_names, units
        self.mass = gui.add_html("")
        self.contact = gui.add_html("")
        self.health = gui.add_html("")
        self.groups = [gui.add_button_group("Session", ("Tare", "Reset", "Mark", "Save"))]
        self.notice = gui.add_html("")
        gui.add_html(title_html("Load, kg, last minute", {"mass, 95 % interval": COLOURS["load"]}))
        self.mass_chart = self._chart(gui, 140, ("mass", "high", "low"), COLOURS["load"])
        self.torque_title = gui.add_html("")
        self.torque_chart = self._chart(gui, 180, ("predicted", "high", "low", "measured"), COLOURS["predicted"])
        self.joint = gui.add_dropdown("Joint", list(joint_names))
        with gui.add_folder("Events"):
            self.events = gui.add_html("")
        with gui.add_folder("Record and identify", expand_by_default=False):
            self.groups.append(gui.add_button_group("Recorded", ("Record anew", "Identify")))
            self.verdict = gui.add_html("")
        with gui.add_folder("Calibrate by hanging a weight", expand_by_default=False):
            self.weight = gui.add_number("Known mass, kg", 1.0, min=0.01, max=1000.0, step=0.001)
            self.groups.append(gui.add_button_group("Weight", ("Empty", "Loaded", "Done")))
            self.calibration = gui.add_html("")
        self.source = gui.add_html("")

    def wire(self, actions: dict[str, Callable[[], None]]) -> None:
        """Say what every button does."""
        for group in self.groups:
            group.on_click(lambda event: actions[event.target.value]())

    def _chart(self, gui: Any, height: int, names: tuple[str, ...], colour: str) -> Any:
        import viser.uplot as uplot

        faint, font = f"{colour}44", "18px system-ui, sans-serif"
        series: list[Any] = [uplot.Series(label="s")]
        for name in names:
            stroke = {"high": faint, "low": faint, "measured": COLOURS["measured"]}.get(name, colour)
            width = {"predicted": 5, "mass": 3, "measured": 2}.get(name, 1)
            series.append(uplot.Series(label=name, stroke=stroke, width=width, points={"show": False}))
        axis = uplot.Axis(font=font, stroke="#444", grid={"stroke": "#ddd", "width": 1}, ticks={"show": False})
        return gui.add_uplot(
            data=(np.array([-CHART_SECONDS, 0.0]), *(np.zeros(2) for _ in names)),
            series=tuple(series),
            bands=({"series": (2, 3), "fill": faint},),
            scales={"x": uplot.Scale(time=False, auto=False, range=(-CHART_SECONDS, 0.0)), "y": uplot.Scale(auto=True)},
            axes=(
                uplot.Axis(
                    **axis, size=28, splits=(-60.0, -40.0, -20.0, 0.0), values=("−60 s", "−40 s", "−20 s", "now")
                ),
                uplot.Axis(**axis, size=58, space=36),
            ),
            legend=uplot.Legend(show=False),
            cursor={"show": False},
            height=height,
            padding=(8, 24, 0, 0),
        )

    def show(self, view: LiveView, *, charts: bool) -> None:
        """Show a view; the charts only where asked for."""
        _put(self.mass, mass_html(view))
        _put(self.contact, contact_html(view))
        _put(self.health, health_html(view))
        _put(self.source, source_html(view))
        _put(self.events, events_html(view))
        if not charts:
            return
        if len(view.mass) > 1:
            t, mass, std = _thinned(view.mass).T
            # An interval that is not known yet would squeeze the line: it is cut above the heaviest load of the minute.
            top = 1.3 * float(np.max(mass)) + 0.5
            low, high = np.maximum(mass - WITHIN_95 * std, 0.0), np.minimum(mass + WITHIN_95 * std, top)
            self.mass_chart.data = tuple(map(np.ascontiguousarray, (t - view.t, mass, high, low)))
        if len(view.torque) > 1:
            self._show_torque(view)

    def _show_torque(self, view: LiveView) -> None:
        n, j = len(self._joints), self._joints.index(self.joint.value)
        rows = _thinned(view.torque)
        t, measured, predicted = rows[:, 0], rows[:, 1 + j], rows[:, 1 + n + j]
        values = np.concatenate([measured, predicted])
        room = 0.5 * float(np.ptp(values)) + 1e-3
        reach = np.minimum(WITHIN_95 * rows[:, 1 + 2 * n + j], room)
        lines = (t - view.t, predicted, predicted + reach, predicted - reach, measured)
        said = {"measured": COLOURS["measured"], "predicted, 95 % band": COLOURS["predicted"]}
        _put(self.torque_title, title_html(f"Torque, {self._units[j]}", said))
        self.torque_chart.data = tuple(map(np.ascontiguousarray, lines))

    def say(self, words: str, *, where: str = "notice") -> None:
        """A line of plain text under the buttons, or at the `verdict` or the `calibration`."""
        place = {"notice": self.notice, "verdict": self.verdict, "calibration": self.calibration}[where]
        _put(place, f"<div id='dynid-{where}' style='{STYLE};font-size:20px;padding:4px'>{html.escape(words)}</div>")


def _put(handle: Any, content: str) -> None:
    if handle.content != content:
        handle.content = content


def _thinned(rows: Float[Array, "n_points n_columns"]) -> Float[Array, "n_shown n_columns"]:
    step = max(1, -(-len(rows) // CHART_POINTS))
    # From the newest backwards, so that points stay where they are while the chart moves on.
    return rows[::-1][::step][::-1]
