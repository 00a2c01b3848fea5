"""Robots from Denavit–Hartenberg tables, standard and modified, also as TOML files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dynid.arrays import Array, Float, Transform
from dynid.chain.inertia import InertialParameters
from dynid.chain.limits import Limits
from dynid.chain.placement import WORTH_SAYING, exact_right_angle, squared_note, transform
from dynid.chain.robot import BASE, STANDARD_GRAVITY, Joint, Link, Robot
from dynid.disk import read_toml
from dynid.errors import ParameterError, RobotError, RobotFileError, UnknownJoint

__all__ = ["DenavitJoint", "DenavitLink", "DenavitTable", "read_denavit"]

Finite = Annotated[float, Field(allow_inf_nan=False)]
Triple = tuple[Finite, Finite, Finite]
QUARTER_TURN_TOLERANCE = 1e-9
"""rad; an `alpha` this close to a multiple of a quarter turn is one, so that its cosine is exactly 0 or ±1."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class DenavitLink(_Strict):
    """Nominal inertia of a link, SI, in its DH frame."""

    mass: Annotated[Finite, Field(gt=0.0)]
    """kg"""
    com: Triple
    """Centre of mass, m."""
    inertia_com: tuple[Finite, Finite, Finite, Finite, Finite, Finite]
    """xx, xy, xz, yy, yz, zz about the centre of mass, kg·m²."""

    def inertial(self) -> InertialParameters:
        """The same as ten numbers about the frame origin (SI)."""
        return InertialParameters.from_order([self.mass, *self.com, *self.inertia_com], "urdf")


class DenavitJoint(_Strict):
    """One row of the table; lengths in m, angles in rad."""

    name: str
    a: Finite
    """Link length along x, m."""
    alpha: Finite
    """Link twist about x, rad."""
    d: Finite
    """Offset along z, m; for a prismatic joint added to its position, and 0 where it is not given."""
    theta: Finite = 0.0
    """Angle about z, rad; for a revolute joint added to its position."""
    type: Literal["revolute", "prismatic", "continuous", "fixed"] = "revolute"
    parent: str | None = None
    """Name of the joint whose link carries this one; None is the row above, `base` the fixed base."""
    position_limits: tuple[Finite, Finite] | None = None
    """Smallest and largest position, rad or m."""
    velocity_limit: Annotated[Finite, Field(ge=0.0)] | None = None
    effort_limit: Annotated[Finite, Field(ge=0.0)] | None = None
    acceleration_limit: Annotated[Finite, Field(ge=0.0)] | None = None
    jerk_limit: Annotated[Finite, Field(ge=0.0)] | None = None
    link: str | None = None
    """Name of the link; `link1`, `link2`, … by default."""
    inertia: DenavitLink | None = None

    @model_validator(mode="before")
    @classmethod
    def _position_is_the_offset(cls, row: object) -> object:
        """A prismatic joint moves along d, so its table often has no number there."""
        if isinstance(row, dict) and row.get("type") == "prismatic":
            return {"d": 0.0, **row}
        return row

    def squared(self) -> DenavitJoint:
        """The row with right angles exact that it gives with few digits (rad)."""
        angles = {name: exact_right_angle(repr(getattr(self, name))) for name in ("alpha", "theta")}
        return self.model_copy(update=angles)

    def limits(self) -> Limits:
        """Limits of the joint (rad or m, per s, …), infinite where not given."""
        lower, upper = self.position_limits or (-np.inf, np.inf)
        if self.type == "continuous":
            lower, upper = -np.inf, np.inf
        return Limits(
            lower=lower,
            upper=upper,
            velocity=np.inf if self.velocity_limit is None else self.velocity_limit,
            effort=np.inf if self.effort_limit is None else self.effort_limit,
            acceleration=np.inf if self.acceleration_limit is None else self.acceleration_limit,
            jerk=np.inf if self.jerk_limit is None else self.jerk_limit,
        )


