"""`simulate`: a log with known truth, friction and noise, open or closed loop."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Unpack

import numpy as np

from dynid.chain.robot import Robot
from dynid.chain.stand_ins import with_stand_ins
from dynid.disk import read_json, read_text
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, ParameterError, RecordingError
from dynid.excitation.trajectory import Trajectory
from dynid.recording.raw import RawLog
from dynid.recording.readers import read_recording
from dynid.simulation.motions import MotionKind, motion_of, smooth_motion
from dynid.simulation.synthetic import plausible_parameters, synthesise
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import (
    LogLike,
    RobotLike,
    RobotOptions,
    as_logs,
    as_seed,
    as_torque_model,
    check_keywords,
    raw_log,
)
from dynid.workflow.progress import Progress, silent
from dynid.workflow.simulate_options import (
    SimulateKeywords,
    asked_controller,
    asked_loop,
    asked_sensors,
    sensor_model,
)
from dynid.workflow.simulation import Simulation, truth_json

__all__ = ["simulate"]

DEFAULT_RATE_HZ = 500.0
"""Samples a second of a motion that no file gives."""
DEFAULT_DURATION = 20.0
"""Seconds of a motion that no file gives."""


@checked_arguments
@one_blas_thread()
def simulate(
    robot: RobotLike,
    *,
    trajectory: LogLike | Trajectory | None = None,
    motion: MotionKind = "fourier",
    rate: float | None = None,
    duration: float | None = None,
    friction: str = "viscous+coulomb+offset",
    friction_values: str | PathLike[str] | Mapping[str, float] | None = None,
    seed: int | np.random.Generator = 0,
    progress: Progress = silent,
    **keywords: Unpack[SimulateKeywords],
) -> Simulation:
    """A log with known truth, friction and noise: what the command ``dynid simulate`` does (SI).

    Args:
        robot: built-in name, robot file or `Robot`; its inertias are the truth, rods where it knows none.
        trajectory: table t, q and dq and ddq where it has them: a file, a `Recording`, arrays by name, or a
            `Trajectory`; None is a smooth motion inside the limits.
        motion: without a trajectory: a random Fourier series, or one sine per joint.
        rate: samples a second; None is that of the trajectory, or 500.
        duration: seconds; None is the whole trajectory, or 20.
        friction: friction of the true arm: none, or names joined by +.
        friction_values: values by symbol (fc for all joints), as a mapping, as a text fv1=0.2,fc=1.5 or as a file; what
            is not given is plausible for the robot.
        seed: the same number gives the same log; or a generator to draw from.
        progress: hears what is being done.
        keywords: `SimulateKeywords`, which tells the unit and the default of each.
            What the log gets wrong: noise_q, noise_dq, noise_tau, encoder_counts, torque_step, torque_offset, delay,
            jitter, stamp_noise, dropout, velocity, gains.
            The control loop: closed_loop, wrong, natural_frequency.
            The robot file: lock, gravity, mount, ignore_inertials, tip, transmission.

    Raises:
        UnknownKeyword: a keyword that does not exist, naming the nearest.
        DynidError: any other wrong input, naming the parameter and what was expected.
    """
    check_keywords(simulate, keywords, SimulateKeywords)
    number = None if isinstance(seed, np.random.Generator) else as_seed(seed)
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(number)
    loaded, guessed = _whole(RobotOptions.of_keywords(keywords).load(robot))
    sensors, loop = asked_sensors(keywords), asked_loop(keywords)
    model = as_torque_model(loaded, friction)
    theta = plausible_parameters(model, values=_values(friction_values, model))
    commanded = _motion(loaded, trajectory, motion, rate, duration, rng)
    progress("simulating")
    result = synthesise(
        model,
        commanded,
        rng,
        theta=theta,
        sensors=sensor_model(sensors),
        controller=asked_controller(loop),
        source="memory",
        progress=lambda share: progress("simulating the closed loop", share),
    )
    files = [Path(item) for item in (loaded.source, trajectory, friction_values) if isinstance(item, str | PathLike)]
    followed = (
        None if trajectory is None else fspath(trajectory) if isinstance(trajectory, str | PathLike) else "memory"
    )
    truth = truth_json(result, sensors, loop, friction=friction, seed=number, trajectory=followed)
    told = (
        f"no inertia is known of {', '.join(guessed)}: rods of plausible size stand in, and are the truth of this log"
    )
    notes = (*loaded.notes, *((told,) if guessed else ()))
    return Simulation(result, truth, tuple(file for file in files if file.is_file()), notes)


def _whole(robot: Robot) -> tuple[Robot, tuple[str, ...]]:
    """A robot with rods for links that its URDF or MJCF file knows nothing of, and their names.

    A table holds what its author typed: nothing is added to it.
    """
    path = Path(robot.source)
    return with_stand_ins(robot) if path.is_file() and path.suffix.lower() != ".toml" else (robot, ())


def _motion(
    robot: Robot,
    trajectory: LogLike | Trajectory | None,
    kind: MotionKind,
    rate: float | None,
    duration: float | None,
    rng: np.random.Generator,
) -> Motion:
    if trajectory is None:
        return smooth_motion(
            robot,
            rng,
            kind=kind,
            duration=DEFAULT_DURATION if duration is None else duration,
            rate_hz=DEFAULT_RATE_HZ if rate is None else rate,
        )
    if isinstance(trajectory, Trajectory):
        whole = trajectory.motion(DEFAULT_RATE_HZ if rate is None else rate)
        return whole if duration is None else whole.part(0, int(np.sum(whole.t <= whole.t[0] + duration)))
    source, *more = as_logs(trajectory, "trajectory")
    if more:
        raise RecordingError(f"trajectory: expected one, got {1 + len(more)}")
    if isinstance(source, Path):
        table = read_recording(source, robot.joint_names)
    else:
        table = (source if isinstance(source, RawLog) else raw_log(source, robot.joint_names)).recording()
    return motion_of(table, rate_hz=rate, duration=duration)


def _values(values: str | PathLike[str] | Mapping[str, float] | None, model: TorqueModel) -> Mapping[str, float] | None:
    """Values by symbol (SI), from a mapping, from ``fv1=0.2,fc=1.5`` or from a file."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: _value("friction_values", name, value) for name, value in values.items()}
    if not isinstance(values, str | PathLike):
        raise ConfigError(f"friction_values: expected values by symbol, a text or a file, got {type(values).__name__}")
    text, path = fspath(values), Path(values)
    if path.is_file():
        return _values_of_file(path, model)
    if "=" not in text:
        raise ParameterError(f"`friction_values` {text}: neither a file nor values such as fv1=0.2,fc=1.5")
    parts = (part.partition("=") for part in text.split(","))
    return {name.strip(): _value(text, name, value) for name, _, value in parts}


def _values_of_file(path: Path, model: TorqueModel) -> dict[str, float]:
    if path.suffix != ".json":
        try:
            rows = list(csv.DictReader(read_text(path, ParameterError).splitlines()))
        except csv.Error as error:
            raise ParameterError(f"{path}: cannot be read as CSV: {error}") from error
        if not rows or not {"parameter", "value"} <= set(rows[0]):
            raise ParameterError(f"{path}: needs a header parameter,value and at least one row")
        return {row["parameter"]: _value(str(path), row["parameter"], row["value"]) for row in rows}
    found = read_json(path, ParameterError)
    if isinstance(found, dict) and isinstance(found.get("parameters"), list):
        own = set(model.symbols[model.n_inertial :])
        found = {entry["symbol"]: entry["value"] for entry in found["parameters"] if entry["symbol"] in own}
    if not isinstance(found, dict):
        raise ParameterError(f'{path}: must hold an object such as {{"fv1": 0.2}}, or be the truth of an earlier log')
    return {name: _value(str(path), name, value) for name, value in found.items()}


def _value(where: str, name: str, value: object) -> float:
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except ValueError:
            pass
    raise ParameterError(f"{where}: {name.strip()} is {value!r}, not a number")
