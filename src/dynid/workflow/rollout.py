"""`rollout`: models simulated forward beside what the robot did, open loop in windows and under its controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TypedDict

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, ParameterError
from dynid.prose import Document, Grid, Line, PrintsAsDocument
from dynid.recording.column_map import ColumnMap
from dynid.recording.conditioning import Samples
from dynid.recording.log_settings import LogSettings
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.joint_controller import JointController, read_controller
from dynid.simulation.mujoco_arm import MujocoArm
from dynid.validation.rollout import (
    ClosedLoop,
    OpenLoop,
    Rollable,
    Windows,
    closed_loop,
    noisier,
    open_loop,
    window_starts,
)
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import LogLike, ModelLike, as_gains, as_logs, as_map
from dynid.workflow.logs import Log, as_recording
from dynid.workflow.progress import Progress, silent
from dynid.workflow.references import logged_reference, with_any_torque
from dynid.workflow.validate import models_of_one_robot

__all__ = ["HORIZONS", "ModelRollout", "RolledModel", "rollout"]

HORIZONS = (0.25, 0.5, 1.0)
"""Lengths of the windows in s."""
NOMINAL = "robot file"
"""What the nominal model is called."""


class WindowJson(TypedDict):
    """Windows of one length: by joint, rad or m."""

    seconds: float
    rms: list[float]
    end: list[float]
    floor: list[float]
    tool_mm: float


class ClosedLoopJson(TypedDict):
    """The whole log under its controller: by joint, rad or m."""

    rms: list[float]
    tracking_error: list[float]
    share_percent: float
    tool_mm: float


class RolledModelJson(TypedDict):
    """One model, simulated."""

    model: str
    windows: list[WindowJson]
    closed_loop: ClosedLoopJson | None
    divergence_s: float


class ModelRolloutJson(TypedDict):
    """All that `rollout` tells; the first keys are of the first model."""

    robot: str
    log: str
    windows: list[WindowJson]
    closed_loop: ClosedLoopJson | None
    divergence_s: float
    models: list[RolledModelJson]


@dataclass(frozen=True, eq=False)
class RolledModel:
    """One model, simulated."""

    name: str
    """Its file, or what it is called."""
    open_loop: OpenLoop | None
    """None for a log without torque."""
    closed_loop: ClosedLoop | None
    """None without a controller."""

    def json(self, horizons: Sequence[float]) -> RolledModelJson:
        """What scripts read of it (SI, mm, %)."""
        return {
            "model": self.name,
            "windows": [] if self.open_loop is None else [_window_json(self.open_loop, s) for s in horizons],
            "closed_loop": None if self.closed_loop is None else _closed_json(self.closed_loop),
            "divergence_s": np.nan if self.open_loop is None else self.open_loop.divergence,
        }


@dataclass(frozen=True, eq=False)
class ModelRollout(PrintsAsDocument):
    """The result of `dynid.rollout`: one or more models beside the real motion, and the nominal robot file."""

    log: str
    robot: str
    unit: str
    """mrad, or mm where the joints slide; mrad or mm where there are both."""
    horizons: tuple[float, ...]
    """Lengths of the windows in s."""
    models: tuple[RolledModel, ...]
    """The first model in question first, the robot file last."""
    warnings: tuple[str, ...] = ()

    def json(self) -> ModelRolloutJson:
        """What scripts read of it (SI, mm, %)."""
        first = self.models[0].json(self.horizons)
        return {
            "robot": self.robot,
            "log": self.log,
            "windows": first["windows"],
            "closed_loop": first["closed_loop"],
            "divergence_s": first["divergence_s"],
            "models": [model.json(self.horizons) for model in self.models],
        }

    def document(self) -> Document:
        """The comparison from top to bottom, as the terminal shows it."""
        parts: list[Line | Grid] = [Line("robot", self.robot), Line("log", self.log)]
        rolled = [(model.name, model.open_loop) for model in self.models if model.open_loop is not None]
        if rolled:
            names = rolled[0][1].joint_names
            told = f"{len(rolled[0][1].starts)} windows from measured states, measured torque; RMS / {self.unit}"
            parts.append(Line("open loop", told))
            rows = []
            for seconds in self.horizons:
                for name, found in rolled:
                    rms, end, tool = found.rms(seconds), found.end(seconds), found.tool_end(seconds)
                    rows.append((f"{seconds:g} s", name, *map(_milli, (_all(rms), _all(end), tool, *rms.tolist()))))
                noise = rolled[0][1].noise(seconds)
                rows.append((f"{seconds:g} s", "noise alone", _milli(_all(noise)), "", "", *(_milli(x) for x in noise)))
            headers = ("window", "model", "rms", "at end", "tool / mm", *names)
            parts.append(Grid(headers, tuple(rows), tuple(range(2, len(headers)))))
            ends = ", ".join(f"{name} {_time(found.divergence)}" for name, found in rolled)
            parts.append(Line("diverges", f"{ends} (a joint off by a tenth of its travel, median)"))
            turns = ", ".join(f"{name} {_turn(found)}" for name, found in rolled)
            parts.append(Line("reversals", f"velocity error after a joint turns, over that elsewhere: {turns}"))
        loops = [(model.name, model.closed_loop) for model in self.models if model.closed_loop is not None]
        if loops:
            parts.append(Line("closed loop", f"whole log, simulated minus measured; RMS / {self.unit}"))
            rows = [
                (name, _milli(_all(loop.rms)), f"{loop.share_percent:.2f}", _milli(loop.tool), *map(_milli, loop.rms))
                for name, loop in loops
            ]
            names = loops[0][1].joint_names
            headers = ("model", "rms", "% of tracking error", "tool / mm", *names)
            parts.append(Grid(headers, tuple(rows), tuple(range(1, len(headers)))))
        return tuple(parts)

    def __repr__(self) -> str:
        first = self.models[0]
        if first.open_loop is not None:
            seconds = self.horizons[min(1, len(self.horizons) - 1)]
            told = f"{_milli(_all(first.open_loop.rms(seconds)))} {self.unit} in {seconds:g} s"
        else:
            told = "" if first.closed_loop is None else f"{first.closed_loop.share_percent:.2f} % of the tracking error"
        return f"ModelRollout({self.robot!r}: {first.name} {told})"


def _all(values: Array) -> float:
    """RMS over joints."""
    return float(np.sqrt(np.mean(np.asarray(values) ** 2)))


def _milli(value: float) -> str:
    return f"{1e3 * value:.3g}" if np.isfinite(value) else "ran away"


def _time(seconds: float) -> str:
    return f"after {seconds:.2g} s" if np.isfinite(seconds) else "not within 5 s"


def _turn(found: OpenLoop) -> str:
    near, away = (
        float(np.sqrt(np.nanmean(row**2))) if np.any(np.isfinite(row)) else np.nan for row in found.near_reversal
    )
    return f"×{near / away:.2g}" if away > 0.0 and np.isfinite(near) else "no reversal"


def _window_json(found: OpenLoop, seconds: float) -> WindowJson:
    return {
        "seconds": seconds,
        "rms": found.rms(seconds).tolist(),
        "end": found.end(seconds).tolist(),
        "floor": found.noise(seconds).tolist(),
        "tool_mm": 1e3 * found.tool_end(seconds),
    }


def _closed_json(loop: ClosedLoop) -> ClosedLoopJson:
    return {
        "rms": loop.rms.tolist(),
        "tracking_error": loop.tracking.tolist(),
        "share_percent": loop.share_percent,
        "tool_mm": 1e3 * loop.tool,
    }


@checked_arguments
@one_blas_thread()
def rollout(
    models: ModelLike | Sequence[ModelLike],
    log: LogLike,
    *,
    window: float | Sequence[float] = HORIZONS,
    controller: str | PathLike[str] | JointController | None = None,
    reference: LogLike | None = None,
    in_: str | Sequence[str] = (),
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | Sequence[float] | Array | None = None,
    lowpass: float | None = None,
    progress: Progress = silent,
) -> ModelRollout:
    """Simulate models forward and compare with what the robot did (SI): only a rollout tells a simulator's model.

    Open loop, windows start from measured states and take the measured torque. Closed loop, the whole log is repeated
    under its controller and reference. The nominal robot file is always set beside.

    Args:
        models: one model.json or `IdentifiedModel`, or several.
        log: the log to repeat; its conditioning is that of the first model's fit.
        window: lengths of the windows, s.
        controller: ctrl.toml, or a `JointController`: also simulate in closed loop.
        reference: log with t and q that the controller was asked for; None is as the controller file says.
        in_: ``mujoco:FILE``: also step this file in MuJoCo.
        from_: start of the part to use, s.
        until: end of the part to use, s.
        columns: mapping file or `ColumnMap`.
        gains: drive gains in N·m/A, for logs of motor current.
        lowpass: low-pass in Hz.
        progress: hears what is being done.

    Raises:
        ModelFileError: models of robots with other joints.
        ConfigError: a log without torque and no controller, or a file that cannot be stepped.
    """
    known = models_of_one_robot(models)
    first = known[0][1]
    horizons = _horizons(window)
    typed = LogSettings(columns=as_map(columns), gains=as_gains(gains), cutoff_hz=lowpass)
    opened = Log.of(as_logs(log, "log")[0], first.robot, typed.over(first.settings), from_, until, held=True)
    driver = None if controller is None else _controller(controller, first)
    recording, has_torque = with_any_torque(opened)
    if not has_torque and driver is None:
        raise ConfigError(
            f"{opened.name}: has no torque, so nothing drives an open-loop rollout; give `controller` and a reference "
            "for a closed one"
        )
    asked = None
    if driver is not None:
        asked = as_recording(reference, first.robot, LogSettings()) if reference is not None else None
        asked = logged_reference(driver, opened) if asked is None else asked
    fastest = float(np.max(np.abs(np.diff(recording.q, axis=0)))) * recording.rate_hz
    arms, warnings = _arms(known, (in_,) if isinstance(in_, str) else tuple(in_), fastest)
    rolled: list[RolledModel] = []
    for k, arm in enumerate(arms):
        progress(f"simulating {arm.name}", k / len(arms))
        samples = typed.over(arm.settings).condition(recording)
        noisy = noisier(recording, samples) if has_torque and not rolled else None
        windows = window_starts(samples, max(horizons)) if has_torque else None
        rolled.append(_rolled(arm, samples, windows, noisy, driver, asked))
    kept = tuple(s for s in horizons if rolled[0].open_loop is None or s <= rolled[0].open_loop.t[-1] + 1e-9)
    types = {joint.type for joint in first.robot.joints}
    unit = "mrad" if types == {"revolute"} else "mm" if types == {"prismatic"} else "mrad or mm"
    return ModelRollout(opened.name, first.robot.name, unit, kept, tuple(rolled), warnings)


@dataclass(frozen=True, eq=False)
class _Arm:
    """Something to simulate, and how the log is conditioned for it: the delay of the torque is the model's own."""

    name: str
    arm: Rollable
    model: TorqueModel
    settings: LogSettings


