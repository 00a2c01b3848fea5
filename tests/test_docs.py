"""Every command of the documentation runs as it stands there, from top to bottom of its page, in an own folder.

Programs of the pages about jobs run as well; of all others the imports exist. The walk of CONTRIBUTING.md is true.
"""

from __future__ import annotations

import ast
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
RUN_AS_PROGRAMS = ("doctor.md", "identify.md", "python.md", "quick_start.md")
"""Pages whose Python is one program from top to bottom."""
WALK = re.compile(r"^\| (\d+) \| `([\w/]+)\.py` \| `([\w.]+)` \|", re.MULTILINE)
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


def programs(page: str) -> str:
    """The Python of a page, its blocks joined; files that the reader writes are none of it."""
    blocks = [
        match.group(2)
        for match in FENCE.finditer((DOCS / page).read_text(encoding="utf-8"))
        if match.group(1) == "python"
    ]
    return "\n".join(block for block in blocks if not FILE_NAME.match(block.split("\n", 1)[0]))


@pytest.mark.parametrize("page", RUN_AS_PROGRAMS)
def test_the_python_of_a_page_about_a_job_runs(page, workbench, tmp_path, monkeypatch):
    folder = tmp_path / "reader"
    shutil.copytree(workbench, folder)
    monkeypatch.chdir(folder)
    exec(compile(programs(page), page, "exec"), {"__name__": "reader"})


@pytest.mark.parametrize("page", [page for page in PAGES if programs(page)])
def test_names_that_a_page_imports_exist(page):
    for node in ast.walk(ast.parse(programs(page))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dynid":
            module = importlib.import_module(str(node.module))
            assert not [alias.name for alias in node.names if not hasattr(module, alias.name)], page


@pytest.mark.parametrize("page", [*PAGES, "../README.md"])
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
