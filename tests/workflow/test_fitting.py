"""Of two searches of friction the one with which the estimator predicts left-out segments better."""

from dataclasses import replace

import pytest

import dynid
from dynid import base_parameters
from dynid.dynamics import TorqueModel, friction_models
from dynid.recording import read_recording
from dynid.regression.estimators import make_estimator
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.least_squares import WLS
from dynid.regression.problem import compress
from dynid.regression.rows import SampleRows
from dynid.validation.left_out import left_out_error
from dynid.workflow.fitting import FittedRows, _predicting_better, quick_fit
from tests.regression.arms import conditioned
from tests.workflow.small_arm import ARM, run


def rows(friction):
    """The first run with some friction, as a search leaves it."""
    model, samples = TorqueModel(ARM, friction_models(friction)), conditioned(run(1))
    base = base_parameters(model)
    return FittedRows(model, base, compress(SampleRows(model, base, (samples,))), samples)


@pytest.fixture(scope="module")
def viscous():
    """Friction that misses the Coulomb part of the truth."""
    return rows("viscous")


@pytest.fixture(scope="module")
def true():
    """Friction as it was simulated."""
    return rows("viscous+coulomb")


def taken(first, second):
    """Which is taken, and the choice as scripts read it."""
    found = _predicting_better(first, left_out_error(first.regression, WLS().fit), second, WLS().fit)
    [told] = [choice for choice in found.chosen if choice["setting"] == "friction search"]
    return found.model, told


def test_friction_that_predicts_better_wins_whichever_search_found_it(viscous, true):
    errors = [left_out_error(found.regression, WLS().fit).relative_percent for found in (viscous, true)]
    assert errors[1] < 0.5 * errors[0]  # Coulomb friction is most of what viscous friction leaves.
    model, told = taken(viscous, true)
    assert model is true.model
    assert told["value"] == "second"
    assert told["change_percent"] == pytest.approx(100.0 * (errors[1] / errors[0] - 1.0))
    model, told = taken(true, viscous)
    assert model is true.model
    assert told["value"] == "first"
    assert told["change_percent"] > 0.0


def test_a_second_search_that_predicts_alike_is_not_taken(true):
    # An offset that is not there: left-out errors differ by far less than the 2 % that a change must gain.
    model, told = taken(true, rows("viscous+coulomb+offset"))
    assert model is true.model
    assert told["value"] == "first"
    assert abs(told["change_percent"]) < 2.0


def test_without_segments_to_leave_out_the_first_search_stands(viscous, true):
    short = replace(true, regression=replace(true.regression, blocks=true.regression.blocks[:2]))
    error = left_out_error(viscous.regression, WLS().fit)
    assert _predicting_better(viscous, error, short, WLS().fit) is viscous


def test_slow_estimators_are_stood_in_for():
    wls = make_estimator("wls")
    assert quick_fit(wls) == wls.fit
    for name in ("robust", "retrieval"):
        assert isinstance(getattr(quick_fit(make_estimator(name)), "__self__", None), Feasible)


@pytest.mark.data
@pytest.mark.whole
def test_friction_of_an_arm_without_inertias_does_not_hang_on_rounding(data_dir, rng):
    folder = data_dir / "kr300"
    robot = dynid.load_robot(folder / "robot.toml")
    logs = [read_recording(folder / f"{name}.csv.gz", robot.joint_names) for name in ("runA", "runB")]
    # Far below what any sensor tells, far above what another BLAS rounds otherwise.
    shaken = [replace(log, tau=log.tau * (1.0 + 1e-11 * rng.normal(size=log.tau.shape))) for log in logs]
    plain, other = (dynid.identify(robot, given) for given in (logs, shaken))
    assert [found["value"] for found in other.chosen] == [found["value"] for found in plain.chosen]
    assert other.train.error.relative_percent == pytest.approx(plain.train.error.relative_percent, rel=0.02)
    assert "± 100 %" not in plain.estimate.rule  # the data ask for more
