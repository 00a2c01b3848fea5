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

__all__ = ["SelfCollisionLimit", "self_collision"]


@dataclass(frozen=True, eq=False)
class SelfCollisionLimit:
    """Pairs of bodies that must keep a distance; only those that do so in the reference pose are watched."""

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
        reference: a pose in rad or m in which the robot does not collide; bodies closer there than `clearance`, and
            neighbours on the chain, are never watched.
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
    geometry.addAllCollisionPairs()
    for pair in list(geometry.collisionPairs):
        one, two = (geometry.geometryObjects[index].parentJoint for index in (pair.first, pair.second))
        if one == two or model.parents[one] == two or model.parents[two] == one:
            geometry.removeCollisionPair(pair)
    everywhere = SelfCollisionLimit(robot, rest, model, geometry, clearance)
    touching = everywhere.excess(States.at_rest(reference[None]))[0] > 0.0
    for pair in [p for p, bad in zip(list(geometry.collisionPairs), touching, strict=True) if bad]:
        geometry.removeCollisionPair(pair)
    return SelfCollisionLimit(robot, rest, model, geometry, clearance) if len(geometry.collisionPairs) else None


def _read_geometry(source: Path, package_dirs: Sequence[Path]) -> tuple[Any, Any]:
    import pinocchio as pin

    kind = pin.GeometryType.COLLISION
    if b"<mujoco" in source.read_bytes():
        model = pin.buildModelFromMJCF(str(source))
        return model, pin.buildGeomFromMJCF(model, str(source), kind)
    model = pin.buildModelFromUrdf(str(source))
    folders = [str(folder) for folder in (*package_dirs, source.parent)]
    return model, pin.buildGeomFromUrdf(model, str(source), kind, package_dirs=folders)
