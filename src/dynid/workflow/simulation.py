"""Simulation: a log and the truth behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.model import TorqueModel
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.recording.recording import Recording
from dynid.simulation.sensors import VelocitySource
from dynid.simulation.synthetic import Synthetic

__all__ = ["LoopJson", "SensorsJson", "Simulation", "TruthJson", "truth_json"]


class TrueParameterJson(TypedDict):
    """One true parameter, SI."""

    label: str
    owner: str
    name: str
    symbol: str
    value: float
    unit: str


class SensorsJson(TypedDict):
    """What the log gets wrong, as it was asked for."""

    noise_q: str
    noise_dq: str
    noise_tau: str
    encoder_counts: float | None
    torque_step: float
    torque_offset: str
    delay: float
    jitter: float
    stamp_noise: float
    dropout: float
    velocity: VelocitySource
    gains: str | None


class LoopJson(TypedDict):
    """How the closed loop was controlled."""

    closed_loop: bool
    wrong: float
    natural_frequency: float
    nominal: NotRequired[list[list[float]]]
    tracking_error: NotRequired[list[float]]


class TruthJson(TypedDict):
    """The truth behind a log: what is written next to it."""

    robot: str
    source: str
    joint_names: list[str]
    gravity: list[float]
    parameters: list[TrueParameterJson]
    friction: str
    seed: int | None
    trajectory: str | None
    sensors: SensorsJson
    controller: LoopJson | None


class SimulationJson(TypedDict):
    """All that `simulate` tells."""

    robot: str
    n_dof: int
    n_parameters: int
    n_samples: int
    rate_hz: float
    duration: float
    signals: list[str]
    closed_loop: bool
    tracking_error: Float[Array, " n_dof"]
    torque_rms: Float[Array, " n_dof"]
    seed: int | None


@dataclass(frozen=True, eq=False)
class Simulation(PrintsAsDocument):
    """The result of `dynid.simulate`: a log and the truth behind it; `dynid.save` it as a .csv."""

    synthetic: Synthetic
    """The log with exact motion, torque and parameters, SI."""
    truth: TruthJson
    """The truth as it is written next to the log."""
    inputs: tuple[Path, ...] = ()
    """Files it was made from: none of them is ever replaced by its log."""
    notes: tuple[str, ...] = ()
    """What the reader of the robot file decided by itself, a sentence each."""

    @property
    def recording(self) -> Recording:
        """What the log says (SI)."""
        return self.synthetic.recording

    @property
    def model(self) -> TorqueModel:
        """The true arm (SI)."""
        return self.synthetic.model

    @property
    def theta(self) -> Float[Array, " n_params"]:
        """Its true parameters, order ``model.columns``, SI."""
        return self.synthetic.theta

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was decided about the robot, and joints that go beyond their limits, a sentence each."""
        q, dq, tau = self.synthetic.motion.q, self.synthetic.motion.dq, self.synthetic.tau
        told = [*self.notes]
        for j, joint in enumerate(self.model.robot.joints):
            limits = joint.limits
            beyond = {
                "position": np.min(q[:, j]) < limits.lower or np.max(q[:, j]) > limits.upper,
                "velocity": np.max(np.abs(dq[:, j])) > limits.velocity,
                "effort": np.max(np.abs(tau[:, j])) > limits.effort,
            }
            if any(beyond.values()):
                kinds = " and ".join(kind for kind, is_beyond in beyond.items() if is_beyond)
                told.append(f"{joint.name} goes beyond its {kinds} limit")
        return tuple(told)

    def json(self) -> SimulationJson:
        """What scripts read of it (SI)."""
        recording, synthetic = self.recording, self.synthetic
        return {
            "robot": self.model.robot.name,
            "n_dof": self.model.n_dof,
            "n_parameters": self.model.n_params,
            "n_samples": recording.n_samples,
            "rate_hz": recording.rate_hz,
            "duration": recording.duration,
            "signals": list(recording.signals),
            "closed_loop": synthetic.nominal is not None,
            "tracking_error": synthetic.tracking_error,
            "torque_rms": np.sqrt(np.mean(synthetic.tau**2, axis=0)),
            "seed": self.truth["seed"],
        }

    def document(self) -> Document:
        """What was simulated, as the terminal shows it."""
        recording, model, synthetic = self.recording, self.model, self.synthetic
        loop = "open loop" if synthetic.nominal is None else "closed loop"
        counts = f"{recording.duration:.1f} s at {recording.rate_hz:.0f} Hz, {recording.n_samples} samples, {loop}"
        own = self.theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))
        headers = ("joint", "max |q|", "max |dq|", "RMS torque", "tracking RMS", *(term.name for term in model.terms))
        columns = (
            np.max(np.abs(synthetic.motion.q), axis=0),
            np.max(np.abs(synthetic.motion.dq), axis=0),
            np.sqrt(np.mean(synthetic.tau**2, axis=0)),
            synthetic.tracking_error,
            *own.T,
        )
        term_units = np.array([column.unit for column in model.columns[model.n_inertial :]]).reshape(own.shape)
        rows = []
        for j, joint in enumerate(model.robot.joints):
            units = ("rad", "rad/s", "N·m", "rad") if joint.type == "revolute" else ("m", "m/s", "N", "m")
            cells = zip(columns, (*units, *term_units[j]), strict=True)
            rows.append((joint.name, *(f"{column[j]:.4g} {unit}" for column, unit in cells)))
        return (
            Line("robot", f"{model.robot.name}   {counted(model.n_dof, 'joint')}, {model.n_params} parameters known"),
            Line("recording", counts),
            Grid(headers, tuple(rows), tuple(range(1, len(headers)))),
        )

    def __repr__(self) -> str:
        log = self.recording
        return f"Simulation({self.model.robot.name!r}: {log.duration:.1f} s, {log.n_samples} samples)"


def truth_json(
    result: Synthetic, asked: SensorsJson, loop: LoopJson, *, friction: str, seed: int | None, trajectory: str | None
) -> TruthJson:
    """The truth behind a log (SI), with what was asked of its sensors and of its control loop."""
    model, nominal = result.model, result.nominal
    followed: LoopJson | None = None
    if nominal is not None:
        followed = {**loop, "nominal": nominal.tolist(), "tracking_error": result.tracking_error.tolist()}
    return {
        "robot": model.robot.name,
        "source": model.robot.source,
        "joint_names": list(model.robot.joint_names),
        "gravity": model.robot.gravity.tolist(),
        "parameters": [
            {
                "label": str(column),
                "owner": column.owner,
                "name": column.name,
                "symbol": symbol,
                "value": value,
                "unit": column.unit,
            }
            for column, symbol, value in zip(model.columns, model.symbols, result.theta.tolist(), strict=True)
        ],
        "friction": friction,
        "seed": seed,
        "trajectory": trajectory,
        "sensors": asked,
        "controller": followed,
    }
