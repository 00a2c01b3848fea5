"""The robot: immutable joints, links, limits and gravity, and the same as a Pinocchio model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, Int, Transform, Vector3, freeze_arrays, readonly
from dynid.chain.inertia import InertialParameters
from dynid.chain.limits import Limits
from dynid.chain.placement import MAX_LENGTH, is_rigid, rotation_about, rotation_rpy, transform, unit
from dynid.errors import RobotError, UnknownJoint, UnknownName, WrongType
from dynid.prose import Grid, PrintsAsTable, counted

if TYPE_CHECKING:
    import pinocchio as pin

__all__ = ["BASE", "STANDARD_GRAVITY", "Joint", "JointType", "Link", "Robot"]

JointType = Literal["revolute", "prismatic"]

BASE = -1
"""The parent index of a joint that is mounted on the fixed base."""
STANDARD_GRAVITY = 9.80665
"""m/s²"""
MAX_INERTIA = 1e18
"""kg, kg·m or kg·m²: 10⁶ kg at `MAX_LENGTH`; beyond it squares and products lose their digits and overflow."""
MAX_GRAVITY = 1e6
"""m/s²"""
MAX_JOINTS = 512
"""Of a robot: base parameters take time and memory that grow with the cube of their number."""
MAX_NAME = 256
"""Characters of a joint or link name."""
MAX_TRANSMISSION_CONDITION = 1e6
"""Condition number, rows scaled to unit length, above which a transmission matrix counts as singular."""

SLIGHT = 0.01
"""Part of a link's mass below which what is fixed to it says nothing about whether its inertia is known."""


@dataclass(frozen=True, eq=False)
class Link:
    """The body that one joint moves, everything rigidly fixed to it included."""

    name: str
    nominal: InertialParameters | None = None
    """What the robot file (CAD, a paper) says; None where it says nothing."""
    includes: tuple[str, ...] = ()
    """Names of the links that fixed or locked joints weld to this one; their inertia is part of `nominal`."""
    trusted: bool = True
    """Whether `nominal` describes a body; False where the file has placeholders or what no body has, as mass 0."""

    @property
    def known(self) -> bool:
        """Whether there is a nominal inertia to start from."""
        return self.nominal is not None and self.trusted

    def __repr__(self) -> str:
        mass = "no nominal inertia" if self.nominal is None else f"{self.nominal.mass:.4g} kg nominal"
        mass += "" if self.trusted else ", not trusted"
        welded = f", with {', '.join(self.includes)}" if self.includes else ""
        return f"Link({self.name!r}: {mass}{welded})"


