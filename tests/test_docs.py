"""Every command of the documentation runs as it stands there, from top to bottom of its page, in an own folder."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dynid.cli import main
from tests.workbench import make_workbench

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:toml|csv|py))\s*$")
NEED_DATA = frozenset({"tutorial.md", "data.md"})
"""Pages about the measured data sets."""
PAGES = sorted(path.name for path in DOCS.glob("*.md"))


@dataclass(frozen=True)
class Step:
    """A command, or a file that the reader is told to write."""

    command: str = ""
    file: str = ""
    text: str = ""


def steps(page: str) -> Iterator[Step]:
    """The commands and files of a page in their order."""
    for match in FENCE.finditer((DOCS / page).read_text(encoding="utf-8")):
        language, body = match.group(1).strip(), match.group(2)
        first = body.split("\n", 1)[0]
        named = FILE_NAME.match(first)
        if language in ("toml", "python", "csv") and named:
            yield Step(file=named.group(1), text=body if language != "csv" else body.split("\n", 1)[1])
        elif language == "console":
            joined = body.replace("\\\n", " ")
            yield from (Step(command=line[2:]) for line in joined.split("\n") if line.startswith("$ "))


def run(command: str, capsys) -> None:
    wanted = int(found.group(1)) if (found := re.search(r"# exit (\d)", command)) else 0
    words = shlex.split(command, comments=True)
    assert words[0] == "dynid", f"only dynid can be run here: {command}"
    code = main(words[1:])
    output = capsys.readouterr()
    assert code == wanted, f"{command}: exit code {code}\n{output.out}\n{output.err}"


@pytest.fixture(scope="session")
def workbench(tmp_path_factory) -> Path:
    """What a reader of the documentation has on the table: an arm, and logs of it."""
    folder = tmp_path_factory.mktemp("workbench")
    make_workbench(folder, np.random.default_rng(20130101))
    return folder


@pytest.mark.parametrize("page", [page for page in PAGES if page not in NEED_DATA and any(steps(page))])
def test_commands_of_a_page_run(page, workbench, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "reader"
    shutil.copytree(workbench, folder)
    follow(page, folder, monkeypatch, capsys)


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page in NEED_DATA])
def test_commands_of_a_page_about_measured_data_run(page, data_dir, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DYNID_DATA", str(data_dir.resolve()))
    follow(page, tmp_path, monkeypatch, capsys)


def follow(page: str, folder: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(folder)
    for step in steps(page):
        if step.file:
            Path(step.file).parent.mkdir(parents=True, exist_ok=True)
            Path(step.file).write_text(step.text, encoding="utf-8")
        else:
            run(step.command, capsys)


def test_no_command_hides_in_a_fence_that_is_not_run():
    hidden = [
        f"{page}: {line}"
        for page in PAGES
        for match in FENCE.finditer((DOCS / page).read_text(encoding="utf-8"))
        if match.group(1).strip() in ("", "sh", "bash", "text")
        for line in match.group(2).split("\n")
        if line.startswith(("dynid ", "$ dynid "))
    ]
    assert not hidden, "write these as ```console with $ before the command: " + "; ".join(hidden)
