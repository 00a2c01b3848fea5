"""`simulate`: a log with known truth, friction and noise, open or closed loop."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from dynid.chain.robot import Robot
from dynid.disk import read_json, read_text
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, ParameterError, RecordingError
from dynid.excitation.trajectory import Trajectory
from dynid.recording.raw import RawLog
from dynid.recording.readers import read_recording
from dynid.simulation.closed_loop import Controller
from dynid.simulation.motions import MotionKind, motion_of, smooth_motion
from dynid.simulation.sensors import Level, SensorModel, VelocitySource
from dynid.simulation.synthetic import plausible_parameters, synthesise
from dynid.workflow.doors import (
    LogLike,
    RobotLike,
    RobotOptions,
    as_locks,
    as_logs,
    as_numbers,
    as_seed,
    as_torque_model,
    raw_log,
)
from dynid.workflow.progress import Progress, silent
from dynid.workflow.simulation import LoopJson, SensorsJson, Simulation, truth_json

__all__ = ["NoiseLike", "simulate"]

DEFAULT_RATE_HZ = 500.0
"""Samples a second of a motion that no file gives."""
DEFAULT_DURATION = 20.0
"""Seconds of a motion that no file gives."""
NoiseLike = str | float | Sequence[float]
"""Standard deviation in the unit of the signal, or a text such as 1%, of its RMS; one, or one a joint."""


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
    noise_q: NoiseLike = "1e-5",
    noise_dq: NoiseLike = "1e-3",
    noise_tau: NoiseLike = "1%",
    encoder_counts: float | None = None,
    torque_step: float = 0.0,
    torque_offset: NoiseLike = "0",
    delay: float = 0.0,
    jitter: float = 0.0,
    stamp_noise: float = 0.0,
    dropout: float = 0.0,
    velocity: VelocitySource = "measured",
    gains: str | Sequence[float] | None = None,
    closed_loop: bool = False,
    wrong: float = 0.2,
    natural_frequency: float = 20.0,
    lock: Iterable[str] | Mapping[str, float] = (),
    gravity: tuple[float, float, float] | None = None,
    mount: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ignore_inertials: bool = False,
    progress: Progress = silent,
) -> Simulation:
    """A log with known truth, friction and noise: what the command ``dynid simulate`` does (SI).

    Args:
        robot: built-in name, robot file or `Robot`; its inertias are the truth.
        trajectory: table t, q and dq and ddq where it has them: a file, a `Recording`, arrays by name, or a
            `Trajectory`; None is a smooth motion inside the limits.
        motion: without a trajectory: a random Fourier series, or one sine per joint.
        rate: samples a second; None is that of the trajectory, or 500.
        duration: seconds; None is the whole trajectory, or 20.
        friction: friction of the true arm: none, or names joined by +.
        friction_values: values by symbol (fc for all joints), as a mapping, as a text fv1=0.2,fc=1.5 or as a file; what
            is not given is plausible for the robot.
        seed: the same number gives the same log; or a generator to draw from.
        noise_q: noise of positions: rad or m, or 1% of the RMS; one, or one a joint.
        noise_dq: noise of velocities, per s, in the same way.
        noise_tau: noise of torques, N·m or N, in the same way.
        encoder_counts: counts a revolution (or a m); None is exact.
        torque_step: torque of the last bit, N·m or N.
        torque_offset: constant torque the log has too much, N·m or N.
        delay: seconds by which torque lags behind position.
        jitter: standard deviation of the sampling times, s; stamps are right.
        stamp_noise: standard deviation of wrong stamps, s.
        dropout: fraction of samples lost.
        velocity: where the velocities of the log come from: measured, differentiated or none.
        gains: drive gains in N·m/A: the log holds currents in place of torques.
        closed_loop: simulate the arm forward under computed torque from a wrong model.
        wrong: relative error of the controller's model.
        natural_frequency: of the critically damped control, rad/s.
        lock: joints to freeze, names or JOINT=VALUE (rad or m).
        gravity: in world axes, m/s²; None is the file's, or −z.
        mount: roll, pitch, yaw of the base in the world, rad.
        ignore_inertials: neither use nor check the inertias of the robot file.
        progress: hears what is being done.

    Raises:
        DynidError: wrong input, naming the parameter and what was expected.
    """
    number = None if isinstance(seed, np.random.Generator) else as_seed(seed)
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(number)
    options = RobotOptions(lock=as_locks(lock), gravity=gravity, mount=mount, ignore_inertials=ignore_inertials)
    loaded = options.load(robot)
    asked: SensorsJson = {
        "noise_q": _text("noise_q", noise_q),
        "noise_dq": _text("noise_dq", noise_dq),
        "noise_tau": _text("noise_tau", noise_tau),
        "encoder_counts": encoder_counts,
        "torque_step": torque_step,
        "torque_offset": _text("torque_offset", torque_offset),
        "delay": delay,
        "jitter": jitter,
        "stamp_noise": stamp_noise,
        "dropout": dropout,
        "velocity": velocity,
        "gains": None if gains is None else _text("gains", gains),
    }
    loop: LoopJson = {"closed_loop": closed_loop, "wrong": wrong, "natural_frequency": natural_frequency}
    model = as_torque_model(loaded, friction)
    theta = plausible_parameters(model, values=_values(friction_values, model))
    commanded = _motion(loaded, trajectory, motion, rate, duration, rng)
    progress("simulating")
    result = synthesise(
        model,
        commanded,
        rng,
        theta=theta,
        sensors=_sensors(asked),
        controller=Controller(natural_frequency=natural_frequency, wrong=wrong) if closed_loop else None,
        source="memory",
        progress=lambda share: progress("simulating the closed loop", share),
    )
    files = [Path(item) for item in (loaded.source, trajectory, friction_values) if isinstance(item, str | PathLike)]
    followed = (
        None if trajectory is None else fspath(trajectory) if isinstance(trajectory, str | PathLike) else "memory"
    )
    truth = truth_json(result, asked, loop, friction=friction, seed=number, trajectory=followed)
    return Simulation(result, truth, tuple(file for file in files if file.is_file()))


def _text(name: str, values: NoiseLike) -> str:
    """Numbers as a text joined by commas, as the truth has them."""
    if isinstance(values, str):
        return values
    return ",".join(repr(value) for value in as_numbers(name, values))


def _sensors(asked: SensorsJson) -> SensorModel:
    return SensorModel(
        q_noise=_level("noise_q", asked["noise_q"]),
        dq_noise=_level("noise_dq", asked["noise_dq"]),
        tau_noise=_level("noise_tau", asked["noise_tau"]),
        encoder_counts=asked["encoder_counts"],
        tau_step=asked["torque_step"],
        tau_offset=as_numbers("torque_offset", asked["torque_offset"]),
        delay=asked["delay"],
        jitter=asked["jitter"],
        stamp_noise=asked["stamp_noise"],
        dropout=asked["dropout"],
        velocity=asked["velocity"],
        drive_gains=None if asked["gains"] is None else as_numbers("gains", asked["gains"]),
    )


def _level(name: str, text: str) -> Level:
    if text.endswith("%"):
        return Level(relative=tuple(0.01 * value for value in as_numbers(name, text.replace("%", ""))))
    return Level(absolute=as_numbers(name, text))


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
