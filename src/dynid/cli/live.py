"""``dynid live``: a page on this machine that shows loads and contacts while the robot moves."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import emit_json, show, wrote
from dynid.cli.options import JsonFlag, LogOptions
from dynid.cli.options import keywords as typed
from dynid.prose import Line
from dynid.workflow.live_view import LiveSession
from dynid.workflow.track_result import counts_json
from dynid.writers.live.page import LivePage

__all__ = ["live"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """What is followed, and where the page is."""

    speed: Annotated[float | None, Parameter(help="Replay at this many times real time [default: 1].")] = None
    host: Annotated[str | None, Parameter(help="Address to listen at, with a token [default: this machine only].")] = (
        None
    )
    port: Annotated[int | None, Parameter(help="Where to listen; the next free one if taken [default: 8765].")] = None
    token: Annotated[str | None, Parameter(help="What other machines must know [default: made up].")] = None
    meshes: Annotated[Path | None, Parameter(help="URDF file whose meshes are drawn in place of capsules.")] = None
    max_mass: Annotated[float | None, Parameter(help="The heaviest load, kg [default: 5].")] = None
    false_alarms: Annotated[
        float | None,
        Parameter(help="Contacts that may be invented in an hour of free motion, 1/h [default: 0.5]."),
    ] = None
    half_window: Annotated[
        float | None, Parameter(help="Half the window that gives velocity and acceleration, s [default: 0.1].")
    ] = None
    rate: Annotated[float | None, Parameter(help="Samples per second of a live source [default: measured].")] = None
    seconds: Annotated[float | None, Parameter(help="Close so long after the first sample, s [default: never].")] = None


def live(
    model: Path,
    source: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    out: Path | None = None,
    what: LiveOptions | None = None,
    options: LogOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """A page on this machine that shows loads and contacts while the robot moves; Ctrl-C closes it.

    Example: dynid live result/model.json other.csv --speed 2

    Parameters
    ----------
    model
        The model.json of identify.
    source
        A live source: udp:PORT for datagrams with t, q, dq, tau on this machine, - for lines of JSON on standard
        input, follow:FILE for a log, MCAP file or ROS 2 bag being written; or a log to replay.
    out
        Folder for what the Save button writes, and for the session at the end [default: live, and nothing at the end].
    """
    asked = typed(what, options)
    asked.pop("lowpass", None)  # samples are followed as they come
    seconds = asked.pop("seconds", None)
    told: list[str] = []
    began: list[float] = []

    def ready(page: LivePage) -> bool:
        if not told:
            told.append(page.address)
            if json:
                emit_json({"address": page.address})
            else:
                show((Line("page", page.address), Line("source", page.run.intake.label)))
        if not began and page.run.view.n_recorded:
            began.append(time.monotonic())
        return seconds is not None and bool(began) and time.monotonic() - began[0] > seconds

    session = dynid.live(model, source, ready=ready, out="live" if out is None else out, **asked)
    saved = None if out is None else dynid.save(session, out / "end")
    if json:
        emit_json({**_session_json(session), **({"files": {}} if saved is None else saved.json())})
    else:
        load = session.run.load
        lines = [] if load is None else [Line("load", f"{load.mass:.3f} ± {load.mass_std:.3f} kg")]
        show((*lines, *(Line("event", f"{e.t:.3f} s   {e.kind}, load {e.mass:.3f} kg") for e in session.events)))
        if saved is not None:
            wrote(saved)
    return 0


def _session_json(session: LiveSession) -> dict[str, object]:
    load, counts = session.run.load, session.run.counts
    return {
        "robot": session.model.robot.name,
        "events": [{"kind": event.kind, "t": event.t, "mass": event.mass} for event in session.events],
        **({} if load is None else {"payload": {"mass": load.mass, "std": {"mass": load.mass_std}}}),
        **({} if counts is None else {"source": counts_json(counts)}),
    }
