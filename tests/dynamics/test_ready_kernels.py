"""Kernels that come as intermediate code: current, the same as numba's, and ready without numba's compiler."""

import gzip
import inspect
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dynid import load_robot
from dynid.dynamics.friction.presliding import Presliding
from dynid.dynamics.kernels import batch, machine_code, paths, ready
from dynid.dynamics.kernels.bound import BoundKernel, run_kernel
from dynid.dynamics.kernels.chains import LANES, chain_arrays, on_free_base
from dynid.dynamics.kernels.formulas import follow_states, programs
from dynid.simulation.roll_kernels import RUN, run_arm
from dynid.tracking import contact, core, decisions, factors, terms
from dynid.tracking.bundles import ARM, MOTION, WATCH
from dynid.tracking.kinematics import smooth_window
from tests.processes import ENVIRONMENT
from tests.robots import random_robot

BUNDLES = (machine_code.BATCH, ARM, MOTION, WATCH, RUN)
FIRST_CALLS = {
    "base_parameters": """
from dynid import TorqueModel, base_parameters, load_robot
base_parameters(TorqueModel(load_robot("planar2r")))
""",
    "track": """
import numpy as np
from dynid import TorqueModel, load_robot
from dynid.dynamics.friction.table import friction_models
from dynid.tracking import ConstrainedFilter, Entry, KinematicFilter, LoadWatch, Sample, StateBound, StateMap
from dynid.tracking import TorqueNoise
model = TorqueModel(load_robot("planar2r"), friction_models("viscous+coulomb+presliding"))
theta = np.concatenate([load_robot("planar2r").nominal.ravel(), np.full(6, 0.1)])
watcher = LoadWatch(model=model, theta=theta, noise=TorqueNoise.of_std(model, theta, np.ones(2))).start()
state = StateMap.of(model, theta, [Entry("m2", StateBound(0.0, 6.0))])
arm = ConstrainedFilter(model=model, state=state, noise=np.ones(2)).start()
motion = KinematicFilter(half_samples=4).start(2)
for k in range(60):
    t, angle = 0.01 * k, np.array([0.3, 0.5]) * np.sin(0.05 * k)
    moved = motion.step(Sample(t, angle, np.zeros(2), None, np.ones(2)))
    if moved is not None:
        watcher.step(moved)
        arm.step(moved)
assert watcher.known and arm.n_absorbed > 40
""",
}
"""Programs that need compiled code; none of them waits for numba, which takes longer than a whole fit."""


@pytest.fixture
def compiled_anew(monkeypatch, tmp_path) -> Iterator[None]:
    """No machine code in memory or on disk before the test, and none of its own after it."""

    def forget() -> None:
        machine_code._engine.cache_clear()
        machine_code.machine_kernel.cache_clear()

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    forget()
    yield
    forget()


def motion(n_samples: int, n_dof: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, dq, ddq = np.random.default_rng(n_samples).normal(size=(3, n_samples, n_dof))
    return q, dq, ddq


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.file.name)
def test_the_intermediate_code_belongs_to_its_sources(bundle):
    first = gzip.decompress(bundle.file.read_bytes()).partition(b"\n")[0].decode()
    assert first == f"; {bundle.digest}", "the sources of the kernels changed: run make kernels"


def test_the_digest_is_of_the_sources_as_imported(tmp_path):
    """A process that goes on while dynid is replaced must not keep code of the old functions under the new name."""
    source = tmp_path / "one.py"
    source.write_text("old = 1\n")
    bundle = machine_code.Bundle.of(str(tmp_path / "one.ll.gz"), (str(source),))
    before = bundle.digest
    source.write_text("new = 2\n")
    assert bundle.digest == before
    assert machine_code.Bundle.of(str(tmp_path / "one.ll.gz"), (str(source),)).digest != before


