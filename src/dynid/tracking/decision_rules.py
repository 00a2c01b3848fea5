"""How sure, and how long, before the load watch says something."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LOW_SHARE", "SETTLING", "STILL_SUDDEN", "SUSPICIOUS", "Rules"]

STILL_SUDDEN = 0.4
"""Statistic of a sudden contact over its threshold below which it no longer lasts."""
SUSPICIOUS = 0.5
"""Statistic of a jump over its threshold from which on likelihoods are compared: a load that comes at rest may hide in
friction."""
LOW_SHARE = 0.25
"""Sum of squares over its threshold below which nothing has begun yet."""
SETTLING = 0.9
"""Standard deviation of mass over that of the announcement, below which the announcement is refined."""


class Rules(NamedTuple):
    """How sure, and how long, before something is said; s, kg and nats."""

    decide: float = 0.3
    """Shortest time over which likelihoods are compared, s."""
    renew: float = 0.5
    """Time after which a hypothesis that does not lead is branched anew, s."""
    longest: float = 1.0
    """Longest time that a hypothesis lives, s."""
    evidence: float = 6.0
    """Lead in log-likelihood that decides."""
    likeness: float = 0.05
    """Share of what free torques explain that a load may leave to them, and still be a load."""
    sure: float = 3.0
    """Standard deviations of mass beyond which its change has a sign."""
    initial_std: float = 0.1
    """Standard deviation of mass (kg) at which the first load is known."""
    patience: float = 3.0
    """Time after which an arm that looks empty is empty, s."""
    slow_mass: float = 0.25
    """Slow change of mass that is announced, kg."""
    filling: float = 3.0
    """Longest time over which a load that changes little by little is compared with one that is held, s."""
    haste: float = 10.0
    """How fast such a load changes over how fast a held one may: by a tenth of a kilogram within a second."""
    hold: float = 0.5
    """Time for which it must last, s."""
    confirm: float = 0.01
    """Time over which the sum of squares of the external torque is averaged, s."""
    clear: float = 0.15
    """Time without external torque after which a contact is over, s."""
    at_once: float = 0.1
    """Time within which a contact that is no load at first sight is called; later the likelihoods decide, s."""
    quick: float = 0.35
    """Longest rise of the external torque of such a contact, s."""
    lead: float = 0.03
    """Time before the external torque left its band at which it may have begun, s."""
    lag: float = 0.015
    """Time after that from which on samples count for a hypothesis, s: one that has seen the load before the change is
    worth less than one that misses its first samples."""
    keep: float = 0.1
    """Time for which past states of the filter are kept, s."""
