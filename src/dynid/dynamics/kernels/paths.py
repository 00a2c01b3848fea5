"""What friction remembers of the path of a joint: compiled, since each sample needs the one before."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.stored import njit

__all__ = ["compiled_dahl"]


@njit(cache=True, nogil=True, error_model="numpy")
@no_type_check
def compiled_dahl(q, length, z):
    """Dahl's state z of every joint from sample to sample, along the path q (rad or m)."""
    for k in range(1, q.shape[0]):
        for j in range(q.shape[1]):
            step = q[k, j] - q[k - 1, j]
            side = 1.0 if step > 0.0 else -1.0
            z[k, j] = z[k - 1, j] if step == 0.0 else side + (z[k - 1, j] - side) * np.exp(-abs(step) / length[j])
