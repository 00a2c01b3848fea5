"""Column maps that the doctor writes: what a map says already, and the lines that repair the log."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dynid.errors import RecordingError
from dynid.review import Finding

__all__ = ["merged", "repaired_map"]

Tree = dict[str, object]


def repaired_map(columns: Path | None, findings: Sequence[Finding], target: Path) -> str:
    """The text of a column map with the lines of every finding, on top of the map that was used, if any.

    Raises:
        RecordingError: where the map in use cannot be read.
    """
    tree: Tree = {}
    if columns is not None:
        try:
            tree = tomllib.loads(columns.read_text(encoding="utf-8-sig"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise RecordingError(f"{columns}: the column map cannot be read: {error}") from error
    lines = [f"# {target.name}: written by dynid doctor"]
    for finding in findings:
        if finding.mapping:
            merged(tree, tomllib.loads(finding.mapping))
            lines.append(f"# {finding.code}{f' of {finding.joint}' if finding.joint else ''}")
    return "\n".join([*lines, "", *_lines(tree)]) + "\n"


def merged(tree: Tree, more: Mapping[str, object], path: tuple[str, ...] = ()) -> None:
    """Put the keys of one map into another: tables join, lists grow, signs multiply, all else is replaced."""
    for key, value in more.items():
        held = tree.get(key)
        if isinstance(value, Mapping):
            inner = held if isinstance(held, dict) else {} if held is None else {"*": held}
            tree[key] = inner
            merged(inner, value, (*path, key))
        elif isinstance(value, list) and isinstance(held, list):
            tree[key] = held + [item for item in value if item not in held]
        elif path[:1] == ("signs",) and isinstance(value, int):
            before = tree.get("*", 1) if held is None else held
            tree[key] = before * value if isinstance(before, int) else value
        else:
            tree[key] = value


def _lines(tree: Mapping[str, object], path: tuple[str, ...] = ()) -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _lines(value, (*path, key))
        else:
            yield f"{'.'.join(_key(part) for part in (*path, key))} = {_value(value)}"


def _key(part: str) -> str:
    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
