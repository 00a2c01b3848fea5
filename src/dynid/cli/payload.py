"""``dynid payload``: the load carried in a log, or the drive gains that a load of known mass reveals."""

from __future__ import annotations

from pathlib import Path

import dynid
from dynid.cli.console import emit_json, say, show, warn, wrote
from dynid.cli.options import FrictionName, JsonFlag, LogOptions, ScaleOptions
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.workflow.payload_results import GainsIdentification

__all__ = ["payload"]


def payload(
    model: Path,
    log: Path,
    /,
    *,
    unloaded: Path | None = None,
    flange: tuple[float, float, float, float, float, float] | None = None,
    out: Path | None = None,
    known_mass: float | None = None,
    friction: FrictionName = "auto",
    options: LogOptions | None = None,
    scale: ScaleOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Mass, centre of mass and inertia of the load in a log, against the model of the empty arm.

    With --unloaded the empty arm is fitted anew from a run without load; the model then gives only robot and friction.
    With --known-mass both logs are motor currents, and the drive gains are found instead. Logs are read and
    conditioned as in the fit of the model (column map, gains, low-pass, delay), unless options say otherwise.

    Example: dynid payload result/model.json with_load.csv --unloaded without.csv

    Parameters
    ----------
    model
        The model.json of identify, of the arm without load.
    log
        The log with the load.
    unloaded
        A log without it.
    flange
        Flange frame in the last link's frame: x y z in m, roll pitch yaw in rad.
    out
        Write the load as JSON, for dynid export --to franka or ur; with --known-mass the gains.
    known_mass
        Mass of the load in kg; finds drive gains from currents with and without it.
    friction
        Friction for --known-mass: names joined by +, or auto.
    """
    with progress("reading") as step:
        result = dynid.payload(
            model,
            log,
            unloaded=unloaded,
            flange=flange,
            known_mass=known_mass,
            friction=friction,
            progress=step,
            **typed(options, scale),
        )
    saved = None if out is None else dynid.save(result, out)
    if json:
        emit_json({**result.json(), **({} if saved is None else saved.json())})
    else:
        show(result.document())
        if isinstance(result, GainsIdentification):
            typed_gains = ",".join(f"{gain:.5g}" for gain in result.gains)
            say("use", f"--gains {typed_gains}" if out is None else f"--gains {out}, with their covariance")
        if saved is not None:
            wrote(saved)
    for sentence in result.warnings:
        warn(sentence)
    return 1 if result.warnings else 0
