"""Which joints of a robot file a log is about: by the names of its columns, or by how many are numbered."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.chain.formats.bodies import BodyTree
from dynid.chain.formats.locks import Lineage, held_joints
from dynid.errors import RecordingError
from dynid.recording.column_map import EVERY, ColumnMap
from dynid.recording.raw import RawLog
from dynid.recording.readers import column_names, read_raw
from dynid.recording.spelling import STEMS, bare

__all__ = ["ArmChoice", "choose_arm", "numbered_through"]

STILL = 1e-3
"""rad or m: a coupled joint whose logged position varies by less is held where it stood."""
N_ROWS_SEEN = 20_000
"""Samples from the start of a log that say whether a coupled joint moves."""


@dataclass(frozen=True)
class ArmChoice:
    """How to load a robot file for a log."""

    moving: tuple[str, ...] | None = None
    """Joints that the log has; None where nothing speaks for fewer than all."""
    lock: Mapping[str, float] = field(default_factory=dict)
    """Coupled joints that stand still in the log, with their positions, rad or m."""
    columns: ColumnMap | None = None
    """The column map to read the log with."""


def choose_arm(
    tree: BodyTree,
    log: Path | RawLog | Mapping[str, Array],
    columns: ColumnMap | None,
    *,
    lock: Mapping[str, float],
    tip: str | None,
) -> ArmChoice:
    """The joints of a URDF or MJCF file that a log is about (locks in rad or m).

    Columns that name joints decide. Joints between two that are logged must be logged as well: a slip of the pen must
    not freeze an elbow. Numbered columns are those of all joints of the file, of the joints that move, or of the one
    chain that has as many.

    Raises:
        RecordingError: several chains have as many joints as the log has numbered columns; the message lists them.
    """
    lineage = Lineage(tree)
    if isinstance(log, RawLog):
        names = [f"{STEMS['q'][0]}.{name}" for name in log.joint_names]
    elif isinstance(log, Mapping):
        n_columns = np.atleast_2d(np.asarray(log["q"]).T).shape[0]
        return _by_number(lineage, log, [f"q{k + 1}" for k in range(n_columns)], columns, lock, tip, "the log")
    else:
        names = list(column_names(log, columns=columns))
    if columns is not None and (columns.order or EVERY in columns.columns.q):
        return ArmChoice(columns=columns)
    logged = _named(lineage, names, columns)
    if not logged:
        source = log.source if isinstance(log, RawLog) else str(log)
        return _by_number(lineage, log, names, columns, lock, tip, source)
    strangers = [name for name in names if _is_position(name) and name not in logged.values()]
    missing = [name for name in lineage.joints if name not in logged and name not in lock]
    inside = [
        name
        for name in missing
        if set(lineage.path_to[name]) & set(logged) and any(name in lineage.path_to[joint] for joint in logged)
    ]
    if inside or strangers:
        return ArmChoice(columns=columns)
    held = _standing(lineage, log, tuple(logged), names, columns, lock)
    return ArmChoice(tuple(name for name in logged if name not in held), held, columns)


def _spellings(joint: str) -> set[str]:
    stems = STEMS["q"]
    joined = {f"{stem}{mark}{joint}" for stem in stems for mark in "._/"}
    return {text.casefold() for text in joined | {f"{joint}{mark}{stem}" for stem in stems for mark in "._/"}}


def _named(lineage: Lineage, names: Sequence[str], columns: ColumnMap | None) -> dict[str, str]:
    """Joints whose position has a column that names them, with that column."""
    mapped = {} if columns is None else columns.columns.q
    folded = {spelling: name for name in names for spelling in (name.casefold(), bare(name))}
    found: dict[str, str] = {}
    for joint in lineage.joints:
        own = joint if columns is None else columns.log_name(joint)
        column = mapped.get(joint) or next((folded[text] for text in _spellings(own) if text in folded), None)
        if column is not None:
            found[joint] = column
    return found


def _is_position(name: str) -> bool:
    """Whether a column is the position of a joint that it names."""
    return re.fullmatch(r"(?:q|position|pos|joint_position)[._/][a-z]\w*", bare(name)) is not None


def _tied(lineage: Lineage) -> set[str]:
    """Joints that the file couples to others, or that close a loop."""
    tied = {name for group in lineage.groups for name in group}
    return tied | {name for loop in lineage.tree.loops for name in lineage.between(loop)}


def _standing(
    lineage: Lineage,
    log: Path | RawLog | Mapping[str, Array],
    logged: tuple[str, ...],
    names: Sequence[str],
    columns: ColumnMap | None,
    lock: Mapping[str, float],
) -> dict[str, float]:
    """Coupled joints that are logged but do not move, or whose torque is not logged, with their positions (rad, m)."""
    asked = tuple(name for name in logged if name in _tied(lineage) and name not in lock)
    if not asked or len(asked) == len(logged):
        return {}
    if isinstance(log, Mapping):
        q = np.atleast_2d(np.asarray(log["q"]).T).T[:N_ROWS_SEEN, [logged.index(name) for name in asked]]
    elif isinstance(log, RawLog):
        q = log.q[:N_ROWS_SEEN, [log.joint_names.index(name) for name in asked]]
    else:
        only = None if columns is None else ColumnMap(joints={k: v for k, v in columns.joints.items() if k in asked})
        if len(_numbered(names, "q")) == len(logged):
            only = _of_all(logged, names, only, asked)
        q = read_raw(log, asked, columns=only, most_samples=N_ROWS_SEEN).q
    held: dict[str, float] = {}
    for name, positions in zip(asked, q.T, strict=True):
        if np.all(np.isfinite(positions)) and np.ptp(positions) <= STILL:
            held[name] = float(np.median(positions))
    return held


def _numbered(names: Sequence[str], signal: str) -> list[str]:
    """The columns of a signal that are told apart by a number, in its order."""
    for stem in STEMS[signal]:
        pattern = re.compile(rf"{re.escape(stem)}(?:[._]?(\d+)|\[(\d+)\])")
        found = {int(m[m.lastindex or 1]): name for name in names if (m := pattern.fullmatch(bare(name))) is not None}
        if found:
            return [found[number] for number in sorted(found)]
    return []


def _by_number(
    lineage: Lineage,
    log: Path | RawLog | Mapping[str, Array],
    names: Sequence[str],
    columns: ColumnMap | None,
    lock: Mapping[str, float],
    tip: str | None,
    source: str,
) -> ArmChoice:
    n_logged = len(_numbered(names, "q"))
    held = held_joints(lineage.tree, lock, tip=tip).positions
    free = [name for name in lineage.joints if name not in held]
    if n_logged in (0, len(free)):
        return ArmChoice(columns=columns)
    if n_logged == len(lineage.joints):
        joints = tuple(lineage.joints)
        tied = _tied(lineage)
        carrying = {name for joint in joints if joint not in tied for name in lineage.path_to[joint]} & tied
        if tip is None and carrying - set(free):
            # Joints of the arm itself that the file couples, but that have columns of their own and move, are free.
            still = _standing(lineage, log, joints, names, columns, lock)
            free = [name for name in joints if name in free or (name in carrying and name not in still | lock.keys())]
            return ArmChoice(tuple(free), still, _of_all(joints, names, columns, free))
        return ArmChoice(columns=_of_all(joints, names, columns, free))
    chains = _chains(lineage, free)
    fitting = {end: chain for end, chain in chains.items() if len(chain) == n_logged}
    if len(fitting) == 1:
        return ArmChoice(next(iter(fitting.values())), columns=columns)
    if fitting:
        tips = ", ".join(_link(lineage, chain[-1]) for chain in fitting.values())
        raise RecordingError(
            f"{source}: {n_logged} numbered columns of q, and several arms of {lineage.tree.source} have as many "
            f"joints; say which with `tip`: {tips}"
        )
    return ArmChoice(columns=columns)


def numbered_through(
    joints: Sequence[str], free: Collection[str], log: Path, columns: ColumnMap | None
) -> ColumnMap | None:
    """The map of a log whose numbers count all `joints` of a robot of which only some are `free`; else as it was."""
    if columns is not None and (columns.order or columns.columns.q):
        return columns
    names = list(column_names(log, columns=columns))
    return _of_all(joints, names, columns, free) if len(_numbered(names, "q")) == len(joints) else columns


def _of_all(joints: Sequence[str], names: Sequence[str], columns: ColumnMap | None, free: Collection[str]) -> ColumnMap:
    """A map that gives every joint that moves its own of the columns that are numbered through all joints."""
    known = columns or ColumnMap()
    own: dict[str, dict[str, str]] = {}
    for signal in ("q", "dq", "ddq", "tau", "current"):
        numbered = _numbered(names, signal)
        if len(numbered) == len(joints) and not getattr(known.columns, signal):
            places = dict(zip(joints, numbered, strict=True))
            own[signal] = {name: places[name] for name in free}
    return known.model_copy(update={"columns": known.columns.model_copy(update=own)})


def _chains(lineage: Lineage, free: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The joints that move from the base to each last one of them."""
    paths = {name: tuple(k for k in lineage.path_to[name] if k in free) for name in free}
    carried = {name for path in paths.values() for name in path[:-1]}
    return {name: path for name, path in paths.items() if name not in carried}


def _link(lineage: Lineage, joint: str) -> str:
    """The link that a joint carries."""
    return next(body.name for body in lineage.tree.bodies if body.joint is not None and body.joint.name == joint)
