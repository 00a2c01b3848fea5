"""The arm simulated forward: physics it must keep, and how well a controller makes it follow."""

import numpy as np
import pinocchio as pin
import pytest

from dynid.arrays import Array
from dynid.chain import Robot, consistency, load_robot
from dynid.chain.inertia import InertialParameters
from dynid.dynamics import Motion, RotorInertia, TorqueModel, Viscous, friction_models
from dynid.errors import ParameterError
from dynid.simulation import closed_loop
from dynid.simulation.closed_loop import STEPPING, Controller, Stepping, tracked, wrong_links
from dynid.simulation.loop_kernels import _rub
from dynid.simulation.motions import smooth_motion, uniform_times
from dynid.simulation.synthetic import plausible_parameters, synthesise
from tests.robots import battery

ROBOTS = ["panda", "wam7", "planar2r", "spatial2r"]
FRICTION = friction_models("viscous+coulomb+offset")
PERFECT = Controller(wrong=0.0)


def energy(robot: Robot, motion: Motion) -> Array:
    data = robot.pinocchio.createData()
    return np.array(
        [
            pin.computeKineticEnergy(robot.pinocchio, data, q, dq)
            + pin.computePotentialEnergy(robot.pinocchio, data, q)
            for q, dq in zip(motion.q, motion.dq, strict=True)
        ]
    )


def released(
    model: TorqueModel, theta: Array, t: Array, q_start: Array, dq_start: Array, *, stepping: Stepping = STEPPING
) -> Motion:
    """The motion of the arm left to itself, without any drive torque."""
    still = np.repeat(q_start[None], len(t), axis=0)
    nothing = Controller(nominal=np.zeros((model.n_dof, 10)))
    unmoved = Motion(t, still, np.zeros_like(still), np.zeros_like(still))
    rng = np.random.default_rng(0)
    return tracked(model, theta, unmoved, nothing, rng, stepping=stepping, q_start=q_start, dq_start=dq_start).motion


def drift(robot: Robot, longest: float, rng: np.random.Generator) -> float:
    model = TorqueModel(robot)
    q, dq = rng.normal(size=(2, robot.n_dof)) * 0.5
    t = uniform_times(0.0, 1.0, 50.0)
    motion = released(model, model.nominal(), t, q, dq, stepping=Stepping(longest=longest))
    levels = energy(robot, motion)
    swing = np.ptp([pin.computePotentialEnergy(robot.pinocchio, robot.pinocchio.createData(), q) for q in motion.q])
    return float(np.max(np.abs(levels - levels[0])) / swing)


@pytest.mark.parametrize("robot", [r for r in battery() if r.n_dof <= 3], ids=lambda robot: robot.name)
def test_a_free_arm_keeps_its_energy(robot, rng):
    # Relative to what flows between potential and kinetic energy; second order: 2.5e-4² times some powers of the swing.
    assert drift(robot, 2.5e-4, rng) < 1e-5


def test_the_energy_drift_falls_with_the_square_of_the_step():
    coarse, fine = (drift(load_robot("planar2r"), step, np.random.default_rng(4)) for step in (4e-3, 1e-3))
    assert coarse / fine > 14.0  # 16 for order two, 64 for three


def test_friction_only_takes_energy_and_brings_the_arm_to_rest():
    robot = load_robot("planar2r").with_gravity([0.0, 0.0, 0.0])
    model = TorqueModel(robot, friction_models("viscous+coulomb"))
    theta = plausible_parameters(TorqueModel(load_robot("planar2r"), friction_models("viscous+coulomb")))
    motion = released(model, theta, uniform_times(0.0, 3.0, 200.0), np.zeros(2), np.array([1.0, -2.0]))
    levels = energy(robot, motion)
    assert np.all(np.diff(levels) <= 1e-12)
    assert np.max(np.abs(motion.dq[-50:])) < 1e-8  # at rest, without chatter


def test_a_joint_within_its_dry_friction_stays_where_it_is():
    model = TorqueModel(load_robot("planar2r"), friction_models("coulomb"))
    theta = plausible_parameters(model)
    theta[model.n_inertial :] = 20.0  # gravity asks for 7.1 N·m at most
    motion = released(model, theta, uniform_times(0.0, 2.0, 100.0), np.zeros(2), np.zeros(2))
    # It creeps by at most the slip speed times the share of the friction that is used.
    assert np.max(np.abs(motion.dq)) < 0.5e-3


