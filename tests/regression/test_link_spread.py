"""σ, source and range of the numbers of a link."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

from dynid import TorqueModel, base_parameters, load_model, load_robot
from dynid.chain.inertia import InertialParameters
from dynid.dynamics import RotorInertia, friction_models
from dynid.recording.log_settings import LogSettings
from dynid.regression import Constraints, Feasible, IdentifiedModel, Prior, SampleRows, compress, save_model
from dynid.regression.feasible.faces import mean_from_face, second_moment_from_face
from dynid.regression.feasible.link_ranges import link_ranges
from dynid.regression.feasible.link_spread import PRIOR_ONLY, link_spreads
from dynid.regression.feasible.programme import solve
from tests.regression.arms import conditioned, exciting_motion, log_of

TERMS = (RotorInertia(), *friction_models("viscous+coulomb+offset"))


def wrong_nominal(robot, rng):
    """The robot as a file that is 10 % off has it."""
    links = {}
    for name, pi in zip(robot.link_names, robot.nominal, strict=True):
        body = InertialParameters(pi)
        mass = body.mass * np.exp(0.1 * rng.normal())
        com = body.com + 0.1 * np.sqrt(np.trace(body.inertia_com) / (2.0 * body.mass)) * rng.normal(size=3)
        links[name] = InertialParameters.from_com(mass, com, body.inertia_com * mass / body.mass)
    return robot.with_nominal(links)


def fitted(robot, rng, *, seconds=15.0, noise=0.02, **options):
    """Estimate, regression and constraints of a simulated log, fitted with a nominal model that is off."""
    true = TorqueModel(robot, TERMS)
    theta = true.nominal()
    theta[true.n_inertial :] = 0.5
    model = TorqueModel(wrong_nominal(robot, rng), TERMS)
    log = log_of(true, theta, exciting_motion(robot, rng, seconds=seconds), rng, noise=noise)
    regression = compress(SampleRows(model, base_parameters(model), (conditioned(log),)))
    constraints = Constraints(**options)
    return Feasible(prior=Prior("map"), constraints=constraints).fit(regression), regression, constraints


def test_standard_deviations_of_links_hold_the_truth(rng):
    panda, masses, centres = load_robot("panda"), [], []
    for _ in range(6):
        estimate, regression, constraints = fitted(panda, rng)
        spreads = link_spreads(estimate, regression, constraints.compile(estimate.model))
        for pi, right, spread in zip(estimate.theta[:70].reshape(-1, 10), panda.nominal, spreads.links, strict=True):
            masses.append(abs(pi[0] - right[0]) <= 1.96 * spread.mass_std)
            centres.append(np.abs(pi[1:4] / pi[0] - right[1:4] / right[0]) <= 1.96 * spread.com_std)
    # 42 masses and 126 coordinates, correlated within a draw; the benchmark measures the coverage itself.
    assert np.mean(masses) >= 0.85
    assert np.mean(centres) >= 0.85


def test_a_number_that_no_torque_shows_keeps_the_prior_and_says_so(rng):
    panda = load_robot("panda")
    estimate, regression, constraints = fitted(panda, rng)
    first = link_spreads(estimate, regression, constraints.compile(estimate.model)).links[0]
    assert first.mass_share < PRIOR_ONLY
    # The mass of the first link turns about a vertical axis: 30 % of its nominal value is all that is known.
    assert first.mass_std == pytest.approx(0.3 * estimate.belief.mean[0], rel=0.02)
    assert 0.0 < first.data_share < 0.5


def test_more_data_leave_less_to_the_prior(rng):
    panda = load_robot("panda")
    shares = []
    for noise in (0.2, 0.002):
        estimate, regression, constraints = fitted(panda, np.random.default_rng(3), noise=noise)
        spreads = link_spreads(estimate, regression, constraints.compile(estimate.model))
        shares.append(np.mean([link.data_share for link in spreads.links]))
    assert shares[1] > shares[0] + 0.1


@pytest.mark.parametrize(
    ("room", "push", "variance"),
    [
        (0.0, 0.0, 1.0),
        (0.3, 0.0, 1.0),
        (0.0, 2.0, 0.5),
        (0.4, 3.0, 2.0),
        (0.1, 6.0, 0.5),
        (0.0, 80.0, 2.0),
        (0.01, 90.0, 2.0),
        (4.0, 0.0, 1.0),
    ],
)
def test_mean_and_second_moment_of_a_cut_normal_are_its_integrals(room, push, variance):
    def density(s):
        return np.exp(-push * (s - room) - (s - room) ** 2 / (2.0 * variance))

    end = 40.0 * min(np.sqrt(variance), 1.0 / max(push, 1e-9)) + room
    total = integrate.quad(density, 0.0, end)[0]
    mean = integrate.quad(lambda s: s * density(s), 0.0, end)[0]
    moment = integrate.quad(lambda s: (s - room) ** 2 * density(s), 0.0, end)[0]
    # Cut off more than six σ out, it is taken for an exponential.
    rel = 1e-6 if push * variance - room < 6.0 * np.sqrt(variance) else 0.01
    assert mean_from_face(room, push, variance) == pytest.approx(mean / total, rel=rel)
    assert second_moment_from_face(room, push, variance) == pytest.approx(moment / total, rel=rel)


def test_a_bound_on_the_mass_that_holds_the_answer_cuts_its_standard_deviation():
    arm = load_robot("spatial2r")
    free, regression, open_ = fitted(arm, np.random.default_rng(1), noise=0.2)
    before = link_spreads(free, regression, open_.compile(free.model))
    lower = float(np.sum(free.theta[0:20:10])) + before.total_mass_std
    held, regression, bound = fitted(arm, np.random.default_rng(1), noise=0.2, total_mass=(lower, 1e3))
    after = link_spreads(held, regression, bound.compile(held.model))
    # A normal cut off one σ above its mean: E[s²] about the cut is 0.475 of its variance.
    assert after.total_mass_std == pytest.approx(np.sqrt(0.475) * before.total_mass_std, rel=0.02)


def test_links_lie_off_the_boundary_where_the_data_allow_it():
    panda = load_robot("panda")
    estimate, regression, constraints = fitted(panda, np.random.default_rng(4), noise=0.05)
    solved = solve(
        (stacked := regression.stacked(estimate.belief.weights)).R,
        stacked.rho,
        estimate.model,
        estimate.base,
        constraints,
        prior=Prior("map"),
    )
    smallest = [
        min(np.linalg.eigvalsh(InertialParameters(pi).pseudo_inertia)[0] for pi in theta[:70].reshape(-1, 10))
        for theta in (solved.theta, estimate.theta)
    ]
    assert smallest[0] < 1e-6, "the case shall have a mode on the boundary"
    assert smallest[1] > 10.0 * smallest[0]
    errors = [regression.residual_power(estimate.base.project(theta)).sum() for theta in (solved.theta, estimate.theta)]
    assert errors[1] < 1.005 * errors[0]


def test_pinned_numbers_have_no_spread(rng):
    arm = load_robot("spatial2r")
    estimate, regression, constraints = fitted(arm, rng, pinned={"m2": 1.0})
    spreads = link_spreads(estimate, regression, constraints.compile(estimate.model))
    # Variances of order one cancel to rounding.
    assert spreads.links[1].mass_std < 1e-6
    assert spreads.links[0].mass_std > 1e-3


def test_every_point_of_a_range_fits_alike_and_none_beyond():
    arm = load_robot("spatial2r")
    estimate, regression, constraints = fitted(arm, np.random.default_rng(2), total_mass=(0.1, 20.0))
    ranges = link_ranges(estimate, regression, constraints)
    weights = estimate.weights
    allowed = 1.001 * np.sum(weights**2 * regression.residual_power(estimate.beta))
    for k, known in enumerate(ranges):
        assert known.mass[0] <= estimate.theta[10 * k] <= known.mass[1]
        com = estimate.theta[10 * k + 1 : 10 * k + 4] / estimate.theta[10 * k]
        assert np.all(known.com[:, 0] <= com + 1e-6)
        assert np.all(com - 1e-6 <= known.com[:, 1])

    def error(mass):
        pinned = Feasible(constraints=Constraints(total_mass=(0.1, 20.0), pinned={"m2": mass})).fit(regression)
        return np.sum(weights**2 * regression.residual_power(pinned.beta))

    low, high = ranges[1].mass
    inside = low + 0.98 * (high - low)
    assert error(inside) <= allowed * 1.001
    if high < 19.0:
        assert error(high * 1.05) > allowed


def test_spreads_and_ranges_come_back_from_the_model_file(tmp_path, rng):
    arm = load_robot("spatial2r")
    estimate, regression, constraints = fitted(arm, rng)
    model = replace(
        IdentifiedModel.of(estimate, regression, settings=LogSettings(), results={}, provenance={}),
        spreads=link_spreads(estimate, regression, constraints.compile(estimate.model)),
        ranges=link_ranges(estimate, regression, constraints),
    )
    save_model(model, tmp_path / "model.json")
    read = load_model(tmp_path / "model.json")
    assert read.spreads.stored() == model.spreads.stored()
    assert [entry.stored() for entry in read.ranges] == [entry.stored() for entry in model.ranges]


def test_links_chosen_among_equal_fits_have_no_standard_deviation(rng):
    arm = load_robot("spatial2r")
    model = TorqueModel(arm, TERMS)
    theta = model.nominal()
    theta[model.n_inertial :] = 0.5
    log = log_of(model, theta, exciting_motion(arm, rng, seconds=10.0), rng)
    regression = compress(SampleRows(model, base_parameters(model), (conditioned(log),)))
    estimate = Feasible(prior=Prior("nominal")).fit(regression)
    assert link_spreads(estimate, regression, Constraints().compile(model)) is None
