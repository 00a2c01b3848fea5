"""Rows of the regression: the regressor of conditioned samples, filtered like the torque, joint by joint."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.joint_columns import chosen_columns
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import n_threads
from dynid.recording.conditioning import Plan, Samples, Segment

__all__ = [
    "HeldRows",
    "JointRows",
    "ParallelRows",
    "RowSource",
    "SampleRows",
    "chunks_of",
    "rows_of_segment",
    "visible_columns",
]

BLOCK_CUTOFFS = 10.0
"""Length of a block in periods of the low-pass: long against the memory of the noise."""
MIN_BLOCKS = 24
"""Blocks a log is cut into at least, where its length allows."""
MAX_CHUNK = 4608
"""Samples whose regressor is held at a time."""
IN_FLIGHT = 2
"""Chunks waiting per thread; bounds the memory."""


_Extra = Float[Array, "n_samples n_dof n_terms"] | None


@dataclass(frozen=True, eq=False)
class JointRows:
    """Rows of one joint in one block of time."""

    Y: Float[Array, "n_rows n_visible"]
    """Base columns that the joint can see."""
    tau: Float[Array, " n_rows"]
    """N·m or N."""


@runtime_checkable
class RowSource(Protocol):
    """Something that can produce its rows again and again, block of time by block of time."""

    @property
    def model(self) -> TorqueModel:
        """The model whose columns these are."""
        ...

    @property
    def base(self) -> BaseParameters:
        """Its base parameters."""
        ...

    def blocks(self) -> Iterator[tuple[JointRows, ...]]:
        """One tuple (a `JointRows` per joint, N·m or N) per block, in the order of time."""
        ...


Item = TypeVar("Item")
Result = TypeVar("Result")


@runtime_checkable
class ParallelRows(Protocol):
    """A source of rows that can also use each block where it is computed."""

    def mapped(self, use: Callable[[tuple[JointRows, ...]], Result]) -> Iterator[Result]:
        """What `use` makes of each block (N·m or N), in the order of time."""
        ...


@dataclass(frozen=True, eq=False)
class SampleRows:
    """Rows of samples that are held in memory, of one log or of several."""

    model: TorqueModel
    base: BaseParameters
    samples: tuple[Samples, ...]

    def blocks(self) -> Iterator[tuple[JointRows, ...]]:
        """Rows block by block (N·m or N), computed on a pool of threads."""
        return self.mapped(lambda block: block)

    def mapped(self, use: Callable[[tuple[JointRows, ...]], Result]) -> Iterator[Result]:
        """What `use` makes of each block (N·m or N), in the thread that computed it, while its rows are in cache."""
        visible = visible_columns(self.model, self.base)
        for samples in self.samples:
            plan = samples.plan

            def work(piece: tuple[Segment, _Extra], plan: Plan = plan) -> Result:
                return use(rows_of_segment(self.model, self.base, piece[0], plan, visible, piece[1]))

            yield from in_order(work, chunks_of(self.model, samples))


@dataclass(frozen=True, eq=False)
class HeldRows:
    """Rows that were computed once and are kept."""

    model: TorqueModel
    base: BaseParameters
    held: tuple[tuple[JointRows, ...], ...]

    def blocks(self) -> Iterator[tuple[JointRows, ...]]:
        """The same blocks (N·m or N) again."""
        return iter(self.held)


def chunks_of(model: TorqueModel, samples: Samples) -> Iterator[tuple[Segment, _Extra]]:
    """Chunks, each with its joint columns (SI) from the whole segment where friction remembers what came before."""
    n_samples = block_length(samples)
    if not model.has_memory:
        yield from ((chunk, None) for chunk in samples.chunks(n_samples))
        return
    for segment in samples.segments:
        columns = model.joint_columns(segment.motion)
        for chunk in replace(samples, segments=(segment,)).chunks(n_samples):
            start = int(np.searchsorted(segment.motion.t, chunk.motion.t[0]))
            yield chunk, columns[start : start + chunk.motion.n_samples]


def block_length(samples: Samples) -> int:
    """Samples per block: several periods of the low-pass, and few enough for some dozen blocks."""
    plan = samples.plan
    memory = BLOCK_CUTOFFS * plan.low_pass.rate_hz / plan.low_pass.cutoff_hz if plan.low_pass.active else 32.0
    even = samples.n_samples / (2.0 * MIN_BLOCKS)
    return int(min(MAX_CHUNK, max(memory, even, 8.0 * plan.every)))


def visible_columns(model: TorqueModel, base: BaseParameters) -> tuple[Int[Array, " n_visible"], ...]:
    """For every joint the base columns that can act on it."""
    return tuple(np.flatnonzero(np.isin(base.independent, model.seen_by(j))) for j in range(model.n_dof))


def rows_of_segment(
    model: TorqueModel,
    base: BaseParameters,
    segment: Segment,
    plan: Plan,
    visible: tuple[Int[Array, " ..."], ...],
    extra: Float[Array, "n_samples n_dof n_terms"] | None = None,
) -> tuple[JointRows, ...]:
    """The rows of one segment (N·m or N): regressor and torque through the same low-pass, thinned, slow rows masked.

    `extra` are joint columns (SI) computed on a longer segment, for friction that remembers.
    """
    low_pass, every = plan.low_pass, plan.every
    chosen = [base.independent[columns] for columns in visible]
    tau = low_pass.thinned(segment.tau, every)
    centres = low_pass.half_length + every * np.arange(len(tau))
    fast = np.abs(segment.motion.dq[centres]) >= plan.min_velocity
    rows = []
    for j, columns in enumerate(chosen_columns(model, segment.motion, chosen, extra=extra)):
        filtered = low_pass.thinned(columns, every)
        keep = fast[:, j]
        rows.append(
            JointRows(filtered[keep], tau[keep, j]) if not keep.all() else JointRows(filtered, tau[:, j].copy())
        )
    return tuple(rows)


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results of `work` in the order of `items`, on a pool of threads with a bounded number under way."""
    workers = n_threads()
    if workers == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= IN_FLIGHT * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
