"""What the property tests draw: robots, motions, links and logs; everything follows from a seed, so it shrinks well."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dynid.chain import InertialParameters, Robot
from dynid.dynamics import Motion
from dynid.recording import Recording
from tests.robots import random_link, random_robot

seeds = st.integers(0, 2**32 - 1)


# Robots, links and logs are built inside the tests: the checks of shapes use Python's random numbers, which strategies
# must not.
robots = st.tuples(seeds, st.integers(1, 5))
"""Seed and number of joints, for `robot_of`."""
links = st.tuples(seeds, st.floats(-3.0, 1.0), st.floats(-6.0, 6.0))
"""Seed, and powers of ten of size and mass, for `link_of`."""
logs = st.tuples(seeds, st.integers(25, 40), st.sampled_from([0.0, -3.0, 1.7e9]), st.integers(-12, 12))
"""Seed, number of samples, first time in s (also that of a Unix clock) and power of ten, for `recording_of`."""


def robot_of(drawn: tuple[int, int]) -> Robot:
    """A tree of revolute and prismatic joints under any gravity."""
    seed, n_joints = drawn
    return random_robot(np.random.default_rng(seed), n_joints)


def link_of(drawn: tuple[int, float, float]) -> InertialParameters:
    """A possible body from a milligram to a thousand tonnes, of any size."""
    seed, size, mass = drawn
    return InertialParameters(random_link(np.random.default_rng(seed), scale=10.0**size).pi * 10.0**mass)


def motion_of(robot: Robot, seed: int, n_samples: int = 5) -> Motion:
    """States of any size up to a few rad, rad/s and rad/s²."""
    q, dq, ddq = np.random.default_rng(seed).normal(size=(3, n_samples, robot.n_dof)) * 2.0
    return Motion(np.arange(n_samples, dtype=float), q, dq, ddq)


def recording_of(drawn: tuple[int, int, float, int], joints: tuple[str, ...]) -> Recording:
    """A log at increasing, uneven times, with numbers of any size."""
    seed, n_samples, start, power = drawn
    rng = np.random.default_rng(seed)
    t = start + np.cumsum(rng.uniform(1e-3, 0.1, n_samples))
    q, dq, tau = rng.normal(size=(3, n_samples, len(joints))) * 10.0**power
    return Recording(joints, t, q, dq=dq, tau=tau)
