"""Tidying: rows of a log that no measurement holds are left out before anybody uses it, and that is said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Bool
from dynid.recording.clock import steady_clock
from dynid.recording.held_rows import Holding, evened, holding_of, new_rows
from dynid.recording.raw import RawLog
from dynid.recording.repairs import LogRepair, listed_samples
from dynid.recording.spelling import STEMS
from dynid.recording.wild_cells import wild_cells

__all__ = ["Tidying", "stamped_rows", "tidied"]

MOST_LOST = 0.2
"""Share of the rows that may be left out for bad cells; a log that would lose more stays as it is."""
MUCH_LOST = 0.05
"""Share of the rows from which on what is left out is missed: one sample in twenty."""
PART_MOVED = 1.0
"""Least that a clock was moved by, s: rows that are left out at the end of a part are a matter of milliseconds."""


def tidied(raw: RawLog) -> RawLog:
    """The log (SI) without rows that are repeated, damaged or out of time; `RawLog.repairs` tells what was done."""
    return Tidying.of(raw).applied(raw)


@dataclass(frozen=True)
class Tidying:
    """What is done to the rows of a log: decided once, for all of it."""

    holding: Holding | None = None
    """How rows are held; None where they are not."""

    @classmethod
    def of(cls, raw: RawLog) -> Tidying:
        """What the rows of a log (SI), or of the start of a long one, need."""
        return cls(holding_of(raw))

    def applied(self, raw: RawLog, before: RawLog | None = None) -> RawLog:
        """The rows of a log (SI) that can be used; `before` is the part just before, where it is read in parts."""
        log = stamped_rows(raw)
        log = steady_clock(log)
        if self.holding is not None:
            log = _thinned(log, self.holding, before)
        return _without_wild_rows(log)

    def stream(self, parts: Iterable[RawLog]) -> Iterator[RawLog]:
        """The same for a log that is read part by part (SI): time goes on from part to part."""
        before: RawLog | None = None
        offset, last, period = 0.0, -np.inf, 0.0
        for part in parts:
            log = self.applied(part, before)
            before = part
            if not log.n_samples:
                continue
            t = log.t + offset
            if t[0] <= last:
                offset += last + max(1.0, 100.0 * period) - t[0]
                t = log.t + offset
            # Where the stamps of a part were moved, those of the next ones are.
            moved = float(log.t[-1] - part.t[-1])
            offset += moved if abs(moved) > PART_MOVED else 0.0
            last, period = float(t[-1]), float(np.median(np.diff(t))) if len(t) > 1 else period
            yield replace(log, t=t)


def stamped_rows(raw: RawLog) -> RawLog:
    """The rows that have a time."""
    timed = np.isfinite(raw.t)
    n_lost = int(np.sum(~timed))
    if not n_lost or n_lost > MOST_LOST * raw.n_samples:
        return raw
    places = raw.places[~timed].tolist()
    return _repaired(
        raw.rows(timed),
        LogRepair(
            "not-finite",
            f"t is not a finite number in {n_lost} of {raw.n_samples} rows, samples {listed_samples(places)}",
            "the logger wrote an empty cell, nan or inf",
            "these rows are left out",
            samples=tuple(places),
            share=n_lost / raw.n_samples,
            harmless=n_lost < MUCH_LOST * raw.n_samples,
        ),
    )


def _repaired(raw: RawLog, repair: LogRepair) -> RawLog:
    return replace(raw, repairs=(*raw.repairs, repair))


def _thinned(raw: RawLog, holding: Holding, before: RawLog | None) -> RawLog:
    """The rows that are new, at the times of the controller's own clock where that is even."""
    kept = new_rows(raw, before)
    if kept.all() or np.sum(kept) < 2 or np.min(np.diff(raw.t), initial=np.inf) <= 0.0:
        return raw
    row_period = float(np.median(np.diff(raw.t)))
    period = holding.every * row_period
    thin = raw.rows(kept)
    thin = replace(thin, t=evened(thin.t, period, row_period))
    rate_hz = 1.0 / float(np.median(np.diff(thin.t)))
    repair = LogRepair(
        "repeated-rows",
        f"{100.0 * holding.share:.3g} % of the rows repeat every value of the row before, one in {holding.every:.3g} "
        f"is new: the robot was measured at {rate_hz:.4g} Hz and logged at {1.0 / row_period:.4g} Hz",
        "the logger runs faster than the robot sends",
        f"{thin.n_samples} of {raw.n_samples} rows are used, those that are new",
        share=holding.share,
    )
    return _repaired(thin, repair)


def _without_wild_rows(raw: RawLog) -> RawLog:
    """The rows in which every cell was measured."""
    if not raw.n_samples:
        return raw
    found = {name: wild_cells(getattr(raw, name)) for name in raw.signals}
    bad: Bool[Array, " n_samples"] = np.any([cells.any(axis=1) for cells in found.values()], axis=0)
    if not bad.any() or np.mean(bad) > MOST_LOST:
        return raw
    repairs = [
        _wild(raw, signal, j, cells[:, j])
        for signal, cells in found.items()
        for j in np.flatnonzero(cells.any(axis=0)).tolist()
    ]
    kept = raw.rows(~bad)
    return replace(kept, repairs=(*kept.repairs, *repairs))


def _wild(raw: RawLog, signal: str, j: int, cells: Bool[Array, " n_samples"]) -> LogRepair:
    """What is said of the wild cells of one column."""
    values = getattr(raw, signal)[:, j]
    places = raw.places[cells].tolist()
    joint = raw.joint_names[j]
    column = raw.column(signal, joint) if signal in STEMS else f"{signal}{j + 1}"
    where = f"column {column}, sample{'s' if len(places) > 1 else ''} {listed_samples(places)}"
    share = len(places) / raw.n_samples
    lost = ~np.isfinite(values[cells])
    if lost.all():
        return LogRepair(
            "not-finite",
            f"{signal} is not a finite number in {len(places)} of {raw.n_samples} rows ({100.0 * share:.2g} %), "
            f"{where}",
            "the logger wrote nan, inf or an empty cell where a message was missing or a division failed",
            "these rows are left out",
            joint,
            tuple(places),
            share,
            share < MUCH_LOST,
        )
    k = int(np.argmax(np.where(cells & np.isfinite(values), np.abs(values), -1.0)))
    good = values[~cells]
    return LogRepair(
        # Leaps of a position have had their own name since 0.1.
        "jump" if signal == "q" else "wild-cell",
        f"{signal} has {len(places)} values that have nothing to do with those around them, such as {values[k]:.4g} at "
        f"sample {raw.places[k]} in a column from {good.min():.4g} to {good.max():.4g}: {where}",
        "a damaged message, a sensor that dropped out, or a number that was cut while writing",
        "these rows are left out; the samples between are interpolated",
        joint,
        tuple(places),
        share,
    )
