"""Whether two logs hold the same samples, even if cut, re-saved with fewer digits, or shifted in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.recording.recording import Recording
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import in_percent

__all__ = ["find_overlap", "overlap", "overlap_findings"]

PROBES = 400
"""Samples of a log that are looked for in the other: a share of 5 % shows in 20 of them."""
SAME = 2e-4
"""Distance of two samples that are the same, relative to the spread of the signals: numbers of four digits agree."""
REPORTED = 0.05
"""Share of samples found in the other log, from which on it is reported."""
MOST = 0.5
"""Share from which on two logs are the same one."""
MOVING = 1e-3
"""Change over a fiftieth of the log, relative to the spread of a signal, from which on the arm moves."""


def overlap(log: Recording, other: Recording) -> float:
    """Share of moving samples of the shorter log that the other holds as well, position and torque alike."""
    names = [name for name in ("q", "tau", "current", "dq") if name in log.signals and name in other.signals]
    if log.joint_names != other.joint_names:
        return 0.0
    one, two = (np.hstack([getattr(part, name) for name in names]) for part in (log, other))
    if len(one) > len(two):
        one, two = two, one
    spread = np.std(two, axis=0)
    used = spread > 0.0
    if not np.any(used):
        return 0.0
    # Numbers that were re-saved with few digits agree to half of their last one.
    scale = np.maximum(spread, 0.6 * np.maximum(_last_digit(one), _last_digit(two)) / SAME)[used]
    one, two = one[:, used] / scale, two[:, used] / scale
    moving = _moving(one)
    if not len(moving):
        return 0.0
    probes = one[moving[np.linspace(0, len(moving) - 1, min(PROBES, len(moving))).astype(np.int64)]]
    from scipy.spatial import cKDTree

    # Re-saved numbers lost their last digits, so nearest is compared, not equal.
    distance, _ = cKDTree(two).query(probes, p=np.inf, distance_upper_bound=SAME)
    return float(np.mean(np.isfinite(distance)))


def _last_digit(values: Float[Array, "n_samples n_columns"]) -> Float[Array, " n_columns"]:
    """The smallest steps between values of a column: the last digit where they were rounded, else next to none."""
    found = np.zeros(values.shape[1])
    for k, column in enumerate(values.T):
        gaps = np.diff(np.unique(column))
        gaps = gaps[gaps > 1e-9 * np.ptp(column)]
        found[k] = np.percentile(gaps, 1.0) if len(gaps) else 0.0
    return found


def _moving(values: Float[Array, "n_samples n_columns"]) -> np.ndarray:
    span = max(1, len(values) // 100)
    if len(values) <= 2 * span:
        return np.arange(len(values))
    change = np.abs(values[2 * span :] - values[: -2 * span]).max(axis=1)
    return np.flatnonzero(change > max(MOVING, 10.0 * SAME)) + span


@dataclass(frozen=True)
class SameLog:
    """Two logs that share samples."""

    one: str
    other: str
    share: float = number("1", normal=(0.0, REPORTED))
    """Moving samples of the shorter log that the other holds as well."""
    cause = "the same log, cut, re-saved or shifted in time: predicting what was fitted proves nothing"
    fix = "validate on a log of another motion"

    @property
    def evidence(self) -> str:
        return (
            f"{in_percent(self.share)} of the moving samples of the shorter log are in both {self.one} and "
            f"{self.other}; none should be"
        )


def overlap_findings(
    log: Recording, others: Sequence[Recording], *, severity: Severity = Severity.ERROR
) -> Iterator[Finding]:
    """One finding for each other log that shares samples with this one, of this severity where they share most."""
    for other in others:
        share = overlap(log, other)
        if share > REPORTED:
            yield Finding(
                code="same-log",
                severity=severity if share > MOST else Severity.WARNING,
                measured=SameLog(log.source, other.source, share),
                log=log.source,
            )


def find_overlap(look: Look) -> Look:
    """Samples that another log holds as well."""
    return look if look.log is None else look.found(overlap_findings(look.log, look.against))
