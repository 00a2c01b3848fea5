"""The table of the doctor's checks, in the order they are run: later ones read the log as repaired by earlier ones."""

from __future__ import annotations

from dynid.review.checks.as_read import REPAIRED, find_repairs
from dynid.review.checks.changes import find_changes
from dynid.review.checks.clipping import find_effort_limit
from dynid.review.checks.columns import find_misread_columns
from dynid.review.checks.coupled import find_coupled_drives
from dynid.review.checks.delay import find_delay
from dynid.review.checks.excitation import find_unexcited
from dynid.review.checks.filtered import find_filtered_torque
from dynid.review.checks.frozen import find_repeated_rows
from dynid.review.checks.gravity import find_gravity
from dynid.review.checks.motion import (
    find_broken_limits,
    find_no_motion,
    find_one_way,
    find_rest,
    find_too_few_samples,
    find_too_little_motion,
)
from dynid.review.checks.overlap import find_overlap
from dynid.review.checks.payload import find_payload
from dynid.review.checks.position_units import find_position_units
from dynid.review.checks.stamps import find_bad_rows, find_time_unit, find_uneven_stamps
from dynid.review.checks.torque import find_missing_torque, find_unexplained_torque
from dynid.review.checks.values import find_jumps, find_wrong_values
from dynid.review.checks.velocities import find_wrong_velocities
from dynid.review.look import Check, Needs

__all__ = ["CHECKS", "SIGNAL_CHECKS", "TORQUE_CHECKS"]

RAW, EQUATIONS = Needs.RAW, Needs.EQUATIONS
BAD_ROWS = ("not-finite", "coarse-stamps", "repeated-stamps", "backward-stamps")
VELOCITY = (
    "permuted-velocity",
    "flipped-velocity",
    "velocity-unit",
    "motor-velocity",
    "velocity-scale",
    "foreign-velocity",
)
VALUES = ("clipping", "saturation", "held", "frozen", "quantisation")
COLUMNS = (
    "permuted-joints",
    "permuted-positions",
    "permuted-torques",
    "flipped-torque",
    "flipped-position",
    "flipped-joint",
    "torque-units",
)

SIGNAL_CHECKS: tuple[Check, ...] = (
    Check(name="repairs", codes=REPAIRED, run=find_repairs, needs=RAW),
    Check(name="rows", codes=BAD_ROWS, run=find_bad_rows, needs=RAW),
    Check(name="number of samples", codes=("short",), run=find_too_few_samples, needs=RAW),
    Check(name="unit of time", codes=("time-unit",), run=find_time_unit),
    Check(name="even stamps", codes=("gaps", "jitter"), run=find_uneven_stamps),
    Check(name="unit of positions", codes=("degrees", "position-unit"), run=find_position_units),
    Check(name="velocities", codes=VELOCITY, run=find_wrong_velocities),
    Check(name="repeated rows", codes=("repeated-rows",), run=find_repeated_rows),
    Check(name="values", codes=VALUES, run=find_wrong_values),
    Check(name="jumps", codes=("jump",), run=find_jumps),
    Check(name="effort limit", codes=("saturation",), run=find_effort_limit),
    Check(name="filtered torque", codes=("filtered-torque",), run=find_filtered_torque),
    Check(name="motion", codes=("no-motion",), run=find_no_motion),
    Check(name="rest", codes=("standstill", "still-joint"), run=find_rest),
    Check(name="reversal", codes=("one-way",), run=find_one_way),
    Check(name="amount of motion", codes=("short", "slow", "low-rate"), run=find_too_little_motion),
    Check(name="limits", codes=("outside-limits", "over-speed"), run=find_broken_limits),
)
"""Checks that need no model of the dynamics."""
TORQUE_CHECKS: tuple[Check, ...] = (
    Check(name="torque", codes=("no-torque", "not-compared", "torque-missing"), run=find_missing_torque, needs=RAW),
    Check(name="explained torque", codes=("external-torque",), run=find_unexplained_torque, needs=EQUATIONS),
    Check(name="columns", codes=COLUMNS, run=find_misread_columns, needs=EQUATIONS),
    Check(name="gravity", codes=("tilted-base", "torque-without-gravity"), run=find_gravity, needs=EQUATIONS),
    Check(name="delay", codes=("delay",), run=find_delay, needs=EQUATIONS),
    Check(name="coupled drives", codes=("coupled-drives",), run=find_coupled_drives, needs=EQUATIONS),
    Check(name="changes", codes=("load-change", "contact", "drift"), run=find_changes, needs=EQUATIONS),
    Check(name="payload", codes=("payload",), run=find_payload, needs=EQUATIONS),
    Check(name="excitation", codes=("unexcited", "same-motion"), run=find_unexcited, needs=EQUATIONS),
)
"""Checks by the arm's own equations: base parameters fitted to the log [Gautier1990]_ leave far less of the torque, and
friction brakes, once the log is read rightly."""
CHECKS: tuple[Check, ...] = (
    *SIGNAL_CHECKS,
    Check(name="other logs", codes=("same-log",), run=find_overlap, needs=RAW),
    *TORQUE_CHECKS,
)
"""Every check; a new one is one line here."""