def _rolled(
    one: _Arm,
    samples: Samples,
    windows: Windows | None,
    noisy: Samples | None,
    driver: JointController | None,
    asked: Recording | None,
) -> RolledModel:
    model = one.model
    opened = None if windows is None else open_loop(one.arm, model, samples, windows, noisy=noisy)
    closed = None
    if driver is not None and asked is not None:
        states = None
        if model.has_memory:
            longest = max(samples.segments, key=lambda s: s.motion.n_samples)
            states = model.joint_states(longest.motion)[0]
        closed = closed_loop(one.arm, model.robot, driver, samples, asked, states=states)
    return RolledModel(one.name, opened, closed)


def _horizons(window: float | Sequence[float]) -> tuple[float, ...]:
    values = (window,) if isinstance(window, int | float) else tuple(window)
    if not values or not all(isinstance(x, int | float) and 0.0 < x <= 60.0 for x in values):
        raise ConfigError(f"`window` {window}: give seconds, more than 0 and at most 60")
    return tuple(sorted(float(x) for x in values))


def _controller(given: str | PathLike[str] | JointController, model: IdentifiedModel) -> JointController:
    if isinstance(given, JointController):
        return given
    if not isinstance(given, str | PathLike):
        raise ConfigError(f"controller: expected a file ctrl.toml or a JointController, got {type(given).__name__}")
    return read_controller(Path(given), model.robot)


