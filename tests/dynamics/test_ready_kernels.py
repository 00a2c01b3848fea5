"""Kernels that come as intermediate code: current, the same as numba's, and ready without numba's compiler."""

import gzip
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from dynid import load_robot
from dynid.dynamics.kernels import batch, machine_code, paths, ready
from dynid.dynamics.kernels.chains import LANES, chain_arrays, on_free_base
from tests.processes import ENVIRONMENT
from tests.robots import random_robot

FIRST_CALL = """
import sys
from dynid import TorqueModel, base_parameters, load_robot
base_parameters(TorqueModel(load_robot("planar2r")))
print("numba.np.linalg" in sys.modules)
"""
"""Says whether numba got its compiler ready, which takes longer than a whole fit."""


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


def test_the_intermediate_code_belongs_to_its_sources():
    first = gzip.decompress(machine_code.INTERMEDIATE.read_bytes()).partition(b"\n")[0].decode()
    assert first == f"; {machine_code.sources_digest()}", "the sources of the kernels changed: run make kernels"
    assert machine_code.machine_kernel("columns_kernel") is not None


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


def test_a_first_call_does_not_wait_for_numba(tmp_path):
    environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "False"
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".o"]


@pytest.mark.parametrize("content", [None, "; other sources\n", "; {digest}\nno intermediate code\n"])
def test_without_usable_intermediate_code_numba_computes_the_same(content, compiled_anew, monkeypatch, tmp_path):
    file = tmp_path / "kernels.ll.gz"
    if content is not None:
        file.write_bytes(gzip.compress(content.format(digest=machine_code.sources_digest()).encode()))
    chain, moved = chain_arrays(load_robot("planar2r")), motion(20, 2)
    expected, found = np.zeros((2, 20, 2, 20))
    ready.fill_regressor(chain, *moved, 0, 20, expected)
    machine_code._engine.cache_clear()
    machine_code.machine_kernel.cache_clear()
    monkeypatch.setattr(machine_code, "INTERMEDIATE", file)
    assert machine_code.machine_kernel("regressor_kernel") is None
    ready.fill_regressor(chain, *moved, 0, 20, found)
    same(found, expected)


def test_half_a_file_of_machine_code_is_compiled_again(compiled_anew, tmp_path):
    assert machine_code.machine_kernel("torque_kernel") is not None
    (file,) = tmp_path.glob("kernels-*.o")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    machine_code._engine.cache_clear()
    machine_code.machine_kernel.cache_clear()
    assert machine_code.machine_kernel("torque_kernel") is not None
    assert file.read_bytes() == whole


def test_a_folder_that_takes_no_file_costs_time_only(compiled_anew, monkeypatch, tmp_path):
    taken = tmp_path / "file"
    taken.write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(taken / "below"))
    assert machine_code.machine_kernel("torque_kernel") is not None
