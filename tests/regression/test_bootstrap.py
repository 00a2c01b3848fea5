import numpy as np
import pytest

from dynid import load_robot
from dynid.errors import ParameterError, RegressionError
from dynid.recording import Conditioning
from dynid.regression import OLS, WLS, SampleRows, bootstrap, compress
from dynid.regression.bootstrap import MIN_RESAMPLED, resampled
from tests.regression.logs import truth


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(8)
    case = truth(load_robot("planar2r"), rng, duration=60.0)
    recording = case.recording(rng, 0.05)
    return compress(SampleRows(case.model, case.base, (Conditioning().plan(recording).apply(recording),)))


def test_a_block_taken_twice_weighs_as_two(regression):
    counts = np.ones(len(regression.blocks), dtype=int)
    counts[0], counts[1] = 2, 0
    drawn = resampled(regression, counts)
    first, second = regression.blocks[0][0], regression.blocks[1][0]
    assert drawn.rows_per_joint()[0] == regression.rows_per_joint()[0] + first.n_rows - second.n_rows
    assert drawn.power()[0] == pytest.approx(regression.power()[0] + first.power - second.power)


def test_the_spread_of_resampled_fits_is_the_standard_deviation(regression):
    found = bootstrap(regression, WLS().fit, n_draws=200)
    estimate = WLS().fit(regression)
    assert found.failed == 0
    # Some 30 blocks: a standard deviation from them is known to about 15 %, less where a few blocks say most.
    assert np.median(found.std / estimate.std) == pytest.approx(1.0, abs=0.25)
    assert np.all(found.lower < estimate.beta)
    assert np.all(estimate.beta < found.upper)


def test_draws_do_not_depend_on_the_number_of_workers(regression):
    one = bootstrap(regression, OLS().fit, n_draws=20, seed=3)
    two = bootstrap(regression, OLS().fit, n_draws=20, seed=3, workers=2)
    other = bootstrap(regression, OLS().fit, n_draws=20, seed=4)
    np.testing.assert_array_equal(one.draws, two.draws)
    assert not np.array_equal(one.draws, other.draws)


def test_what_cannot_be_resampled_is_told(regression):
    few = resampled(regression, (np.arange(len(regression.blocks)) < MIN_RESAMPLED - 1).astype(int))
    with pytest.raises(RegressionError, match="only 7 independent blocks"):
        bootstrap(few, OLS().fit)
    with pytest.raises(ParameterError, match="at least 2 draws"):
        bootstrap(regression, OLS().fit, n_draws=1)
