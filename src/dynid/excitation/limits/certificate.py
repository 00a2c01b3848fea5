"""The certificate of a trajectory: how much of every limit it uses, also between the samples that were checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.excitation.curves.curve import States
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit
from dynid.excitation.trajectory import Cruise, MotionPiece, Trajectory
from dynid.prose import Grid, PrintsAsTable, counted

__all__ = ["LimitCertificate", "LimitUse", "certify", "highest_between"]

POINTS_PER_CYCLE = 1000
"""Samples of a certificate per period of the highest frequency."""


def highest_between(values: Float[Array, "n_samples n_columns"]) -> Float[Array, " n_columns"]:
    """The largest each column can be, also between its equidistant samples (same unit).

    Half the second difference is four times what a parabola rises above its samples, and twice what a corner does.
    """
    if len(values) < 3:
        return values.max(axis=0)
    bend = np.abs(np.diff(values, 2, axis=0))
    reach = np.zeros_like(values)
    for shift in (0, 1, 2):
        part = reach[shift : shift + len(bend)]
        np.maximum(part, bend, out=part)
    return (values + 0.5 * reach).max(axis=0)


@dataclass(frozen=True)
class LimitUse:
    """How much of one limit a motion uses, at any time."""

    quantity: str
    """``position``, ``velocity``, ``acceleration``, ``jerk``, ``effort`` or the name of another path limit."""
    label: str
    """The joint, or the point or pair of bodies."""
    reached: float
    """The largest value (SI); for a path limit its excess, in units of the limit or m."""
    limit: float
    """What it may be, in the same unit; infinite where there is no limit."""

    @property
    def kept(self) -> bool:
        """Whether the limit holds."""
        return self.reached <= self.limit


@dataclass(frozen=True)
class LimitCertificate(PrintsAsTable):
    """The check of a trajectory against every limit: dense samples, and an estimate of what happens between them."""

    uses: tuple[LimitUse, ...]
    rate_hz: float
    """Grid on which the joints were checked, Hz; what can happen between its points is included."""
    unchecked: tuple[str, ...] = ()
    """Limits that could not be checked, and why."""

    def __repr__(self) -> str:
        verdict = "every limit kept" if self.holds else f"{counted(len(self.violations), 'limit')} violated"
        missing = f", {counted(len(self.unchecked), 'limit')} not checked" if self.unchecked else ""
        return f"LimitCertificate({verdict}{missing}, checked at {self.rate_hz:.4g} Hz)"

    def _table(self) -> Grid:
        rows = [
            (use.quantity, use.label, f"{use.reached:.4g}", f"{use.limit:.4g}", "" if use.kept else "violated")
            for use in self.uses
            if np.isfinite(use.limit)
        ]
        return Grid(("quantity", "of", "reached", "limit (SI)", ""), rows, (2, 3))

    @property
    def holds(self) -> bool:
        """Whether every limit is kept."""
        return all(use.kept for use in self.uses)

    @property
    def violations(self) -> tuple[LimitUse, ...]:
        """The limits that are not kept."""
        return tuple(use for use in self.uses if not use.kept)


def certify(
    trajectory: Trajectory,
    limits: MotionLimits,
    path_limits: Sequence[PathLimit] = (),
    *,
    rate_hz: float = 0.0,
    unchecked: tuple[str, ...] = (),
) -> LimitCertificate:
    """Check a trajectory against every limit, on a dense grid with an allowance for what happens between its points.

    Args:
        trajectory: what the robot would run.
        limits: of the joints.
        path_limits: of all joints together.
        rate_hz: of the grid, Hz; at least 1000 Hz and 1000 points a period of the highest frequency whatever is given.
        unchecked: what the certificate should name as not checked.
    """
    rate = max(rate_hz, 1000.0, POINTS_PER_CYCLE * trajectory.bandwidth_hz)
    n_dof = trajectory.n_dof
    top = np.full((5, n_dof), -np.inf)
    worst = [np.full(len(path.labels), -np.inf) for path in path_limits]
    for piece in trajectory.pieces:
        states = _sampled(piece, rate)
        sizes = (-states.q, states.q, np.abs(states.dq), np.abs(states.ddq), np.abs(states.dddq))
        for row, values in enumerate(sizes):
            top[row] = np.maximum(top[row], highest_between(values))
        for k, path in enumerate(path_limits):
            there = states if path.rate_hz >= rate else _sampled(piece, path.rate_hz)
            worst[k] = np.maximum(worst[k], highest_between(path.excess(there)))
    uses = [
        *_uses("position", trajectory.joint_names, top[1], limits.upper),
        *_uses("−position", trajectory.joint_names, top[0], -limits.lower),
        *_uses("velocity", trajectory.joint_names, top[2], limits.velocity),
        *_uses("acceleration", trajectory.joint_names, top[3], limits.acceleration),
        *_uses("jerk", trajectory.joint_names, top[4], limits.jerk),
    ]
    for path, values in zip(path_limits, worst, strict=True):
        uses += _uses(path.name, path.labels, values, np.zeros(len(values)))
    return LimitCertificate(tuple(uses), rate, unchecked)


def _uses(
    quantity: str, labels: Sequence[str], reached: Float[Array, " n_columns"], limit: Float[Array, " n_columns"]
) -> Iterator[LimitUse]:
    for label, value, bound in zip(labels, reached, limit, strict=True):
        yield LimitUse(quantity, label, float(value), float(bound))


def _sampled(piece: MotionPiece, rate_hz: float) -> States:
    """States of a piece on an even grid that holds both ends; whole repetitions of a curve are checked once."""
    if isinstance(piece, Cruise) and np.isfinite(piece.curve.length):
        repeats = int(piece.cruise / piece.curve.length * (1.0 + 1e-12))
        piece = replace(piece, cruise=piece.cruise - max(repeats - 1, 0) * piece.curve.length)
    n_samples = max(3, int(np.ceil(piece.duration * rate_hz)) + 1)
    return piece.at(np.linspace(0.0, piece.duration, n_samples))