class DenavitTable(_Strict):
    """A DH table with its convention; `Robot` comes out of `robot()`."""

    name: str
    convention: Literal["standard", "modified"]
    joint: Annotated[tuple[DenavitJoint, ...], Field(min_length=1)]
    gravity: Triple = (0.0, 0.0, -STANDARD_GRAVITY)
    """In world axes, m/s²."""
    mounting: Triple = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw of the base in the world, rad."""
    transmission: tuple[tuple[Finite, ...], ...] | None = None
    """Rows of the matrix that turns joint velocities into motor velocities behind the gears; None without coupling."""
    base: DenavitLink | None = None
    """Nominal inertia of the base link in the base frame, for a wrench sensor under it; None where it is not known."""

    def squared(self) -> tuple[DenavitTable, int]:
        """The table with right angles exact that it gives with few digits (rad), and the number of such joints."""
        rows = tuple(row.squared() for row in self.joint)
        pairs = zip(rows, self.joint, strict=True)
        count = sum(max(abs(a.alpha - b.alpha), abs(a.theta - b.theta)) > WORTH_SAYING for a, b in pairs)
        roll, pitch, yaw = (exact_right_angle(repr(angle)) for angle in self.mounting)
        return self.model_copy(update={"joint": rows, "mounting": (roll, pitch, yaw)}), count

    def robot(self, source: str = "memory") -> Robot:
        r"""The robot of the table.

        Standard: :math:`T = R_z(\theta) T_z(d) T_x(a) R_x(\alpha)`, the link frame at the far end of the link.
        Modified: :math:`T = T_x(a) R_x(\alpha) R_z(\theta) T_z(d)`, the link frame on its own joint axis [Khalil2002]_.
        """
        names = [row.name for row in self.joint]
        joints: list[Joint] = []
        for index, row in enumerate(self.joint):
            parent = index - 1 if row.parent is None else BASE
            if row.parent is not None and row.parent != "base":
                if row.parent not in names[:index]:
                    raise UnknownJoint(row.parent, known=("base", *names[:index]), where=f"{source}: joint {row.name}")
                parent = names.index(row.parent)
            joints.append(self._joint(row, index, parent))
        C = None if self.transmission is None else self._matrix(self.transmission, len(joints), source)
        base = None if self.base is None else Link("base", self.base.inertial())
        robot = Robot(self.name, tuple(joints), np.array(self.gravity), source, C, base=base).mounted(*self.mounting)
        return robot.locked({row.name: 0.0 for row in self.joint if row.type == "fixed"})

    @staticmethod
    def _matrix(rows: tuple[tuple[float, ...], ...], n_joints: int, source: str) -> Float[Array, "n_joints n_joints"]:
        lengths = {len(row) for row in rows}
        if len(rows) != n_joints or lengths != {n_joints}:
            raise RobotError(f"{source}: the transmission matrix must be {n_joints}×{n_joints}, a row for every motor")
        return np.array(rows, dtype=float)

    def _joint(self, row: DenavitJoint, index: int, parent: int) -> Joint:
        along_x = transform(translation=(row.a, 0.0, 0.0)) @ _turn_x(row.alpha)
        along_z = _turn_z(row.theta) @ transform(translation=(0.0, 0.0, row.d))
        before, after = (along_x @ along_z, np.eye(4)) if self.convention == "modified" else (along_z, along_x)
        return Joint(
            name=row.name,
            type="prismatic" if row.type == "prismatic" else "revolute",
            parent=parent,
            T_parent_joint=before,
            axis=np.array([0.0, 0.0, 1.0]),
            link=Link(row.link or f"link{index + 1}", None if row.inertia is None else row.inertia.inertial()),
            T_joint_link=after,
            limits=row.limits(),
        )


def read_denavit(path: Path, *, square: bool = False) -> Robot:
    """The robot of a TOML file with a DH table (m, rad); `square` makes rounded right angles exact.

    Raises:
        RobotFileError: naming the file, the joint and the key.
    """
    content = read_toml(path, RobotFileError, "robot file")
    try:
        table, count = DenavitTable.model_validate(content), 0
        if square:
            table, count = table.squared()
        robot = table.robot(str(path))
    except ValidationError as error:
        raise RobotFileError(f"{path}: " + "; ".join(_explained(error, content))) from error
    except RobotFileError:
        raise
    except (RobotError, ParameterError) as error:
        message = str(error) if str(error).startswith(str(path)) else f"{path}: {error}"
        raise RobotFileError(message) from error
    return robot if not count else replace(robot, notes=(*robot.notes, squared_note(count)))


PROBLEMS = {
    "missing": "is missing",
    "extra_forbidden": "is no name that this table knows",
    "model_type": "must be a table: {mass = …, com = [x, y, z], inertia_com = [xx, xy, xz, yy, yz, zz]}",
}
"""What is wrong by its kind, where pydantic speaks to programmers."""


def _explained(error: ValidationError, content: dict[str, object]) -> list[str]:
    lines = []
    rows = content.get("joint")
    for problem in error.errors():
        where = [str(part) for part in problem["loc"]]
        if len(where) > 1 and where[0] == "joint" and isinstance(rows, list):
            row = rows[int(where[1])]
            name = row.get("name", f"number {int(where[1]) + 1}") if isinstance(row, dict) else where[1]
            where = [f"joint {name!r}", *where[2:]]
        lines.append(f"{', '.join(where)}: {PROBLEMS.get(problem['type'], problem['msg'].lower())}")
    return lines


def _turn_z(angle: float) -> Transform:
    c, s = _cos_sin(angle)
    return transform([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _turn_x(angle: float) -> Transform:
    c, s = _cos_sin(angle)
    return transform([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def _cos_sin(angle: float) -> tuple[float, float]:
    # cos(π/2) in floats is 6e-17, and such noise grows into spurious base parameters.
    quarters = angle / (np.pi / 2.0)
    if abs(quarters - round(quarters)) * np.pi / 2.0 < QUARTER_TURN_TOLERANCE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(quarters) % 4]
    return float(np.cos(angle)), float(np.sin(angle))
