"""Every command and program of the documentation runs as it stands, from top to bottom of its page, in an own folder.

Recipes are followed by tests/recipes, C by tests/cli/test_export.py. The walk of CONTRIBUTING.md is true.
"""

from __future__ import annotations

import importlib
import re
import shlex
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.cli import main
from tests.workbench import make_workbench

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"# ([\w./-]+\.(?:toml|csv|py))\s*$")
NEED_DATA = frozenset({"tutorial.md", "data.md"})
"""Pages about the measured data sets."""
RUN = frozenset({"console", "python"})
WRITTEN = frozenset({"toml"})
SHOWN = frozenset({"text", "{toctree}"})
"""Blocks that show what a program printed, or that Sphinx reads."""
ELSEWHERE = {"export.md": {"c", "sh"}, "campaign.md": {"sh"}, "quick_start.md": {"sh"}, "../README.md": {"sh"}}
"""Compiled by tests/cli/test_export.py; a cluster as tests/cluster.py starts; make, and pip as in release_check.py."""
WALK = re.compile(r"^\| (\d+) \| `([\w/]+)\.py` \| `([\w.]+)` \|", re.MULTILINE)
PAGES = [*sorted(path.name for path in DOCS.glob("*.md")), "../README.md"]


@dataclass(frozen=True)
class Step:
    """A command, a part of the page's program, or a file that the reader is told to write."""

    command: str = ""
    program: str = ""
    file: str = ""
    text: str = ""


def steps(page: str) -> Iterator[Step]:
    """The commands, programs and files of a page in their order."""
    for match in FENCE.finditer((DOCS / page).read_text(encoding="utf-8")):
        language, body = match.group(1).strip(), match.group(2)
        first = body.split("\n", 1)[0]
        named = FILE_NAME.match(first)
        if language in ("toml", "python", "text") and named:
            yield Step(file=named.group(1), text=body if language != "text" else body.split("\n", 1)[1])
        elif language == "python":
            yield Step(program=body)
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
    names: dict[str, Any] = {"__name__": "reader"}
    for step in steps(page):
        if step.program:
            exec(compile(step.program, page, "exec"), names)
        elif step.file:
            Path(step.file).parent.mkdir(parents=True, exist_ok=True)
            Path(step.file).write_text(step.text, encoding="utf-8")
        else:
            run(step.command, capsys)


def test_no_block_of_a_page_is_left_unrun():
    left = [
        f"{page}: ```{language} {body.split(chr(10), 1)[0]}"
        for page in PAGES
        for language, body in FENCE.findall((DOCS / page).read_text(encoding="utf-8"))
        if language.strip() not in RUN | WRITTEN | SHOWN | ELSEWHERE.get(page, set())
        or (language.strip() == "text" and re.search(r"^(\$ )?(dynid|make|pip|import|from) ", body, re.MULTILINE))
    ]
    assert not left, "give these a language whose blocks are run: " + "; ".join(left)


@pytest.mark.parametrize("page", PAGES)
def test_jobs_that_a_page_names_exist(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    stages = {path.stem for path in Path(str(dynid.__file__)).parent.iterdir()}
    named = set(re.findall(r"`dynid\.(\w+)[(`]", text)) - stages
    assert named <= set(dynid.__all__)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_a_page_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    defined = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.MULTILINE))
    assert set(re.findall(r"(?<![\]!`\w])\[([A-Z][^\]\n]*)\](?![(:\[])", text)) <= set(defined)
    targets = [*defined.values(), *re.findall(r"\]\(([^)]+)\)", text)]
    anchors = {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    for target in targets:
        if target.startswith("#"):
            assert target[1:] in anchors
        elif "://" not in target:
            assert (ROOT / target).exists(), target


def walk() -> list[tuple[str, str]]:
    """Module and function of every step of the walk in CONTRIBUTING.md."""
    steps_of_walk = WALK.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert [int(number) for number, _, _ in steps_of_walk] == list(range(1, 11))
    return [(f"dynid.{module.replace('/', '.')}", function) for _, module, function in steps_of_walk]


def code_of(module: str, function: str) -> CodeType:
    found: Any = importlib.import_module(module)
    for name in function.split("."):
        found = getattr(found, name)
    found = getattr(found, "__func__", found)
    code = getattr(found, "__wrapped__", found).__code__
    assert isinstance(code, CodeType)
    return code


def test_a_sample_takes_the_walk_of_a_newcomer(workbench, tmp_path):
    codes = {code_of(module, function): f"{module} {function}" for module, function in walk()}
    ended: list[str] = []

    def notice(frame: FrameType, event: str, _argument: object) -> None:
        if event == "return" and frame.f_code in codes:
            ended.append(codes[frame.f_code])

    before = sys.getprofile()
    threading.setprofile(notice)
    sys.setprofile(notice)
    try:
        logs = {"logs": workbench / "run1.csv", "validate": workbench / "run2.csv"}
        dynid.save(dynid.identify(workbench / "arm.urdf", **logs), tmp_path / "out")
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    rest = iter(ended)
    missed = [step for step in codes.values() if step not in rest]  # each is looked for behind the one before
    assert not missed, f"not in this order: {missed}"
