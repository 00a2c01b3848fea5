"""A robot as constant arrays for the compiled recursions, the arrays they work in, and threads over their samples."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from dynid.arrays import Array, readonly, skew
from dynid.chain.robot import BASE, Joint, Robot
from dynid.dynamics.threads import n_threads

__all__ = ["LANES", "ChainArrays", "LaneArrays", "chain_arrays", "in_chunks", "lane_shapes", "on_free_base"]

LANES = 16
"""Samples computed side by side."""
CHUNK = 2048
"""Samples handed to a thread at a time: large against the cost of handing over."""


class ChainArrays(NamedTuple):
    r"""A robot as constant arrays for the kernels; SI.

    The twelve numbers of link i's pose in its parent's frame (rotation row by row, then origin) are
    :math:`\cos q\,P_c + \sin q\,P_s + q\,P_q + P_0`, for revolute and prismatic joints alike.
    """

    parent: Array
    pose_cos: Array
    pose_sin: Array
    pose_linear: Array
    pose_constant: Array
    S: Array
    """(n_dof, 6) motion subspace in the link frame: linear, angular."""
    gravity: Array


class LaneArrays(NamedTuple):
    """What a recursion computes for one block of lanes; whoever calls it makes the arrays (see `lane_shapes`)."""

    E: Array
    """Poses of the links in their parents: rotation, then origin."""
    X: Array
    """What the wrenches of the links need."""
    V: Array
    """Velocities and accelerations of the links."""
    s: Array
    """Subspaces of all joints in the frames of all links."""
    y: Array
    """One joint's row over the ten parameters of one link."""
    u: Array
    """cos q, sin q, q, dq and ddq of one joint."""
    base: Array
    """Velocity and acceleration of the base."""
    f: Array
    """Wrenches of the links."""


def lane_shapes(n_dof: int) -> tuple[tuple[int, ...], ...]:
    """Shapes of the arrays of a `LaneArrays`, in its order; all are float64 and are filled before they are read."""
    L = LANES
    return (
        (n_dof, 12 * L),
        (n_dof, 18 * L),
        (n_dof, 12 * L),
        (n_dof**2, 6 * L),
        (10 * L,),
        (5 * L,),
        (12 * L,),
        (n_dof, 6 * L),
    )


def chain_arrays(robot: Robot) -> ChainArrays:
    """The constant arrays of a robot, SI."""
    parts = [_joint_arrays(joint) for joint in robot.joints]
    cos, sin, linear, constant, S = (readonly(np.array([part[k] for part in parts])) for k in range(5))
    parent = robot.parents
    parent.setflags(write=False)
    return ChainArrays(parent, cos, sin, linear, constant, S, readonly(robot.gravity))


def _joint_arrays(joint: Joint) -> tuple[Array, ...]:
    R0, p0 = joint.T_parent_joint[:3, :3], joint.T_parent_joint[:3, 3]
    R_off, p_off = joint.T_joint_link[:3, :3], joint.T_joint_link[:3, 3]
    axis, zeros = joint.axis, np.zeros(3)

    def pose(rotation: Array, origin: Array) -> Array:
        return np.concatenate([rotation.ravel(), origin])

    none = np.zeros((3, 3))
    if joint.type == "prismatic":
        S = np.concatenate([R_off.T @ axis, zeros])
        return pose(none, zeros), pose(none, zeros), pose(none, R0 @ axis), pose(R0 @ R_off, p0 + R0 @ p_off), S
    along = np.outer(axis, axis)
    R_cos, R_sin, R_const = R0 @ (np.eye(3) - along), R0 @ skew(axis), R0 @ along
    S = np.concatenate([R_off.T @ np.cross(axis, p_off), R_off.T @ axis])
    constant = pose(R_const @ R_off, p0 + R_const @ p_off)
    return pose(R_cos @ R_off, R_cos @ p_off), pose(R_sin @ R_off, R_sin @ p_off), pose(none, zeros), constant, S


def on_free_base(chain: ChainArrays) -> ChainArrays:
    """The same robot behind six joints that stay at zero: three along and three about the base axes.

    The torques of these six are the force and the moment that the base exerts on the robot.
    """
    n_free = 6
    none, still = np.zeros((n_free, 12)), np.tile(np.concatenate([np.eye(3).ravel(), np.zeros(3)]), (n_free, 1))
    parent = np.concatenate([np.arange(-1, n_free - 1), np.where(chain.parent == BASE, n_free - 1, chain.parent + 6)])
    parent.setflags(write=False)
    return ChainArrays(
        parent,
        readonly(np.concatenate([none, chain.pose_cos])),
        readonly(np.concatenate([none, chain.pose_sin])),
        readonly(np.concatenate([none, chain.pose_linear])),
        readonly(np.concatenate([still, chain.pose_constant])),
        readonly(np.concatenate([np.eye(n_free), chain.S])),
        chain.gravity,
    )


def in_chunks(work: Callable[[int, int], Any], n_samples: int, *, chunk: int = CHUNK) -> None:
    """Run ``work(start, stop)`` over all samples on a pool of threads; `work` must release the interpreter lock."""
    starts = range(0, n_samples, chunk)
    workers = min(n_threads(), len(starts))
    if workers <= 1:
        for start in starts:
            work(start, min(start + chunk, n_samples))
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, start, min(start + chunk, n_samples)) for start in starts]:
            done.result()
