"""What no motion shows: states that leave the measured rows as they are."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.kernels.bound import run_kernel
from dynid.dynamics.motion import Motion
from dynid.tracking import core
from dynid.tracking.bundles import ARM
from dynid.tracking.rows import RowArrays, predict_rows
from dynid.tracking.state_kernels import evaluate_map
from dynid.tracking.state_map import StateMap

__all__ = ["unseen_states"]

UNSEEN = 1e-9
"""Effect of a state on the measurement, relative to the strongest, below which nothing can observe it."""


def unseen_states(
    state: StateMap,
    rows: RowArrays,
    noise: Float[Array, " n_rows"],
    motion: Motion,
    terms: Float[Array, "n_samples n_dof n_terms"] | None,
) -> tuple[str, ...]:
    """States that a rich motion does not show in what is measured, by name.

    Args:
        state: what is estimated.
        rows: what is measured.
        noise: σ of the measured rows, N·m or N.
        motion: a motion of all joints.
        terms: columns of friction (SI) that the compiled core does not know; None where it knows them all.
    """
    scratch = core.memory_for(rows, state.n_state, len(state.columns), smooth=False)
    run_kernel(ARM, evaluate_map, state.arrays, np.array(state.x0), scratch.theta, scratch.G, scratch.p, scratch.rate)
    effect = np.zeros(state.n_state)
    for k in range(motion.n_samples):
        if terms is not None:
            scratch.work.terms[:] = terms[k]
        q, dq, ddq = np.array(motion.q[k]), np.array(motion.dq[k]), np.array(motion.ddq[k])
        run_kernel(ARM, predict_rows, rows, q, dq, ddq, scratch.theta, scratch.work)
        run_kernel(ARM, core.state_jacobian, state.arrays, scratch.work.Y, scratch.G, scratch.H)
        effect += np.sum((scratch.H / noise[:, None]) ** 2, axis=0)
    seen = np.sqrt(effect) > UNSEEN * np.sqrt(max(np.max(effect), 1e-300))
    return tuple(symbol for symbol, shows in zip(state.symbols, seen, strict=True) if not shows)