def same(found, expected):
    """Equal but for rounding: processors fuse multiplications and additions as they please, of sums of this size."""
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("n_dof", [1, 2, 7])
@pytest.mark.parametrize("n_samples", [1, LANES, 3 * LANES + 5])
@pytest.mark.parametrize("free", [False, True])
def test_machine_code_and_numba_agree(n_dof, n_samples, free, rng):
    chain = chain_arrays(random_robot(rng, n_dof))
    chain = on_free_base(chain) if free else chain
    n_dof = len(chain.parent)
    moved = motion(n_samples, n_dof)
    regressors = np.zeros((2, n_samples, n_dof, 10 * n_dof))
    ready.fill_regressor(chain, *moved, 0, n_samples, regressors[0])
    batch.compiled_regressor(chain, *moved, 0, n_samples, regressors[1])
    same(*regressors)

    place = np.arange(10 * n_dof**2).reshape(n_dof, -1) // 2 * np.where(np.arange(10 * n_dof) % 2, 1, 0) - 1
    columns = np.zeros((2, 5 * n_dof**2, n_samples))
    ready.fill_columns(chain, *moved, place, columns[0])
    batch.compiled_columns(chain, *moved, place, columns[1].reshape(-1))
    same(*columns)

    links = np.random.default_rng(0).normal(size=(n_dof, 10))
    tau, wrench = np.zeros((2, n_samples, n_dof)), np.zeros((2, n_samples, n_dof, 6))
    ready.fill_torques(chain, *moved, links, 0, n_samples, tau[0], wrench[0])
    batch.newton_euler(chain, *moved, links, 0, n_samples, tau[1], wrench[1])
    same(*tau)
    same(*wrench)


def test_robots_that_differ_in_gravity_alone_are_told_apart():
    robot = load_robot("planar2r")
    (q, dq, ddq), links = motion(3, 2), robot.nominal
    found = []
    for gravity in (robot.gravity, np.zeros(3), robot.gravity):
        tau = np.zeros((3, 2))
        chain = chain_arrays(robot.with_gravity(gravity))
        ready.fill_torques(chain, q, dq, ddq, links, 0, 3, tau, np.zeros((3, 2, 6)))
        found.append(tau)
    np.testing.assert_array_equal(found[0], found[2])
    assert np.all(np.abs(found[0] - found[1]).max(axis=0) > 0.0)


@pytest.mark.parametrize("n_states", [1, 2])
def test_states_along_a_path_are_the_same(n_states):
    q = np.cumsum(motion(50, 3)[0], axis=0) * 1e-3
    q[7] = q[6]
    z = np.zeros((2, 50, 3, n_states))
    for k in range(n_states):
        ready.follow_dahl(q, np.full(3, 1e-3), z[0, :, :, k])
        paths.compiled_dahl(q, np.full(3, 1e-3), z[1, :, :, k])
    same(*z)


@pytest.mark.parametrize("job", FIRST_CALLS)
def test_a_first_call_does_not_wait_for_numba(job, tmp_path):
    environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path)}
    program = f"{FIRST_CALLS[job]}\nimport sys\nprint('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "False"
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} == {".o"}


@pytest.mark.parametrize("content", [None, "; other sources\n", "; {digest}\nno intermediate code\n"])
def test_without_usable_intermediate_code_numba_computes_the_same(content, compiled_anew, monkeypatch, tmp_path):
    file = tmp_path / "kernels.ll.gz"
    if content is not None:
        file.write_bytes(gzip.compress(content.format(digest=machine_code.BATCH.digest).encode()))
    chain, moved = chain_arrays(load_robot("planar2r")), motion(20, 2)
    expected, found = np.zeros((2, 20, 2, 20))
    ready.fill_regressor(chain, *moved, 0, 20, expected)
    machine_code._engine.cache_clear()
    machine_code.machine_kernel.cache_clear()
    unusable = replace(machine_code.BATCH, file=file)
    monkeypatch.setattr(ready, "BATCH", unusable)
    assert machine_code.machine_kernel(unusable, "regressor_kernel") is None
    ready.fill_regressor(chain, *moved, 0, 20, found)
    same(found, expected)


