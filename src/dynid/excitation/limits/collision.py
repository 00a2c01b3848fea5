"""Self-collision through the geometry of the robot file, by Pinocchio with coal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.errors import ExcitationError
from dynid.excitation.curves.curve import States
from dynid.excitation.limits.motion_limits import MotionLimits

__all__ = ["SelfCollisionLimit", "self_collision"]


_POSES = 30
"""Random poses to find out which bodies always touch."""


@dataclass(frozen=True, eq=False)
class SelfCollisionLimit:
    """Pairs of bodies that must keep a distance; those that touch in all poses by construction are not watched."""

    robot: Robot
    held: Float[Array, " n_q"]
    """Configuration of the robot file in which its other joints are held, rad or m."""
    model: Any
    """The Pinocchio model of the robot file, all joints included; SI."""
    geometry: Any
    """Its collision geometry, with the pairs to watch; SI."""
    clearance: float = 0.01
    """Smallest distance in m."""
    rate_hz: float = 100.0
    """Samples a second at which it is checked, Hz."""

    @property
    def name(self) -> str:
        """Self-collision."""
        return "self-collision"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The two bodies of every pair."""
        names = [shape.name for shape in self.geometry.geometryObjects]
        return tuple(f"{names[pair.first]} – {names[pair.second]}" for pair in self.geometry.collisionPairs)

    def excess(self, states: States) -> Float[Array, "n_samples n_columns"]:
        """Clearance less distance of every pair, m."""
        import pinocchio as pin

        data, shapes = self.model.createData(), self.geometry.createData()
        distances = np.empty((len(states.q), len(self.labels)))
        for row, q in enumerate(states.q):
            full = _configuration(self.model, self.held, dict(zip(self.robot.joint_names, q.tolist(), strict=True)))
            pin.computeDistances(self.model, data, self.geometry, shapes, full)
            distances[row] = [result.min_distance for result in shapes.distanceResults]
        return self.clearance - distances


def _configuration(model: Any, held: Float[Array, " n_q"], positions: Mapping[str, float]) -> Float[Array, " n_q"]:
    """The robot file's configuration with the named joints at other positions, rad or m."""
    full = held.copy()
    for name, value in positions.items():
        joint = model.joints[model.getJointId(name)]
        full[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    return full


def self_collision(
    robot: Robot,
    reference: Float[Array, " n_dof"],
    *,
    clearance: float = 0.01,
    held: Mapping[str, float] | None = None,
    package_dirs: Sequence[Path] = (),
) -> SelfCollisionLimit | None:
    """The self-collision limit of a robot that came from a URDF or MJCF file, None when the file has no geometry.

    Args:
        robot: as loaded from a file; its `source` is opened again.
        reference: a pose in rad or m; bodies closer than `clearance` there and in all of some random poses touch by
            construction, and are not watched, nor are neighbours on the chain.
        clearance: smallest distance in m.
        held: positions (rad or m) of joints that were locked; zero where not said.
        package_dirs: where ``package://`` meshes are.

    Raises:
        ExcitationError: the geometry cannot be read (a mesh that is not there).
    """
    source = Path(robot.source)
    if source.suffix.lower() == ".toml" or not source.is_file():
        return None
    import pinocchio as pin

    try:
        model, geometry = _read_geometry(source, package_dirs)
    except (ValueError, RuntimeError) as error:
        raise ExcitationError(
            f"{source}: its collision geometry cannot be read ({error}); give the folder of its meshes, "
            "or design without self-collision"
        ) from error
    if geometry.ngeoms < 2:
        return None
    unknown = [name for name in (*robot.joint_names, *(held or {})) if not model.existJointName(name)]
    if unknown:
        raise ExcitationError(f"{source}: its geometry does not know joint {', '.join(unknown)}")
    rest = _configuration(model, pin.neutral(model), held or {})
    _watch(geometry, _apart(model, geometry, robot))
    everywhere = SelfCollisionLimit(robot, rest, model, geometry, clearance)
    poses = np.vstack([reference, _some_poses(robot)])
    touching = np.all(everywhere.excess(States.at_rest(poses)) > 0.0, axis=0)
    pairs = [(pair.first, pair.second) for pair in geometry.collisionPairs]
    _watch(geometry, [pair for pair, always in zip(pairs, touching, strict=True) if not always])
    return SelfCollisionLimit(robot, rest, model, geometry, clearance) if len(geometry.collisionPairs) else None


def _some_poses(robot: Robot) -> Float[Array, "n_poses n_dof"]:
    """Random poses (rad or m) inside the limits of a robot."""
    limits = MotionLimits.of(robot)
    return limits.lower + (limits.upper - limits.lower) * np.random.default_rng(0).random((_POSES, robot.n_dof))


def _watch(geometry: Any, pairs: Sequence[tuple[int, int]]) -> None:
    """Watch these pairs and no others."""
    import pinocchio as pin

    geometry.removeAllCollisionPairs()
    for first, second in pairs:
        geometry.addCollisionPair(pin.CollisionPair(first, second))


def _apart(model: Any, geometry: Any, robot: Robot) -> list[tuple[int, int]]:
    """Pairs of shapes that move against each other and are no neighbours on the chain."""

    def carrier(joint: int) -> int:
        # Joints that are held move nothing: what they carry belongs to the link before them.
        while joint and model.names[joint] not in robot.joint_names:
            joint = model.parents[joint]
        return joint

    joints = [shape.parentJoint for shape in geometry.geometryObjects]
    return [
        (i, j)
        for i in range(len(joints))
        for j in range(i + 1, len(joints))
        if carrier(joints[i]) != carrier(joints[j])
        and model.parents[joints[i]] != joints[j]
        and model.parents[joints[j]] != joints[i]
    ]


def _read_geometry(source: Path, package_dirs: Sequence[Path]) -> tuple[Any, Any]:
    import pinocchio as pin

    kind = pin.GeometryType.COLLISION
    if b"<mujoco" in source.read_bytes():
        model = pin.buildModelFromMJCF(str(source))
        return model, pin.buildGeomFromMJCF(model, str(source), kind)
    model = pin.buildModelFromUrdf(str(source))
    folders = [str(folder) for folder in (*package_dirs, source.parent)]
    return model, pin.buildGeomFromUrdf(model, str(source), kind, package_dirs=folders)
