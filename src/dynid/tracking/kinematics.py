"""Noisy kinematics: a second filter beside the first gives q, dq, ddq from positions, with or without velocities.

It fits a polynomial to the samples around one that lies half a window back, on their own time stamps, so jitter
does no harm. Measurements are handed on with the motion of the same sample: nothing lags, everything is late.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.bound import BoundKernel
from dynid.dynamics.kernels.stored import njit
from dynid.errors import TrackingError
from dynid.tracking.bundles import MOTION
from dynid.tracking.samples import Sample

__all__ = ["KinematicFilter", "KinematicStream"]

MAX_ORDER = 7
"""Highest degree of the polynomial, for which the Gram matrix below has its eight columns."""
EVEN = 1e-6
"""Difference of steps between samples, over the step, up to which they count as the same: less than clocks jitter."""
BRIDGED = 3
"""Missing velocities in a row that are interpolated: within so few samples a velocity hardly bends. Where more are
missing, the window differentiates positions, which is noisier."""
LEAST_WINDOW = 4
"""Samples of a window for each that may be left out at its end."""


@njit(cache=True, nogil=True)
@no_type_check
def window_weights(t, centre, order, n_derivatives, G, W):
    """Fill W[k] with the weights of the k-th time derivative at `centre` of the polynomial through the window."""
    n, n_coefficients, moments = t.shape[0], order + 1, G[9]
    width = max(t[n - 1] - centre, centre - t[0])
    inverse = 1.0 / width
    for d in range(2 * order + 1):
        moments[d] = 0.0
    for i in range(n):
        u = (t[i] - centre) * inverse
        power = 1.0
        for d in range(2 * order + 1):
            moments[d] += power
            power *= u
    # Entries of a Gram matrix of powers depend only on the sum of their indices.
    for j in range(n_coefficients):
        for i in range(j, n_coefficients):
            total = moments[i + j]
            for k in range(j):
                total -= G[i, k] * G[j, k]
            G[i, j] = total / G[j, j] if i > j else np.sqrt(max(total, 1e-300))
    c = G[8]
    scale = 1.0
    for k in range(n_derivatives):
        for i in range(n_coefficients):
            total = 1.0 if i == k else 0.0
            for j in range(i):
                total -= G[i, j] * c[j]
            c[i] = total / G[i, i]
        for i in range(n_coefficients - 1, -1, -1):
            total = c[i]
            for j in range(i + 1, n_coefficients):
                total -= G[j, i] * c[j]
            c[i] = total / G[i, i]
        scale *= max(k, 1) * (inverse if k > 0 else 1.0)
        for i in range(n):
            u = (t[i] - centre) * inverse
            total = c[order]
            for j in range(order - 1, -1, -1):
                total = total * u + c[j]
            W[k, i] = total * scale


@njit(cache=True, nogil=True)
@no_type_check
def smooth(t, q, dq, lost, order, centre, even, G, W, out):
    """Rows of out: q, dq, ddq at sample `centre` of the window.

    A joint of which `lost` velocities of the window are missing is differentiated from its positions alone.

    `even` is the step between samples (s), for how many samples it has been the same, and how many derivatives W has:
    once it has been the same for a whole window, W is what it was. Its second number is zero where a window starts.
    """
    n, n_dof, wanted = t.shape[0], q.shape[1], 2
    for j in range(n_dof):
        if lost[j] > 0:
            wanted = 3
    step = t[n - 1] - t[n - 2]
    even[1] = even[1] + 1.0 if abs(step - even[0]) <= EVEN * step else 1.0
    if even[1] == 1.0:
        even[0] = step
    if even[1] <= n or even[2] < wanted:
        window_weights(t, t[centre], order, wanted, G, W)
        even[2] = wanted
    for j in range(n_dof):
        out[0, j], out[1, j], out[2, j] = 0.0, 0.0, 0.0
    for pair in range((n + 1) // 2):
        # Two samples at a time; an odd one out comes first, with itself and no weight.
        b = 2 * pair + 1 - n % 2
        a = max(b - 1, 0)
        share = 1.0 if a < b else 0.0
        place, rate, more, faster = W[0, b], W[1, b], share * W[0, a], share * W[1, a]
        if wanted == 2:
            for j in range(n_dof):
                out[0, j] += place * q[b, j] + more * q[a, j]
                out[1, j] += place * dq[b, j] + more * dq[a, j]
                out[2, j] += rate * dq[b, j] + faster * dq[a, j]
            continue
        second, other = W[2, b], share * W[2, a]
        for j in range(n_dof):
            out[0, j] += place * q[b, j] + more * q[a, j]
            if lost[j] > 0:
                out[1, j] += rate * q[b, j] + faster * q[a, j]
                out[2, j] += second * q[b, j] + other * q[a, j]
            else:
                out[1, j] += place * dq[b, j] + more * dq[a, j]
                out[2, j] += rate * dq[b, j] + faster * dq[a, j]


@njit(cache=True, nogil=True)
@no_type_check
def smooth_window(first, length, t, q, dq, lost, order, centre, even, G, W, out):
    """`smooth` of a window of so many samples, the first of which stands at `first`."""
    last = first + length
    smooth(t[first:last], q[first:last], dq[first:last], lost, order, centre, even, G, W, out)


@dataclass(frozen=True, kw_only=True)
class KinematicFilter:
    """Local polynomials over a window that slides with the samples."""

    half_samples: int = 100
    """Samples on each side of the estimate, which is this many samples late."""
    order: int = 5
    """Degree of the polynomial."""
    gap: float = 0.1
    """A pause between samples (s) after which the window starts anew."""

    def __post_init__(self) -> None:
        if not 2 <= self.order <= MAX_ORDER or 2 * self.half_samples < self.order:
            raise TrackingError(
                f"a polynomial of degree {self.order} over {2 * self.half_samples + 1} samples; degrees go from 2 to "
                f"{MAX_ORDER}, and the window needs more samples than that"
            )

    @classmethod
    def at_rate(cls, rate_hz: float, *, half_window: float = 0.1) -> KinematicFilter:
        """For samples at a rate in Hz, with half a window in s."""
        if not 0.0 < half_window < np.inf:
            raise TrackingError(f"`half_window` {half_window:g}: give a time above 0 s, such as 0.1")
        return cls(half_samples=max(4, round(half_window * rate_hz)), gap=max(0.1, 5.0 / rate_hz))

    def start(self, n_dof: int) -> KinematicStream:
        """A running window for samples of `n_dof` joints."""
        return KinematicStream(self, n_dof)


class KinematicStream:
    """The window as samples come in: each call may give the sample of half a window ago, completed."""

    def __init__(self, options: KinematicFilter, n_dof: int) -> None:
        self.options = options
        self.n_restarts = 0
        """Times the window was emptied by a gap."""
        self.n_skipped = 0
        """Samples left out: positions not finite, or time that does not go on."""
        n = 2 * options.half_samples + 1
        # Twice the window, written at two places: every window is then one contiguous piece.
        self._t, self._q, self._dq = np.zeros(2 * n), np.zeros((2 * n, n_dof)), np.zeros((2 * n, n_dof))
        self._kept: list[Sample | None] = [None] * n
        self._n, self._count, self._place, self._last = n, 0, 0, -np.inf
        self._even, self._G = np.zeros(3), np.zeros((10, 16))
        self._W, self._out = np.zeros((3, n)), np.zeros((3, n_dof))
        # Missing velocities: of each joint in the window, and in a row up to now.
        self._lost, self._run = np.zeros(n_dof, dtype=np.int64), np.zeros(n_dof, dtype=np.int64)
        self._some_lost = False
        # Samples until no sample without any velocity is left in the window.
        self._unmeasured, self._all = 0, np.full(n_dof, n, dtype=np.int64)
        self._missing = np.zeros(n_dof, dtype=np.int64)
        self._smooth = BoundKernel(
            MOTION, smooth_window, 0, n, self._t, self._q, self._dq, self._missing, options.order,
            options.half_samples, self._even, self._G, self._W, self._out,
        )  # fmt: skip

    def step(self, sample: Sample) -> Sample | None:
        """The sample of half a window ago with its motion filled in (rad, s); None while the window fills."""
        if not np.isfinite(sample.t) or sample.t <= self._last or not np.isfinite(sample.q).all():
            self.n_skipped += 1
            return None
        if self._count and sample.t - self._last > self.options.gap:
            self._count, self._place, self._even[1] = 0, 0, 0.0
            self._lost[:], self._run[:] = 0, 0
            self._some_lost, self._unmeasured = False, 0
            self.n_restarts += 1
        self._last = sample.t
        place, other = self._place, self._place + self._n
        if self._some_lost and self._count == self._n:
            self._lost -= np.isnan(self._dq[place])
        self._t[place] = self._t[other] = sample.t
        self._q[place] = self._q[other] = sample.q
        self._unmeasured = self._n if sample.dq is None else max(0, self._unmeasured - 1)
        self._dq[place] = self._dq[other] = 0.0 if sample.dq is None else sample.dq
        if self._some_lost or not np.isfinite(self._dq[place].sum()):
            self._fill(place)
        self._kept[place] = sample
        self._place = (place + 1) % self._n
        self._count = min(self._count + 1, self._n)
        if self._count < self._n:
            return None
        trimmed = self._trailing() if self._some_lost else 0
        middle = self._kept[(self._place + self.options.half_samples) % self._n]
        assert middle is not None
        self._missing[:] = self._all if self._unmeasured else self._lost - np.minimum(self._run, trimmed)
        if trimmed:
            self._even[1] = 0.0
        self._smooth.set_int(0, self._place)
        self._smooth.set_int(1, self._n - trimmed)
        self._smooth()
        if trimmed:
            self._even[1] = 0.0
        return middle._replace(q=self._out[0].copy(), dq=self._out[1].copy(), ddq=self._out[2].copy())

    def _trailing(self) -> int:
        """Samples at the end of the window to leave out: velocities that they lack will be interpolated with the next.

        Until then the window would have to differentiate the positions of a joint for a few samples only.
        """
        short = self._run[self._run <= BRIDGED]
        trailing = int(short.max(initial=0))
        return trailing if LEAST_WINDOW * trailing <= self._n else 0

    def _fill(self, place: int) -> None:
        """Count the velocities that the sample at `place` lacks; interpolate those that it ends a short run of."""
        row = np.where(np.isfinite(self._dq[place]), self._dq[place], np.nan)
        missing = np.isnan(row)
        self._dq[place] = self._dq[place + self._n] = row
        for j in np.flatnonzero(~missing & (self._run > 0) & (self._run <= BRIDGED)):
            run = int(self._run[j])
            if self._count <= run:
                continue  # the window begins with them
            # Places before the first are those of the second copy, from its end.
            t0, t1, dq0, dq1 = self._t[place - run - 1], self._t[place], self._dq[place - run - 1, j], row[j]
            for k in range(place - run, place):
                value = dq0 + (dq1 - dq0) * (self._t[k] - t0) / (t1 - t0)
                self._dq[k % self._n, j] = self._dq[k % self._n + self._n, j] = value
            self._lost[j] -= run
        self._run[:] = np.where(missing, self._run + 1, 0)
        self._lost += missing
        self._some_lost = bool(self._lost.any())
