"""Terms of a joint: what friction and drives add to the torque of their own joint, behind one protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import JointType
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError

__all__ = ["JointModel", "OnJoints", "Shape", "ShapeNumbers", "ShapedModel", "Term", "of_each_joint"]

ShapeNumbers = tuple[tuple[float, ...], ...]
"""One row for each number that shapes a curve; a row holds one value for every joint, or one for all of them."""


@dataclass(frozen=True)
class Term:
    """One parameter that every joint has, such as its viscous friction."""

    name: str
    """As in tables: ``Fv``."""
    symbol: str
    """As in labels and bounds files, followed by the joint number: ``fv``."""
    units: tuple[str, str]
    """For a revolute and for a prismatic joint."""
    nonnegative: bool
    """Whether physics forbids a negative value."""

    def unit(self, joint_type: JointType) -> str:
        """The unit for a joint of this type."""
        return self.units[0] if joint_type == "revolute" else self.units[1]


@runtime_checkable
class JointModel(Protocol):
    """Terms that act on their own joint only and enter the torque linearly: friction, rotor inertia."""

    @property
    def name(self) -> str:
        """The name users type."""
        ...

    @property
    def terms(self) -> tuple[Term, ...]:
        """The parameters that each joint has."""
        ...

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """Torque of each joint per unit of each of its terms."""
        ...


@dataclass(frozen=True)
class Shape:
    """A number that bends a friction curve: it enters the torque nonlinearly and is searched for."""

    name: str
    """As in tables: ``velocity``."""
    units: tuple[str, str]
    """For a revolute and for a prismatic joint."""
    scale: Literal["speed", "travel", "1/speed"]
    """What it is measured against: the joint's largest speed in the log, the range it travels, or one over speed."""
    lower: float
    """Smallest value searched, relative to the scale."""
    upper: float
    """Largest value searched, relative to the scale."""
    n_tried: int
    """Values on the first grid of the search."""
    signed: bool = False
    """Whether the search is even from lower to upper; otherwise it is even in the logarithm."""

    def size(self, speed: Float[Array, " n_dof"], travel: Float[Array, " n_dof"]) -> Float[Array, " n_dof"]:
        """The scale of each joint (SI), from its largest speed (rad/s or m/s) and the range it travels (rad or m)."""
        return {"speed": speed, "travel": travel, "1/speed": 1.0 / speed}[self.scale]

    def grid(self) -> Float[Array, " n_tried"]:
        """Values to try first, relative to the scale."""
        if self.signed:
            return np.linspace(self.lower, self.upper, self.n_tried)
        return np.geomspace(self.lower, self.upper, self.n_tried)


@runtime_checkable
class ShapedModel(JointModel, Protocol):
    """A joint model whose columns depend on further numbers; they are part of the value, not of θ."""

    @property
    def shape(self) -> ShapeNumbers:
        """The numbers (SI), a row for each entry of `shapes`."""
        ...

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """What the numbers are, and where to search for them."""
        ...

    def reshaped(self, shape: ShapeNumbers) -> ShapedModel:
        """The same model with other numbers (SI)."""
        ...


def of_each_joint(row: tuple[float, ...], n_dof: int, what: str) -> Float[Array, " n_dof"]:
    """A row of shape numbers (SI) spread over the joints.

    Raises:
        ParameterError: for another number of values than joints.
    """
    if len(row) not in (1, n_dof):
        raise ParameterError(f"{what}: {len(row)} values for {n_dof} joints; give one, or one for each joint")
    return np.broadcast_to(np.array(row, dtype=float), (n_dof,))


def check_positive(rows: ShapeNumbers, what: str) -> None:
    """Refuse shape numbers (SI) that are not positive and finite.

    Raises:
        ParameterError: naming the model.
    """
    if not all(np.isfinite(value) and value > 0.0 for row in rows for value in row):
        raise ParameterError(f"{what}: shape numbers must be finite and positive, got {rows}")


@dataclass(frozen=True)
class OnJoints:
    """A joint model that only some joints have; the columns of the others are zero, so no torque reveals them."""

    model: JointModel
    joints: tuple[bool, ...]
    """For every joint whether it has these terms."""

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    @property
    def terms(self) -> tuple[Term, ...]:
        """The parameters of the model (units ride on each)."""
        return self.model.terms

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """Columns of the model (SI), zero for joints that do not have it."""
        if len(self.joints) != motion.n_dof:
            raise ParameterError(f"{self.name}: {len(self.joints)} joints named for a motion of {motion.n_dof}")
        return self.model.columns(motion) * np.array(self.joints, dtype=float)[None, :, None]
