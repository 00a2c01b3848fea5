"""Entry: how one method did on one arm; judged by motion that it was not fitted to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import numpy as np

import dynid
from benchmarks.leaderboard.arms import Arm
from dynid.arrays import Array, Float
from dynid.chain.stand_ins import with_stand_ins
from dynid.dynamics import base_parameters
from dynid.errors import ParameterError
from dynid.recording.log_settings import LogSettings
from dynid.regression import IdentifiedModel
from dynid.regression.feasible.certificate import ProvenFeasible, is_feasible
from dynid.validation.rollout import window_starts
from dynid.workflow.logs import Log

WINDOW = 0.5
"""s; length of the open-loop rollouts that are judged."""


@dataclass(frozen=True)
class Entry:
    """One line of the leaderboard; nan where something cannot be said."""

    arm: str
    method: str
    train: float = np.nan
    """Error on the training logs, %."""
    unseen: float = np.nan
    """Error on the held-out log, %, torques low-passed as in the fit."""
    raw: float = np.nan
    """The same with the torque as it was logged, %."""
    rollout: float = np.nan
    """RMS error of a joint over open-loop rollouts of 0.5 s, mrad, geometric mean of the joints."""
    noise: float = np.nan
    """What the noise of the log explains of it, mrad, likewise."""
    consistent: str = ""
    """yes or no for links; some or none: whether any physically consistent links have these base parameters."""
    mass: float = np.nan
    """Of all moving links, kg."""
    coverage: float = np.nan
    """Share of the held-out torques inside their 95 % band, %."""
    seconds: float = np.nan
    megabytes: float = np.nan
    lines: int = 0
    note: str = ""

    def stored(self) -> dict[str, object]:
        """As JSON holds it: nan and infinity as texts."""
        return {key: str(value) if _is_odd(value) else value for key, value in asdict(self).items()}

    @classmethod
    def restored(cls, content: dict[str, object]) -> Entry:
        """From what `stored` gave."""
        known = {field.name: content[field.name] for field in fields(cls)}
        numbers = {name: float(value) if value in ("nan", "inf") else value for name, value in known.items()}
        return cls(**numbers)  # type: ignore[arg-type]


def _is_odd(value: object) -> bool:
    return isinstance(value, float) and not np.isfinite(value)


def judged(arm: Arm, method: str, model: IdentifiedModel, **cost: float | int | str) -> Entry:
    """How a model does on an arm; `cost` are the fields that the caller measured."""
    train = dynid.validate(model, arm.train, until=arm.split).validation
    held_out = dynid.validate(model, arm.held_out, from_=arm.split).validation[0]
    raw = dynid.validate(model, arm.held_out, from_=arm.split, raw=True).validation[0]
    rollout, noise = _rollout(arm, model)
    return Entry(
        arm.name,
        method,
        train=float(np.sqrt(np.mean([v.error.relative_percent**2 for v in train]))),
        unseen=held_out.error.relative_percent,
        raw=raw.error.relative_percent,
        rollout=rollout,
        noise=noise,
        consistent=_consistent(model),
        mass=float(sum(link.mass for link in model.links)) if model.links else np.nan,
        coverage=100.0 * float(np.nanmean(held_out.coverage)) if _has_spread(model, held_out.coverage) else np.nan,
        **cost,  # type: ignore[arg-type]
    )


def _has_spread(model: IdentifiedModel, coverage: Float[Array, " n_dof"]) -> bool:
    return bool(np.all(~np.isnan(model.covariance)) and np.any(np.isfinite(coverage)))


def _consistent(model: IdentifiedModel) -> str:
    if model.links:
        return "yes" if model.consistent else "no"
    found = is_feasible(model.model, base_parameters(model.model), model.beta)
    return "some" if isinstance(found, ProvenFeasible) else "none"


def _rollout(arm: Arm, model: IdentifiedModel) -> tuple[float, float]:
    """Error over rollouts of `WINDOW`, and what noise explains of it, mrad; infinite where none runs.

    A wrist without armature runs away under the noise of its torque sensor; in a plain mean it alone would count.
    """
    try:
        found = dynid.rollout(model, arm.held_out, window=WINDOW, from_=arm.split).models[0].open_loop
    except ParameterError:  # a mass matrix that is not positive definite
        return np.inf, np.nan
    return (np.nan, np.nan) if found is None else (_typical(found.rms(WINDOW)), _typical(found.noise(WINDOW)))


def constant_velocity(arm: Arm, read: LogSettings) -> float:
    r"""Error of the predictor that knows no dynamics over the same windows, mrad: :math:`q_0 + t \dot q_0`."""
    robot, _ = with_stand_ins(dynid.load_robot(arm.robot))
    samples = Log.of(arm.held_out, robot, read, arm.split, None).condition()
    windows = window_starts(samples, WINDOW)
    t = np.arange(windows.n_samples + 1)[:, None] / samples.plan.low_pass.rate_hz
    errors = []
    for part, k in windows.starts:
        motion = samples.segments[part].motion
        errors.append(motion.q[k] + t * motion.dq[k] - motion.q[k : k + windows.n_samples + 1])
    return _typical(np.sqrt(np.mean(np.square(errors), axis=(0, 1))))


def _typical(error: Float[Array, " n_dof"]) -> float:
    """Geometric mean of the joints, mrad."""
    return 1e3 * float(np.exp(np.mean(np.log(error))))
