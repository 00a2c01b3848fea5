"""The record of version 0.1, and what of it a present outcome has lost. Additions are no loss."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("record")
COMMANDS, RUNS_FILE, DATA = (FOLDER / f"{name}.json" for name in ("commands", "runs", "data"))
SLACK = 1.005
"""Factor that an error on measured data may be above its recorded figure: rounding, and no more."""
HARMLESS = "info"
"""Severity of the findings that a log without any fault may get one day."""


def load(path: Path) -> dict[str, Any]:
    """One file of the record."""
    return json.loads(path.read_text(encoding="utf-8"))


def store(path: Path, content: Mapping[str, Mapping[str, object]]) -> None:
    """Write one file of the record, a line for each part of an entry."""
    entries = []
    for name, parts in content.items():
        lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in parts.items()]
        entries.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")


def lost(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """What a run had in the record and has no more, each as a sentence that names the command."""
    return [f"{recorded['command']}: {sentence}" for sentence in _losses(recorded, present)]


def _losses(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> Iterator[str]:
    if recorded["code"] != present["code"]:
        yield f"exit code is {present['code']}, was {recorded['code']}"
    for file in sorted(set(recorded["files"]) - set(present["files"])):
        yield f"file {file} is not written"
    if recorded["code"] != 0 and not recorded["files"]:
        yield from (f"file {file} is written, where nothing was" for file in present["files"])
    if "json" in recorded:
        yield from (f"JSON {text}" for text in lost_keys(recorded["json"], present.get("json")))
    for file, keys in recorded.get("inside", {}).items():
        yield from (f"{file}: {text}" for text in lost_keys(keys, present.get("inside", {}).get(file)))
    for path, figure in recorded.get("figures", {}).items():
        value = present.get("figures", {}).get(path, {}).get("value")
        if value is None:
            yield f"figure {path} is missing"
        elif abs(value - figure["value"]) > figure["rtol"] * abs(figure["value"]):
            yield f"figure {path} is {value:.9g}, was {figure['value']:.9g} (relative tolerance {figure['rtol']:g})"
    if "findings" in recorded:
        yield from _lost_findings(recorded["findings"], present.get("findings", []))


def _lost_findings(recorded: list, present: list) -> Iterator[str]:
    now = {tuple(finding) for finding in present}
    for code, severity in recorded:
        if (code, severity) not in now:
            yield f"finding {code} ({severity}) is missing; found: {sorted(now)}"
    if not recorded:
        false = sorted(finding for finding in now if finding[1] != HARMLESS)
        yield from (f"false finding {code} ({severity})" for code, severity in false)


def lost_keys(recorded: Any, present: Any, path: str = "") -> Iterator[str]:
    """Keys of a shape that another one lacks, or holds as another JSON type.

    What was null may be anything. A list of sentences may be empty; one of numbers or objects may not.
    """
    here = path or "as a whole"
    if recorded == "null":
        return
    if isinstance(recorded, dict):
        if not isinstance(present, dict):
            yield f"{here}: is {_kind(present)}, was an object"
            return
        for key, value in recorded.items():
            place = f"{path}/{key}" if path else key
            if key in present:
                yield from lost_keys(value, present[key], place)
            else:
                yield f"key {place} is missing"
    elif isinstance(recorded, list):
        if not isinstance(present, list):
            yield f"{here}: is {_kind(present)}, was a list"
        elif recorded and present:
            yield from lost_keys(recorded[0], present[0], f"{path}[]")
        elif recorded and recorded[0] != "string":
            yield f"list {here} is empty"
    elif recorded != present:
        yield f"{here}: is {_kind(present)}, was a {recorded}"


def _kind(present: Any) -> str:
    if present is None:
        return "missing"
    return "an object" if isinstance(present, dict) else "a list" if isinstance(present, list) else str(present)


def lost_options(command: str, recorded: Mapping[str, list[str]], present: Mapping[str, list[str]]) -> list[str]:
    """Options of a command, and choices of them, that its help names no more."""
    gone = [f"dynid {command}: option {option} is missing" for option in recorded if option not in present]
    for option, choices in recorded.items():
        missing = [choice for choice in choices if choice not in present.get(option, choices)]
        gone += [f"dynid {command}: {option} {choice} is no choice any more" for choice in missing]
    return gone


def worse(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """Figures on measured data that are worse than recorded, and numbers that must stay as they are."""
    found = []
    for path, was in recorded["equal"].items():
        if present["equal"].get(path) != was:
            found.append(f"{recorded['command']}: {path} is {present['equal'].get(path)}, was {was}")
    for path, was in recorded["at_most"].items():
        value = present["at_most"].get(path)
        if value is None or value > SLACK * was:
            found.append(f"{recorded['command']}: {path} is {value}, may be {SLACK * was:.6g} at most")
    return found
