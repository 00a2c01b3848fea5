"""Base parameters that the motion of a log does not show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.review.equations.expectation import moving_alike, unexcited_parameters
from dynid.review.findings import Finding, Severity
from dynid.review.look import Look
from dynid.review.phrases import enumerated, in_percent

__all__ = ["SameMotion", "UnexcitedParameters", "find_unexcited"]

MANY = 0.25
"""Share of the base parameters from which on it is a warning."""
MOST_LISTED = 12
"""Parameters that are named."""
MOVE_MORE = "move every joint, several at once, over its range and fast: an optimised excitation does"


@dataclass(frozen=True)
class UnexcitedParameters:
    """Base parameters whose error could make half of a joint's torque."""

    symbols: tuple[str, ...]
    """Worst known first."""
    shares: tuple[float, ...]
    """What one standard deviation of each makes of a joint's torque (dimensionless); inf where it has no effect."""
    still: tuple[str, ...]
    """Joints that do not move."""
    n_base: int
    cause = "the joints move too little, too slowly, or always together"
    fix = MOVE_MORE

    @property
    def evidence(self) -> str:
        still = f"; not moving: {', '.join(self.still)}" if self.still else ""
        told = [
            f"{symbol} ({in_percent(share, 2) if np.isfinite(share) else 'no effect'})"
            for symbol, share in zip(self.symbols, self.shares, strict=True)
        ]
        return (
            f"{len(self.symbols)} of {self.n_base} base parameters are unknown: one standard deviation of them makes "
            f"half of a joint's torque or more: {enumerated(told, MOST_LISTED)}; none is normal{still}"
        )


@dataclass(frozen=True)
class SameMotion:
    """Joints that move alike."""

    groups: tuple[tuple[str, ...], ...]
    cause = "joints share one frequency and phase: sines of one period, or moves that start and stop together"
    fix = f"give every joint its own frequencies; {MOVE_MORE}"

    @property
    def evidence(self) -> str:
        told = "; ".join(" and ".join((", ".join(group[:-1]), group[-1])) for group in self.groups)
        return (
            f"the speeds of {told} are multiples of each other all along the log: amplitude alone tells parameters of "
            "one from those of the other, and columns that are exchanged hardly show; none is normal"
        )


def find_unexcited(look: Look) -> Look:
    """Base parameters that the motion does not show, and joints that move alike."""
    arm, fitted = look.torque.arm, look.torque.fitted
    names = arm.robot.joint_names
    groups = tuple(tuple(names[j] for j in group) for group in moving_alike(fitted.rows))
    if groups:
        look = look.found([Finding(code="same-motion", severity=Severity.INFO, measured=SameMotion(groups))])
    found = unexcited_parameters(arm, fitted, look.friction, look.base)
    if not found.symbols:
        return look
    still = tuple(names[j] for j in found.still)
    severity = Severity.WARNING if len(found.symbols) > int(MANY * found.n_base) else Severity.INFO
    measured = UnexcitedParameters(found.symbols, found.shares, still, found.n_base)
    return look.found([Finding(code="unexcited", severity=severity, measured=measured)])
