"""Which column belongs to which joint: the assignment with the least sum of costs."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float, Int

__all__ = ["assignment"]


def assignment(cost: Float[Array, "n n"]) -> Int[Array, " n"]:
    """For each row the column that it gets, each column once, so that the costs sum to the least."""
    own = np.argmin(cost, axis=1) if len(cost) else np.empty(0, dtype=np.int64)
    if len(np.unique(own)) == len(own):
        return own  # each row has the column that it wants most
    # Importing it takes as long as all the checks of a healthy log, where the columns are in order.
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(cost)[1], dtype=np.int64)
