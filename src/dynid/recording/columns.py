"""Which column of a log is which signal of which joint."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.errors import RecordingError
from dynid.prose import counted
from dynid.recording.column_map import EVERY, ColumnMap, unit_factor
from dynid.recording.joint_match import joints_of_columns, matched_joints
from dynid.recording.log_format import LogBlock, LogTable
from dynid.recording.recording import JOINT_SIGNALS, WRENCH_AXES, WRENCH_SIGNALS, Recording
from dynid.recording.repairs import LogRepair
from dynid.recording.spelling import STEMS, TIME_NAMES, bare, numbered_patterns, signal_of, stamp_parts, unit_of

__all__ = ["Layout", "layout"]

MAX_LISTED = 40
"""Columns of a file that an error lists."""
MAX_UNFIT = 8
"""Other contents of a file that an error explains."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where in a table the signals of a recording are, and their factors to SI units at the joint."""

    source: str
    joint_names: tuple[str, ...]
    columns: tuple[str, ...]
    """The columns to read."""
    factors: Float[Array, " n_columns"]
    """What to multiply each column by to have SI units at the joint."""
    spans: Mapping[str, slice]
    """The columns of `t` and of each signal, among `columns`."""
    rate_hz: float | None = None
    """Samples per second, in place of a time column."""
    repairs: tuple[LogRepair, ...] = ()
    """What was put right to find them."""

    def signals(self, block: LogBlock) -> dict[str, Float[Array, "n_samples _"]]:
        """The columns of `t` and of each signal of a block, in SI units at the joint."""
        values = {name: block.values[:, span] for name, span in self.spans.items()}
        for name, span in self.spans.items():
            if np.any(self.factors[span] != 1.0):
                values[name] = values[name] * self.factors[span]
        return values

    def times(self, block: LogBlock, first_sample: int) -> Float[Array, " n_samples"]:
        """The times (s) of a block whose first sample is number `first_sample` of the log."""
        if self.rate_hz is None:
            span = self.spans["t"]  # one column, or seconds and nanoseconds
            return block.values[:, span] @ self.factors[span]
        numbers = first_sample + np.arange(len(block.values)) if block.numbers is None else block.numbers
        return numbers / self.rate_hz

    def recording(self, block: LogBlock, first_sample: int) -> Recording:
        """The samples of a block, whose first one is number `first_sample` of the log, in SI units."""
        values = self.signals(block)
        return Recording(
            self.joint_names,
            self.times(block, first_sample),
            values["q"],
            dq=values.get("dq"),
            ddq=values.get("ddq"),
            tau=values.get("tau"),
            current=values.get("current"),
            base_wrench=values.get("base_wrench"),
            tool_wrench=values.get("tool_wrench"),
            source=self.source,
            first_sample=first_sample,
            n_skipped=block.n_skipped,
        )


def layout(table: LogTable, joint_names: Sequence[str], columns: ColumnMap) -> Layout:
    """Find the time, the joint signals and the wrench in a table; q of every joint must be there, the rest may be.

    Raises:
        RecordingError: for duplicated, ambiguous or missing columns (all of them) and for a wrong number of joints.
        UnknownJoint: for a column map that names other joints.
    """
    columns.check_joints(joint_names)
    twice = [name for name, count in Counter(table.names).items() if count > 1 and name]
    if twice:
        raise RecordingError(
            f"{table.source}: duplicated column names: {', '.join(twice)}; rename or delete the copies"
        )
    called: dict[str, str] = {}
    first = _Search(table, tuple(joint_names), columns)
    first.joint_signal("q")
    if first.missing and not columns.joints:
        called = matched_joints(table.source, joint_names, joints_of_columns(table.names))
        columns = columns.model_copy(update={"joints": called}) if called else columns
    search = _Search(table, tuple(joint_names), columns)
    found = {"t": search.time(), **{signal: search.joint_signal(signal) for signal in JOINT_SIGNALS}}
    found |= {signal: search.wrench(signal) for signal in WRENCH_SIGNALS}
    search.complain()

    names: list[str] = []
    factors: list[float] = []
    spans: dict[str, slice] = {}
    for signal, places in found.items():
        if not places:
            continue
        spans[signal] = slice(len(names), len(names) + len(places))
        names += places
        if signal == "t":
            factors += [
                unit_factor("t", columns.units.t) * _written_factor(table, signal, places[0], columns),
                *[1e-9] * (len(places) - 1),
            ]
        elif signal in WRENCH_SIGNALS:
            factors += [float(columns.wrench_sign)] * len(places)
        else:
            factors += [
                columns.factor(signal, joint) * _written_factor(table, signal, place, columns)
                for joint, place in zip(joint_names, places, strict=True)
            ]
    reused = [name for name, count in Counter(names).items() if count > 1]
    if reused:
        raise RecordingError(
            f"{table.source}: {', '.join(reused)} would stand for several signals or joints; "
            "give each its own column in the column map"
        )
    told = (*table.repairs, *([_called(called)] if called else []))
    return Layout(table.source, tuple(joint_names), tuple(names), np.array(factors), spans, columns.rate_hz, told)


