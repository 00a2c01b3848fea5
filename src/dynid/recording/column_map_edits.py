"""Column maps as values that are joined, written as TOML, and applied to a log that was read already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from dynid.recording.column_map import EVERY, ColumnMap, Signal, unit_factor
from dynid.recording.raw import RawLog, increasing

__all__ = ["apply_map", "column_map_toml", "join_maps", "without_signal"]

Tree = dict[str, Any]
JOINED_TABLES = ("joints", "gear")
"""Tables with one value per joint: those of a repair are added, or take the place of the old ones."""
NESTED_TABLES = ("columns", "units")
"""Tables with one table per signal inside."""
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def join_maps(used: ColumnMap, repair: ColumnMap) -> ColumnMap:
    """The map that reads a log as `repair` reads what `used` gave: tables join, lists grow, signs multiply.

    Everything else that `repair` says (units and column names too: both are those of the file) replaces what was there.
    """
    tree, more = _tree(used), _tree(repair)
    for key, value in more.items():
        held = tree.get(key)
        if held is None:
            tree[key] = value
        elif key == "signs":
            tree[key] = held | {joint: _multiplied(held.get(joint, {}), signs) for joint, signs in value.items()}
        elif key in JOINED_TABLES:
            tree[key] = held | value
        elif key in NESTED_TABLES:
            tree[key] = held | {
                name: held[name] | inner if isinstance(inner, dict) and name in held else inner
                for name, inner in value.items()
            }
        elif key == "motor_side":
            tree[key] = {"signals": _grown(held["signals"], value["signals"])}
        elif key == "exclude":
            tree[key] = _grown(held, value)
        else:
            tree[key] = value
    return ColumnMap.model_validate(tree)


def _grown(held: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*held, *(item for item in more if item not in held))


def _multiplied(held: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    """Signs of one joint, each by signal or for every signal."""
    before, factor = held.get(EVERY, 1), more.get(EVERY, 1)
    keys = dict.fromkeys((*held, *more))
    return {key: held.get(key, before) * more.get(key, factor) for key in keys}


def without_signal(columns: ColumnMap, signal: str) -> ColumnMap | None:
    """The map without what it says of one signal; None where nothing is left."""
    tree = _tree(columns)
    for table in NESTED_TABLES:
        if table in tree:
            tree[table] = {name: inner for name, inner in tree[table].items() if name != signal}
    if "signs" in tree:
        tree["signs"] = {
            joint: {key: sign for key, sign in signs.items() if key != signal} for joint, signs in tree["signs"].items()
        }
        tree["signs"] = {joint: signs for joint, signs in tree["signs"].items() if signs}
    tree = {key: value for key, value in tree.items() if value != {}}
    return ColumnMap.model_validate(tree) if tree else None


def column_map_toml(columns: ColumnMap) -> str:
    """The lines of a TOML file that `read_column_map` reads as this map; keys at their default are left out."""
    return "\n".join(_lines(_tree(columns)))


def _tree(columns: ColumnMap) -> Tree:
    return columns.model_dump(exclude_unset=True)


def _lines(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping) and set(value) != {EVERY}:
            yield from _lines(value, (*path, key))
        else:
            held = value[EVERY] if isinstance(value, Mapping) else value
            yield f"{'.'.join(_key(part) for part in (*path, key))} = {_value(held)}"


def _key(part: str) -> str:
    return part if BARE_KEY.fullmatch(part) else _quoted(part)


def _quoted(text: str) -> str:
    escaped = "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def apply_map(columns: ColumnMap, log: RawLog) -> RawLog:
    """The log (SI) as reading its file through `columns`, on top of the map in use, would give it.

    Column names can only pick among columns that were read: those that `RawLog.column` tells.

    Raises:
        UnknownJoint: for a map of another robot.
        RecordingError: where the map leaves out a joint that it must name.
    """
    columns.check_joints(log.joint_names)
    changed: Tree = {}
    for signal in (name for name in log.signals if name in get_args(Signal)):
        factors = np.array([columns.factor(signal, joint) for joint in log.joint_names])
        changed[signal] = getattr(log, signal)[:, _places(columns, log, signal)] * factors
    t = log.t * unit_factor("t", columns.units.t) if columns.rate_hz is None else log.places / columns.rate_hz
    read = replace(log, t=t, **changed)
    kept = np.full(read.n_samples, True)
    for start, stop in columns.exclude:
        kept &= ~((t >= start) & (t < stop))
    if columns.drop_bad_rows:
        kept &= read.finite
    read = read if kept.all() else read.rows(kept)
    return read.rows(increasing(read.t)) if columns.drop_bad_rows else read


def _places(columns: ColumnMap, log: RawLog, signal: str) -> list[int]:
    """For each joint, which of the columns of a signal that were read is its own."""
    order = columns.ordered(log.joint_names)
    names = [log.column(signal, joint) for joint in log.joint_names]
    mapped: dict[str, str] = getattr(columns.columns, signal)
    return [
        names.index(mapped[joint]) if mapped.get(joint) in names else order.index(joint) for joint in log.joint_names
    ]