@dataclass(frozen=True, eq=False)
class Joint:
    r"""One degree of freedom: where it sits on its parent link, its axis, and the link it carries.

    .. math::

        T_{parent,link}(q) = T_{parent,joint} \; J(axis, q) \; T_{joint,link}
    """

    name: str
    type: JointType
    parent: int
    """Index of the joint whose link carries this one, or `BASE`."""
    T_parent_joint: Transform
    """Joint frame in the parent's link frame at zero position."""
    axis: Vector3
    """Unit vector in the joint frame."""
    link: Link
    T_joint_link: Transform = field(default_factory=lambda: np.eye(4))
    """Link frame in the moved joint frame: the identity but for standard DH tables."""
    limits: Limits = field(default_factory=Limits)
    rotor_inertia: float = 0.0
    """Nominal inertia of rotor and gear seen at the joint, kg·m² or kg; 0 where the robot file says nothing."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        if self.axis.shape != (3,) or not np.all(np.isfinite(self.axis)) or not np.any(self.axis):
            raise RobotError(f"joint {self.name!r}: the axis must be three finite numbers, and not zero")
        if not (is_rigid(self.T_parent_joint) and is_rigid(self.T_joint_link)):
            raise RobotError(
                f"joint {self.name!r}: its placement must be finite, a rotation and at most {MAX_LENGTH:g} m"
            )
        axis = unit(self.axis)
        # An axis that is a unit vector keeps its digits through a model file.
        if float(np.max(np.abs(axis - self.axis))) > 1e-12:
            object.__setattr__(self, "axis", readonly(axis))
        nominal = self.link.nominal
        if nominal is not None and np.max(np.abs(nominal.pi)) > MAX_INERTIA:
            raise RobotError(
                f"joint {self.name!r}: the mass or inertia of link {self.link.name!r} is beyond any robot's"
            )
        self.limits.check(self.name)
        if not 0.0 <= self.rotor_inertia < np.inf:
            raise RobotError(f"joint {self.name!r}: rotor inertia {self.rotor_inertia:g} is not a positive number")

    def __repr__(self) -> str:
        return f"Joint({self.name!r}: {self.type}, {self.limits!r}, carries {self.link.name!r})"

    def T_parent_link(self, position: float) -> Transform:
        """The link frame in the parent link frame at `position` (rad or m)."""
        if self.type == "revolute":
            moved = transform(rotation_about(self.axis, position))
        else:
            moved = transform(translation=self.axis * position)
        return self.T_parent_joint @ moved @ self.T_joint_link


@dataclass(frozen=True, eq=False)
class Robot(PrintsAsTable):
    """A fixed-base arm or tree: joints branch by branch, parents before children, and gravity."""

    name: str
    joints: tuple[Joint, ...]
    gravity: Vector3 = field(default_factory=lambda: np.array([0.0, 0.0, -STANDARD_GRAVITY]))
    """Acceleration of gravity in the axes of the base frame, m/s²."""
    source: str = "memory"
    """The file or built-in name it came from."""
    transmission: Float[Array, "n_dof n_dof"] | None = None
    r"""Matrix C of coupled drives, :math:`\dot q_{motor} = C \dot q` and :math:`\tau = C^T \tau_{motor}`.

    Dimensionless: motors count behind their own gears. None where every motor moves its own joint.
    """
    held: Mapping[str, float] = field(default_factory=dict)
    """Joints of the file that do not move here, with the positions in which they stand, rad or m."""
    notes: tuple[str, ...] = ()
    """What the reader of the file decided by itself, a sentence each: what is held, what is not known."""
    base: Link | None = None
    """What does not move, about the base frame; only a wrench under the base feels it. None where nothing is known."""

    def __post_init__(self) -> None:
        if not isinstance(self.joints, tuple) or not all(isinstance(joint, Joint) for joint in self.joints):
            raise WrongType("joints", "a tuple of Joint, parents before children", self.joints)
        freeze_arrays(self)
        if not self.joints:
            raise RobotError(f"{self.source}: the robot has no movable joint, so there is no torque to explain")
        if len(self.joints) > MAX_JOINTS:
            raise RobotError(f"{self.source}: {len(self.joints)} joints; robots of up to {MAX_JOINTS} are supported")
        if self.transmission is not None:
            _check_transmission(self.transmission, len(self.joints), self.source)
        if self.gravity.shape != (3,) or not np.all(np.abs(self.gravity) <= MAX_GRAVITY):
            raise RobotError(f"{self.source}: gravity must be three finite numbers in m/s², up to {MAX_GRAVITY:g}")
        for index, joint in enumerate(self.joints):
            if not BASE <= joint.parent < index:
                raise RobotError(f"{self.source}: joint {joint.name!r} comes before the joint that carries it")
            # Pinocchio and MuJoCo number trees depth first and go silently wrong otherwise.
            if index and joint.parent != BASE and joint.parent not in self.path_to[index - 1]:
                raise RobotError(
                    f"{self.source}: list joints branch by branch; {joint.name!r} sits on "
                    f"{self.joints[joint.parent].name!r} but comes after a joint of another branch"
                )
        self._check_names()

    def __repr__(self) -> str:
        known = [joint.link.nominal.mass for joint in self.joints if joint.link.nominal is not None]
        mass = f"{sum(known):.3g} kg nominal" if self.has_nominal else "nominal inertias incomplete"
        return f"Robot({self.name!r}: {counted(self.n_dof, 'joint')}, {mass if known else 'no nominal inertias'})"

    def _table(self) -> Grid:
        headers = ("joint", "type", "range", "velocity", "effort", "link", "mass")
        return Grid(headers, [_joint_row(joint) for joint in self.joints], (2, 3, 4, 6))

    def _check_names(self) -> None:
        for kind, names in (("joint", self.joint_names), ("link", self.link_names), ("robot", (self.name or "robot",))):
            for name in names:
                if not 0 < len(name) <= MAX_NAME or not name.isprintable():
                    raise RobotError(
                        f"{self.source}: the {kind} name {name[:40]!r} is empty, longer than {MAX_NAME} characters, or "
                        "holds characters that cannot be printed; rename it"
                    )
            doubles = sorted({name for name in names if names.count(name) > 1})
            if doubles:
                raise RobotError(f"{self.source}: {kind} name used twice: {', '.join(doubles)}; names must be unique")

    @property
    def n_dof(self) -> int:
        """Number of joints that move."""
        return len(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joint names in the order of q."""
        return tuple(joint.name for joint in self.joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Name of the link that each joint carries."""
        return tuple(joint.link.name for joint in self.joints)

    @property
    def parents(self) -> Int[Array, " n_dof"]:
        """Index of each joint's parent, `BASE` for the first."""
        return np.array([joint.parent for joint in self.joints], dtype=np.int64)

    @cached_property
    def path_to(self) -> tuple[tuple[int, ...], ...]:
        """For every joint the joints from the base to it, itself included."""
        paths: list[tuple[int, ...]] = []
        for index, joint in enumerate(self.joints):
            before = paths[joint.parent] if joint.parent != BASE else ()
            paths.append((*before, index))
        return tuple(paths)

    @property
    def has_nominal(self) -> bool:
        """Whether the nominal inertial parameters of every link are known."""
        return all(joint.link.known for joint in self.joints)

    @property
    def nominal(self) -> Float[Array, "n_links 10"]:
        """Nominal inertial parameters of every link, trusted or not, SI, order `INERTIAL_NAMES`.

        Raises:
            RobotError: naming the links without any.
        """
        missing = [joint.link.name for joint in self.joints if joint.link.nominal is None]
        if missing:
            raise RobotError(
                f"{self.source}: no nominal inertia for {', '.join(missing)}; add mass, centre of mass and inertia to "
                "the robot file, or take an identified robot.urdf"
            )
        return np.array([joint.link.nominal.pi for joint in self.joints if joint.link.nominal is not None])

    def index(self, joint_name: str) -> int:
        """The position of a joint in q.

        Raises:
            UnknownJoint: listing the names that exist.
        """
        if joint_name not in self.joint_names:
            raise UnknownJoint(joint_name, known=self.joint_names, where=self.source)
        return self.joint_names.index(joint_name)

    def with_gravity(self, gravity: ArrayLike) -> Robot:
        """The same robot under another gravity, m/s² in base axes."""
        return replace(self, gravity=np.asarray(gravity, dtype=float))

    def mounted(self, roll: float, pitch: float, yaw: float) -> Robot:
        """The same robot with its base turned (rad, as URDF's rpy) against the world its gravity was given in."""
        return self.with_gravity(rotation_rpy(roll, pitch, yaw).T @ self.gravity)

    def with_nominal(self, parameters: Mapping[str, InertialParameters | None]) -> Robot:
        """The same robot with other nominal parameters for the links named."""
        for name in parameters:
            if name not in self.link_names:
                raise UnknownName(name, known=self.link_names, kind="link", where=self.source)
        joints = tuple(
            replace(joint, link=replace(joint.link, nominal=parameters[joint.link.name], trusted=True))
            if joint.link.name in parameters
            else joint
            for joint in self.joints
        )
        return replace(self, joints=joints)

    def locked(self, positions: Mapping[str, float]) -> Robot:
        """The robot with the named joints frozen at `positions` (rad or m); their links weld to their parents."""
        for name in positions:
            self.index(name)  # so that the message lists all joints, not those left after the first locks
        robot = self
        for name, position in positions.items():
            robot = robot._without(robot.index(name), float(position))
        return robot

    def _without(self, index: int, position: float) -> Robot:
        joint = self.joints[index]
        if not np.isfinite(position):
            raise RobotError(f"{self.source}: joint {joint.name!r} cannot be locked at {position}")
        T_parent_link = joint.T_parent_link(position)
        joints: list[Joint] = []
        for k, other in enumerate(self.joints):
            if k == index:
                continue
            moved = other
            if k == joint.parent:
                moved = replace(other, link=_welded(other.link, joint.link, T_parent_link))
            if other.parent == index:
                moved = replace(moved, parent=joint.parent, T_parent_joint=T_parent_link @ other.T_parent_joint)
            elif other.parent > index:
                moved = replace(moved, parent=other.parent - 1)
            joints.append(moved)
        C = self.transmission
        if C is not None:
            rest = np.delete(np.arange(self.n_dof), index)
            if np.any(C[index, rest]) or np.any(C[rest, index]):
                raise RobotError(f"{self.source}: joint {joint.name!r} is coupled to others and cannot be locked")
            C = C[np.ix_(rest, rest)]
        base = self.base
        if joint.parent == BASE and base is not None:
            base = _welded(base, joint.link, T_parent_link)
        held = {**self.held, joint.name: position}
        return replace(self, joints=tuple(joints), transmission=C, held=held, base=base)

    @cached_property
    def pinocchio(self) -> pin.Model:
        """The same robot as a Pinocchio model (nq = nv); links without nominal inertia weigh nothing."""
        import pinocchio as pin

        model = pin.Model()
        model.name = self.name
        model.gravity.linear = self.gravity.copy()
        for joint in self.joints:
            parent = joint.parent + 1
            kind = pin.JointModelRevoluteUnaligned if joint.type == "revolute" else pin.JointModelPrismaticUnaligned
            T_base = np.eye(4) if joint.parent == BASE else self.joints[joint.parent].T_joint_link
            # Pinocchio's body frame is the joint frame; ours may be offset from it (standard DH).
            index = model.addJoint(parent, kind(joint.axis.copy()), pin.SE3(T_base @ joint.T_parent_joint), joint.name)
            nominal = joint.link.nominal or InertialParameters.zero()
            in_joint = nominal.moved(joint.T_joint_link)
            body = pin.Inertia.Zero()  # part by part, because the constructor refuses what is not physically consistent
            body.mass, body.lever, body.inertia = in_joint.mass, in_joint.com, in_joint.inertia_com
            model.appendBodyToJoint(index, body, pin.SE3.Identity())
            model.addBodyFrame(joint.link.name, index, pin.SE3(joint.T_joint_link.copy()), 0)
        return model


def _joint_row(joint: Joint) -> tuple[str, ...]:
    """A line of the table of a robot: limits in rad or m and per s, effort in N·m or N, nominal mass in kg."""
    limits, (q, tau) = joint.limits, ("rad", "N·m") if joint.type == "revolute" else ("m", "N")
    bounded = np.isfinite(limits.lower) or np.isfinite(limits.upper)
    return (
        joint.name,
        joint.type,
        f"{limits.lower:.4g} … {limits.upper:.4g} {q}" if bounded else "",
        f"{limits.velocity:.4g} {q}/s" if np.isfinite(limits.velocity) else "",
        f"{limits.effort:.4g} {tau}" if np.isfinite(limits.effort) else "",
        joint.link.name,
        "" if joint.link.nominal is None else f"{joint.link.nominal.mass:.4g} kg",
    )


def _check_transmission(C: Float[Array, "n_rows n_columns"], n_dof: int, source: str) -> None:
    if C.shape != (n_dof, n_dof) or not np.all(np.isfinite(C)):
        raise RobotError(f"{source}: the transmission matrix must be {n_dof}×{n_dof} and finite, got {C.shape}")
    # Relative to the size of its rows, so that gear ratios of any size pass.
    rows = np.linalg.norm(C, axis=1, keepdims=True)
    if np.any(rows == 0.0) or np.linalg.cond(C / rows) > MAX_TRANSMISSION_CONDITION:
        raise RobotError(
            f"{source}: the transmission matrix is singular: some motion of the joints would turn no motor, or a motor "
            "would move no joint; check its rows"
        )


def _welded(link: Link, other: Link, T_link_other: Transform) -> Link:
    if link.nominal is None or other.nominal is None:
        return replace(link, nominal=None, includes=(*link.includes, other.name, *other.includes))
    # A link that carries far more than what is welded to it is as well known as before.
    trusted = link.trusted and (other.trusted or other.nominal.mass < SLIGHT * link.nominal.mass)
    nominal = link.nominal + other.nominal.moved(T_link_other)
    return replace(link, nominal=nominal, includes=(*link.includes, other.name, *other.includes), trusted=trusted)
