"""Joints of a log that are called otherwise than the robot's: matched by what their names have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dynid.errors import RecordingError
from dynid.recording.spelling import STEMS, bare

__all__ = ["joints_of_columns", "matched_joints"]

LAST_NUMBER = re.compile(r"(\d+)(?!.*\d)")
MAX_WAYS = 6
"""Ways to match that an error lists."""


def joints_of_columns(names: Sequence[str]) -> tuple[str, ...]:
    """The joints that columns of positions are named after, as the columns spell them, in the order of the log."""
    stems = "|".join(re.escape(stem) for stem in sorted(STEMS["q"], key=len, reverse=True))
    before = re.compile(rf"(?:{stems})[._/](?P<joint>.+)", re.IGNORECASE)
    behind = re.compile(rf"(?P<joint>.+)[._/](?:{stems})", re.IGNORECASE)
    found: dict[str, None] = {}
    for name in names:
        # A name in the log's own case, without the unit and the topic around it.
        spelled = name[name.casefold().find(bare(name)) :][: len(bare(name))] if bare(name) in name.casefold() else name
        match = before.fullmatch(spelled) or behind.fullmatch(spelled)
        if match is not None and not match["joint"].isdigit():
            found[match["joint"]] = None
    return tuple(found)


def matched_joints(source: str, joint_names: Sequence[str], in_log: Sequence[str]) -> dict[str, str]:
    """What the log calls each joint; empty where its names are the robot's, or have nothing to do with them.

    Raises:
        RecordingError: several ways to match them, such as the two arms of one log; it lists them.
    """
    if not in_log or any(joint in in_log for joint in joint_names):
        return {}
    ways: list[dict[str, str]] = []
    for rule in (_by_ends, _by_number):
        for way in rule(joint_names, in_log):
            if way not in ways:
                ways.append(way)
        if ways:
            break
    if len(ways) > 1:
        listing = "; ".join(", ".join(way.values()) for way in ways[:MAX_WAYS])
        first = ", ".join(f'{joint} = "{name}"' for joint, name in ways[0].items())
        raise RecordingError(
            f"{source}: the joints {', '.join(joint_names)} of the robot could be any of: {listing}; say which in a "
            f"column map, as in joints = {{ {first} }}"
        )
    return ways[0] if ways else {}


def _by_ends(joint_names: Sequence[str], in_log: Sequence[str]) -> Iterator[dict[str, str]]:
    """Names that differ by one prefix, one suffix, or both: ``fer_joint1``, ``panda_joint1``, ``joint1``."""
    spelled = {name.casefold(): name for name in in_log}
    cores = _cores(joint_names)
    for prefix_r, suffix_r in cores:
        core = {joint: joint[len(prefix_r) : len(joint) - len(suffix_r)].casefold() for joint in joint_names}
        first = core[joint_names[0]]
        for name in in_log:
            place = name.casefold().find(first)
            while first and place >= 0:
                prefix, suffix = name[:place].casefold(), name[place + len(first) :].casefold()
                way = {joint: spelled.get(prefix + core[joint] + suffix, "") for joint in joint_names}
                if all(way.values()) and len(set(way.values())) == len(way):
                    yield way
                place = name.casefold().find(first, place + 1)


def _cores(joint_names: Sequence[str]) -> list[tuple[str, str]]:
    """Prefixes and suffixes that all names of the robot share, up to where a word begins; the shortest first."""
    prefix = _shared(joint_names)
    suffix = _shared([name[::-1] for name in joint_names])[::-1]
    prefixes = ["", *(prefix[: match.end()] for match in re.finditer(r"[^a-zA-Z0-9]+|(?<=[a-z])(?=[A-Z])|$", prefix))]
    suffixes = ["", *(suffix[match.start() :] for match in re.finditer(r"[^a-zA-Z0-9]+|^", suffix))]
    shortest = min(len(name) for name in joint_names)
    pairs = dict.fromkeys((p, s) for p in prefixes for s in suffixes if len(p) + len(s) < shortest)
    return sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))


def _shared(names: Sequence[str]) -> str:
    """The letters that all names start with."""
    if len(names) == 1:
        return ""
    low, high = min(names), max(names)
    n_same = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    return low[:n_same]


def _by_number(joint_names: Sequence[str], in_log: Sequence[str]) -> Iterator[dict[str, str]]:
    """Names that differ from each other in their last number alone, from 0 or 1: the robot's joints in order."""
    patterns: dict[str, dict[int, str]] = {}
    for name in in_log:
        digits = LAST_NUMBER.search(name)
        if digits is not None:
            pattern = f"{name[: digits.start()]}{{}}{name[digits.end() :]}"
            patterns.setdefault(pattern, {})[int(digits[1])] = name
    for numbered in patterns.values():
        numbers = sorted(numbered)
        if len(numbers) == len(joint_names) and numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1:
            yield {joint: numbered[number] for joint, number in zip(joint_names, numbers, strict=True)}
