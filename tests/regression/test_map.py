"""Maximum a posteriori links: data and prior as one programme."""

import numpy as np
import pytest

from dynid import Feasible, TorqueModel, base_parameters, load_robot
from dynid.chain.inertia import InertialParameters
from dynid.dynamics import RotorInertia, friction_models, random_motion
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.estimate import LinkBelief
from dynid.regression.feasible.link_prior import GEOMETRY_STD, base_prior_rows, believed_base_rows, link_prior
from dynid.regression.feasible.prior import NOMINAL_STD, Prior, Rule
from dynid.regression.feasible.programme import solve
from dynid.regression.problem import compress
from dynid.regression.rows import SampleRows
from dynid.regression.status import Status
from tests.regression.arms import conditioned, exciting_motion, log_of

TERMS = (RotorInertia(), *friction_models("viscous+coulomb+offset"))


def wrong_copy(robot, rng, share):
    """The robot with nominal links that differ by about `share` from the true ones."""
    links = {}
    for name, pi in zip(robot.link_names, robot.nominal, strict=True):
        body = InertialParameters(pi)
        mass = body.mass * (1.0 + share * rng.choice([-1.0, 1.0]))
        com = body.com + share * 0.1 * rng.normal(size=3)
        links[name] = InertialParameters.from_com(mass, com, body.inertia_com * mass / body.mass)
    return robot.with_nominal(links)


def noisy_rows(model, theta, rng, *, noise, n_samples=400):
    """R and ρ in units of the noise (N·m), which is the same at every joint."""
    base = base_parameters(model)
    motion = random_motion(model.robot, n_samples, rng)
    W = model.regressor(motion).reshape(-1, model.n_params)
    tau = W @ theta + noise * rng.normal(size=len(W))
    Q, R = np.linalg.qr(base.reduce(W))
    return base, R / noise, Q.T @ tau / noise


def truth_of(model, rng):
    theta = model.nominal()
    theta[model.n_inertial :] = rng.uniform(0.2, 1.0, model.n_params - model.n_inertial)
    return theta


