"""Same input, seed and options give the same bytes, whatever the number of threads and workers."""

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dynid
import dynid.workflow
from dynid import load_robot
from dynid.dynamics.threads import n_threads, with_threads
from dynid.errors import ConfigError
from dynid.recording import Conditioning
from dynid.regression import SampleRows, compress
from tests.processes import PATIENCE
from tests.regression.logs import truth

SCRIPT = """
import contextlib, sys
from dynid.cli import main

workers = sys.argv[1]
given = "--friction viscous+coulomb+offset --lowpass 9"  # the first identification searches for these
commands = {
    "simulate": "simulate panda --out log.csv --duration 12 --rate 200 --seed 1",
    "excite": "excite planar2r --out traj.csv --restarts 2 --time-budget 600 --seed 4",
    "identify": "identify panda log.csv --out result --validate log.csv",
    "robust": f"identify panda log.csv --out robust --estimator robust {given}",
    "bootstrap": f"identify panda log.csv --out draws --estimator ols --bootstrap 6 {given} --workers {workers}",
    "retrieve": f"retrieve result/model.json --out full --runs 2 --workers {workers}",
    "validate": "validate result/model.json log.csv",
    "track": "track result/model.json log.csv --until 2",
}
for name, command in commands.items():
    with open(f"{name}.json", "w") as file, contextlib.redirect_stdout(file):
        code = main([*command.split(), "--json"])
    assert code == 0, f"{name}: {code}"
"""
SECONDS = re.compile(rb'"seconds": [0-9.e-]+')
"""What `retrieve --json` says of its own duration."""
TIMED = {"traj.html"}
"""Files that tell how long something took."""


def outputs(folder: Path, threads: str, workers: str) -> dict[str, bytes]:
    """Every file of the commands above under so many threads."""
    folder.mkdir()
    counts = dict.fromkeys(("DYNID_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), threads)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, workers],
        cwd=folder,
        env=os.environ | counts,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return {
        str(path.relative_to(folder)): SECONDS.sub(b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in TIMED
    }


@pytest.mark.slow
def test_every_command_gives_the_same_bytes_on_any_number_of_threads_and_workers(tmp_path):
    one, more = outputs(tmp_path / "one", "1", "1"), outputs(tmp_path / "more", "3", "2")
    assert sorted(one) == sorted(more)
    assert len(one) > 20
    assert [name for name in one if one[name] != more[name]] == []


def test_factors_do_not_depend_on_the_number_of_threads(rng):
    case = truth(load_robot("panda"), rng, duration=12.0)
    recording = case.recording(rng, 0.02)
    samples = Conditioning().plan(recording).apply(recording)
    found = []
    for count in (1, 2, 5):
        with with_threads(count):
            found.append(compress(SampleRows(case.model, case.base, (samples,))))
    for other in found[1:]:
        for blocks, same in zip(found[0].blocks, other.blocks, strict=True):
            assert all(np.array_equal(a.triangle, b.triangle) for a, b in zip(blocks, same, strict=True))


JOBS = [name for name in dynid.workflow.__all__ if name in dynid.__all__ and name != "predict"] + ["export", "save"]
"""All but `predict`, which computes sample by sample and must not take longer than it does."""


@pytest.mark.parametrize("job", JOBS)
def test_every_job_uses_one_blas_thread(job):
    module = ast.parse(
        Path(str(inspect.getsourcefile(inspect.unwrap(getattr(dynid, job))))).read_text(encoding="utf-8")
    )
    functions = {node.name: ast.unparse(node) for node in module.body if isinstance(node, ast.FunctionDef)}
    called = [text for name, text in functions.items() if name == job or re.search(rf"\b{name}\(", functions[job])]
    assert any("one_blas_thread()" in text for text in called)


def test_the_number_of_threads_is_what_was_asked_for(monkeypatch):
    monkeypatch.setenv("DYNID_THREADS", "3")
    assert n_threads() == 3
    with with_threads(2):
        assert n_threads() == 2
    assert n_threads() == 3
    monkeypatch.delenv("DYNID_THREADS")
    assert n_threads() >= 1
    monkeypatch.setenv("DYNID_THREADS", "none")
    with pytest.raises(ConfigError, match="DYNID_THREADS is 'none': give a whole number"):
        n_threads()