def test_dry_friction_is_solved_for_stiff_and_light_joints_alike(rng):
    h, slip = 5e-4, 1e-3
    for _ in range(300):
        n = int(rng.integers(1, 9))
        factor = np.tril(rng.normal(size=(n, n))) * 10.0 ** rng.uniform(-3.0, 0.5, (n, 1))
        M = factor @ factor.T + 1e-5 * np.diag(10.0 ** rng.uniform(-1.0, 1.0, n))
        dry = 10.0 ** rng.uniform(-2.0, 2.0, n) * (rng.random(n) < 0.8)
        free, v = rng.normal(size=(2, n))
        _rub(M, free, h, dry, slip, v)
        balance = M @ (v - free) + h * dry * np.clip(v / slip, -1.0, 1.0)
        size = np.abs(M) @ np.abs(v - free) + h * dry
        assert np.all(np.abs(balance) <= 1e-6 * size)  # rounding, times the condition number of M


@pytest.mark.parametrize("name", ROBOTS)
def test_a_perfect_model_without_friction_tracks_exactly(name, rng):
    model = TorqueModel(load_robot(name))
    commanded = smooth_motion(model.robot, rng, duration=2.0)
    run = tracked(model, model.nominal(), commanded, PERFECT, rng)
    # Second order at 5e-4 s: h² times jerk and its derivative over the control bandwidth.
    np.testing.assert_allclose(run.motion.q, commanded.q, atol=1e-5)
    np.testing.assert_allclose(run.motion.dq, commanded.dq, atol=1e-4)
    assert np.max(np.abs(run.tau - model.torque(commanded, model.nominal()))) < 1e-3 * np.max(np.abs(run.tau))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_wrong_model_tracks_another_motion_that_stays_near(name, rng):
    model = TorqueModel(load_robot(name), FRICTION)
    theta = plausible_parameters(model)
    commanded = smooth_motion(model.robot, rng, duration=5.0)
    error = [
        np.abs(tracked(model, theta, commanded, Controller(wrong=0.2, natural_frequency=w), rng).motion.q - commanded.q)
        for w in (20.0, 60.0)
    ]
    assert np.max(error[0]) > 1e-3
    assert np.max(error[0]) < 0.6  # rad
    assert np.max(error[1]) < 0.5 * np.max(error[0])  # stiffer control follows better


@pytest.mark.parametrize("name", ROBOTS)
def test_torque_motion_and_parameters_agree_wherever_a_joint_slips(name, rng):
    model = TorqueModel(load_robot(name), (*FRICTION, RotorInertia()))
    theta = plausible_parameters(model)
    theta[model.n_inertial + len(model.terms) - 1 :: len(model.terms)] = 0.01
    run = tracked(model, theta, smooth_motion(model.robot, rng, duration=3.0), Controller(), rng)
    slips = np.abs(run.motion.dq) > 1e-3
    assert np.mean(slips) > 0.7
    mismatch = np.abs(model.torque(run.motion, theta) - run.tau) / np.max(np.abs(run.tau))
    assert np.max(mismatch[slips]) < 1e-12


def test_an_initial_error_decays_critically_damped(rng):
    model = TorqueModel(load_robot("panda"))
    omega, t = 8.0, uniform_times(0.0, 1.5, 200.0)
    centre = np.array([np.clip(0.0, joint.limits.lower, joint.limits.upper) for joint in model.robot.joints])
    still = Motion(t, np.tile(centre, (len(t), 1)), np.zeros((len(t), 7)), np.zeros((len(t), 7)))
    away = 0.1 * np.arange(1.0, 8.0)
    controller = Controller(natural_frequency=omega, wrong=0.0)
    run = tracked(model, model.nominal(), still, controller, rng, q_start=centre + away)
    expected = away * ((1.0 + omega * t) * np.exp(-omega * t))[:, None]
    np.testing.assert_allclose(run.motion.q - centre, expected, atol=1e-5)


