"""`live`: the job behind ``dynid live``: a source followed, and a page on this machine that shows it."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from dynid.arrays import Array
from dynid.errors import ConfigError
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_settings import LogSettings
from dynid.recording.recording import Recording
from dynid.tracking.setup import TrackingOptions
from dynid.tracking.sources.intake import SampleIntake
from dynid.tracking.sources.udp import LOOPBACK
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import LogLike, ModelLike, as_gains, as_map, as_model
from dynid.workflow.live_run import LiveRun
from dynid.workflow.live_view import LiveSession
from dynid.workflow.track import tracked_source
from dynid.writers.live.guard import PageGuard, is_loopback
from dynid.writers.live.meshes import LinkMesh, robot_meshes
from dynid.writers.live.page import LivePage

__all__ = ["live", "open_live"]

SWITCH = 0.0005
"""Time in s after which one thread of Python makes room for another: shorter than a sample of a fast source."""


@checked_arguments
def live(
    model: ModelLike,
    source: LogLike | int,
    *,
    speed: float = 1.0,
    out: str | PathLike[str] = "live",
    host: str | None = None,
    port: int = 8765,
    token: str | None = None,
    meshes: str | PathLike[str] | None = None,
    max_mass: float = 5.0,
    false_alarms: float = 0.5,
    half_window: float = 0.1,
    rate: float | None = None,
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    ready: Callable[[LivePage], bool] | None = None,
) -> LiveSession:
    """Show loads and contacts while the robot moves, on a page of this machine, until Ctrl-C: ``dynid live`` (SI).

    Args:
        model: model.json or `IdentifiedModel` of the arm without load.
        source: a log to replay, or a live source, as for `dynid.track`.
        speed: of a replay, over real time (dimensionless).
        out: folder for what the Save button writes, a numbered folder each.
        host: address to listen at; this machine only unless given. Another needs a token.
        port: where to listen; the next free one where it is taken.
        token: what others must know; one is made where `host` is given without.
        meshes: URDF file whose visual meshes are drawn in place of capsules.
        max_mass, false_alarms: the heaviest load, kg; contacts that may be invented in an hour of free motion, 1/h.
        half_window: half the window that gives velocity and acceleration, s.
        rate: samples per second of a live source; measured where None.
        from_: start of the part to replay, s.
        until: end of the part to replay, s.
        columns: mapping file or `ColumnMap`.
        gains: drive gains in N·m/A, for sources of motor current.
        ready: hears the page once it is there, and again ten times a second; where it says True, the page closes.

    Raises:
        ConfigError: viser is not installed.
        TrackingError: options that make no sense, or a source that cannot be opened.
        RecordingError: nothing came before it was closed.
    """
    page = open_live(
        model, source, speed=speed, out=out, host=host, port=port, token=token, meshes=meshes, max_mass=max_mass,
        false_alarms=false_alarms, half_window=half_window, rate=rate, from_=from_, until=until, columns=columns,
        gains=gains,
    )  # fmt: skip
    try:
        while not (ready is not None and ready(page)):
            if not page.running:
                raise ConfigError("the live page ended; start it again")
            time.sleep(0.1)
    except KeyboardInterrupt:
        pass
    finally:
        page.stop()
        page.run.stop()
    return page.session()


def open_live(
    model: ModelLike,
    source: LogLike | int,
    *,
    speed: float = 1.0,
    out: str | PathLike[str] = "live",
    host: str | None = None,
    port: int = 8765,
    token: str | None = None,
    meshes: str | PathLike[str] | None = None,
    max_mass: float = 5.0,
    false_alarms: float = 0.5,
    half_window: float = 0.1,
    rate: float | None = None,
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
) -> LivePage:
    """The page of `live`, running (SI); stop it and its `run` in the end."""
    known = as_model(model)
    settings = LogSettings(columns=as_map(columns), gains=as_gains(gains)).over(known.settings)
    address = LOOPBACK if host is None else host
    if token is None and not is_loopback(address):
        token = secrets.token_urlsafe(16)
    if token is not None and len(token) < 8:
        raise ConfigError("`token` is shorter than 8 characters; leave it out to have one made")
    options = TrackingOptions(
        payload=True, max_mass=max_mass, false_alarms=false_alarms, half_window=half_window,
        rate=1000.0 if rate is None else rate,
    )  # fmt: skip
    found = tracked_source(known, source, settings, from_, until)
    if isinstance(found, Recording):
        intake = SampleIntake.of_log(found, speed=speed)
        measured = False
        options = replace(options, rate=found.rate_hz)
    else:
        intake, measured = found, rate is None
    shapes: list[LinkMesh] = [] if meshes is None else robot_meshes(known.robot, Path(meshes))
    run = LiveRun(known, intake, options, measured_rate=measured)
    page = LivePage(run, guard=PageGuard(address, token), port=port, meshes=shapes, out=Path(out))
    sys.setswitchinterval(SWITCH)
    run.start()
    page.start()
    return page
