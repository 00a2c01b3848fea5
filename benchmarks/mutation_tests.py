"""The tests of a mutation run: which execute a fault, how long each takes, and running them with the fault in place.

Tests run in children of a process that has imported everything but dynid already, in a copy of the project.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from coverage import CoverageData

from benchmarks.mutation_faults import Fault

TESTS = (
    "tests/chain",
    "tests/regression",
    "tests/properties",
    "tests/dynamics",
    "tests/validation",
    "tests/workflow",
    "tests/cli/test_info.py",
    "tests/cli/test_lint.py",
    "tests/cli/test_retrieve.py",
    "tests/fuzzing/test_regressions.py",
    "tests/writers/test_mjcf.py",
    "tests/writers/test_urdf.py",
    "tests/test_panda_log.py",
    "tests/test_prints.py",
)
"""Those that are about the two folders; slow ones are left out."""
COPIED = ("src", "tests", "benchmarks", "examples", "docs", "requirements")
COPIED_FILES = ("pyproject.toml", "README.md", "Makefile", "CHANGELOG.md")
WARM = (
    "beartype",
    "clarabel",
    "cvxpy",
    "cyclopts",
    "h5py",
    "hypothesis.extra.numpy",
    "jaxtyping",
    "joblib",
    "lxml.etree",
    "mujoco",
    "numba",
    "pinocchio",
    "pyarrow",
    "pydantic",
    "rich.console",
    "rosbags.highlevel",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.signal",
    "scipy.spatial.transform",
    "scipy.stats",
    "xdist.plugin",
    "pytest_cov.plugin",
)
"""What dynid imports and takes long."""
SPARE = 120
"""Seconds of processor time that a child may take beyond three times what its tests took before: for compiling."""
LOG = "log.txt"
LONGEST = 1800.0
"""Seconds that a child may run; while it is stopped they do not count."""


@dataclass(frozen=True)
class Seen:
    """What the measuring run saw."""

    contexts: dict[str, dict[int, set[str]]]
    """By module and line, the tests that execute it; an empty name if it is executed while tests are collected."""
    seconds: dict[str, float]
    """How long each test takes."""

    @classmethod
    def load(cls, data: Path) -> Seen:
        """From what `measure` wrote; the files may have been in another copy of the project."""
        measured = CoverageData(basename=str(data))
        measured.read()
        contexts = {
            "src/" + name.rpartition("/src/")[2]: {
                line: {context.split("|")[0] for context in found}
                for line, found in measured.contexts_by_lineno(name).items()
            }
            for name in measured.measured_files()
        }
        return cls(contexts, json.loads(_durations(data).read_text(encoding="utf-8")))

    def chosen(self, fault: Fault, numbers: range, *, at_import: bool, budget: float) -> list[str]:
        """The tests to run for a fault, in their order, as many as fit into `budget` seconds, one at least.

        First those that execute one of the lines with these `numbers`. For what importing executes, or collecting
        tests, as robots are built for their parameters: next those that execute anything of the module, then those
        of the folder. Last others of the same files: they may share a result through a fixture. Each of these groups
        takes at most two thirds of the time that is left. In a group the first two of a parametrised test come before
        the rest, the shorter before the longer; those of the module's own test file count as four times shorter.
        Files stay together, for their fixtures.
        """
        lines = self.contexts.get(fault.module, {})
        wanted = [lines.get(number, set()) for number in numbers]
        direct = {name for names in wanted for name in names if name in self.seconds}
        groups = [direct]
        if at_import or any("" in names for names in wanted):
            groups.append({name for names in lines.values() for name in names if name in self.seconds})
            groups.append({name for name in self.seconds if name.startswith(f"tests/{fault.folder}/")})
        files = {_file(name) for group in groups for name in group}
        groups.append({name for name in self.seconds if _file(name) in files})
        taken: list[str] = []
        total = 0.0
        for group in groups:
            room = total + (budget - total) * 2.0 / 3.0
            for name in self._ranked(group.difference(taken), Path(fault.module).stem):
                if taken and total + self.seconds[name] > room:
                    break
                total += self.seconds[name]
                taken.append(name)
        order = list(dict.fromkeys(_file(name) for name in taken))
        return sorted(taken, key=lambda name: order.index(_file(name)))

    def _ranked(self, names: set[str], stem: str) -> list[str]:
        """Tests in the order in which they are worth their time."""

        def cost(name: str) -> tuple[float, str]:
            return self.seconds[name] * (0.25 if stem in _file(name) else 1.0), name

        instances: Counter[str] = Counter()
        late = {}
        for name in sorted(names, key=cost):
            instances[name.split("[")[0]] += 1
            late[name] = instances[name.split("[")[0]] > 2
        return sorted(late, key=lambda name: (late[name], *cost(name)))


def _file(name: str) -> str:
    return name.split("::")[0]


def _durations(data: Path) -> Path:
    return data.with_name(data.name + ".seconds.json")


@dataclass(eq=False)
class Watch:
    """A pytest plugin: runs the tests that are wanted, in that order, and notes how long they took and what failed."""

    wanted: list[str] | None
    failed: str = ""
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.wanted is not None:
            known = {item.nodeid: item for item in items}
            items[:] = [known[name] for name in self.wanted if name in known]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"importing {report.nodeid}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.skipped:
            self.seconds[report.nodeid] += report.duration
        if report.failed and not self.failed:
            self.failed = report.nodeid


def copy_project(root: Path, copy: Path) -> None:
    """What the tests need, with the times of the files, so that what was compiled before stays valid."""
    for name in COPIED:
        shutil.copytree(root / name, copy / name)
    for name in COPIED_FILES:
        shutil.copy2(root / name, copy / name)


def measure(copy: Path, data: Path) -> str:
    """Run the tests once, noting which lines each executes and how long it takes; the first that fails, if any."""
    (copy / "contexts.rc").write_text(f"[run]\nsource = dynid\nbranch = false\ndata_file = {data}\n", encoding="utf-8")
    options = [
        *TESTS,
        "-m",
        "not slow",
        "--cov=dynid",
        "--cov-report=",
        "--cov-config=contexts.rc",
        "--cov-context=test",
    ]
    failed, seconds = _in_child(copy, options, None, cpu=None)
    if failed:
        data.unlink(missing_ok=True)
    else:
        _durations(data).write_text(json.dumps(seconds), encoding="utf-8")
    return failed


def prepare(copy: Path) -> str:
    """Import all tests once, for their bytecode and that of dynid; what cannot be imported, if anything."""
    return _in_child(copy, [*TESTS, "--collect-only"], None, cpu=None)[0]


def warm_up() -> None:
    """Import what takes long, but not dynid."""
    for name in WARM:
        importlib.import_module(name)


def noticed(tool: str, copy: Path, fault: Fault, tests: Seen, chosen: list[str]) -> tuple[str, str]:
    """The first test that fails with the fault in place, empty if none does, and the change as one line."""
    path = copy / fault.module
    whole, times = path.read_bytes(), path.stat()
    try:
        command = [tool, "apply", fault.module, fault.operator, str(fault.occurrence)]
        subprocess.run(command, cwd=copy, check=True, stdout=subprocess.DEVNULL)
        # What was compiled from the file without the fault must not be taken for it.
        os.utime(path, (times.st_atime + 3600.0, times.st_mtime + 3600.0))
        changed = _changed(whole.decode(), path.read_text(encoding="utf-8"))
        cold = "njit" in whole.decode()
        for part in _parts(chosen):
            files = list(dict.fromkeys(_file(name) for name in part))
            cpu = SPARE + 3 * int(sum(tests.seconds[name] for name in part))
            failed, _ = _in_child(copy, ["-x", *files], part, cpu=cpu, cold=cold)
            if failed:
                return failed, changed
        return "", changed
    finally:
        path.write_bytes(whole)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _parts(chosen: list[str]) -> list[list[str]]:
    """The tests of the first two files, and the rest: most faults are noticed before more files are imported."""
    first = list(dict.fromkeys(_file(name) for name in chosen))[:2]
    parts = [[name for name in chosen if (_file(name) in first) is early] for early in (True, False)]
    return [part for part in parts if part]


def _changed(before: str, after: str) -> str:
    pairs = zip(before.split("\n"), after.split("\n"), strict=False)
    old, new = next(((old.strip(), new.strip()) for old, new in pairs if old != new), ("", ""))
    return f"{old}  ->  {new}"


def _in_child(
    copy: Path, options: list[str], wanted: list[str] | None, *, cpu: int | None, cold: bool = False
) -> tuple[str, dict[str, float]]:
    """What failed first, and the seconds of each test; a child beyond its limits has failed."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            try:
                watch = Watch(wanted)
                code = _child(copy, options, watch, cpu, Path(folder), cold=cold)
                told = {"failed": watch.failed, "seconds": watch.seconds, "code": code}
                answer.write_text(json.dumps(told), encoding="utf-8")
            finally:
                os._exit(0)
        _wait(child)
        if not answer.exists():
            return "none: ended at its time limit, or by a signal", {}
        told = json.loads(answer.read_text(encoding="utf-8"))
        # 5: there was nothing to run.
        if told["code"] not in (0, 5) and not told["failed"]:
            said = (Path(folder) / LOG).read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"pytest ended with {told['code']} and no failing test:\n{said[-2000:]}")
    return told["failed"], told["seconds"]


def _child(copy: Path, options: list[str], watch: Watch, cpu: int | None, folder: Path, *, cold: bool) -> int:
    os.setsid()
    os.chdir(copy)
    sys.path[:0] = [str(copy), str(copy / "src")]
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]
    os.environ.update(PYTHONPATH=str(copy / "src"), OPENBLAS_NUM_THREADS="1")
    # Without a fault, bytecode is kept for the runs with one.
    sys.dont_write_bytecode = cpu is not None
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1" if sys.dont_write_bytecode else ""
    if cpu is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 10))
    if cold:
        importlib.import_module("numba").config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)
    log = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    options = [
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
        *options,
    ]
    return int(pytest.main(options, plugins=[watch]))


def _wait(child: int) -> None:
    """Until the child ends; one that runs too long is killed, with all that it started."""
    spent, last, stopped = 0.0, time.monotonic(), False
    while True:
        found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
        if found and os.WIFSTOPPED(status):
            stopped = True
        elif found and os.WIFCONTINUED(status):
            stopped = False
        elif found:
            break
        now = time.monotonic()
        # At most a second at a time: this process may have been stopped as well.
        spent += 0.0 if stopped else min(now - last, 1.0)
        last = now
        if spent > LONGEST:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
