"""Limits of a joint, and which numbers of robot files stand for none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.errors import RobotError

__all__ = ["Limits", "believable"]

PLACEHOLDER_EFFORT = 1000.0
"""N·m or N: a power of ten from here on, or one less (9999), is what people write who do not know the limit."""
PLACEHOLDER_VELOCITY = 100.0
"""rad/s or m/s: no joint of an arm is as fast."""
MAX_TURNS = 1000.0
"""rad or m: a position limit beyond is none."""

_RATES = ("velocity", "effort", "acceleration", "jerk")
"""Limits that hold to both sides of zero."""


@dataclass(frozen=True)
class Limits:
    """What a joint may do; rad or m, per s, s², s³; nan or infinite where the robot file says nothing."""

    lower: float = -np.inf
    """Smallest position, rad or m."""
    upper: float = np.inf
    """Largest position, rad or m."""
    velocity: float = np.inf
    """Largest speed, rad/s or m/s."""
    effort: float = np.inf
    """Largest torque in N·m or force in N."""
    acceleration: float = np.inf
    """Largest acceleration, rad/s² or m/s²."""
    jerk: float = np.inf
    """Largest jerk, rad/s³ or m/s³."""

    def __repr__(self) -> str:
        known = {
            "range": f"[{self.lower:.4g}, {self.upper:.4g}]" if np.isfinite([self.lower, self.upper]).any() else "",
            **{name: f"{getattr(self, name):.4g}" for name in _RATES if np.isfinite(getattr(self, name))},
        }
        return f"Limits({', '.join(f'{name} {value}' for name, value in known.items() if value) or 'none'})"

    def check(self, joint: str) -> None:
        """Refuse limits that no motion can keep.

        Raises:
            RobotError: naming `joint`.
        """
        values = (self.lower, self.upper, *(getattr(self, name) for name in _RATES))
        if any(np.isnan(value) for value in values):
            raise RobotError(f"joint {joint!r}: a limit is not a number; leave it out where it is unknown")
        if self.lower > self.upper:
            raise RobotError(
                f"joint {joint!r}: lower position limit {self.lower:g} lies above the upper {self.upper:g}; swap them"
            )
        if min(values[2:]) < 0.0:
            raise RobotError(f"joint {joint!r}: velocity, effort, acceleration and jerk limits cannot be negative")


def believable(limits: Limits) -> Limits:
    """Limits (rad or m, per s, …) as they can be meant: zeros and placeholders are unknown, reversed ranges turned.

    Zero, or a power of ten from 1000 on, is no effort limit; zero, or 100 rad/s and more, no velocity limit; a range
    without width or of thousands of radians is no range.
    """
    lower, upper = sorted((limits.lower, limits.upper))
    lower, upper = (-np.inf if lower < -MAX_TURNS else lower), (np.inf if upper > MAX_TURNS else upper)
    if not lower < upper:
        lower, upper = -np.inf, np.inf
    rates = {name: getattr(limits, name) for name in _RATES}
    for name, value in rates.items():
        if not np.isfinite(value):
            continue
        round_number = value + 1.0 >= PLACEHOLDER_EFFORT and any(np.log10(value + k) % 1.0 == 0.0 for k in (0.0, 1.0))
        if (
            not value > 0.0
            or (name == "effort" and round_number)
            or (name == "velocity" and value >= PLACEHOLDER_VELOCITY)
        ):
            rates[name] = np.inf
    return replace(limits, lower=lower, upper=upper, **rates)
