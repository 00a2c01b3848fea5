"""Runs of the command line in a folder of their own, and what a user sees of each."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dynid.cli import main
from tests.contract.inputs import write_inputs
from tests.contract.runs import RUNS, Run

EXACT, NEAR, LOOSE = 1e-6, 1e-3, 2e-2
"""Relative tolerances: of linear algebra on another machine, of an iterative search, and of a load that is followed."""
IGNORED = ("campaign.lock",)
WIDE = "400"
"""Columns of the help, so that no option is folded."""


@dataclass
class Workshop:
    """A folder with all inputs, where a run is done once, after those it needs."""

    folder: Path
    done: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        write_inputs(self.folder)

    def outcome(self, name: str) -> dict[str, Any]:
        """What a user sees of a run: exit code, files, keys, figures and findings."""
        if name not in self.done:
            run = RUNS[name]
            for needed in run.needs:
                self.outcome(needed)
            self.done[name] = self._outcome(run)
        return self.done[name]

    def _outcome(self, run: Run) -> dict[str, Any]:
        before = self._files()
        code, text = typed(run.words, self.folder)
        new = sorted(self._files() - before)
        content = spoken(text)
        seen: dict[str, Any] = {"command": f"dynid {run.words}", "code": code, "files": new}
        if content is not None:
            seen["json"] = self._shape(content)
        inside = {name: read(self.folder / name) for name in run.reads if (self.folder / name).exists()}
        if inside:
            seen["inside"] = {name: self._shape(value) for name, value in inside.items()}
        figures = {}
        for paths, tolerance in ((run.exact, EXACT), (run.near, NEAR), (run.loose, LOOSE)):
            for path in paths:
                file, _, place = path.rpartition(":")
                value = number(inside.get(file) if file else content, place)
                figures[path] = {"value": value, "rtol": tolerance}
        if figures:
            seen["figures"] = figures
        if run.findings:
            seen["findings"] = sorted({(f["code"], f["severity"]) for f in (content or {}).get("findings", [])})
        return seen

    def _files(self) -> set[str]:
        found = {str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file()}
        return {name for name in found if Path(name).name not in IGNORED}

    def _shape(self, content: object) -> object:
        return shape(content, f"{self.folder.resolve()}{os.sep}")


DEFAULTS = "--prior auto"
"""What brings back the defaults of the version that was recorded: since 0.2 links have a prior beside the data."""


def typed(words: str, folder: Path) -> tuple[int, str]:
    """Exit code and standard output of ``dynid WORDS`` typed in a folder, with the defaults of the record."""
    if words.startswith("identify ") and "--prior" not in words and "--help" not in words:
        words = f"{words} {DEFAULTS}"
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        code = main(shlex.split(words))
    return code, said.getvalue()


def spoken(text: str) -> Any:
    """The JSON of an output; of one object a line the first, the first with an event, and the last; None for a text."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith("{"):
        return None
    objects = [json.loads(line) for line in lines]
    if len(objects) == 1:
        return objects[0]
    found = {"instant": objects[0], "summary": objects[-1]}
    with_events = [o for o in objects[:-1] if "events" in o]
    return found | ({"instant with events": with_events[0]} if with_events else {})


def read(path: Path) -> Any:
    """What a written file holds; of a table, the root mean square of each column of numbers."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    if path.suffix == ".toml":
        return tomllib.loads(text)
    header, *rows = list(csv.reader(io.StringIO(text)))
    return {name: _rms([row[k] for row in rows]) for k, name in enumerate(header)}


def _rms(cells: list[str]) -> float | str:
    try:
        return math.sqrt(sum(float(cell) ** 2 for cell in cells) / len(cells))
    except ValueError:
        return "text"


def shape(content: object, folder: str = "") -> Any:
    """Keys and JSON types, nested as they are; a list is known by its first element."""
    if isinstance(content, dict):
        return {str(key).replace(folder, "") if folder else key: shape(v, folder) for key, v in content.items()}
    if isinstance(content, list):
        return [shape(content[0], folder)] if content else []
    names = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
    return names[type(content)]


def number(content: Any, path: str) -> float | None:
    """The number at a path like ``parameters/0/value``; None where there is none."""
    for part in path.split("/"):
        try:
            content = content[int(part)] if isinstance(content, list) else content[part]
        except (KeyError, IndexError, TypeError):
            return None
    return None if isinstance(content, str | bool) or not isinstance(content, int | float) else content


CHOICES = re.compile(r"\[choices: ([^\]]+)\]")


INDENT = 12 * " "
"""What at least stands before the continuation of a row: a help keeps the width of the first one of its command."""


def _rows(text: str) -> list[str]:
    """The rows of the panels of a help, each on one line: names, two blanks or more, and what is said of them."""
    rows: list[str] = []
    for line in text.splitlines():
        if not (line.startswith("│") and line.endswith("│")):
            continue
        content = line[1:-1]
        if content.startswith(INDENT) and rows:
            rows[-1] += f" {content.strip()}"
        else:
            rows.append(content.strip(" *"))
    return rows


def help_of(command: str, folder: Path) -> dict[str, list[str]]:
    """Options of a command as its help lists them, each with the choices named there."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDE
    try:
        code, text = typed(f"{command} --help".strip(), folder)
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    assert code == 0, f"dynid {command} --help ends with {code}"
    found: dict[str, list[str]] = {}
    for row in _rows(text):
        names, _, said = row.partition("  ")
        choices = CHOICES.search(said)
        for option in re.findall(r"--[a-z][a-z0-9-]*", names):
            found[option] = choices[1].split(", ") if choices else []
    return found


def commands_of(command: str, folder: Path) -> list[str]:
    """The names in the list of commands of a help."""
    _, text = typed(f"{command} --help".strip(), folder)
    part = text.partition("─ Commands ─")[2].partition("╰")[0]
    return re.findall(r"^│ ([a-z][a-z-]*)", part, re.MULTILINE)


def every_command(folder: Path) -> Iterator[str]:
    """Every command with options of its own, as it is typed."""
    for name in commands_of("", folder):
        below = commands_of(name, folder)
        yield from (f"{name} {part}" for part in below) if below else (name,)
