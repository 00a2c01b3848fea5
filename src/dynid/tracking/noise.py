"""The noise of this robot: what the identified model left unexplained, as the filters of the load need it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import TrackingError
from dynid.regression.model import IdentifiedModel
from dynid.regression.residuals import ONE_LOG
from dynid.tracking.arm_doubts import parameter_doubts

__all__ = ["TorqueNoise", "torque_noise"]

FRICTION_DRIFT = 0.1
"""Least relative σ of friction between runs, for models of a single run: a gear warms up by some ten kelvins within an
hour of motion, and its friction falls by about one per cent a kelvin."""
OFFSET_DRIFT = 0.5
"""Least σ of the offset of a joint between runs, over the slow error of the fit: what one log cannot tell from it."""
GAIN_STD = 0.02
"""Relative σ of a drive gain where the model does not say."""
SENSOR_STD = 0.01
"""The same of a joint torque that is measured, not computed from a current."""
UNSEEN_SHARE = 0.03
"""Least slow error over the friction of a joint, for models of a single run: the part of the drift of friction that
depends on pose, direction and load, and that a common factor does not follow."""
LONG = 0.5
"""Least memory of slow errors, s: they are errors of friction, and last as long as a motion keeps its direction."""
STANDSTILL_SHARE = 0.2
"""σ of the friction that holds a joint at standstill, over its dry friction, where the model does not say."""
STANDSTILL_SPEED = 0.01
"""Speed below which a joint stands, over its speed limit, where the model does not say."""
FAST = 0.3
"""Speed at which friction is judged, over the speed limit."""
SPEED_LIMIT = 2.0
"""Speed limit of a joint that has none, rad/s or m/s."""
SLOW_SHARE, MEMORY = 0.3, 0.2
"""Slow error over white noise, and its time constant in s, where only a standard deviation is known."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TorqueNoise:
    """What stands between a predicted torque and a measured one; one number a joint, N·m or N."""

    white: Float[Array, " n_dof"]
    """σ of the part of single samples that has no memory."""
    slow: Float[Array, " n_dof"]
    """σ of the part with memory."""
    memory: Float[Array, " n_dof"]
    """Its time constant, s."""
    standstill: Float[Array, " n_dof"]
    """σ that friction has in addition at standstill."""
    standstill_speed: Float[Array, " n_dof"]
    """Speed below which a joint stands, rad/s or m/s."""
    offset: Float[Array, " n_dof"]
    """σ of the offset between runs."""
    friction: Float[Array, " n_dof"]
    """Relative σ of the whole friction between runs."""
    gain: Float[Array, " n_dof"]
    """Relative σ of the drive gain."""
    doubts: Float[Array, "n_doubts n_params"] = field(default_factory=lambda: np.zeros((0, 0)))
    """Uncertain directions of θ (SI), one σ each: the slow error is at least as large as they make a torque."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        positive = np.concatenate([self.white, self.slow, self.memory])
        if not np.all(np.isfinite(positive)) or np.min(positive) <= 0.0:
            raise TrackingError("every joint needs a white noise, a slow error and a memory above zero")

    @classmethod
    def of_std(cls, model: TorqueModel, theta: Float[Array, " n_params"], std: Float[Array, " n_dof"]) -> TorqueNoise:
        """From one standard deviation (N·m or N) of each joint's torque; all else typical of drives."""
        dry, speed = _dry_friction(model, theta), _speed_limits(model)
        return cls(
            white=std,
            slow=SLOW_SHARE * std,
            memory=np.full(model.n_dof, MEMORY),
            standstill=STANDSTILL_SHARE * dry,
            standstill_speed=STANDSTILL_SPEED * speed,
            offset=OFFSET_DRIFT * SLOW_SHARE * std,
            friction=np.full(model.n_dof, FRICTION_DRIFT),
            gain=np.full(model.n_dof, GAIN_STD),
        )

    @property
    def sample_std(self) -> Float[Array, " n_dof"]:
        """σ of a single torque, N·m or N."""
        return np.sqrt(self.white**2 + self.slow**2)


