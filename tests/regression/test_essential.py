"""Essential parameters: fewer that predict as well."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dynid
from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import friction_models
from dynid.regression import WLS, SampleRows, compress
from dynid.regression.essential import essential_parameters
from tests.regression.arms import conditioned, exciting_motion, log_of
from tests.workflow.small_arm import ARM, run


@pytest.fixture(scope="module")
def found():
    """A short, noisy log of the Panda: many base parameters do not stand clear of the noise."""
    rng = np.random.default_rng(3)
    model = TorqueModel(load_robot("panda"), friction_models("viscous+coulomb+offset"))
    theta = model.nominal()
    theta[model.n_inertial :] = 0.4
    base = base_parameters(model)
    logs = [log_of(model, theta, exciting_motion(model.robot, rng, seconds=20.0), rng, noise=0.2) for _ in range(2)]
    fitted, unseen = (compress(SampleRows(model, base, (conditioned(log),))) for log in logs)
    estimate = WLS().fit(fitted)
    return essential_parameters(fitted, estimate.weights, estimate.uncertainty.inflation), estimate, unseen


def test_fewer_parameters_predict_left_out_parts_as_well(found):
    essential = found[0]
    assert 10 < len(essential.kept) < 0.8 * essential.base.n_base
    before, after = essential.left_out
    assert after < 1.01 * before
    assert set(essential.dropped) | {essential.base.leading[k] for k in essential.kept} == set(essential.base.leading)
    assert np.all(essential.beta[[essential.base.leading.index(name) for name in essential.dropped]] == 0.0)


def test_they_predict_another_log_as_well(found):
    essential, estimate, unseen = found
    errors = [np.sum(estimate.weights**2 * unseen.residual_power(beta)) for beta in (estimate.beta, essential.beta)]
    # Squares: 2 % of the error, what parameters below their σ may cost by chance.
    assert errors[1] < 1.04 * errors[0]


def test_those_kept_stand_clear_of_their_spread(found):
    essential, estimate, _ = found
    clear = np.abs(essential.beta[essential.kept]) / essential.std[essential.kept]
    assert np.median(clear) > 3.0 * np.median(np.abs(estimate.beta) / estimate.std)


def test_too_short_a_log_has_none(found):
    rng = np.random.default_rng(0)
    model = TorqueModel(ARM)
    log = log_of(model, model.nominal(), exciting_motion(ARM, rng, seconds=20.0), rng)
    regression = compress(SampleRows(model, base_parameters(model), (conditioned(log),)))
    short = replace(regression, blocks=regression.blocks[:2])
    assert essential_parameters(short, np.ones(2), np.ones(2)) is None


def test_identify_tells_both_sets_and_the_model_file_keeps_it(tmp_path):
    result = dynid.identify(ARM, run(1), validate=run(2), friction="viscous+coulomb", reduce=True)
    told: Any = result.json()["reduced"]
    assert told["n_essential"] + len(told["dropped"]) == told["n_base"] == result.model.base.n_base
    assert len(told["validation_percent"]) == 1
    assert "essential" in str(result)
    assert result.model.consistent
    dynid.save(result, tmp_path)
    read: Any = dynid.load_model(tmp_path / "model.json").results
    assert read["reduced"]["dropped"] == told["dropped"]
    assert "Essential parameters" in (tmp_path / "report.html").read_text(encoding="utf-8")