@pytest.mark.parametrize("joint_std", [np.inf, 0.3])
def test_where_no_condition_is_active_it_is_the_solution_of_the_normal_equations(rng, joint_std):
    panda = load_robot("panda")
    balls = {name: InertialParameters.from_com(2.0, [0.01, 0.02, 0.05], 0.03 * np.eye(3)) for name in panda.link_names}
    model = TorqueModel(panda.with_nominal(balls), TERMS)
    truth = truth_of(model, rng)
    base, R, rho = noisy_rows(model, truth, rng, noise=0.1)
    prior, joint_stds = Prior(rule="map", std=0.1), np.full(model.n_params - 70, joint_std)
    found = solve(R, rho, model, base, prior=prior, joint_std=joint_stds)
    known = link_prior(model, Constraints(), prior, truth, joint_std=joint_stds)
    x0, F = known.reference.x_target, R @ base.K @ known.reference.S
    H = F.T @ F + np.diag(known.pull**2)
    free = known.reference.S @ np.linalg.lstsq(H, F.T @ rho + known.pull**2 * x0, rcond=None)[0]
    inside = [np.linalg.eigvalsh(InertialParameters(pi).pseudo_inertia)[0] for pi in found.theta[:70].reshape(-1, 10)]
    assert found.status is Status.CONVERGED
    assert min(inside) > 1e-6, "the case shall have no active condition"
    np.testing.assert_allclose(base.project(found.theta), base.project(free), rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(found.theta[:70], free[:70], rtol=5e-3, atol=2e-3)


def test_masses_are_nearer_the_truth_than_among_equal_fits(rng):
    right = load_robot("panda")
    rules: tuple[Rule, ...] = ("map", "nominal")
    errors: dict[Rule, list[float]] = {rule: [] for rule in rules}
    for _ in range(4):
        model = TorqueModel(wrong_copy(right, rng, 0.1), TERMS)
        theta = truth_of(model, rng)
        theta[: model.n_inertial] = right.nominal.ravel()
        base, R, rho = noisy_rows(model, theta, rng, noise=0.5, n_samples=150)
        for rule, found in errors.items():
            masses = solve(R, rho, model, base, prior=Prior(rule=rule)).theta[:70:10]
            found.append(np.mean(np.abs(masses / right.nominal[:, 0] - 1.0)))
    assert np.mean(errors["map"]) < 0.11
    assert np.mean(errors["map"]) < 0.6 * np.mean(errors["nominal"])


def test_joint_terms_have_no_prior(rng):
    model = TorqueModel(load_robot("planar2r"), TERMS)
    theta = truth_of(model, rng)
    base, R, rho = noisy_rows(model, theta, rng, noise=0.02)
    tight = solve(R, rho, model, base, prior=Prior(rule="map", std=1e-3))
    free = base.lift(np.linalg.solve(R, rho))
    friction = [k for k in base.independent if k >= model.n_inertial and base.symbols[k] in base.alone]
    assert len(friction) >= 6
    sigma = np.sqrt(np.diag(np.linalg.inv(R.T @ R)))[[list(base.independent).index(k) for k in friction]]
    assert np.all(np.abs(tight.theta[friction] - free[friction]) < 4.0 * sigma)
    assert np.all(np.abs(tight.theta[friction] - theta[friction]) < 4.0 * sigma)


def test_a_friction_term_that_no_torque_shows_stays_at_zero(rng):
    viscous, coulomb = friction_models("viscous+coulomb")
    model = TorqueModel(load_robot("planar2r"), (viscous, coulomb.only_on((True, False))))
    theta = truth_of(model, rng)
    base, R, rho = noisy_rows(model, theta, rng, noise=0.02)
    found = solve(R, rho, model, base, prior=Prior(rule="map"))
    assert abs(found.theta[model.n_inertial + 3]) < 1e-6


@pytest.mark.parametrize("heavier", [1.0, 30.0])
def test_without_nominal_links_the_data_tell_how_heavy_the_plain_ones_are(heavier, rng):
    robot = load_robot("panda")
    model = TorqueModel(robot.with_nominal(dict.fromkeys(robot.link_names)), friction_models("viscous"))
    theta = np.concatenate([heavier * robot.nominal.ravel(), heavier * np.full(7, 0.5)])
    base, R, rho = noisy_rows(model, theta, rng, noise=0.1 * heavier)
    found = solve(R, rho, model, base, prior=Prior(rule="map"))
    total, true = np.sum(found.theta[:70:10]), heavier * np.sum(robot.nominal[:, 0])
    assert 0.4 * true < total < 2.5 * true
    assert "geometry" in found.rule
    assert np.max(np.abs(R @ (base.project(found.theta) - base.project(theta)))) < 0.02 * np.linalg.norm(rho)


def test_the_prior_of_base_parameters_is_that_of_the_links(rng):
    model = TorqueModel(load_robot("panda"))
    base = base_parameters(model)
    rows = base_prior_rows(model, base, Prior(rule="map", std=0.3))
    known = link_prior(model, Constraints(), Prior(rule="map", std=0.3), np.zeros(model.n_params))
    draws = known.reference.x_target + 0.3 * rng.normal(size=(4000, model.n_params))
    betas = draws @ known.reference.S.T @ base.K.T
    distance = betas @ rows[:, :-1].T - rows[:, -1]
    np.testing.assert_allclose(np.mean(distance, axis=0), 0.0, atol=0.08)
    np.testing.assert_allclose(np.cov(distance.T), np.eye(base.n_base), atol=0.12)


def test_what_a_fit_believes_of_guessed_links_is_a_prior_of_base_parameters(rng):
    robot = load_robot("panda")
    model = TorqueModel(robot.with_nominal(dict.fromkeys(robot.link_names)), (RotorInertia(),))
    base, n = base_parameters(model), model.n_inertial
    bodies = robot.nominal.ravel()
    belief = LinkBelief(
        bodies,
        0.2 * np.diag(np.abs(bodies) + 0.1),
        np.ones(7),
        np.full(7, 0.2),
        np.ones(7, dtype=bool),
        np.full(7, np.inf),
    )
    rows = believed_base_rows(model, base, belief)
    links = belief.mean + rng.normal(size=(4000, n)) @ belief.factor.T
    # Rotors may have any size that these links let one think of: zero lies within.
    betas = links @ base.K[:, :n].T
    distance = betas @ rows[:, :-1].T - rows[:, -1]
    shown = np.linalg.norm(rows[:, :-1] @ base.K[:, n:], axis=1) < 1e-9  # rows that rotors have no part in
    assert np.count_nonzero(shown) > base.n_base // 2
    np.testing.assert_allclose(np.mean(distance[:, shown], axis=0), 0.0, atol=0.08)
    assert np.all(np.var(distance, axis=0) < 1.15)


def test_joint_terms_are_known_to_make_no_more_torque_than_their_joint_has(rng):
    model = TorqueModel(load_robot("planar2r"), TERMS)
    recording = log_of(model, truth_of(model, rng), exciting_motion(model.robot, rng, seconds=10.0), rng)
    regression = compress(SampleRows(model, base_parameters(model), (conditioned(recording),)))
    belief = Feasible(prior=Prior(rule="map")).fit(regression).belief
    assert belief is not None
    for k, std in enumerate(belief.joint_std):
        alone = regression.base.K[:, model.n_inertial + k] * std
        made = 0.5 * (regression.residual_power(alone) + regression.residual_power(-alone)) - regression.power()
        joint = k // len(model.terms)
        np.testing.assert_allclose(made[joint], regression.power()[joint], rtol=1e-6)
        np.testing.assert_allclose(np.delete(made, joint), 0.0, atol=1e-6 * regression.power()[joint])


def test_guesses_alone_give_no_prior_of_base_parameters():
    robot = load_robot("panda")
    model = TorqueModel(robot.with_nominal(dict.fromkeys(robot.link_names)))
    assert base_prior_rows(model, base_parameters(model), Prior(rule="map")) is None


def test_guesses_that_the_data_contradict_are_given_the_spread_that_maximises_the_evidence(rng):
    panda = load_robot("panda")
    model = TorqueModel(panda.with_nominal(dict.fromkeys(panda.link_names)), friction_models("viscous+coulomb"))
    truth = np.concatenate([panda.nominal.ravel(), rng.uniform(0.2, 1.0, 14)])
    base, R, rho = noisy_rows(model, truth, rng, noise=0.5)
    found = solve(R, rho, model, base, prior=Prior(rule="map"))
    assert found.known is not None
    assert np.all(found.known.std > 1.1)
    ratio = found.known.likeliest_std(R @ base.K, found.theta) / found.known.std
    assert np.all(np.abs(np.log(ratio)) < np.log(1.1))  # the factor within which a spread stands
    at_first = link_prior(model, Constraints(), Prior(rule="map"), truth)
    assert np.all(at_first.std == 1.0)
    assert f"± {100 * found.known.std[0]:.0f} %" in found.rule


def test_the_data_determine_as_many_coordinates_as_the_spread_counts(rng):
    panda = load_robot("panda")
    model = TorqueModel(panda.with_nominal(dict.fromkeys(panda.link_names)))
    base, R, _ = noisy_rows(model, TorqueModel(panda).nominal(), rng, noise=5.0)
    known = link_prior(model, Constraints(), Prior(rule="map"), TorqueModel(panda).nominal())
    away = known.reference.x_target + 2.0 * rng.normal(size=model.n_params) * known.std.repeat(10)
    values = np.linalg.svd(R @ base.K @ known.reference.S * known.std.repeat(10), compute_uv=False) ** 2
    distance = np.sum((away - known.reference.x_target) ** 2)
    expected = np.sqrt(distance / np.sum(values / (1.0 + values)))
    assert 1.0 < expected < 10.0, "the case shall be within the limits of a spread"
    found = known.likeliest_std(R @ base.K, known.reference.S @ away)
    np.testing.assert_allclose(found, expected, rtol=1e-6)  # an inverse against singular values


def scaled_links(robot, factors):
    """The robot with nominal links times a factor each."""
    parts = zip(robot.link_names, robot.nominal, factors, strict=True)
    return robot.with_nominal({name: InertialParameters(factor * pi) for name, pi, factor in parts})


def found_links(robot, nominal, std, *, noise=0.1, seed=0):
    """The answer on rows of the true `robot` where its file says `nominal`."""
    rng = np.random.default_rng(seed)
    model = TorqueModel(nominal, TERMS)
    theta = truth_of(model, rng)
    theta[: model.n_inertial] = robot.nominal.ravel()
    base, R, rho = noisy_rows(model, theta, rng, noise=noise, n_samples=100)
    return solve(
        R, rho, model, base, prior=Prior(rule="map", widened=True) if std is None else Prior(rule="map", std=std)
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_file_that_is_nearly_right_keeps_its_spread(seed):
    panda = load_robot("panda")
    found = found_links(panda, wrong_copy(panda, np.random.default_rng(seed), 0.1), None, seed=seed)
    assert np.all(found.known.std == NOMINAL_STD)
    assert found.rule == "maximum a posteriori: nominal links ± 30 %"


@pytest.mark.parametrize("link", [2, 3])
def test_one_link_that_is_far_off_is_believed_less_and_comes_nearer_the_truth(link):
    panda = load_robot("panda")
    nominal = scaled_links(panda, np.where(np.arange(7) == link, 0.2, 1.0))
    held, loose = (found_links(panda, nominal, std) for std in (NOMINAL_STD, None))
    errors = [np.linalg.norm(found.theta[10 * link :][:4] - panda.nominal[link, :4]) for found in (held, loose)]
    assert errors[1] < 0.8 * errors[0]
    assert np.sum(np.abs(loose.theta[:70:10] - panda.nominal[:, 0])) < 0.9 * np.sum(
        np.abs(held.theta[:70:10] - panda.nominal[:, 0])
    )
    assert loose.known.std[link] > 0.6
    assert np.max(np.delete(loose.known.std, link)) < 0.4, "the others shall not suffer for it"
    assert f"± 30 %, {panda.link_names[link]} ± " in loose.rule


def test_where_every_link_is_wrong_none_is_believed_as_before_and_none_less_than_a_guess():
    panda = load_robot("panda")
    found = found_links(panda, scaled_links(panda, np.full(7, 0.1)), None)
    assert np.all(found.known.std > NOMINAL_STD)
    assert np.all(found.known.std <= GEOMETRY_STD)


def test_a_spread_that_is_given_stands():
    panda = load_robot("panda")
    found = found_links(panda, scaled_links(panda, np.full(7, 0.2)), 0.2)
    assert np.all(found.known.std == 0.2)
    assert found.rule == "maximum a posteriori: nominal links ± 20 %"
