"""``dynid simulate``: a log with known truth, and the truth next to it."""

from __future__ import annotations

import csv
import json as json_format
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from cyclopts import Parameter

from dynid.arrays import Array, Float
from dynid.chain import Robot
from dynid.cli.console import emit_json, say, table, warn
from dynid.cli.options import FrictionName, JsonFlag, RobotName, RobotOptions, checked_seed, free_place
from dynid.cli.progress import progress
from dynid.disk import at_once, read_text, write_whole
from dynid.dynamics import Motion, TorqueModel, friction_models
from dynid.errors import ParameterError, RecordingError
from dynid.recording.formats.text import write_csv
from dynid.recording.readers import read_recording
from dynid.simulation.closed_loop import Controller
from dynid.simulation.motions import MotionKind, motion_of, smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import Synthetic, plausible_parameters
from dynid.simulation.synthetic import synthesise as run

__all__ = ["simulate"]

DEFAULT_RATE_HZ = 500.0
DEFAULT_DURATION = 20.0
"""Seconds of a motion that no file gives."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SensorOptions:
    """What the log gets wrong; the rest of it is exact."""

    noise_q: Annotated[str, Parameter(help="Noise of positions: rad or m, or 1% of the RMS; one, or one a joint.")] = (
        "1e-5"
    )
    noise_dq: Annotated[str, Parameter(help="Noise of velocities, per s, in the same way.")] = "1e-3"
    noise_tau: Annotated[str, Parameter(help="Noise of torques, N·m or N, in the same way.")] = "1%"
    encoder_counts: Annotated[float | None, Parameter(help="Counts a revolution (or a m) [default: exact].")] = None
    torque_step: Annotated[float, Parameter(help="Torque of the last bit, N·m or N.")] = 0.0
    torque_offset: Annotated[str, Parameter(help="Constant torque the log has too much, N·m or N.")] = "0"
    delay: Annotated[float, Parameter(help="Seconds by which torque lags behind position.")] = 0.0
    jitter: Annotated[float, Parameter(help="Standard deviation of sampling instants, s; stamps are right.")] = 0.0
    stamp_noise: Annotated[float, Parameter(help="Standard deviation of wrong stamps, s.")] = 0.0
    dropout: Annotated[float, Parameter(help="Fraction of samples lost.")] = 0.0
    velocity: Annotated[
        Literal["measured", "differentiated", "none"], Parameter(help="Where the velocities of the log come from.")
    ] = "measured"
    gains: Annotated[
        str | None, Parameter(help="Drive gains K1,K2,… in N·m/A: the log holds currents in place of torques.")
    ] = None

    def sensors(self) -> SensorModel:
        """The sensors these options describe."""
        return SensorModel(
            q_noise=_level("--noise-q", self.noise_q),
            dq_noise=_level("--noise-dq", self.noise_dq),
            tau_noise=_level("--noise-tau", self.noise_tau),
            encoder_counts=self.encoder_counts,
            tau_step=self.torque_step,
            tau_offset=_numbers("--torque-offset", self.torque_offset),
            delay=self.delay,
            jitter=self.jitter,
            stamp_noise=self.stamp_noise,
            dropout=self.dropout,
            velocity=self.velocity,
            drive_gains=None if self.gains is None else _numbers("--gains", self.gains),
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """Closed loop: the true arm follows the motion under a controller."""

    closed_loop: Annotated[
        bool, Parameter(negative="", help="Simulate the arm forward under computed torque from a wrong model.")
    ] = False
    wrong: Annotated[float, Parameter(help="Relative error of the controller's model.")] = 0.2
    natural_frequency: Annotated[float, Parameter(help="Of the critically damped control, rad/s.")] = 20.0

    def controller(self) -> Controller | None:
        """The controller, or None in open loop."""
        if not self.closed_loop:
            return None
        return Controller(natural_frequency=self.natural_frequency, wrong=self.wrong)


def simulate(
    robot: RobotName,
    *,
    out: Path | None = None,
    trajectory: Path | None = None,
    motion: MotionKind = "fourier",
    rate: float | None = None,
    duration: float | None = None,
    friction: FrictionName = "viscous+coulomb+offset",
    friction_values: str | None = None,
    seed: int = 0,
    sensing: SensorOptions | None = None,
    loop: LoopOptions | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """A log with known truth, friction and noise, open or closed loop.

    Example: dynid simulate panda --trajectory traj.csv --out log.csv --noise-tau 2%

    The truth is written next to the log: log.truth.json.

    Parameters
    ----------
    robot
        Built-in name, or a URDF, MJCF or TOML file; its inertias are the truth.
    out
        The log, .csv or .csv.gz [default: log.csv, or log-2.csv, …].
    trajectory
        A table t, q1…qn, and dq and ddq where it has them [default: a smooth motion inside the limits].
    motion
        Without a trajectory: a random Fourier series, or one sine per joint.
    rate
        Samples a second [default: those of the trajectory, or 500].
    duration
        Seconds [default: the whole trajectory, or 20].
    friction
        Friction of the true arm: none, or names joined by +.
    friction_values
        As fv1=0.2,fc=1.5 (fc for all joints), or a file: CSV parameter,value or JSON, an earlier truth file too.
        What is not given is plausible for the robot.
    seed
        The same number gives the same log.
    """
    out = free_place(out, "log.csv")
    if not out.name.endswith((".csv", ".csv.gz")):
        raise RecordingError(f"--out {out}: the log is written as .csv or .csv.gz; change the ending")
    checked_seed(seed)
    rng = np.random.default_rng(seed)
    loaded = (options or RobotOptions()).load(robot)
    sensing, loop = sensing or SensorOptions(), loop or LoopOptions()
    model = TorqueModel(loaded, friction_models(friction))
    values = None if friction_values is None else _values(friction_values, model)
    theta = plausible_parameters(model, values=values)
    commanded = _motion(loaded, trajectory, motion, rate, duration, rng)
    result = _followed(model, commanded, theta, rng, sensing, loop, str(out))
    truth = out.with_name(out.name.removesuffix(".gz").removesuffix(".csv") + ".truth.json")
    settings: dict[str, object] = {
        "friction": friction,
        "seed": seed,
        "trajectory": None if trajectory is None else str(trajectory),
    }
    known = json_format.dumps(_truth(result, settings, sensing, loop), ensure_ascii=False, indent=1) + "\n"
    with at_once():
        write_csv(result.recording, out)
        write_whole(truth, known)
    if json:
        emit_json(_content(result, seed, out, truth))
    else:
        _show(result, out, truth)
    _warn_of_limits(result)
    return 0


def _followed(
    model: TorqueModel,
    commanded: Motion,
    theta: Float[Array, " n_params"],
    rng: np.random.Generator,
    sensing: SensorOptions,
    loop: LoopOptions,
    source: str,
) -> Synthetic:
    with progress("simulating") as step:
        return run(
            model,
            commanded,
            rng,
            theta=theta,
            sensors=sensing.sensors(),
            controller=loop.controller(),
            source=source,
            progress=lambda share: step("simulating the closed loop", share),
        )


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise RecordingError(f"{option} {text}: not numbers separated by commas") from error


def _level(option: str, text: str) -> Level:
    if text.endswith("%"):
        return Level(relative=tuple(0.01 * value for value in _numbers(option, text.replace("%", ""))))
    return Level(absolute=_numbers(option, text))


def _motion(
    robot: Robot,
    trajectory: Path | None,
    kind: MotionKind,
    rate: float | None,
    duration: float | None,
    rng: np.random.Generator,
) -> Motion:
    if trajectory is not None:
        return motion_of(read_recording(trajectory, robot.joint_names), rate_hz=rate, duration=duration)
    return smooth_motion(
        robot,
        rng,
        kind=kind,
        duration=DEFAULT_DURATION if duration is None else duration,
        rate_hz=DEFAULT_RATE_HZ if rate is None else rate,
    )


def _values(text: str, model: TorqueModel) -> dict[str, float]:
    """Values by symbol, from ``fv1=0.2,fc=1.5`` or from a file."""
    if "=" in text and not Path(text).is_file():
        return {
            name.strip(): _value(text, name, value) for name, _, value in (p.partition("=") for p in text.split(","))
        }
    path = Path(text)
    if not path.is_file():
        raise ParameterError(f"--friction-values {text}: neither a file nor values such as fv1=0.2,fc=1.5")
    content = read_text(path, ParameterError)
    if path.suffix != ".json":
        try:
            rows = list(csv.DictReader(content.splitlines()))
        except csv.Error as error:
            raise ParameterError(f"{path}: cannot be read as CSV: {error}") from error
        if not rows or not {"parameter", "value"} <= set(rows[0]):
            raise ParameterError(f"{path}: needs a header parameter,value and at least one row")
        return {row["parameter"]: _value(str(path), row["parameter"], row["value"]) for row in rows}
    try:
        found = json_format.loads(content)
    except json_format.JSONDecodeError as error:
        raise ParameterError(f"{path}: line {error.lineno} is not JSON: {error.msg}") from error
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


def _truth(
    result: Synthetic, settings: dict[str, object], sensing: SensorOptions, loop: LoopOptions
) -> dict[str, object]:
    model = result.model
    parameters = [
        {
            "label": str(column),
            "owner": column.owner,
            "name": column.name,
            "symbol": symbol,
            "value": value,
            "unit": column.unit,
        }
        for column, symbol, value in zip(model.columns, model.symbols, result.theta.tolist(), strict=True)
    ]
    return {
        "robot": model.robot.name,
        "source": model.robot.source,
        "joint_names": list(model.robot.joint_names),
        "gravity": model.robot.gravity.tolist(),
        "parameters": parameters,
        **settings,
        "sensors": vars(sensing),
        "controller": None
        if result.nominal is None
        else {**vars(loop), "nominal": result.nominal.tolist(), "tracking_error": result.tracking_error.tolist()},
    }


def _content(result: Synthetic, seed: int, out: Path, truth: Path) -> dict[str, object]:
    recording = result.recording
    return {
        "robot": result.model.robot.name,
        "n_dof": result.model.n_dof,
        "n_parameters": result.model.n_params,
        "n_samples": recording.n_samples,
        "rate_hz": recording.rate_hz,
        "duration": recording.duration,
        "signals": list(recording.signals),
        "closed_loop": result.nominal is not None,
        "tracking_error": result.tracking_error,
        "torque_rms": np.sqrt(np.mean(result.tau**2, axis=0)),
        "seed": seed,
        "files": {"log": str(out), "truth": str(truth)},
    }


def _show(result: Synthetic, out: Path, truth: Path) -> None:
    recording, model = result.recording, result.model
    loop = "open loop" if result.nominal is None else "closed loop"
    say("robot", f"{model.robot.name}   {model.n_dof} joints, {model.n_params} parameters known")
    say("recording", f"{recording.duration:.1f} s at {recording.rate_hz:.0f} Hz, {recording.n_samples} samples, {loop}")
    own = result.theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))
    headers = ("joint", "max |q|", "max |dq|", "RMS torque", "tracking RMS", *(term.name for term in model.terms))
    columns = (
        np.max(np.abs(result.motion.q), axis=0),
        np.max(np.abs(result.motion.dq), axis=0),
        np.sqrt(np.mean(result.tau**2, axis=0)),
        result.tracking_error,
        *own.T,
    )
    term_units = np.array([column.unit for column in model.columns[model.n_inertial :]]).reshape(own.shape)
    rows = []
    for j, joint in enumerate(model.robot.joints):
        turns = joint.type == "revolute"
        units = ("rad", "rad/s", "N·m", "rad") if turns else ("m", "m/s", "N", "m")
        cells = zip(columns, (*units, *term_units[j]), strict=True)
        rows.append((joint.name, *(f"{column[j]:.4g} {unit}" for column, unit in cells)))
    table(headers, rows, numeric=range(1, len(headers)))
    say("wrote", str(out))
    say("wrote", str(truth))


def _warn_of_limits(result: Synthetic) -> None:
    q, dq, tau = result.motion.q, result.motion.dq, result.tau
    for j, joint in enumerate(result.model.robot.joints):
        limits = joint.limits
        beyond = []
        if np.min(q[:, j]) < limits.lower or np.max(q[:, j]) > limits.upper:
            beyond.append("position")
        if np.max(np.abs(dq[:, j])) > limits.velocity:
            beyond.append("velocity")
        if np.max(np.abs(tau[:, j])) > limits.effort:
            beyond.append("effort")
        if beyond:
            warn(f"{joint.name} goes beyond its {' and '.join(beyond)} limit")
