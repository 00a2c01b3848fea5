"""What a simulated log gets wrong and how its loop is closed: keywords of `simulate`, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from dynid.simulation.closed_loop import Controller
from dynid.simulation.sensors import Level, SensorModel, VelocitySource
from dynid.workflow.doors import RobotKeywords, as_numbers
from dynid.workflow.simulation import LoopJson, SensorsJson

__all__ = [
    "LoopKeywords",
    "NoiseLike",
    "SensorKeywords",
    "SimulateKeywords",
    "asked_controller",
    "asked_loop",
    "asked_sensors",
    "sensor_model",
]

NoiseLike = str | float | Sequence[float]
"""Standard deviation in the unit of the signal, or a text such as 1%, of its RMS; one, or one a joint."""


class SensorKeywords(TypedDict, total=False):
    """What the log gets wrong; the rest of it is exact."""

    noise_q: NoiseLike
    """Noise of positions: rad or m, or 1% of the RMS; one, or one a joint; 1e-5."""
    noise_dq: NoiseLike
    """Noise of velocities, per s, in the same way; 1e-3."""
    noise_tau: NoiseLike
    """Noise of torques, N·m or N, in the same way; 1%."""
    encoder_counts: float | None
    """Counts a revolution (or a m); None is exact."""
    torque_step: float
    """Torque of the last bit, N·m or N; 0."""
    torque_offset: NoiseLike
    """Constant torque the log has too much, N·m or N; 0."""
    delay: float
    """Seconds by which torque lags behind position; 0."""
    jitter: float
    """Standard deviation of the sampling times, s; stamps are right; 0."""
    stamp_noise: float
    """Standard deviation of wrong stamps, s; 0."""
    dropout: float
    """Fraction of samples lost; 0."""
    velocity: VelocitySource
    """Where the velocities of the log come from: measured (the default), differentiated or none."""
    gains: str | Sequence[float] | None
    """Drive gains in N·m/A: the log holds currents in place of torques."""


class LoopKeywords(TypedDict, total=False):
    """How the true arm follows the motion."""

    closed_loop: bool
    """Simulate the arm forward under computed torque from a wrong model; no by default."""
    wrong: float
    """Relative error of the controller's model; 0.2."""
    natural_frequency: float
    """Of the critically damped control, rad/s; 20."""


class SimulateKeywords(SensorKeywords, LoopKeywords, RobotKeywords, total=False):
    """All that `dynid.simulate` takes beyond its own arguments (SI): the sensors, the control loop and the robot."""


def asked_sensors(keywords: SensorKeywords) -> SensorsJson:
    """What was asked of the sensors (SI), as the truth has it."""
    gains = keywords.get("gains")
    return {
        "noise_q": _text("noise_q", keywords.get("noise_q", "1e-5")),
        "noise_dq": _text("noise_dq", keywords.get("noise_dq", "1e-3")),
        "noise_tau": _text("noise_tau", keywords.get("noise_tau", "1%")),
        "encoder_counts": keywords.get("encoder_counts"),
        "torque_step": keywords.get("torque_step", 0.0),
        "torque_offset": _text("torque_offset", keywords.get("torque_offset", "0")),
        "delay": keywords.get("delay", 0.0),
        "jitter": keywords.get("jitter", 0.0),
        "stamp_noise": keywords.get("stamp_noise", 0.0),
        "dropout": keywords.get("dropout", 0.0),
        "velocity": keywords.get("velocity", "measured"),
        "gains": None if gains is None else _text("gains", gains),
    }


def asked_loop(keywords: LoopKeywords) -> LoopJson:
    """What was asked of the control loop (relative, rad/s), as the truth has it."""
    return {
        "closed_loop": keywords.get("closed_loop", False),
        "wrong": keywords.get("wrong", 0.2),
        "natural_frequency": keywords.get("natural_frequency", 20.0),
    }


def asked_controller(loop: LoopJson) -> Controller | None:
    """The controller of a closed loop; None for an open one."""
    if not loop["closed_loop"]:
        return None
    return Controller(natural_frequency=loop["natural_frequency"], wrong=loop["wrong"])


def _text(name: str, values: NoiseLike) -> str:
    """Numbers as a text joined by commas, as the truth has them."""
    if isinstance(values, str):
        return values
    return ",".join(repr(value) for value in as_numbers(name, values))


def sensor_model(asked: SensorsJson) -> SensorModel:
    """The sensors that were asked for (SI)."""
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
