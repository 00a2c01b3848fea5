"""A log repeated by models, by files in MuJoCo and by the robot file: what `rollout` shows and `identify` judges by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.model import TorqueModel
from dynid.errors import ConfigError, ParameterError
from dynid.recording.conditioning import Samples
from dynid.recording.log_settings import LogSettings
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.simulation.arm import Coasting, SimulatedArm
from dynid.simulation.mujoco_arm import MujocoArm
from dynid.validation.rollout import Rollable, Windows, closed_loop, noisier, open_loop, window_starts
from dynid.workflow.progress import Progress, silent
from dynid.workflow.references import Drive
from dynid.workflow.rollout_result import NOMINAL, ModelRollout, RolledModel

__all__ = ["HORIZONS", "roll_out"]

HORIZONS = (0.25, 0.5, 1.0)
"""Lengths of the windows in s."""


def roll_out(
    known: Sequence[tuple[str, IdentifiedModel]],
    log: str,
    recording: Recording,
    *,
    has_torque: bool = True,
    typed: LogSettings | None = None,
    horizons: tuple[float, ...] = HORIZONS,
    drive: Drive | None = None,
    in_: Sequence[str] = (),
    progress: Progress = silent,
) -> ModelRollout:
    """Repeat a log with models, the robot file beside them (SI).

    Args:
        known: the models, each with what it is called.
        log: what the log is called.
        recording: the log; its torque counts only where `has_torque`.
        has_torque: whether it can drive open-loop windows.
        typed: what is to be read otherwise than the models remember.
        horizons: lengths of the windows, s, ascending.
        drive: its controller: also repeat it in closed loop.
        in_: ``mujoco:FILE``, files to step in MuJoCo.
        progress: hears what is being done.

    Raises:
        ConfigError: a file that cannot be stepped.
        ParameterError: friction that cannot be simulated, or a mass matrix that is not positive definite.
    """
    first = known[0][1]
    fastest = float(np.max(np.abs(np.diff(recording.q, axis=0)))) * recording.rate_hz
    arms, warnings = _arms(known, in_, fastest)
    rolled: list[RolledModel] = []
    coasting = None
    for k, arm in enumerate(arms):
        progress(f"simulating {arm.name}", k / len(arms))
        samples = (typed or LogSettings()).over(arm.settings).condition(recording)
        windows = window_starts(samples, max(horizons)) if has_torque else None
        noisy = noisier(recording, samples) if windows is not None and not rolled else None
        if windows is not None and coasting is None:
            coasting = open_loop(Coasting(), arm.model, samples, windows, diverging=False)
        rolled.append(_one(arm, samples, windows, noisy, drive))
    longest = np.inf if coasting is None else float(coasting.t[-1])
    kept = tuple(s for s in horizons if s <= longest + 1e-9) or (longest,)
    types = {joint.type for joint in first.robot.joints}
    unit = "mrad" if types == {"revolute"} else "mm" if types == {"prismatic"} else "mrad or mm"
    return ModelRollout(log, first.robot.name, unit, kept, tuple(rolled), warnings, coasting)


@dataclass(frozen=True, eq=False)
class _Simulated:
    """Something to simulate, and how the log is conditioned for it: the delay of the torque is the model's own."""

    name: str
    arm: Rollable
    model: TorqueModel
    settings: LogSettings


def _one(
    one: _Simulated,
    samples: Samples,
    windows: Windows | None,
    noisy: Samples | None,
    drive: Drive | None,
) -> RolledModel:
    model = one.model
    opened = None if windows is None else open_loop(one.arm, model, samples, windows, noisy=noisy)
    closed = None
    if drive is not None:
        states = None
        if model.has_memory:
            longest = max(samples.segments, key=lambda s: s.motion.n_samples)
            states = model.joint_states(longest.motion)[0]
        closed = closed_loop(one.arm, model.robot, drive.controller, samples, drive.reference, states=states)
    return RolledModel(one.name, opened, closed)


def _arms(
    known: Sequence[tuple[str, IdentifiedModel]], in_: Sequence[str], fastest: float
) -> tuple[list[_Simulated], tuple[str, ...]]:
    """What is simulated: the models, files in MuJoCo, and the robot file; and what could not be."""
    first = known[0][1]
    robot, warnings = first.robot, []
    arms = [
        _Simulated(name, SimulatedArm.of(model.model, model.parameters, fastest), model.model, model.settings)
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
        arms.append(_Simulated(f"{file} in MuJoCo", stepped, first.model, settings))
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
        arms.append(_Simulated(NOMINAL, arm, nominal, first.settings))
    return arms, tuple(warnings)
