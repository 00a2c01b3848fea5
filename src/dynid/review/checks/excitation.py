"""Base parameters that the motion of a log does not show."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.review.equations.expectation import unexcited_parameters
from dynid.review.findings import Finding, Severity
from dynid.review.look import Look
from dynid.review.phrases import enumerated

__all__ = ["UnexcitedParameters", "find_unexcited"]

MANY = 0.25
"""Share of the base parameters from which on it is a warning."""
MOST_LISTED = 12
"""Parameters that are named."""


@dataclass(frozen=True)
class UnexcitedParameters:
    """Base parameters whose error could make half of a joint's torque."""

    symbols: tuple[str, ...]
    still: tuple[str, ...]
    """Joints that do not move."""
    n_base: int
    cause = "the joints move too little, too slowly, or always together"
    fix = "move every joint, several at once, over its range and fast: an optimised excitation does"

    @property
    def evidence(self) -> str:
        still = f"; not moving: {', '.join(self.still)}" if self.still else ""
        return (
            f"{len(self.symbols)} of {self.n_base} base parameters are unknown (their error could make half of a "
            f"joint's torque): {enumerated(self.symbols, MOST_LISTED)}; none is normal{still}"
        )


def find_unexcited(look: Look) -> Look:
    """Base parameters that the motion does not show."""
    arm = look.torque.arm
    found = unexcited_parameters(arm, look.torque.fitted, look.friction, look.base)
    if not found.symbols:
        return look
    still = tuple(arm.robot.joint_names[j] for j in found.still)
    severity = Severity.WARNING if len(found.symbols) > int(MANY * found.n_base) else Severity.INFO
    measured = UnexcitedParameters(found.symbols, still, found.n_base)
    return look.found([Finding(code="unexcited", severity=severity, measured=measured)])
