"""``dynid track``: parameters, loads and contacts while the robot moves, replayed or live."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.live import Live
from rich.table import Table

import dynid
from dynid.cli.console import emit_json, show, warn, wrote
from dynid.cli.options import JsonFlag, LogOptions
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.disk import refuse_replacing
from dynid.errors import ConfigError
from dynid.tracking.session import TrackedMoment
from dynid.tracking.sources.intake import is_stream
from dynid.workflow.track_result import events_json
from dynid.writers.savers.saved import folder_files

__all__ = ["track"]

SHOWN = 14
"""Parameters in the live view, so that it fits a terminal of 24 lines."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TrackOptions:
    """What to follow, from what, and how fast."""

    from_wrong: Annotated[
        float | None, Parameter(help="Start from parameters this much wrong (0.2 is 20 %), sign by link [default: 0].")
    ] = None
    payload: Annotated[bool, Parameter(negative="", help="Follow the load on a known arm, and contacts.")] = False
    measure: Annotated[
        Literal["torque", "base-wrench", "both"] | None,
        Parameter(help="What is measured; a base wrench shows the base link as well [default: torque]."),
    ] = None
    tared: Annotated[
        bool,
        Parameter(
            negative="",
            help="The sensor under the base was set to zero with the arm on it: m0 is its offset, and may be negative.",
        ),
    ] = False
    states: Annotated[
        Literal["auto", "entries", "links"] | None,
        Parameter(
            help="links: all parameters together, links always consistent; entries: each parameter between its own "
            "bounds; auto: links where the model has consistent ones [default: auto]."
        ),
    ] = None
    max_mass: Annotated[float | None, Parameter(help="The heaviest load, kg [default: 5].")] = None
    false_alarms: Annotated[
        float | None,
        Parameter(help="Contacts that may be invented in an hour of free motion, 1/h [default: 0.5]."),
    ] = None
    speed: Annotated[float | None, Parameter(help="Replay at this many times real time [default: full speed].")] = None
    half_window: Annotated[
        float | None, Parameter(help="Half the window that gives velocity and acceleration, s [default: 0.1].")
    ] = None
    rate: Annotated[float | None, Parameter(help="Samples per second of a live source [default: 1000].")] = None
    checkpoint: Annotated[Path | None, Parameter(help="Resume from this file if it is there, and save to it.")] = None
    seed: Annotated[int | None, Parameter(help="Seed of the signs of --from-wrong [default: 0].")] = None
    process_noise: Annotated[
        float | None, Parameter(help="Process noise k₀ of every state of the arm, per sample [default: 0].")
    ] = None
    annealing: Annotated[
        float | None, Parameter(help="Samples after which the process noise has fallen by e [default: 200].")
    ] = None
    carry: Annotated[
        Literal["parameters", "state"] | None,
        Parameter(
            help="Whose covariance stays when a bound bends the state; state as in the paper [default: parameters]."
        ),
    ] = None
    noise: Annotated[
        tuple[str, ...] | None,
        Parameter(
            consume_multiple=1,
            help="Standard deviation of the measured rows, one for all or each, N·m and N; or periodic: from how the "
            "periods of the log differ [default: from model or log].",
        ),
    ] = None
    bounds: Annotated[Path | None, Parameter(help="CSV with parameter,lower,upper that the parameters keep.")] = None
    compare: Annotated[
        bool,
        Parameter(
            negative="",
            help="Run an unconstrained filter, recursive and batch least squares beside it; with --until, the rest of "
            "the log is held out.",
        ),
    ] = False
    settle: Annotated[
        float | None, Parameter(help="Time to converge that does not count in --compare, s [default: 2].")
    ] = None


def track(
    model: Path,
    log: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    out: Path | None = None,
    what: TrackOptions | None = None,
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
        A log to replay, or a live source: udp:PORT for datagrams with t, q, dq, tau on this machine, - for lines of
        JSON on standard input, follow:FILE for a log, MCAP file or ROS 2 bag being written.
    out
        Folder for model.json and report.html.
    """
    asked = typed(what, options)
    asked.pop("lowpass", None)  # samples are followed as they come
    if "noise" in asked:
        asked["noise"] = _noise(asked["noise"])
    if out is not None:
        read = [] if is_stream(log) else [Path(log)]
        read += [asked["bounds"]] if "bounds" in asked else []
        refuse_replacing([model, *read], (), unasked=folder_files(out))
    live = sys.stdout.isatty() and not json
    with ExitStack() as stack:
        view = stack.enter_context(Live(console=Console(), refresh_per_second=8)) if live else None
        step = stack.enter_context(progress("preparing the filter", quiet=live))
        result = dynid.track(model, log, watch=_watcher(view, json), progress=step, **asked)
    saved = None if out is None else dynid.save(result, out)
    if json:
        emit_json({**result.json(), **({"files": {}} if saved is None else saved.json())})
    else:
        show(result.document())
        if saved is not None:
            wrote(saved)
    for sentence in result.warnings:
        warn(sentence)
    return 0 if result.run.health.n_absorbed else 1


def _noise(given: tuple[str, ...]) -> Literal["periodic"] | tuple[float, ...]:
    if given == ("periodic",):
        return "periodic"
    try:
        return tuple(float(word) for word in given)
    except ValueError:
        raise ConfigError(f"--noise {' '.join(given)}: give numbers in N·m and N, or periodic") from None


def _watcher(view: Live | None, json: bool) -> Callable[[TrackedMoment], None]:
    """What hears of every estimate that is kept: a line of JSON, the live view, or nobody."""

    def watch(moment: TrackedMoment) -> None:
        if json:
            emit_json(_moment_json(moment))
        if view is not None:
            view.update(_table(moment))

    return watch


def _moment_json(moment: TrackedMoment) -> dict[str, object]:
    now = moment.parameters
    content: dict[str, object] = {
        "t": moment.t,
        "nis": moment.nis,
        "parameters": dict(zip(now.symbols, now.values.tolist(), strict=True)),
        "std": dict(zip(now.symbols, now.std.tolist(), strict=True)),
    }
    return {**content, "events": events_json(moment.events)} if moment.events else content


def _table(moment: TrackedMoment) -> Table:
    now = moment.parameters
    done = "" if moment.share is None else f"{100 * moment.share:.0f} %   "
    grid = Table(title=f"{done}{moment.t:.2f} s   NIS {moment.nis:.3g}   {moment.n_absorbed} samples", box=None)
    for header in ("parameter", "value", "± 2σ", "unit"):
        grid.add_column(header, justify="left" if header in ("parameter", "unit") else "right")
    for symbol, value, std, unit in list(zip(now.symbols, now.values, now.std, now.units, strict=True))[:SHOWN]:
        grid.add_row(symbol, f"{value:.4g}", f"{2 * std:.2g}", unit)
    return grid