def torque_noise(known: IdentifiedModel, guess: Float[Array, " n_dof"]) -> TorqueNoise:
    """The noise of an identified robot (N·m or N); from `guess` where the model was not fitted to a log."""
    model, theta = known.model, known.parameters
    found = known.residuals
    if found is None:
        if known.sample_noise is None or known.noise is None or not np.all(known.sample_noise > 0.0):
            return TorqueNoise.of_std(model, theta, guess)
        slow = np.minimum(known.noise, 0.9 * known.sample_noise)
        typical = TorqueNoise.of_std(model, theta, known.sample_noise)
        memory = typical.memory if known.noise_memory is None else np.maximum(known.noise_memory, 1e-3)
        return TorqueNoise(
            white=np.sqrt(known.sample_noise**2 - slow**2),
            slow=slow,
            memory=memory,
            standstill=typical.standstill,
            standstill_speed=typical.standstill_speed,
            offset=OFFSET_DRIFT * slow,
            friction=typical.friction,
            gain=typical.gain,
        )
    least = 1e-3 * guess
    offset, friction = _drift(model, theta, found.drift)
    slow, standstill, speed = np.maximum(found.slow_std, least), found.standstill_std, found.standstill_speed
    # Logs come to rest a few times only; what holds the arm there is friction, and can be any part of it.
    standstill = np.maximum(standstill, STANDSTILL_SHARE * _dry_friction(model, theta))
    speed = np.maximum(speed, STANDSTILL_SPEED * _speed_limits(model))
    if found.source == ONE_LOG:
        slow = np.maximum(slow, UNSEEN_SHARE * _dry_friction(model, theta))
        offset, friction = np.maximum(offset, OFFSET_DRIFT * slow), np.maximum(friction, FRICTION_DRIFT)
    return TorqueNoise(
        white=np.maximum(found.white_std, least),
        slow=slow,
        memory=np.maximum(found.memory, LONG),
        standstill=standstill,
        standstill_speed=speed,
        offset=offset,
        friction=friction,
        gain=np.maximum(found.gain_std, SENSOR_STD if known.settings.gains is None else GAIN_STD),
        doubts=parameter_doubts(known, slow),
    )


def _speed_limits(model: TorqueModel) -> Float[Array, " n_dof"]:
    limits = np.array([joint.limits.velocity for joint in model.robot.joints])
    return np.where(np.isfinite(limits) & (limits > 0.0), limits, SPEED_LIMIT)


def _steady_columns(model: TorqueModel) -> Float[Array, "2 n_dof n_terms"]:
    """Friction columns of a steady motion in either direction, after friction has built up."""
    speed = FAST * _speed_limits(model)
    t = np.linspace(0.0, 1.0, 200)
    found = []
    for side in (1.0, -1.0):
        q, dq = side * np.outer(t, speed), np.tile(side * speed, (len(t), 1))
        found.append(model.joint_columns(Motion(t, q, dq, np.zeros_like(dq)))[-1])
    return np.array(found)


def _dry_friction(model: TorqueModel, theta: Float[Array, " n_params"]) -> Float[Array, " n_dof"]:
    """Friction (N·m or N) of a slow steady motion, the larger of the two directions."""
    own = theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))
    return np.max(np.abs(np.einsum("sjt,jt->sj", _steady_columns(model), own)), axis=0)


def _drift(
    model: TorqueModel, theta: Float[Array, " n_params"], D: Float[Array, "n_own n_own"]
) -> tuple[Float[Array, " n_dof"], Float[Array, " n_dof"]]:
    """σ of each joint's offset (N·m or N) and relative σ of its friction, from the drift of its terms."""
    n, n_terms = model.n_dof, len(model.terms)
    own = theta[model.n_inertial :].reshape(n, n_terms)
    Y = _steady_columns(model)
    offset, friction = np.zeros(n), np.zeros(n)
    for j in range(n):
        part = slice(j * n_terms, (j + 1) * n_terms)
        even, odd = 0.5 * (Y[0, j] + Y[1, j]), 0.5 * (Y[0, j] - Y[1, j])
        offset[j] = np.sqrt(max(0.0, float(even @ D[part, part] @ even)))
        size = abs(float(odd @ own[j]))
        friction[j] = np.sqrt(max(0.0, float(odd @ D[part, part] @ odd))) / size if size > 0.0 else 0.0
    return offset, np.minimum(friction, 1.0)