def test_halving_the_step_changes_little_with_stiff_dry_friction(rng):
    # The wrist of the WAM weighs 7e-5 kg·m²: its own friction could stop it from 1 rad/s within a step.
    model = TorqueModel(load_robot("wam7"), FRICTION)
    theta = plausible_parameters(model)
    theta[model.index("fc7")] = 0.05
    commanded = smooth_motion(model.robot, rng, duration=2.0)
    runs = [
        tracked(model, theta, commanded, PERFECT, rng, stepping=Stepping(longest=step)).motion.q
        for step in (1e-3, 2.5e-4)
    ]
    assert np.max(np.abs(runs[0] - runs[1])) < 2e-3


def test_wrong_links_are_wrong_by_as_much_as_asked_and_stay_possible(rng):
    links = load_robot("panda").nominal
    draws = np.array([wrong_links(links, 0.2, rng) for _ in range(200)])
    assert all(consistency(InertialParameters(pi)).holds for pi in draws[:20].reshape(-1, 10))
    masses = draws[:, :, 0] / links[:, 0] - 1.0
    assert np.max(np.abs(masses)) <= 0.2
    assert np.std(masses) == pytest.approx(0.2 / np.sqrt(3.0), rel=0.05)  # uniform; 1400 draws
    np.testing.assert_allclose(wrong_links(links, 0.0, rng), links, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"natural_frequency": -1.0}, "natural_frequency is -1.0"),
        ({"wrong": 1.5}, "below 1"),
        ({"damping_ratio": np.nan}, "damping_ratio is nan"),
    ],
)
def test_impossible_controllers_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Controller(**options)


def test_bad_arms_and_loops_are_refused_with_the_time(rng):
    model = TorqueModel(load_robot("planar2r"), friction_models("coulomb"))
    theta = plausible_parameters(model)
    commanded = smooth_motion(model.robot, rng, duration=1.0)
    with pytest.raises(ParameterError, match=r"true mass matrix is not positive definite at 0\.0000 s"):
        tracked(
            model,
            np.concatenate([-theta[:20], theta[20:]]),
            commanded,
            Controller(nominal=theta[:20].reshape(2, 10)),
            rng,
        )
    with pytest.raises(ParameterError, match=r"runs away at \d"):
        tracked(model, theta, commanded, Controller(nominal=-theta[:20].reshape(2, 10)), rng)
    with pytest.raises(ParameterError, match="dry friction of joint2 is negative"):
        tracked(model, np.concatenate([theta[:21], [-1.0]]), commanded, PERFECT, rng)
    with pytest.raises(ParameterError, match=r"nominal has shape \(1, 10\)"):
        tracked(model, theta, commanded, Controller(nominal=np.zeros((1, 10))), rng)
    with pytest.raises(ParameterError, match="slip_speed is 0"):
        Stepping(slip_speed=0.0)


class Spring(Viscous):
    """A joint model that depends on position."""

    name = "spring"

    def columns(
        self, motion: Motion, *, load: Array | None = None, states: Array | None = None, out: Array | None = None
    ) -> Array:
        out = np.empty((*motion.q.shape, 1)) if out is None else out
        out[:, :, 0] = motion.q
        return out


def test_friction_that_depends_on_more_than_velocity_is_refused_in_closed_loop(rng):
    model = TorqueModel(load_robot("planar2r"), (Spring(),))
    theta = np.concatenate([model.nominal()[:20], [1.0, 1.0]])
    with pytest.raises(ParameterError, match="spring depends on more than velocity"):
        tracked(model, theta, smooth_motion(model.robot, rng, duration=1.0), PERFECT, rng)


def test_a_loop_simulated_in_pieces_is_the_same_and_tells_its_progress(monkeypatch):
    robot = load_robot("planar2r")
    model = TorqueModel(robot, friction_models("viscous+coulomb"))
    motion = smooth_motion(robot, np.random.default_rng(0), kind="fourier", duration=1.0, rate_hz=100.0)
    runs = []
    told: list[float] = []
    for piece in (10_000, 7):
        monkeypatch.setattr(closed_loop, "PIECE", piece)
        theta = plausible_parameters(model)
        rng = np.random.default_rng(1)
        runs.append(synthesise(model, motion, rng, theta=theta, controller=Controller(), progress=told.append))
    np.testing.assert_array_equal(runs[0].tau, runs[1].tau)
    np.testing.assert_array_equal(runs[0].recording.q, runs[1].recording.q)
    assert told[0] == told[-1] == 1.0
    assert len(told) == 1 + -(-(motion.n_samples - 1) // 7)
    assert told[1:] == sorted(told[1:])