def _called(joints: Mapping[str, str]) -> LogRepair:
    """What is said of joints that the log calls otherwise than the robot."""
    pairs = ", ".join(f"{name} for {joint}" for joint, name in joints.items())
    return LogRepair(
        "joint-names",
        f"the log calls the joints otherwise than the robot: {pairs}",
        "the log and the robot file come from different drivers or namespaces",
        "they are matched by what their names have in common; a table joints in a column map says it otherwise",
    )


def _written_factor(table: LogTable, signal: str, name: str, columns: ColumnMap) -> float:
    """The factor of a unit that stands in the name of a column, or below; a map that says units knows better."""
    unit = unit_of(name) or table.units.get(name)
    said: object = getattr(columns.units, signal)
    if unit is None or (said != "s" if signal == "t" else bool(said)):
        return 1.0
    try:
        return unit_factor(signal, unit)
    except ValueError as error:
        raise RecordingError(f"{table.source}: column {name!r}: {error}; say the unit in a column map") from error


class _Search:
    """One search through the columns of a table; gathers what is missing, so that one error names it all."""

    def __init__(self, table: LogTable, joint_names: tuple[str, ...], columns: ColumnMap) -> None:
        self.table = table
        self.joint_names = joint_names
        self.columns = columns
        self.names = set(table.names)
        self.folded: dict[str, list[str]] = {}
        for name in table.names:
            for spelling in dict.fromkeys((name.casefold(), bare(name))):
                self.folded.setdefault(spelling, []).append(name)
        # Columns numbered from 0 to n − 1 can only be meant one way.
        from_zero = any(self.numbered(STEMS["q"], rank) == list(range(len(joint_names))) for rank in (0, 1))
        self.first = 0 if from_zero else columns.first
        order = columns.ordered(joint_names)
        self.numbers = {joint: order.index(joint) + self.first for joint in joint_names}
        self.missing: list[str] = []
        self.wanted: list[str] = []

    def time(self) -> list[str]:
        """The time column (of a ROS stamp both), or none where the map gives a rate."""
        if self.columns.rate_hz is not None:
            return []
        mapped = self.columns.columns.t
        if mapped is not None:
            return [self.mapped_column("t", (mapped,))]
        parts = stamp_parts(self.table.names)
        for name in (*TIME_NAMES, None):
            found = list(parts) if name is None else [name] if name in self.names else self.folded.get(name, [])
            if found:
                place = self.only("the time", found)
                return [place, parts[place]] if place in parts else [place]
        self.missing.append("t (time in s; for a log without time give rate_hz in a column map)")
        self.wanted += TIME_NAMES[:2]
        return []

    def joint_signal(self, signal: str) -> list[str]:
        """The columns of a signal in the robot's order, none where the log does not have it."""
        mapped: dict[str, str] = getattr(self.columns.columns, signal)
        if EVERY in mapped or len(mapped) == len(self.joint_names):
            return [
                self.mapped_column(f"{signal} of {joint}", self.spelled(signal, joint)) for joint in self.joint_names
            ]
        stem = STEMS[signal][0]
        for rank, stems in enumerate(((stem,), (stem,), STEMS[signal][1:])):
            places = {joint: self.usual_column(signal, joint, stems, rank) for joint in self.joint_names}
            numbered = self.numbered(stems, rank)
            if any(places.values()) or numbered or (rank == 2 and (mapped or signal == "q")):
                break
        else:
            return []
        for joint in mapped:
            places[joint] = self.mapped_column(f"{signal} of {joint}", self.spelled(signal, joint))
        absent = [joint for joint in self.joint_names if not places[joint]]
        if absent and rank == 2 and not mapped and signal != "q":
            return []  # A few columns with a loose name, such as speed1 of a fan, are no signal of the joints.
        if not mapped:
            self.check_count(signal, numbered)
        for joint in absent:
            self.missing.append(f"{stem}{self.numbers[joint]} or {stem}.{self.columns.log_name(joint)}")
            self.wanted += [f"{stem}{self.numbers[joint]}", f"{stem}.{joint}"]
        return [place for place in places.values() if place]

    def spelled(self, signal: str, joint: str) -> tuple[str, ...]:
        """The names that the map allows for the column of a joint."""
        mapped: dict[str, str] = getattr(self.columns.columns, signal)
        if joint in mapped:
            return (mapped[joint],)
        pattern, number = mapped[EVERY], str(self.numbers[joint])
        if "{n}" in pattern or "{joint}" in pattern:
            return (pattern.replace("{n}", number).replace("{joint}", self.columns.log_name(joint)),)
        return (pattern, pattern + number) if len(self.joint_names) == 1 else (pattern + number,)

    def usual_column(self, signal: str, joint: str, stems: Sequence[str], rank: int) -> str | None:
        """The column of a joint under its usual names: exact at rank 0, in other cases and spellings above."""
        number, name = self.numbers[joint], self.columns.log_name(joint)
        found: list[str] = []
        for stem in stems:
            candidates = [f"{stem}{number}", f"{stem}.{name}"]
            if len(self.joint_names) == 1:
                candidates.append(stem)
            if rank == 0:
                found += [candidate for candidate in candidates if candidate in self.names]
                continue
            candidates += [f"{stem}{mark}" for mark in (f"_{number}", f".{number}", f"[{number}]")]
            candidates += [f"{stem}_{name}", f"{stem}/{name}", f"{name}.{stem}", f"{name}_{stem}", f"{name}/{stem}"]
            for joint_mark in (f"joint{number}", f"joint_{number}", f"j{number}"):
                candidates += [
                    f"{joint_mark}_{stem}",
                    f"{joint_mark}.{stem}",
                    f"{joint_mark}/{stem}",
                    f"{stem}_{joint_mark}",
                ]
            found += [column for c in dict.fromkeys(candidates) for column in self.folded.get(c.casefold(), [])]
        return self.only(f"{signal} of joint {joint!r}", list(dict.fromkeys(found))) if found else None

    def numbered(self, stems: Sequence[str], rank: int) -> list[int]:
        """The numbers of the columns that are a stem and a number."""
        names = self.names if rank == 0 else set(self.folded)
        inner = "|".join(re.escape(stem) for stem in stems)
        pattern = re.compile(rf"(?:{inner})(\d+)" if rank == 0 else rf"(?:{inner})(?:[._]?(\d+)|\[(\d+)\])")
        matches = (pattern.fullmatch(name) for name in names)
        return sorted({int(match[match.lastindex or 1]) for match in matches if match})

    def check_count(self, signal: str, numbered: list[int]) -> None:
        """Refuse columns numbered for another robot, or from 0 where they should be from 1."""
        first, n_dof, stem = self.first, len(self.joint_names), STEMS[signal][0]
        if not numbered or numbered[0] > 1 or numbered != list(range(numbered[0], numbered[0] + len(numbered))):
            return
        if len(numbered) != n_dof:
            raise RecordingError(
                f"{self.table.source}: {self.robot()}, but the file has {len(numbered)} numbered columns of {signal} "
                f"({numbered[0]} to {numbered[-1]}); take the robot file of this log, or say in a column "
                f'map which columns belong to which joint, as in columns.{signal} = "{stem}{{n}}"'
            )
        if numbered[0] != first:
            raise RecordingError(
                f"{self.table.source}: the columns of {signal} are numbered from {numbered[0]}, not from {first}; "
                f"write first = {numbered[0]} in a column map"
            )

    def wrench(self, signal: str) -> list[str]:
        """The six columns of a wrench, none where the log does not have all of them."""
        place = signal.removesuffix("_wrench")
        mapped = [getattr(self.columns.columns, axis) for axis in WRENCH_AXES]
        bare = self.columns.wrench == place
        if bare and all(mapped):
            return [self.mapped_column(axis, (name,)) for axis, name in zip(WRENCH_AXES, mapped, strict=True)]
        found: list[str] = []
        for axis in WRENCH_AXES:
            spellings = [f"{place}.{axis}", f"{place}_{axis}", *([axis] if bare else [])]
            exact = [name for name in spellings if name in self.names]
            columns = exact or [name for s in spellings for name in self.folded.get(s, [])]
            if not columns:
                return []
            found.append(self.only(f"{axis} of the {place} wrench", columns))
        return found

    def mapped_column(self, what: str, spellings: Sequence[str]) -> str:
        """The column that the map names, which must be there."""
        for name in spellings:
            if name in self.names:
                return name
        self.missing.append(f"{spellings[-1]} (named by {self.columns.source} for {what})")
        self.wanted += spellings
        return spellings[-1]

    def only(self, what: str, found: Sequence[str]) -> str:
        """The one column found; several are an error."""
        if len(found) > 1:
            raise RecordingError(
                f"{self.table.source}: {', '.join(found)} could each be {what}; say which in a column map"
            )
        return found[0]

    def robot(self) -> str:
        """The robot's joints in words."""
        return f"the robot has {counted(len(self.joint_names), 'joint')} {', '.join(self.joint_names)}"

    def example(self) -> str:
        """What a column map may say: a column for the time, and those that are numbered as the joints are."""
        lines: list[str] = []
        if any(missed.startswith("t (") for missed in self.missing):
            plain = [name for name in self.table.names if name and not re.search(r"\d", name)]
            lines += [f'columns.t = "{name}"' for name in plain[:1]]
        if any(missed.startswith(STEMS["q"][0]) for missed in self.missing):
            found = numbered_patterns(self.table.names, len(self.joint_names))
            patterns = [pattern for pattern in found if signal_of(pattern) in (None, "q")]
            others = f" (or {', '.join(patterns[1:])})" if len(patterns) > 1 else ""
            lines += [f'columns.q = "{pattern}"{others}' for pattern in patterns[:1]]
        return f", as in {', '.join(lines)}" if lines else ""

    def complain(self) -> None:
        """Raise one error for all that is missing."""
        if not self.missing:
            return
        near = [
            name
            for wish in self.wanted
            for name in difflib.get_close_matches(wish, self.table.names, n=1)
            if signal_of(name) in (None, signal_of(wish))  # dq3 is near to q3, but no position
        ]
        listing = ", ".join(self.table.names[:MAX_LISTED]) or "no column"
        if len(self.table.names) > MAX_LISTED:
            listing += f" and {len(self.table.names) - MAX_LISTED} more"
        hint = f"; nearest: {', '.join(dict.fromkeys(near))}" if near else ""
        unfit = "".join(f"; {name} {reason}" for name, reason in list(self.table.unfit.items())[:MAX_UNFIT])
        raise RecordingError(
            f"{self.table.source}: no column {', '.join(self.missing)}; {self.robot()}; the file has {listing}"
            f"{hint}{unfit}; rename them or give a column map{self.example()}"
        )
