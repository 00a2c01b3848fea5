"""Chosen columns of the regressor, joint by joint, each contiguous in time: what a factorisation reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array, Float, Int
from dynid.dynamics.motion import Motion
from dynid.dynamics.regressor import IN_CACHE, TorqueModel

__all__ = ["chosen_columns"]

TILE = 8
"""Samples whose rows are read side by side: a line of the cache on the side that is written."""


def chosen_columns(
    model: TorqueModel,
    motion: Motion,
    chosen: Sequence[Int[Array, " ..."]],
    *,
    extra: Float[Array, "n_samples n_dof n_terms"] | None = None,
) -> list[Float[Array, "n_samples _"]]:
    """For every joint the columns ``chosen[j]`` of its rows of Y (SI), stored column after column.

    The regressor passes through a buffer small enough to stay in cache. `extra` are `joint_columns` of this motion, for
    who has them from a longer one.
    """
    n_samples, widths = motion.n_samples, [len(columns) for columns in chosen]
    column, joint = np.concatenate(chosen), np.repeat(np.arange(model.n_dof), widths)
    taken = np.empty((len(column), n_samples))
    buffer = np.zeros((min(IN_CACHE, n_samples), model.n_dof, model.n_params))
    for start in range(0, n_samples, IN_CACHE):
        part = motion.part(start, start + IN_CACHE)
        own = None if extra is None else extra[start : start + IN_CACHE]
        _take(model.regressor(part, buffer[: part.n_samples], extra=own), joint, column, start, taken)
    return [rows.T for rows in np.split(taken, np.cumsum(widths)[:-1])]


@njit(cache=True, nogil=True)
@no_type_check
def _take(Y, joint, column, start, out):
    """out[c, start + k] = Y[k, joint[c], column[c]], tile by tile of samples."""
    n_samples = Y.shape[0]
    for first in range(0, n_samples, TILE):
        last = first + TILE if first + TILE < n_samples else n_samples
        for c in range(column.shape[0]):
            for k in range(first, last):
                out[c, start + k] = Y[k, joint[c], column[c]]
