"""Public robot files as they are found: how many load, how far their torque is from others', how the whole job ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Item, Line, Note, Table
from benchmarks.robot_files import Outcome, outcome, robot_files

SAME_TORQUE = 1e-9
"""Relative difference of two torques that are the same but for rounding."""


def run(*, quick: bool = False) -> Iterator[Item]:
    """A line for every file of ``DYNID_DATA/robots``, and the counts; `quick` leaves the whole job out."""
    data = os.environ.get("DYNID_DATA")
    files = [] if not data else robot_files(Path(data))
    if not files:
        yield Line("robots: files that load, of those that hold a robot", float("nan"), unit="")
        yield Note("robots: no files here; DYNID_DATA names a folder that holds robots/urdf and robots/mjcf")
        return
    outcomes = [outcome(path, job=not quick) for path in files]
    yield Table("robots: one line a file", HEADER, tuple(_row(one) for one in outcomes))
    arms = [one for one in outcomes if not one.is_part]
    compared = [one.error for one in arms if one.error == one.error]
    yield Line("robots: files that load, of those that hold a robot", sum(one.n_dof > 0 for one in arms), len(arms), "")
    yield Line("robots: largest difference to the torque of others", max(compared), SAME_TORQUE, "", bound="at most")
    yield Note(f"robots: compared are {len(compared)}; the others say in the table why not")
    if not quick:
        done = sum(one.job == "well" for one in arms)
        yield Line("robots: simulate, doctor, identify and export end well", done, len(arms), "")


HEADER = ("file", "joints", "torque error", "compared with", "simulate → export")


def _row(one: Outcome) -> tuple[str, ...]:
    if not one.n_dof:
        return one.file, "", "", "part of another file" if one.is_part else one.refusal[-100:], ""
    return one.file, str(one.n_dof), "" if one.error != one.error else f"{one.error:.0e}", one.by, one.job
