"""Where the compiled decision stands: phase, times, and what it has to say."""

from __future__ import annotations

from typing import NamedTuple

from dynid.arrays import Array

__all__ = [
    "CHANGE",
    "CONTACT_BEGAN",
    "CONTACT_OVER",
    "INITIAL_LOAD",
    "NO_EVENT",
    "PICK",
    "PLACE",
    "QUICK",
    "SMALL",
    "DecisionState",
]

NO_EVENT, INITIAL_LOAD, PICK, PLACE, CHANGE, CONTACT_BEGAN, CONTACT_OVER = range(7)
"""What a step may have to say."""
UNKNOWN, KNOWN, SUSPECT, TOUCHED = range(4)
"""Phases: the load is not known yet; it is; something happened; something touches the arm."""
(
    PHASE, STARTED, BRANCHED, ANNOUNCED, AWAY, ONSET, BEYOND, LAST_BEYOND, CALLED, QUIET, AT_ONCE, EXPLAINED,
    ANNOUNCED_STD, RESTART, SAVED_AT, OLDER_AT, LOW, RISE, BEGAN, SUDDEN, JUMPED, WEAK, SMOOTH,
) = range(23)  # fmt: skip
"""Places of the running numbers."""
QUICK, SMALL = 1.0, 2.0
"""Which watch has seen a jump: the quick one, or the one for smaller forces; 0 where none has."""
N_NUMBERS = 23
"""How many there are."""


class DecisionState(NamedTuple):
    """Phase and times; fixed in size."""

    numbers: Array
    active: Array
    """(3,) filters of the bank that run."""
    distance: Array
    """(3,) what each load pays for being a body, nats."""
    events: Array
    """(2,) events of the last step, 0 where none."""
