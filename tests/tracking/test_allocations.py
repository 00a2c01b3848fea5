"""A step of the load watch allocates nothing once it runs; the same counts find what does."""

import numpy as np
import pytest
from numba import njit

from benchmarks.allocations import bytes_kept, compiled_blocks, quiet_samples
from dynid.chain import load_robot
from dynid.dynamics import TorqueModel
from dynid.tracking import LoadWatch, TorqueNoise

N_STEPS = 2000


@pytest.fixture(scope="module", params=["", "viscous+coulomb+offset", "viscous+stribeck+offset"])
def running(request):
    """A watcher that knows its load, and the samples that follow."""
    robot = load_robot("panda")
    model = TorqueModel(robot, request.param) if request.param else TorqueModel(robot)
    theta = model.nominal()
    theta[model.n_inertial :] = 0.2
    samples = quiet_samples(model, theta, 2 * N_STEPS)
    watcher = LoadWatch(model=model, theta=theta, noise=TorqueNoise.of_std(model, theta, np.full(7, 0.3))).start()
    for sample in samples[:500]:
        watcher.step(sample)
    assert watcher.known
    return watcher, samples


def test_compiled_code_asks_for_no_memory(running):
    watcher, samples = running
    # Contact watch and load filters: `step` runs both, and neither the calls nor what is in them allocates.
    assert compiled_blocks(lambda k: watcher.step(samples[k]), 500, N_STEPS) == 0


def test_python_keeps_nothing_of_a_step(running):
    watcher, samples = running
    # Less than a byte: counters, and no samples.
    assert bytes_kept(lambda k: watcher.step(samples[k]), N_STEPS, 2 * N_STEPS) < 1.0


def test_the_counts_find_what_allocates():
    @njit
    def total(n):
        return np.zeros(n).sum()

    total(3)
    assert compiled_blocks(lambda k: total(3 + k), 0, 101) >= 100
    kept = []
    assert bytes_kept(lambda k: kept.append(np.zeros(7)), 0, 1000) > 100.0
