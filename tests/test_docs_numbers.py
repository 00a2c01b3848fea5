"""Numbers of the documentation that come from the code are those of the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dynid
from dynid.chain.library import load_robot
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.regression import ESTIMATORS
from dynid.tracking.watch import LoadWatch
from tests.test_house_rules import MAX_CLASS_LINES, MAX_FUNCTION_LINES, MAX_MODULE_LINES
from tests.test_layers import LEAVES, SOURCE, STAGES

ROOT = Path(__file__).parents[1]
DIGITS = {
    word: k for k, word in enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=2)
}


@cache
def homes(stage: str) -> dict[str, tuple[str, ...]]:
    """For every constant of a stage the modules that define it."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted((SOURCE / stage).rglob("*.py")):
        module = ".".join(("dynid", *path.relative_to(SOURCE).with_suffix("").parts))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for name in [
                part.id for target in targets if target for part in ast.walk(target) if isinstance(part, ast.Name)
            ]:
                found[name] = (*found.get(name, ()), module)
    return found


def constant(stage: str, name: str) -> Any:
    """A constant of a stage, wherever in the stage it stands; `file.NAME` where two modules have one of that name."""
    *file, bare = name.split(".")
    modules = [m for m in homes(stage).get(bare, ()) if not file or m.endswith(f".{file[0]}")]
    assert len(modules) == 1, f"{stage}: {name} is defined in {modules or 'no module'}"
    return getattr(importlib.import_module(modules[0]), bare)


@cache
def n_base(friction: str) -> int:
    """Number of base parameters of the built-in Panda."""
    return base_parameters(TorqueModel(load_robot("panda"), friction_models(friction))).n_base


def default(function: Callable[..., object], name: str) -> Any:
    """The default of an argument."""
    return inspect.signature(function).parameters[name].default


@dataclass(frozen=True)
class Claim:
    """A number in a page: where it stands, and what the code says of it, in the page's unit."""

    page: str
    pattern: str
    """Regular expression whose groups are the numbers; white space stands for any white space."""
    values: Callable[[], tuple[float, ...]]


def claim(page: str, pattern: str, *values: Callable[[], float] | float) -> Claim:
    return Claim(page, pattern, lambda: tuple(float(v() if callable(v) else v) for v in values))


def of(stage: str, name: str, scale: float = 1.0, item: int | None = None) -> Callable[[], float]:
    """A constant times a scale; one of its items where it has several."""

    def value() -> float:
        found = constant(stage, name)
        return scale * float(found if item is None else found[item])

    return value


