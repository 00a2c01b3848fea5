"""The momentum observer: exact momenta, external torque, collisions, no false flags."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from dynid.chain import load_robot
from dynid.dynamics import (
    LagrangianModel,
    Motion,
    RotorInertia,
    TorqueModel,
    base_parameters,
    friction_models,
    random_motion,
)
from dynid.errors import TrackingError
from dynid.tracking import ContactObserver, Sample
from dynid.tracking.contact import inertia_matrix, momentum
from tests.robots import BATTERY

PANDA = TorqueModel(load_robot("panda"))
THETA = PANDA.nominal()


def fourier(robot, t, seed, *, base_hz=0.2):
    """Three harmonics a joint, inside the limits."""
    rng = np.random.default_rng(seed)
    lower, upper = (np.array([getattr(joint.limits, side) for joint in robot.joints]) for side in ("lower", "upper"))
    q, dq, ddq = np.tile((lower + upper) / 2.0, (len(t), 1)), np.zeros((len(t), 7)), np.zeros((len(t), 7))
    for k in range(1, 4):
        omega, amplitude = 2.0 * np.pi * base_hz * k, (upper - lower) / 4.0 / 3.0 / k
        angle = omega * t[:, None] + rng.uniform(0.0, 2.0 * np.pi, robot.n_dof)
        q += amplitude * np.sin(angle)
        dq += amplitude * omega * np.cos(angle)
        ddq -= amplitude * omega**2 * np.sin(angle)
    return Motion(t, q, dq, ddq)


def flange_jacobian(q):
    model = PANDA.robot.pinocchio
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    frame = model.getFrameId(PANDA.robot.link_names[-1])
    return pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)[:3]


@pytest.fixture(scope="module")
def minute():
    """60 s of excitation at 1 kHz with torque noise of 1 % of the largest torque and velocity noise."""
    rng = np.random.default_rng(1)
    motion = fourier(PANDA.robot, 1e-3 * np.arange(60_000), 0)
    tau = PANDA.torque(motion, THETA)
    noise = 0.01 * np.max(np.abs(tau), axis=0)
    dq = motion.dq + 1e-3 * rng.standard_normal(motion.dq.shape)
    return motion, dq, tau + noise * rng.standard_normal(tau.shape), noise


@pytest.mark.parametrize("robot", BATTERY, ids=lambda robot: robot.name)
def test_momentum_its_drift_and_gravity_are_those_of_the_lagrangian(robot, rng):
    model = TorqueModel(robot)
    base = base_parameters(model)
    lagrangian = LagrangianModel(model, base, base.project(model.nominal()))
    observer = ContactObserver(model=model, noise=np.ones(robot.n_dof)).start(model.nominal())
    motion = random_motion(robot, 3, rng)
    M, C = lagrangian.inertia_matrix(motion.q), lagrangian.coriolis_matrix(motion.q, motion.dq)
    g = lagrangian.gravity(motion.q)
    for k in range(3):
        out = np.zeros((3, robot.n_dof))
        momentum(observer._rows, np.array(motion.q[k]), np.array(motion.dq[k]), observer.theta, observer._work, out)
        for row, expected in zip(out, (M[k] @ motion.dq[k], C[k].T @ motion.dq[k], g[k]), strict=True):
            np.testing.assert_allclose(row, expected, rtol=1e-8, atol=1e-8 * max(1.0, np.max(np.abs(g))))
        found = inertia_matrix(observer._rows, np.array(motion.q[k]), observer.theta, observer._work)
        np.testing.assert_allclose(found, M[k], atol=1e-8 * max(1.0, np.max(np.abs(M))))


@pytest.mark.parametrize("coupling", [0.0, 0.4])
def test_a_constant_push_is_seen_at_its_size_with_the_rotors_counted(coupling):
    robot = load_robot("panda")
    if coupling:  # motors 5 and 6 also move with the joint before theirs
        robot = replace(robot, transmission=np.eye(7) + coupling * np.diag([0, 0, 0, 1, 1, 0], -1))
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous+tanh")))
    theta = model.nominal() + np.where(np.arange(model.n_params) >= 70, 0.3, 0.0)
    motion = fourier(model.robot, 1e-3 * np.arange(2000), 3)
    push = np.array([3.0, -2.0, 1.0, 4.0, -0.5, 0.5, 0.2])
    tau = model.torque(motion, theta) - push
    observer = ContactObserver(model=model, noise=np.full(7, 0.1)).start(theta)
    for k in range(2000):
        reading = observer.step(Sample(motion.t[k], motion.q[k], motion.dq[k], None, tau[k]))
    np.testing.assert_allclose(reading.torque, push, atol=0.05)  # the trapezoid rule at 1 kHz, behind 1/K


def observed(observer, t, q, dq, tau):
    """The reading after every sample of a block."""
    return [observer.step(Sample(t[k], q[k], dq[k], None, tau[k])) for k in range(len(t))]


def test_no_false_flag_in_a_minute_of_excitation(minute):
    motion, dq, tau, noise = minute
    observer = ContactObserver(model=PANDA, noise=noise).start(THETA)
    readings = observed(observer, motion.t, motion.q, dq, tau)
    assert not any(reading.collision for reading in readings)
    torque = np.array([reading.torque for reading in readings[1000:]])
    assert np.all(np.max(np.abs(torque), axis=0) < observer.threshold)


@pytest.mark.parametrize("trial", range(20))
def test_ten_newtons_at_the_flange_are_flagged_within_twenty_milliseconds(minute, trial):
    motion, dq, tau, noise = minute
    rng = np.random.default_rng(trial)
    start = int(rng.integers(3000, 50_000))
    force = rng.standard_normal(3)
    force *= 10.0 / np.linalg.norm(force)
    observer = ContactObserver(model=PANDA, noise=noise).start(THETA)
    before = slice(start - 1200, start)
    quiet = observed(observer, motion.t[before], motion.q[before], dq[before], tau[before])
    assert not any(reading.collision for reading in quiet)
    flagged = [
        observer.step(
            Sample(motion.t[k], motion.q[k], dq[k], None, tau[k] - flange_jacobian(motion.q[k]).T @ force)
        ).collision
        for k in range(start, start + 21)
    ]
    assert any(flagged)


def test_a_bad_sample_changes_nothing_and_a_pause_starts_afresh():
    observer = ContactObserver(model=PANDA, noise=np.full(7, 0.3)).start(THETA)
    still = Motion.at_rest(np.zeros((1, 7)))
    tau = PANDA.torque(still, THETA)[0]
    sample = Sample(0.0, np.zeros(7), np.zeros(7), None, tau)
    observer.step(sample)
    observer.step(sample._replace(t=0.001, tau=np.full(7, np.nan)))
    np.testing.assert_array_equal(observer.torque, np.zeros(7))
    observer.step(sample._replace(t=5.0, tau=tau + 100.0))
    np.testing.assert_array_equal(observer.torque, np.zeros(7))


def test_the_observer_needs_velocity_torque_and_sound_options():
    observer = ContactObserver(model=PANDA, noise=np.full(7, 0.3)).start(THETA)
    with pytest.raises(TrackingError, match="needs velocities and torques"):
        observer.step(Sample(0.0, np.zeros(7)))
    with pytest.raises(TrackingError, match="gain and level"):
        ContactObserver(model=PANDA, noise=np.full(7, 0.3), gain=0.0)
    with pytest.raises(TrackingError, match="7 joints but 2 torque noise levels"):
        ContactObserver(model=PANDA, noise=np.ones(2))
