"""Friction over velocity, as a model has it."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, ArrayLike, Float
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion

__all__ = ["friction_curve"]

RUN_UP = 8
"""Whole turns before the first point of a friction curve, after which what friction remembers is steady."""


def friction_curve(
    model: TorqueModel, theta: ArrayLike, dq: Float[Array, "n_points n_dof"]
) -> Float[Array, "n_points n_dof"]:
    """Steady friction torque (N·m or N) over velocity (rad/s or m/s): the path is long, the load that of q = 0.

    Springs have no part in it.
    """
    # Whole turns in the direction of motion leave the pose, and with it the load, as it is; those before the first
    # point let what friction remembers settle.
    run_up = np.repeat(dq[:1], RUN_UP, axis=0)
    steps = np.where(np.vstack([run_up, dq]) >= 0.0, 1.0, -1.0)
    q = 2.0 * np.pi * np.cumsum(steps, axis=0)
    motion = Motion(np.arange(len(q), dtype=float), q, np.vstack([run_up, dq]), np.zeros_like(q))
    own = np.array(theta, dtype=float)[model.n_inertial :].reshape(model.n_dof, len(model.terms))
    is_friction = [joint_model.is_friction for joint_model in model.joint_models for _ in joint_model.terms]
    own = own * np.array(is_friction, dtype=float)
    return np.einsum("njt,jt->nj", model.joint_columns(motion), own)[RUN_UP:]
