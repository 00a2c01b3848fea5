"""What a step allocates: blocks of compiled code, and what stays of Python's own."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numba.core.runtime import _nrt_python, rtsys

from dynid.arrays import Array
from dynid.dynamics import Motion, TorqueModel
from dynid.tracking import Sample

Step = Callable[[int], object]
"""One step, by its number."""
PARTS = 4
"""Parts of a run, of which the one that keeps least counts: Python itself keeps memory of freed numbers at times."""


def quiet_samples(model: TorqueModel, theta: Array, n_samples: int) -> list[Sample]:
    """A smooth motion at 100 Hz with noisy torques, in which nothing happens: events are told, and take memory."""
    t, n = 0.01 * np.arange(n_samples), model.n_dof
    speed = 2.0 * np.pi * np.linspace(0.11, 0.29, n)
    angle = t[:, None] * speed + np.arange(n)
    motion = Motion(t, 0.6 * np.sin(angle), 0.6 * speed * np.cos(angle), -0.6 * speed**2 * np.sin(angle))
    tau = model.torque(motion, theta) + 0.3 * np.random.default_rng(1).standard_normal(angle.shape)
    return [Sample(*row) for row in zip(t, motion.q, motion.dq, motion.ddq, tau, strict=True)]


def compiled_blocks(step: Step, start: int, stop: int) -> int:
    """Blocks of memory that compiled code asks for in the steps from `start` to `stop`, freed again or not."""
    was = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    try:
        step(start)
        before = rtsys.get_allocation_stats()
        for k in range(start + 1, stop):
            step(k)
        after = rtsys.get_allocation_stats()
    finally:
        if not was:
            _nrt_python.memsys_disable_stats()
    return int(after.alloc - before.alloc) + int(after.mi_alloc - before.mi_alloc)


def bytes_kept(step: Step, start: int, stop: int) -> float:
    """Bytes that Python and NumPy hold more after each of the steps from `start` to `stop`."""
    tracemalloc.start()
    try:
        step(start)
        held, edges = [], np.linspace(start + 1, stop, PARTS + 1).astype(int)
        for first, last in pairwise(edges):
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for k in range(first, last):
                step(k)
            gc.collect()
            held.append((tracemalloc.get_traced_memory()[0] - before) / (last - first))
        return float(min(held))
    finally:
        tracemalloc.stop()
