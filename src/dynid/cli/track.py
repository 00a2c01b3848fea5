"""``dynid track``: parameters, loads and contacts while the robot moves, replayed or live."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.live import Live
from rich.table import Table

from dynid.cli.console import emit_json, note, say, warn
from dynid.cli.options import JsonFlag
from dynid.cli.pipeline import LogOptions, provenance
from dynid.cli.progress import progress
from dynid.disk import at_once, claimed
from dynid.errors import TrackingError
from dynid.regression import load_model, save_model
from dynid.tracking import LoadEvent, TrackedMoment, TrackingOptions, TrackingResult, TrackingSession
from dynid.writers.report.tracking import tracking_report

__all__ = ["track"]

SHOWN = 14
"""Parameters in the live view, so that it fits a terminal of 24 lines."""
UDP = "udp:"
"""What a live source starts with."""


def track(
    model: Path,
    log: str,
    /,
    *,
    out: Path | None = None,
    what: Annotated[TrackingOptions, Parameter(name="*", negative="")] | None = None,
    options: LogOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Online estimation, replayed or live: parameters over time, NIS, load changes, contacts.

    Example: dynid track result/model.json log.csv --from-wrong 0.2 --out tracked

    Parameters
    ----------
    model
        The model.json of identify.
    log
        A log to replay, or udp:PORT for JSON datagrams with t, q, dq, tau on this machine.
    out
        Folder for model.json and report.html.
    """
    result = _followed(model, log, what or TrackingOptions(), options or LogOptions(), json=json)
    files = {} if out is None else _write(result, out, model, log)
    if json:
        emit_json({**_summary(result), "files": files})
    else:
        note(str(result))
        for file in files.values():
            say("wrote", file)
    for sentence in result.health.sentences:
        warn(sentence)
    if result.health.n_absorbed == 0:
        warn("no sample was absorbed; the log is shorter than the window, or every sample has a value missing")
        return 1
    return 0


def _followed(model: Path, log: str, what: TrackingOptions, options: LogOptions, *, json: bool) -> TrackingResult:
    """Run the session; show a live view on a terminal, or a JSON object for each sample that is kept."""
    known = load_model(model)
    port = log.removeprefix(UDP)
    if log.startswith(UDP) and not port.isdigit():
        raise TrackingError(f"{log}: the port is not a number; write udp:5005")
    source = int(port) if log.startswith(UDP) else options.read(Path(log), known.model.robot)
    session = TrackingSession(known, source, what)
    if session.unobservable:
        warn(f"nothing measured can observe {', '.join(session.unobservable)}; they stay where they start")
    live = sys.stdout.isatty() and not json
    with ExitStack() as stack:
        view = stack.enter_context(Live(console=Console(), refresh_per_second=8)) if live else None
        step = stack.enter_context(progress("following the log", quiet=live))
        for moment in session.follow():
            step("following the log", moment.share)
            if json:
                emit_json(_moment_json(moment))
            if view is not None:
                view.update(_view(moment))
    return session.result()


def _events_json(events: tuple[LoadEvent, ...]) -> list[dict[str, object]]:
    return [{"kind": event.kind, "t": event.t, "mass": event.mass} for event in events]


def _moment_json(moment: TrackedMoment) -> dict[str, object]:
    now = moment.parameters
    content: dict[str, object] = {
        "t": moment.t,
        "nis": moment.nis,
        "parameters": dict(zip(now.symbols, now.values.tolist(), strict=True)),
        "std": dict(zip(now.symbols, now.std.tolist(), strict=True)),
    }
    return {**content, "events": _events_json(moment.events)} if moment.events else content


def _view(moment: TrackedMoment) -> Table:
    now = moment.parameters
    done = "" if moment.share is None else f"{100 * moment.share:.0f} %   "
    grid = Table(title=f"{done}{moment.t:.2f} s   NIS {moment.nis:.3g}   {moment.n_absorbed} samples", box=None)
    for header in ("parameter", "value", "± 2σ", "unit"):
        grid.add_column(header, justify="left" if header in ("parameter", "unit") else "right")
    for symbol, value, std, unit in list(zip(now.symbols, now.values, now.std, now.units, strict=True))[:SHOWN]:
        grid.add_row(symbol, f"{value:.4g}", f"{2 * std:.2g}", unit)
    return grid


def _summary(result: TrackingResult) -> dict[str, object]:
    """The end of a run as scripts read it, SI."""
    health, now, load = result.health, result.parameters, result.load
    content: dict[str, object] = {
        "robot": result.model.robot.name,
        "n_dof": result.model.n_dof,
        "estimator": "track",
        "n_absorbed": health.n_absorbed,
        "n_skipped": result.n_skipped,
        "nis": {"mean": health.nis_mean, "band": health.nis_band, "share_inside": health.nis_share},
        "health": list(health.sentences),
        "parameters": [
            {"label": symbol, "value": float(value), "std": float(std), "unit": unit}
            for symbol, value, std, unit in zip(now.symbols, now.values, now.std, now.units, strict=True)
        ],
        "events": _events_json(result.events),
    }
    if load is not None:
        content["payload"] = {
            "mass": load.mass,
            "com": load.com,
            "inertia_com": load.inertia_com,
            "std": {"mass": load.mass_std},
            "settings": load.settings(),
        }
    return content


def _write(result: TrackingResult, out: Path, model: Path, log: str) -> dict[str, str]:
    """Write model.json and report.html into a folder."""
    tracked = result.tracked
    if result.load is None:
        inputs = [model] if log.startswith(UDP) else [model, Path(log)]
        tracked = replace(tracked, provenance=provenance("track", inputs, {}))
    with claimed(out), at_once():
        save_model(tracked, out / "model.json")
        tracking_report(result).write(out / "report.html")
    return {"model": str(out / "model.json"), "report": str(out / "report.html")}
