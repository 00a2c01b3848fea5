"""What is not known of an identified arm: the directions of its parameters that make most of the torque uncertain."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.motion import Motion, random_motion
from dynid.regression.model import IdentifiedModel

__all__ = ["parameter_doubts"]

MOST_DOUBTS = 12
"""Directions that are kept at most: each costs a filter one more torque of the arm a sample."""
KEPT = 0.95
"""Share of the variance of the torque, over all motions, that the directions kept have at least where so many do."""
N_STATES = 400
"""Random states over which torques are compared."""
SPEED, RISE = 0.3, 0.3
"""Their velocities, over the speed limits, and the time in s within which they are reached from rest."""
SPEED_LIMIT = 2.0
"""Speed limit of a joint that has none, rad/s or m/s."""


def parameter_doubts(known: IdentifiedModel, scale: Float[Array, " n_dof"]) -> Float[Array, "n_doubts n_params"]:
    r"""Directions :math:`d_k` of θ (SI), one σ each: :math:`\sum_k (Y d_k)^2` is the variance of torques.

    They come from the covariance of the identified parameters without that of the drive gains, which scale the
    measured torque as they do the predicted one. The first make most of the torque of random motions uncertain.

    Args:
        known: the arm.
        scale: torque (N·m or N) of each joint to which its uncertainty compares.
    """
    covariance = known.covariance
    if known.residuals is not None:
        covariance = covariance - known.residuals.of_scales
    seen = np.isfinite(np.diag(covariance))
    values, vectors = np.linalg.eigh(np.where(np.outer(seen, seen), covariance, 0.0))
    roots = vectors * np.sqrt(np.maximum(values, 0.0))
    Y = known.base.reduce(known.model.regressor(_states(known))) / scale[:, None]
    _, sizes, ways = np.linalg.svd(Y.reshape(-1, known.base.n_base) @ roots, full_matrices=False)
    power = sizes**2
    if not np.sum(power) > 0.0:
        return np.zeros((0, known.model.n_params))
    enough = int(np.searchsorted(np.cumsum(power), KEPT * np.sum(power))) + 1
    doubts = np.zeros((min(MOST_DOUBTS, enough), known.model.n_params))
    doubts[:, known.base.independent] = ways[: len(doubts)] @ roots.T
    return doubts


def _states(known: IdentifiedModel) -> Motion:
    """Random states of the whole room of the joints, as fast as arms usually move."""
    robot, rng = known.model.robot, np.random.default_rng(0)
    limits = np.array([joint.limits.velocity for joint in robot.joints])
    fast = SPEED * np.where(np.isfinite(limits) & (limits > 0.0), limits, SPEED_LIMIT)
    states = random_motion(robot, N_STATES, rng)
    return Motion(states.t, states.q, fast * states.dq, fast / RISE * states.ddq)
