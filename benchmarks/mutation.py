"""A mutation run: how many small faults in `chain/` and `regression/` do the tests notice?

    make mutate ARGS="--sample 200"

Cosmic Ray (in an environment of its own, ``.mutation``) makes the faults; for each of a random sample the tests that
execute the changed line are run, until one fails. A fault that no test executes counts as not noticed. Tests run in a
copy of the project, so the working tree is never touched.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
TOOL = str(ROOT / ".mutation" / "bin" / "cosmic-ray")
MODULES = ("src/dynid/chain", "src/dynid/regression")
TESTS = (
    "tests/chain",
    "tests/regression",
    "tests/properties",
    "tests/cli/test_info.py",
    "tests/cli/test_lint.py",
    "tests/cli/test_retrieve.py",
    "tests/dynamics/test_regrouping.py",
    "tests/fuzzing/test_regressions.py",
    "tests/test_panda_log.py",
)
"""Those that are about these two folders; slow ones are left out."""
COPIED = (
    "src",
    "tests",
    "benchmarks",
    "examples",
    "docs",
    "pyproject.toml",
    "README.md",
    "Makefile",
    "requirements",
    "CHANGELOG.md",
)
MOST_TESTS = 40
"""Tests run for a fault at most: those of the module's own file first."""
TIMEOUT = 180.0
"""Seconds; a fault that makes the tests hang is noticed."""


@dataclass(frozen=True)
class Fault:
    """A change of one place in the source."""

    module: str
    operator: str
    occurrence: int
    first_line: int
    last_line: int
    function: str

    def __str__(self) -> str:
        return f"{self.module}:{self.first_line} {self.function or ''} {self.operator.removeprefix('core/')}"


def annotation_lines(path: Path) -> set[int]:
    """Lines that hold nothing but parts of annotations: a fault there is no fault."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines: set[int] = set()
    for node in ast.walk(tree):
        notes = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        for note in notes:
            if isinstance(note, ast.expr):
                lines |= set(range(note.lineno, (note.end_lineno or note.lineno) + 1))
    return lines


def faults(copy: Path) -> list[Fault]:
    """All faults that the tool can make, but for the bars in annotations."""
    session = copy / "session.sqlite"
    paths = ", ".join(f'"{module}"' for module in MODULES)
    (copy / "mutation.toml").write_text(
        f"[cosmic-ray]\nmodule-path = [{paths}]\ntimeout = {TIMEOUT}\nexcluded-modules = []\n"
        'test-command = "false"\n[cosmic-ray.distributor]\nname = "local"\n',
        encoding="utf-8",
    )
    subprocess.run([TOOL, "init", "mutation.toml", str(session)], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    rows = sqlite3.connect(session).execute(
        "select module_path, operator_name, occurrence, start_pos_row, end_pos_row, definition_name from mutation_specs"
    )
    found = [Fault(*row) for row in rows]
    notes = {module: annotation_lines(copy / module) for module in {fault.module for fault in found}}
    return sorted(
        (
            fault
            for fault in found
            if not ("BinaryOperator_BitOr" in fault.operator and fault.first_line in notes[fault.module])
        ),
        key=lambda fault: (fault.module, fault.operator, fault.occurrence),
    )


def covering(measured: CoverageData, fault: Fault) -> list[str]:
    """The tests that execute the changed lines, those of the module's own test file first."""
    # The data may come from another copy of the project: files are known by the end of their path.
    files = [name for name in measured.measured_files() if name.endswith(fault.module)]
    contexts = measured.contexts_by_lineno(files[0]) if files else {}
    lines = range(fault.first_line, fault.last_line + 1)
    names = {name.split("|")[0] for line in lines for name in contexts.get(line, []) if name}
    stem = Path(fault.module).stem
    return sorted(names, key=lambda name: (stem not in name.split("::")[0], name))[:MOST_TESTS]


def environment(copy: Path) -> dict[str, str]:
    """Tests find the copy, not the installed project."""
    return {**os.environ, "PYTHONPATH": str(copy / "src"), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def measure(copy: Path, data: Path) -> None:
    """Run the tests once, noting which lines each executes."""
    (copy / "contexts.rc").write_text(f"[run]\nsource = dynid\nbranch = false\ndata_file = {data}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", *TESTS, "-m", "not slow", "--cov=dynid", "--cov-report="]
    command += ["--cov-config=contexts.rc", "--cov-context=test", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=copy, env=environment(copy), check=True, stdout=subprocess.DEVNULL)


def noticed(copy: Path, fault: Fault, tests: list[str]) -> bool:
    """Whether a test fails with the fault in place."""
    path = copy / fault.module
    whole = path.read_bytes()
    try:
        command = [TOOL, "apply", fault.module, fault.operator, str(fault.occurrence)]
        subprocess.run(command, cwd=copy, check=True, stdout=subprocess.DEVNULL)
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(
            command, cwd=copy, env=environment(copy), check=False, capture_output=True, timeout=TIMEOUT
        )
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_bytes(whole)


def main() -> int:
    """Print each fault and whether it was noticed, then the share that was, by folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=200, help="faults to try, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--coverage", type=Path, help="coverage data with contexts from an earlier run, kept there")
    parser.add_argument("--within", default="", help="only modules whose path holds this")
    options = parser.parse_args()
    if not Path(TOOL).exists():
        print("Cosmic Ray is not in .mutation; run: make mutate")
        return 2
    with tempfile.TemporaryDirectory(prefix="dynid-mutation-") as folder:
        copy = Path(folder).resolve() / "dynid"
        copy.mkdir()
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
        data = (options.coverage or copy / "coverage.data").resolve()
        if not data.exists():
            measure(copy, data)
        measured = CoverageData(basename=str(data))
        measured.read()
        possible = [fault for fault in faults(copy) if options.within in fault.module]
        sample = random.Random(options.seed).sample(possible, min(options.sample, len(possible)))
        print(f"{len(possible)} faults are possible, {len(sample)} are tried", flush=True)
        tried: Counter[str] = Counter()
        killed: Counter[str] = Counter()
        begin = time.monotonic()
        for fault in sample:
            folder_name = fault.module.split("/")[2]
            tests = covering(measured, fault)
            tried[folder_name] += 1
            caught = bool(tests) and noticed(copy, fault, tests)
            killed[folder_name] += caught
            print(f"{'noticed' if caught else 'NOT NOTICED'}: {fault} ({len(tests)} tests execute it)", flush=True)
        minutes = (time.monotonic() - begin) / 60.0
    for name, count in tried.items():
        print(f"{name}: {killed[name]} of {count} noticed, {100.0 * killed[name] / count:.0f} %")
    total, all_killed = sum(tried.values()), sum(killed.values())
    print(f"all: {all_killed} of {total} noticed, {100.0 * all_killed / max(total, 1):.1f} % ({minutes:.0f} min)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
