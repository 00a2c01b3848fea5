"""``dynid payload``: the load carried in a log, or the drive gains that a load of known mass reveals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.arrays import Transform
from dynid.chain.placement import rotation_rpy, transform
from dynid.cli.console import emit_json, json_text, note, say, table, warn
from dynid.cli.options import FrictionName, JsonFlag
from dynid.cli.pipeline import LogOptions, error_json
from dynid.cli.progress import progress
from dynid.disk import write_whole
from dynid.errors import RecordingError
from dynid.recording import Conditioning, Samples, read_recording
from dynid.regression import (
    DriveGains,
    IdentifiedModel,
    KnownArm,
    Payload,
    Status,
    identify_gains,
    identify_payload,
    load_model,
)

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
    json: JsonFlag = False,
) -> int:
    """Mass, centre of mass and inertia of the load in a log, against the model of the empty arm.

    With --unloaded the empty arm is fitted anew from a run without load; the model then gives only robot and friction.
    With --known-mass both logs are motor currents, and the drive gains are found instead.

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
        Write the load as JSON, for dynid export --to franka or ur.
    known_mass
        Mass of the load in kg; finds drive gains from currents with and without it.
    friction
        Friction for --known-mass: names joined by +, or auto.
    """
    options = options or LogOptions()
    known = load_model(model)
    if known_mass is not None:
        return _gains(known, log, unloaded, known_mass, friction, options, json)
    T_link_flange = np.eye(4) if flange is None else transform(rotation_rpy(*flange[3:]), flange[:3])
    frame = known.model.robot.link_names[-1] if flange is None else "flange"
    with progress("reading") as step:
        loaded = _conditioned(log, known, options)
        empty = [] if unloaded is None else [_conditioned(unloaded, known, options)]
        step("fitting the load")
        found = identify_payload(
            known.model,
            known.base,
            [loaded],
            unloaded=empty,
            known=None if empty else KnownArm(known.beta, known.covariance),
            T_link_flange=T_link_flange,
        )
    content = _content(known, found, log, frame, T_link_flange)
    if out is not None:
        write_whole(out, json_text(content))
        content["files"] = {"payload": str(out)}
    if json:
        emit_json(content)
    else:
        _show(known, found, log, T_link_flange)
        if out is not None:
            say("wrote", str(out))
    if found.status is not Status.CONVERGED:
        warn(found.status.value)
        return 1
    return 0


def _conditioned(path: Path, known: IdentifiedModel, options: LogOptions) -> Samples:
    recording = options.read(path, known.model.robot)
    cutoff = options.lowpass if options.lowpass is not None or not np.isfinite(known.cutoff_hz) else known.cutoff_hz
    return replace(options, lowpass=cutoff).plan(recording).apply(recording)


def _gains(
    known: IdentifiedModel,
    log: Path,
    unloaded: Path | None,
    mass: float,
    friction: str,
    options: LogOptions,
    json: bool,
) -> int:
    if unloaded is None:
        raise RecordingError("--known-mass needs a run without the load as well: --unloaded LOG")
    if options.gains is not None:
        raise RecordingError("--known-mass finds the drive gains; leave --gains out")
    robot = known.model.robot
    drives = tuple(m for m in known.model.joint_models if not m.is_friction)
    with progress("reading") as step:
        logs = [read_recording(path, robot.joint_names, columns=options.map()) for path in (log, unloaded)]
        logs = [recording.part(options.from_, options.until) for recording in logs]
        step("fitting gains, arm and load together")
        conditioning = Conditioning(cutoff_hz=options.lowpass)
        found = identify_gains(
            robot, logs[0], logs[1], mass, drives=drives, friction=friction, conditioning=conditioning
        )
    if json:
        emit_json(_gains_content(known, found))
    else:
        say("robot", f"{robot.name}   {robot.n_dof} joints; scale set by {mass:g} kg")
        note("")
        rows = [
            (name, f"{gain:.4f}", f"{std:.4f}")
            for name, gain, std in zip(found.joint_names, found.gains, found.std, strict=True)
        ]
        table(("joint", "gain / N·m/A", "± 1σ"), rows, numeric=(1, 2))
        say("use", f"--gains {','.join(f'{gain:.5g}' for gain in found.gains)}")
    if found.status is not Status.CONVERGED:
        warn(found.status.value)
        return 1
    return 0


def _gains_content(known: IdentifiedModel, found: DriveGains) -> dict[str, object]:
    return {
        "robot": known.model.robot.name,
        "n_dof": known.model.n_dof,
        "status": found.status.name.lower(),
        "gains": [
            {"joint": name, "value": float(gain), "std": float(std), "unit": "N·m/A"}
            for name, gain, std in zip(found.joint_names, found.gains, found.std, strict=True)
        ],
    }


def _content(
    known: IdentifiedModel, found: Payload, log: Path, frame: str, T_link_frame: Transform
) -> dict[str, object]:
    return {
        "robot": known.model.robot.name,
        "n_dof": known.model.n_dof,
        "n_parameters": known.model.n_params,
        "n_base": known.base.n_base,
        "estimator": "payload",
        "status": found.status.name.lower(),
        "consistent": bool(found.status is Status.CONVERGED),
        "train": {"log": str(log), **error_json(found.fit)},
        "without_load": error_json(found.without),
        "payload": {
            "mass": found.mass,
            "com": found.com,
            "inertia_com": found.inertia_com,
            "frame": {"name": frame, "T_link_frame": T_link_frame},
            "std": {"mass": found.mass_std, "com": found.com_std, "inertia_com": found.inertia_com_std},
        },
    }


def _show(known: IdentifiedModel, found: Payload, log: Path, T_link_flange: Transform) -> None:
    say("robot", f"{known.model.robot.name}   {known.model.n_dof} joints")
    say(
        "log", f"{log}   {found.without.relative_percent:.2f} % empty, {found.fit.relative_percent:.2f} % with the load"
    )
    note("")
    rows = [("mass", f"{found.mass:.4f}", f"{found.mass_std:.4f}", "kg")]
    com = zip("xyz", found.com, found.com_std, strict=True)
    rows += [(f"com {axis}", f"{value:.4f}", f"{std:.4f}", "m") for axis, value, std in com]
    for a, b in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
        tensor, std = found.inertia_com[a, b], found.inertia_com_std[a, b]
        rows.append((f"I {'xyz'[a]}{'xyz'[b]}", f"{tensor:.5f}", f"{std:.5f}", "kg·m²"))
    table(("load", "value", "± 1σ", "unit"), rows, numeric=(1, 2))
    note("")
    frame = "flange" if not np.allclose(T_link_flange, np.eye(4)) else f"{known.model.robot.link_names[-1]} frame"
    inertia = found.inertia_com
    say("settings", f"for the load dialogue of a controller, {frame}:")
    say("", f"mass {found.mass:.3f} kg")
    say("", "centre of gravity " + ", ".join(f"{1e3 * x:.1f}" for x in found.com) + " mm")
    order = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    tensor_text = ", ".join(f"I{'xyz'[a]}{'xyz'[b]} {inertia[a, b]:.5f}" for a, b in order)
    say("", f"inertia about it {tensor_text} kg·m²")
