"""Chosen columns of the regressor, joint by joint, each contiguous in time: what a factorisation reads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.kernels.ready import fill_columns
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion

__all__ = ["chosen_columns"]


def chosen_columns(
    model: TorqueModel,
    motion: Motion,
    chosen: Sequence[Int[Array, " ..."]],
    *,
    extra: Float[Array, "n_samples n_dof n_terms"] | None = None,
) -> list[Float[Array, "n_samples _"]]:
    """For every joint the columns ``chosen[j]`` of its rows of Y (SI), each column once, stored column after column.

    The whole regressor is never formed. `extra` are precomputed `joint_columns`, if `motion` is a slice.
    """
    widths, n_terms = [len(columns) for columns in chosen], len(model.terms)
    place = np.full((model.n_dof, model.n_params), -1)
    place[np.repeat(np.arange(model.n_dof), widths), np.concatenate(chosen)] = np.arange(sum(widths))
    taken = np.zeros((sum(widths), motion.n_samples))
    fill_columns(model.chain, motion.q, motion.dq, motion.ddq, place, taken)
    own = model.joint_columns(motion) if extra is None else extra
    for motor, j, ratio in model.motor_pairs:
        for term in range(n_terms):
            to = place[j, model.n_inertial + motor * n_terms + term]
            if to >= 0:
                np.multiply(ratio, own[:, motor, term], out=taken[to])
    return [rows.T for rows in np.split(taken, np.cumsum(widths)[:-1])]