def _arms(
    known: Sequence[tuple[str, IdentifiedModel]], in_: Sequence[str], fastest: float
) -> tuple[list[_Arm], tuple[str, ...]]:
    """What is simulated: the models, files in MuJoCo, and the robot file; and what could not be."""
    first = known[0][1]
    robot, warnings = first.robot, []
    arms = [
        _Arm(name, SimulatedArm.of(model.model, model.parameters, fastest), model.model, model.settings)
        for name, model in known
    ]
    for text in in_:
        kind, _, file = text.partition(":")
        if kind != "mujoco" or not file:
            raise ConfigError(f"`in` {text}: write mujoco:FILE, with an MJCF file of the robot")
        if not Path(file).is_file():
            raise ConfigError(f"{file}: no such file; `in` takes mujoco:FILE")
        stepped = MujocoArm.of(Path(file), robot)
        settings = first.settings if stepped.delay is None else replace(first.settings, delay=stepped.delay)
        arms.append(_Arm(f"{file} in MuJoCo", stepped, first.model, settings))
    nominal = TorqueModel(robot, (RotorInertia(),))
    if not robot.has_nominal:
        warnings.append("the robot file says nothing of the inertias, so there is no nominal model to set beside")
        return arms, tuple(warnings)
    try:
        arm = SimulatedArm.of(nominal, nominal.nominal(), fastest)
        arm.run(np.zeros(robot.n_dof), np.zeros(robot.n_dof), np.zeros((1, robot.n_dof)), 1e-3)
    except ParameterError as error:
        warnings.append(f"the robot file cannot be simulated: {error}")
    else:
        arms.append(_Arm(NOMINAL, arm, nominal, first.settings))
    return arms, tuple(warnings)
