"""The delay of the torque: by how much its stamps lag, chosen by what is predicted of left-out segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.joint_model import JointModel
from dynid.regression.friction.rows import N_FOLDS, FrictionRows
from dynid.regression.friction.search import MIN_GAIN
from dynid.regression.triangle import triangular

__all__ = ["DelayChoice", "choose_delay"]

SPAN = 0.1
"""s; delays tried either way. Controllers and buses delay by milliseconds; what is longer is a fault of the log."""
STEP = 0.01
"""s; between the delays of the first round: short against a period of any motion that a joint can follow."""
ROUNDS = 2
"""Times that the delays about the best one are tried again."""
SURE = 2.0
"""Standard errors that the gain of a delay must reach: many are tried. In logs of six arms as they are it reaches 1.3
at most, 3.5 in one that came through ROS 2, and 2.3 to 7.6 where 20 ms are put in, with one exception (0.7)."""
FINER = 5
"""How many times as closely each of these rounds tries them: from 10 ms down to 0.4 ms, below a sample of most logs."""


@dataclass(frozen=True, eq=False)
class DelayChoice:
    """By how much the torque lags, and what that gains."""

    delay: float
    """s; 0 where none is sure to predict better."""
    best: float
    """s; the delay with the least error, whether or not it is sure."""
    before: float
    """Error on left-out segments without a delay, in units of each joint's noise (root mean square)."""
    after: float
    """The same with `best`."""
    sure: bool
    """Whether `best` predicts better by more than two standard errors over the segments, and by 1 % or more."""

    @property
    def change_percent(self) -> float:
        """What `best` makes of the error on left-out segments, %: negative where it falls."""
        return 100.0 * (self.after / self.before - 1.0) if self.before > 0.0 else 0.0

    @property
    def reason(self) -> str:
        """The choice as a sentence."""
        change = self.change_percent
        if self.sure:
            return f"torque lags by {1e3 * self.best:.2f} ms: error on left-out segments {change:+.1f} %"
        best, moved = f"{1e3 * self.best:.1f} ms", f"{change:+.1f} %"
        if float(best.split()[0]) == 0.0:
            return "no delay of the torque: no other value predicts left-out segments better"
        moved = "less than 0.1 %" if float(moved.split()[0]) == 0.0 else moved
        gain = f"changes the error on left-out segments by {moved}, not significant"
        return f"no delay of the torque: the best, {best}, {gain}"


def choose_delay(rows: FrictionRows, models: Sequence[JointModel], weights: Float[Array, " n_dof"]) -> DelayChoice:
    """The delay of the torque (s) that predicts left-out segments best with these friction and drive models.

    Args:
        rows: conditioned rows of the logs; links are fitted anew for every delay and every part left out.
        models: friction and drives with their shape numbers.
        weights: one over the noise of each drive, 1/(N·m).
    """
    own = [np.hstack(parts) for parts in zip(*(rows.columns(model) for model in models), strict=True)]
    own = [F[:, np.any(F != 0.0, axis=0)] for F in own]
    delays = np.arange(-SPAN, SPAN + 0.5 * STEP, STEP)
    errors = left_out_errors(rows, own, weights, delays)
    none = errors[len(delays) // 2]
    step = STEP
    for _ in range(ROUNDS):
        best = int(np.argmin(errors.sum(axis=1)))
        if best in (0, len(delays) - 1):
            return _chosen(0.0, float(delays[best]), none, errors[best], sure=False)
        step /= FINER
        delays = delays[best] + step * np.arange(-FINER, FINER + 1)
        errors = left_out_errors(rows, own, weights, delays)
    best = int(np.argmin(errors.sum(axis=1)))
    gain = none - errors[best]
    least = SURE * float(np.std(gain, ddof=1)) * np.sqrt(len(gain))
    sure = gain.sum() > max(least, MIN_GAIN * float(none.sum()))
    return _chosen(float(delays[best]) if sure else 0.0, float(delays[best]), none, errors[best], sure=bool(sure))


def _chosen(
    delay: float, best: float, none: Float[Array, " n_folds"], found: Float[Array, " n_folds"], *, sure: bool
) -> DelayChoice:
    return DelayChoice(delay, best, float(np.sqrt(none.sum())), float(np.sqrt(found.sum())), sure)


def left_out_errors(
    rows: FrictionRows,
    own: Sequence[Float[Array, "_ _"]],
    weights: Float[Array, " n_dof"],
    delays: Float[Array, " n_delays"],
) -> Float[Array, "n_delays n_folds"]:
    """Squared error of each fold predicted from the others, in units of the noise (weights in 1/(N·m), delays in s)."""
    torques = [rows.torque(float(delay)) for delay in delays]
    n_delays = len(delays)
    pieces = []
    for j in range(rows.n_dof):
        targets = np.column_stack([tau[j] for tau in torques])
        whole = np.column_stack([own[j], rows.Y[j], targets]) * weights[j]
        pieces.append([triangular(whole[rows.fold[j] == f]) for f in range(N_FOLDS)])
    errors = np.zeros((n_delays, N_FOLDS))
    for left in range(N_FOLDS):
        kept = [triangular(np.vstack([p for f, p in enumerate(own_pieces) if f != left])) for own_pieces in pieces]
        stacked = [factor[F.shape[1] :, F.shape[1] :] for factor, F in zip(kept, own, strict=True)]
        if rows.prior is not None:
            stacked.append(np.hstack([rows.prior[:, :-1], np.repeat(rows.prior[:, -1:], n_delays, axis=1)]))
        A = np.vstack(stacked)
        beta = _least_squares(A[:, :-n_delays], A[:, -n_delays:])
        for j, (factor, F) in enumerate(zip(kept, own, strict=True)):
            n_own = F.shape[1]
            R, cross, rho = factor[:n_own, :n_own], factor[:n_own, n_own:-n_delays], factor[:n_own, -n_delays:]
            phi = _least_squares(R, rho - cross @ beta)
            out = pieces[j][left]
            rest = out[:, -n_delays:] - out[:, :n_own] @ phi - out[:, n_own:-n_delays] @ beta
            errors[:, left] += np.sum(rest**2, axis=0)
    return errors


def _least_squares(
    A: Float[Array, "n_rows n_columns"], B: Float[Array, "n_rows n_targets"]
) -> Float[Array, "n_columns n_targets"]:
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    return np.linalg.lstsq(A / scale, B, rcond=1e-8)[0] / scale[:, None]