def test_half_a_file_of_machine_code_is_compiled_again(compiled_anew, tmp_path):
    assert machine_code.machine_kernel(machine_code.BATCH, "torque_kernel") is not None
    (file,) = tmp_path.glob("kernels-*.o")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    machine_code._engine.cache_clear()
    machine_code.machine_kernel.cache_clear()
    assert machine_code.machine_kernel(machine_code.BATCH, "torque_kernel") is not None
    assert file.read_bytes() == whole


def test_a_folder_that_takes_no_file_costs_time_only(compiled_anew, monkeypatch, tmp_path):
    taken = tmp_path / "file"
    taken.write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(taken / "below"))
    assert machine_code.machine_kernel(machine_code.BATCH, "torque_kernel") is not None


def test_a_kernel_that_no_bundle_has_is_translated_once_and_computes_the_same(compiled_anew, tmp_path):
    q = np.cumsum(motion(50, 3)[0], axis=0) * 1e-3
    code, numbers = programs(Presliding().next_states, (np.full(3, 1e-3),), 3)
    found = np.zeros((2, 50, 3, 1))
    run_kernel(machine_code.BATCH, follow_states, code, numbers, q, np.empty(code.shape[1]), found[0])
    nowhere = replace(machine_code.BATCH, file=tmp_path / "none.ll.gz")
    for _ in range(2):
        run_kernel(nowhere, follow_states, code, numbers, q, np.empty(code.shape[1]), found[1])
    same(*found)
    assert len(list(tmp_path.glob("kernels-*.o"))) == 2  # of the bundle, and of this kernel


def test_numbers_of_a_bound_kernel_may_change_and_wrong_arguments_are_refused():
    W, G = np.zeros((3, 9)), np.zeros((10, 16))
    t, q = 0.01 * np.arange(20.0), np.arange(20.0)[:, None] ** 2
    out, even = np.zeros((3, 1)), np.zeros(3)
    lost = np.full(1, 9)
    window = BoundKernel(MOTION, smooth_window, 0, 9, t, q, np.zeros((20, 1)), lost, 3, 4, even, G, W, out)
    for first in (0, 5, 11):
        window.set_int(0, first)
        window()
        np.testing.assert_allclose(out[:, 0], [(first + 4) ** 2, 200.0 * (first + 4), 2e4], rtol=1e-6)
    with pytest.raises(TypeError, match="kernels take arrays and numbers, not str"):
        BoundKernel(MOTION, smooth_window, "nine")


@pytest.mark.parametrize(
    ("bundle", "kernels"),
    [
        (machine_code.BATCH, (batch.regressor_kernel, batch.columns_kernel, batch.torque_kernel, follow_states)),
        (ARM, (core.filter_steps, core.filter_step, core.state_jacobian, terms.fill_terms, factors.scale_factors)),
        (MOTION, (smooth_window,)),
        (RUN, (run_arm,)),
        (WATCH, (decisions.hear, decisions.watch_sample, contact.momentum)),
    ],
    ids=lambda value: value.file.name if isinstance(value, machine_code.Bundle) else "",
)
def test_a_bundle_names_every_source_of_its_kernels(bundle, kernels):
    """What is compiled of another file must make the intermediate code out of date when that file changes."""
    found, waiting = set(), list(kernels)
    while waiting:
        function = waiting.pop().py_func
        found.add(inspect.getsourcefile(function))
        names = {name for code in _codes(function.__code__) for name in code.co_names}
        called = [function.__globals__[name] for name in names if hasattr(function.__globals__.get(name), "py_func")]
        waiting += [other for other in called if other not in kernels and other not in waiting]
        kernels = (*kernels, *called)
    assert {Path(name) for name in found} - set(bundle.sources) == set()


def _codes(code):
    yield code
    for part in code.co_consts:
        if isinstance(part, type(code)):
            yield from _codes(part)
