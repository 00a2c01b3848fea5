"""Build the release and try it as a user meets it: ``python -m benchmarks.release_check [--python PYTHON…]``.

The source distribution and the wheel are built in an environment of their own. Each Python then gets an empty
environment with the wheel and its extras, and from an empty folder the commands of a first day are run. The last Python
installs the source distribution as well. Needs the network for the dependencies.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import BLAS_THREADS
from dynid.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
"""What pyproject.toml says dynid runs on."""
EXTRAS = ("live", "cluster", "mujoco")
TIMEOUT = 900.0
"""s for one command; an installation takes minutes on a slow network."""
FIRST_DAY = (
    ("dynid", "--version"),
    ("dynid", "--help"),
    ("dynid", "info", "panda"),
    ("dynid", "info", "panda"),
    ("dynid", "simulate", "planar2r", "--out", "run1.csv", "--seed", "1"),
    ("dynid", "identify", "planar2r", "run1.csv", "--out", "result"),
    ("dynid", "identify", "planar2r", "run1.csv", "--out", "again"),
    ("dynid", "export", "result/model.json", "--to", "urdf", "--out", "arm.urdf"),
    ("dynid", "export", "result/model.json", "--to", "mjcf", "--out", "arm.xml"),
    ("dynid", "export", "result/model.json", "--to", "c", "--out", "arm.h"),
    ("dynid", "live", "--help"),
    ("dynid", "demo", "--out", "demo"),
    ("python", "-c", "import dask.distributed, mujoco, viser"),
)
"""Commands from an empty folder, in a newcomer's order; those that stand twice show what a first call costs."""
IN_WHEEL = (
    "dynid/py.typed",
    "dynid/dynamics/kernels/kernels.ll.gz",
    "dynid/simulation/run.ll.gz",
    "dynid/tracking/arm.ll.gz",
    "dynid/tracking/motion.ll.gz",
    "dynid/tracking/watch.ll.gz",
    "dynid/writers/report/templates/report.html",
    f"dynid-{VERSION}.dist-info/licenses/LICENSE",
)
IN_SDIST = ("LICENSE", "CHANGELOG.md", "CITATION.cff", "packaging/conda/recipe.yaml", "src/dynid/py.typed", "tests")


class ReleaseError(Exception):
    """What is wrong with the release."""


@dataclass(frozen=True)
class Spent:
    """One command, and what it took."""

    command: tuple[str, ...]
    seconds: float
    """Of wall time."""
    cpu: float
    """s of user and system time, of its children too."""


def done(command: Sequence[str | Path], folder: Path, path: Path | None = None) -> Spent:
    """Run a command in a folder with nothing of this checkout in its environment.

    Raises:
        ReleaseError: it failed; with what it wrote last.
    """
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE", *BLAS_THREADS)
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment['PATH']}"
    before, started = os.times(), time.perf_counter()
    words = tuple(map(str, command))
    found = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    seconds, after = time.perf_counter() - started, os.times()
    if found.returncode != 0:
        raise ReleaseError(f"{' '.join(words)}: exit {found.returncode}: {(found.stderr or found.stdout)[-2000:]}")
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(words, seconds, spent)


def interpreters() -> Iterator[Path]:
    """The Pythons of `PYTHONS` that are found on the path or where pyenv keeps them."""
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    for version in PYTHONS:
        candidates = [*sorted(kept.glob(f"{version}.*/bin/python")), Path(shutil.which(f"python{version}") or "none")]
        found = next((path for path in candidates if _runs(path, version)), None)
        if found is None:
            print(f"Python {version} is not here: not tried", file=sys.stderr)
        else:
            yield found


def _runs(path: Path, version: str) -> bool:
    """Whether a file is a Python of this version; a shim of pyenv may exist and not run."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    if not path.exists():
        return False
    found = subprocess.run([path, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return found.returncode == 0 and found.stdout.strip() == version


def built(python: Path, folder: Path) -> tuple[Path, Path]:
    """Source distribution and wheel, the wheel from the source distribution; both hold what they must."""
    done([python, "-m", "venv", folder / "build-env"], folder)
    tool = folder / "build-env" / "bin" / "python"
    done([tool, "-m", "pip", "-q", "install", "build"], folder)
    done([tool, "-m", "build", "--outdir", folder / "dist", ROOT], folder)
    sdist, wheel = next((folder / "dist").glob("*.tar.gz")), next((folder / "dist").glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        _holds(wheel, set(archive.namelist()), IN_WHEEL)
        text = archive.read(f"dynid-{VERSION}.dist-info/METADATA").decode()
    for line in (f"Version: {VERSION}", "License-Expression: Apache-2.0", *(f"Provides-Extra: {x}" for x in EXTRAS)):
        if line not in text.splitlines():
            raise ReleaseError(f"{wheel.name}: its metadata does not say {line}")
    with tarfile.open(sdist) as archive:
        _holds(sdist, {name.partition("/")[2] for name in archive.getnames()}, IN_SDIST)
    return sdist, wheel


def _holds(file: Path, names: set[str], expected: Sequence[str]) -> None:
    for name in expected:
        if not any(found == name or found.startswith(f"{name}/") for found in names):
            raise ReleaseError(f"{file.name}: does not hold {name}")


def tried(python: Path, package: str, folder: Path) -> list[Spent]:
    """What the commands of a first day take in an empty environment of a Python."""
    done([python, "-m", "venv", folder / "env"], folder)
    binaries, empty = folder / "env" / "bin", folder / "empty"
    done([binaries / "python", "-m", "pip", "-q", "install", package], folder)
    empty.mkdir()
    spent = [done([binaries / command[0], *command[1:]], empty, binaries) for command in FIRST_DAY]
    code = "import dynid, pathlib, sys; sys.exit(pathlib.Path(sys.prefix) not in pathlib.Path(dynid.__file__).parents)"
    done([binaries / "python", "-c", code], empty)
    return spent


def main(arguments: Sequence[str]) -> int:
    """0 when the release works on every Python that is here, 1 when it does not, with the reason."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.release_check", description=__doc__)
    parser.add_argument(
        "--python", nargs="*", type=Path, help="interpreters to try; default: 3.11, 3.12, 3.13 found here"
    )
    pythons = parser.parse_args(arguments).python or list(interpreters())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            sdist, wheel = built(pythons[0], folder)
            print(f"built {sdist.name} and {wheel.name}", flush=True)
            packages = [(python, wheel) for python in pythons] + [(pythons[-1], sdist)]
            for k, (python, package) in enumerate(packages):
                place = folder / f"try{k}"
                place.mkdir()
                print(f"\n{package.name} with {', '.join(EXTRAS)} on {python}", flush=True)
                for one in tried(python, f"{package}[{','.join(EXTRAS)}]", place):
                    told = " ".join((Path(one.command[0]).name, *one.command[1:]))
                    print(f"{one.seconds:7.2f} s  {one.cpu:7.2f} s CPU   {told}", flush=True)
                shutil.rmtree(place)
        except ReleaseError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