MIB, PERCENT = 1.0 / 2**20, 100.0
N = r"([\d.]+(?:e-?\d+)?)"
STREAMED, PACKED = of("workflow", "STREAMED_BYTES", MIB), of("workflow", "PACKED_BYTES", MIB)
UNRELIABLE = of("regression", "UNRELIABLE", PERCENT)
FRICTION = "viscous+coulomb+offset"
CLAIMS = (
    claim("docs/doctor.md", rf"Log files above {N} MiB \({N} MiB for packed text", STREAMED, PACKED),
    claim("docs/doctor.md", r"first ([\d ]+) samples", of("workflow", "LOOKED_AT")),
    claim("docs/doctor.md", rf"more than {N} s between samples", of("review", "SLOWEST")),
    claim("docs/doctor.md", rf"scatter of the time steps above {N} %", of("review", "UNEVEN", PERCENT)),
    claim(
        "docs/doctor.md",
        rf"steps longer than {N} periods; a warning from (\w+) periods on",
        of("review", "GAP_STEPS"),
        of("review", "LONG_GAP_STEPS"),
    ),
    claim(
        "docs/doctor.md",
        rf"the same ratio, between {N} and {N}",
        of("review", "GEARS", item=0),
        of("review", "GEARS", item=1),
    ),
    claim("docs/doctor.md", rf"more than {N} times the speed limit", of("review", "OVER_SPEED")),
    claim(
        "docs/doctor.md",
        rf"rests for more than {N} % \({N} %\) of the time",
        of("review", "MUCH_REST", PERCENT),
        of("review", "MOST_REST", PERCENT),
    ),
    claim("docs/doctor.md", r"less than (\w+) periods of motion", of("review", "FEWEST_CYCLES")),
    claim("docs/doctor.md", r"fewer than (\w+) samples in a period", of("review", "SAMPLES_PER_CYCLE")),
    claim(
        "docs/doctor.md",
        rf"a segment of {N} to {N} s whose torque lacks at least {N} % of its swing, {N} times",
        of("review", "WINDOWS", item=0),
        of("review", "WINDOWS", item=-1),
        of("review", "TOUCH", PERCENT),
        of("review", "STANDS_OUT"),
    ),
    claim("docs/doctor.md", rf"explains at least {N} % of the residual", of("review", "LOAD_SHARE", PERCENT)),
    claim("docs/doctor.md", rf"changes by at least {N} % of the friction", of("review", "DRIFTED", PERCENT)),
    claim(
        "docs/report.md",
        rf"relative error over all joints \| up to {N} % \| up to {N} %",
        of("validation", "GOOD_ERROR"),
        of("validation", "USABLE_ERROR"),
    ),
    claim(
        "docs/report.md",
        rf"worst joint, relative error \| up to {N} % \| up to {N} %",
        of("validation", "GOOD_JOINT"),
        of("validation", "USABLE_JOINT"),
    ),
    claim("docs/report.md", rf"σ is at most {N} % of the value", UNRELIABLE),
    claim("docs/report.md", rf"△ σ above {N} %", UNRELIABLE),
    claim("docs/report.md", rf"Logs above {N} MiB \({N} MiB for packed text\)", STREAMED, PACKED),
    claim("docs/report.md", r"first segment of ([\d ]+) samples", of("workflow", "PIECE_SAMPLES")),
    claim("docs/my_log.md", rf"Files above {N} MiB \({N} MiB for", STREAMED, PACKED),
    claim("docs/identify.md", rf"cut-off is {N} times the bandwidth", of("recording", "CUTOFF_OVER_BANDWIDTH")),
    claim("docs/identify.md", r"(\w+) rows a second are kept for every Hz", of("recording", "ROWS_PER_CUTOFF")),
    claim("docs/identify.md", rf"`unreliable` \(above {N} % of the value\)", UNRELIABLE),
    claim("docs/identify.md", rf"the range of {N} % of these refits", of("regression", "INTERVAL_SHARE", PERCENT)),
    claim("docs/identify.md", rf"must make at least {N} of them", of("regression", "MIN_RESAMPLED")),
    claim("docs/identify.md", rf"the default is {N}\.", lambda: float(default(dynid.identify, "min_velocity"))),
    claim("docs/identify.md", rf"near it with a spread of {N} %", of("regression", "NOMINAL_STD", PERCENT)),
    claim("docs/identify.md", rf"evidence of the logs, at most {N} %", of("regression", "GEOMETRY_STD", PERCENT)),
    claim("docs/derivations.md", rf"Student's t with ν = {N} degrees", of("regression", "_FREEDOM")),
    claim("docs/identify.md", rf"with a spread of {N} %, whose mass", of("regression", "GEOMETRY_STD", PERCENT)),
    claim("docs/identify.md", rf"logs are cut into {N} segments", of("regression", "N_FOLDS")),
    claim("docs/identify.md", rf"of the torque, up to {N} ms either way", of("regression", "SPAN", 1e3)),
    claim("docs/report.md", rf"an error within {N} % of its", of("validation", "RESOLUTION", PERCENT)),
    claim("docs/derivations.md", rf"of time, {N} periods of the low-pass", of("regression", "BLOCK_CUTOFFS")),
    claim("docs/derivations.md", rf"at most {N} blocks are kept", of("regression", "MAX_BLOCKS")),
    claim("docs/derivations.md", rf"is not allowed below {N}\.", of("regression", "INFLATION_FLOOR")),
    claim("docs/derivations.md", rf"squared error differs by less than {N} %", of("regression", "EQUAL_FIT", PERCENT)),
    claim("docs/friction.md", rf"cut into {N} segments", of("regression", "N_FOLDS")),
    claim("docs/friction.md", rf"more than {N} % of the squared error", of("regression", "MIN_GAIN", PERCENT)),
    claim("docs/retrieval.md", rf"objective is within {N} % of the best", of("regression", "EQUAL", PERCENT)),
    claim(
        "docs/retrieval.md",
        rf"searched in m ≤ {N} kg, \|c\| ≤ {N} m, I ≤ {N} kg·m²",
        lambda: constant("regression", "_GUESS")["mass"][1],
        lambda: constant("regression", "_GUESS")["com"][1],
        lambda: constant("regression", "_GUESS")["moment"][1],
    ),
    claim(
        "docs/tracking.md",
        rf"Up to {N} states get their process noise in every step; with more states, (\w+) per step",
        of("tracking", "EVERY_STATE_UP_TO"),
        of("tracking", "NOISY_PER_STEP"),
    ),
    claim("docs/tracking.md", rf"over at least {N} s", lambda: default(LoadWatch, "decide")),
    claim(
        "docs/export.md",
        rf"torque of {N} random states to {N} of",
        of("writers", "N_CHECKED"),
        of("writers", "AGREEMENT"),
    ),
    claim("docs/campaign.md", rf"underscores, at most {N}\.", lambda: _longest_name()),
    claim(
        "docs/tutorial.md",
        rf"reveal {N} base parameters of its links, and {N} of friction: {N} unknowns",
        lambda: n_base("none"),
        lambda: n_base(FRICTION) - n_base("none"),
        lambda: n_base(FRICTION),
    ),
    claim("docs/tutorial.md", rf"Rank {N}, condition number", lambda: n_base("none")),
    claim("docs/reverse.md", rf"Panda, rank {N} and condition number", lambda: n_base("none")),
    claim(
        "CONTRIBUTING.md",
        rf"Modules up to {N} lines, classes up to {N}, functions up to {N}\.",
        MAX_MODULE_LINES,
        MAX_CLASS_LINES,
        MAX_FUNCTION_LINES,
    ),
)


def _longest_name() -> float:
    allowed = constant("workflow", "manifest.NAME")
    return max(length for length in range(1, 300) if allowed.fullmatch("a" * length))


def number(text: str) -> float:
    """A number as a page writes it: digits with spaces between thousands, or a word up to ten."""
    word = text.strip().lower()
    return float(DIGITS[word] if word in DIGITS else word.replace(" ", ""))


def stated(text: str, pattern: str) -> list[tuple[float, ...]]:
    """The numbers of a page, one tuple for each place that the pattern matches."""
    found = re.finditer(re.sub(r" +", r"\\s+", pattern), text)
    return [tuple(number(group) for group in match.groups()) for match in found]


@pytest.mark.parametrize("asked", CLAIMS, ids=lambda c: f"{c.page}: {c.pattern[:40]}")
def test_a_number_of_a_page_is_that_of_the_code(asked):
    found = stated((ROOT / asked.page).read_text(encoding="utf-8"), asked.pattern)
    assert found, f"{asked.page} no longer says {asked.pattern!r}; change the table with it"
    for numbers in found:
        assert numbers == pytest.approx(asked.values(), rel=1e-9), f"{asked.page}: {asked.pattern}"


def test_a_page_that_differs_from_the_code_is_noticed():
    text = (ROOT / "docs/doctor.md").read_text(encoding="utf-8")
    asked = next(c for c in CLAIMS if "MiB" in c.pattern)
    wrong = text.replace("64 MiB", "512 MiB")
    assert stated(wrong, asked.pattern) != stated(text, asked.pattern)
    assert stated(wrong, asked.pattern)[0] != pytest.approx(asked.values())


def test_the_table_of_estimators_has_each_of_them():
    text = (ROOT / "docs/identify.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)`( \(default\))? \|", text.split("## Estimators")[1].split("##")[0], re.MULTILINE)
    assert {name for name, _ in told} == set(ESTIMATORS)
    assert [name for name, mark in told if mark] == [default(dynid.identify, "estimator")]


def test_the_default_friction_of_the_pages_is_that_of_identify():
    text = (ROOT / "docs/identify.md").read_text(encoding="utf-8")
    assert re.findall(r"The default friction\s+is\s+`([\w+]+)`", text) == [default(dynid.identify, "friction")]


def test_contributing_names_every_stage_room_and_leaf():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = {m.group(1): m.group(2) for m in re.finditer(r"^\| `(\w+)` \| [^|]+ \|([^|]*)\|$", text, re.MULTILINE)}
    assert list(rows) == [*STAGES, "cli"]
    for stage in STAGES:
        rooms = {path.parent.name for path in (SOURCE / stage).glob("*/__init__.py")}
        assert rooms <= set(re.findall(r"`(\w+)`", rows[stage])), f"rooms of {stage}"
    law = re.search(r"plus the leaves ([^\n]+)\.", text)
    assert law
    assert tuple(re.findall(r"`(\w+)`", law.group(1))) == LEAVES


def test_the_pages_of_the_api_cover_every_stage_and_every_job():
    root = (ROOT / "docs/api.rst").read_text(encoding="utf-8")
    for stage in STAGES:
        assert f"   api/{stage}\n" in root
        assert f".. automodule:: dynid.{stage}\n" in (ROOT / f"docs/api/{stage}.rst").read_text(encoding="utf-8")
    told = set(re.findall(r"autofunction:: dynid\.(\w+)", root)) | set(re.findall(r"``(\w+)``", root))
    assert set(dynid.__all__) <= told
