"""Terms of a joint: what friction and drives add to the torque of their own joint, and all they say of themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Literal, TypeGuard

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.chain.robot import JointType, Robot
from dynid.dynamics.formula import DDQ, DQ, GEAR_LOAD, POSITION, Formula, shape_number, state
from dynid.dynamics.kernels.bound import run_kernel
from dynid.dynamics.kernels.formulas import follow_states, programs
from dynid.dynamics.kernels.machine_code import BATCH
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError

__all__ = ["JointModel", "ShapeNumbers", "ShapeParameter", "Term", "stored_rows"]

ShapeNumbers = tuple[tuple[float, ...], ...]
"""One row for each number that shapes a curve; a row holds one value for every joint, or one for all of them."""


@dataclass(frozen=True)
class Term:
    """One parameter that every joint has, such as its viscous friction, and the formula that it multiplies."""

    name: str
    """As in tables: ``Fv``."""
    symbol: str
    """As in labels and bounds files, followed by the joint number: ``fv``."""
    units: tuple[str, str]
    """For a revolute and for a prismatic joint."""
    column: Formula
    """Torque (N·m or N) per unit of the parameter."""
    nonnegative: bool = True
    """Whether physics forbids a negative value."""
    share: float = 0.1
    """Plausible size for simulated arms: its torque over the rigid-body torque of the joint (RMS, dimensionless)."""
    most: float = np.inf
    """Largest value (SI) that physics allows; automatic choices take no term that would need more."""
    simulator: Literal["damping", "frictionloss", "armature"] | None = None
    """The attribute of an MJCF joint that means the same (URDF has the first two); None where there is none."""

    def unit(self, joint_type: JointType) -> str:
        """The unit for a joint of this type."""
        return self.units[0] if joint_type == "revolute" else self.units[1]

    @property
    def is_inertia(self) -> bool:
        """Whether it is part of the mass matrix."""
        return self.simulator == "armature"

    @property
    def is_height(self) -> bool:
        """Whether its value is itself a torque: the height of a curve that reaches ±1."""
        return self.units[0] == "N·m"


@dataclass(frozen=True)
class ShapeParameter:
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
    term: int = 0
    """Which of the model's terms it bends."""

    def size(self, speed: Float[Array, " n_dof"], travel: Float[Array, " n_dof"]) -> Float[Array, " n_dof"]:
        """The scale of each joint (SI), from its largest speed (rad/s or m/s) and the range it travels (rad or m)."""
        return {"speed": speed, "travel": travel, "1/speed": 1.0 / speed}[self.scale]

    def grid(self) -> Float[Array, " n_tried"]:
        """Values to try first, relative to the scale."""
        if self.signed:
            return np.linspace(self.lower, self.upper, self.n_tried)
        return np.geomspace(self.lower, self.upper, self.n_tried)


@dataclass(frozen=True, eq=False)
class JointModel(ABC):
    """Terms that act on their own joint and enter the torque linearly: friction, rotor inertia.

    A model is a frozen dataclass with a `name`, a `description` and `terms`; all else has a default. Columns, the
    compiled form for tracking and C code are made from the formulas of the terms.
    """

    shape: ShapeNumbers = ()
    """Numbers that bend the curves (SI), a row for each of `shapes`; part of the value, not of θ."""
    joints: tuple[bool, ...] | None = field(default=None, kw_only=True)
    """For every joint whether it has these terms; None where all have. The columns of the others are zero."""

    name: ClassVar[str]
    """What users type."""
    description: ClassVar[str]
    """What it is called in sentences: ``viscous friction``."""
    is_friction: ClassVar[bool] = True
    """False for what belongs to the drive, such as the inertia of its rotor, and for springs."""
    kinds: ClassVar[tuple[Literal["viscous", "dry", "constant"], ...]] = ()
    """What it is the whole of: one kind of dry friction may stand for another; dry and constant parts are told apart
    only by reversals; viscous friction keeps the sense of a curve beyond the speeds of the log."""
    contains: ClassVar[tuple[str, ...]] = ()
    """Names of the models whose columns it has already: it stands in their place, never beside them."""

    def __post_init__(self) -> None:
        if len(self.shape) != len(self.shapes):
            raise ParameterError(f"{self.name}: {len(self.shape)} rows of shape numbers, {len(self.shapes)} expected")
        for row, parameter in zip(self.shape, self.shapes, strict=True):
            if not all(np.isfinite(x) and (parameter.signed or x > 0.0) for x in row):
                wanted = "finite" if parameter.signed else "finite and positive"
                raise ParameterError(f"{self.name}: shape numbers must be {wanted}, got {self.shape}")

    @property
    @abstractmethod
    def terms(self) -> tuple[Term, ...]:
        """The parameters that each joint has."""
        ...

    @property
    def shapes(self) -> tuple[ShapeParameter, ...]:
        """What the rows of `shape` are, and where to search for them (units ride on each)."""
        return ()

    @property
    def next_states(self) -> tuple[Formula, ...]:
        """What a joint remembers: each state after a step along the path, from `PATH`, `state` and shape numbers."""
        return ()

    @property
    def label(self) -> str:
        """What the model is called among the candidates of an automatic choice."""
        return self.name

    @property
    def interchangeable(self) -> bool:
        """Whether the shape numbers are of one sort, so that another order of them is the same model."""
        return False

    @property
    def n_states(self) -> int:
        """Number of states that each joint remembers."""
        return len(self.next_states)

    @property
    def has_memory(self) -> bool:
        """Whether columns of a sample depend on the samples before it."""
        return self.n_states > 0

    @cached_property
    def needs_load(self) -> bool:
        """Whether columns depend on the torque of the links."""
        return any(GEAR_LOAD.name in term.column.inputs for term in self.terms)

    def on(self, joint: int) -> bool:
        """Whether a joint has these terms."""
        return self.joints is None or self.joints[joint]

    def only_on(self, joints: tuple[bool, ...]) -> JointModel:
        """The same for some joints only."""
        return replace(self, joints=joints)

    def reshaped(self, shape: ShapeNumbers) -> JointModel:
        """The same with other shape numbers (SI)."""
        return replace(self, shape=shape)

    def shape_of(self, joint: int) -> tuple[float, ...]:
        """The shape numbers of one joint (SI)."""
        return tuple(row[joint] if len(row) > 1 else row[0] for row in self.shape)

    def columns(
        self,
        motion: Motion,
        *,
        load: Float[Array, "n_samples n_dof"] | None = None,
        states: Float[Array, "n_samples n_dof n_states"] | None = None,
        out: Float[Array, "n_samples n_dof n_terms"] | None = None,
    ) -> Float[Array, "n_samples n_dof n_terms"]:
        """Torque of each joint per unit of each of its terms (SI).

        Args:
            motion: of the joints, or of the motors where joints are coupled.
            load: torque that the links ask of each gear, N·m or N, for a model that depends on it.
            states: what a model with memory remembers at every sample; from a start at rest where None.
            out: an array to fill instead of a new one.

        Raises:
            ParameterError: a load is missing, or the joints are others than those of the shape numbers.
        """
        if self.needs_load and load is None:
            raise ParameterError(f"friction {self.name!r} needs the torque of the links: use it inside a TorqueModel")
        inputs = {POSITION: motion.q, DQ: motion.dq, DDQ: motion.ddq} | ({} if load is None else {GEAR_LOAD: load})
        inputs |= {shape_number(k): row for k, row in enumerate(self._shape_rows(motion.n_dof))}
        if self.has_memory:
            known = self.states(motion.q) if states is None else states
            inputs |= {state(k): known[:, :, k] for k in range(self.n_states)}
        if out is None:
            out = np.empty((*motion.q.shape, len(self.terms)))
        for k, term in enumerate(self.terms):
            out[:, :, k] = term.column.at(inputs)
        if self.joints is not None:
            out *= self._mask(motion.n_dof)[:, None]
        return out

    def states(
        self, q: Float[Array, "n_samples n_dof"], start: Float[Array, "n_dof n_states"] | None = None
    ) -> Float[Array, "n_samples n_dof n_states"]:
        """What every joint remembers along a path (rad or m), from `start` at the first sample (0 where None)."""
        n_dof = q.shape[1]
        out = np.zeros((*q.shape, self.n_states))
        if start is not None:
            out[0] = start
        code, numbers = programs(self.next_states, self._shape_rows(n_dof), n_dof)
        run_kernel(BATCH, follow_states, code, numbers, np.ascontiguousarray(q), np.empty(code.shape[1]), out)
        return out

    def programs(self, n_dof: int) -> tuple[Int[Array, "n_terms length"], Float[Array, "n_terms n_dof length"]]:
        """The columns as the compiled tracker computes them, sample by sample: operations and numbers (SI)."""
        return programs([term.column for term in self.terms], self._shape_rows(n_dof), n_dof, self._mask(n_dof))

    def load_links(self, robot: Robot) -> Float[Array, "n_links 10"] | None:
        """Inertial parameters (SI) whose torque loads the gears; None where the model does not know or need them."""
        return None

    def referred(self, links: Float[Array, "n_links 10"]) -> JointModel:
        """The same with these inertial parameters (SI) for the load of the gears, where it depends on one."""
        return self

    def softened(self, width: tuple[float, ...]) -> JointModel:
        """The same with jumps smoothed over a width (rad/s or m/s a joint), for searches that need derivatives."""
        return self

    def candidates(self) -> tuple[JointModel, ...]:
        """What an automatic choice of friction tries of this model."""
        return (self,)

    def stored(self) -> dict[str, object]:
        """The model as JSON (SI); `restored` reads it."""
        content: dict[str, object] = {"name": self.name}
        if self.joints is not None:
            content["joints"] = list(self.joints)
        if self.shape:
            content["shape"] = [list(row) for row in self.shape]
        return content

    def restored(self, stored: Mapping[str, object]) -> JointModel:
        """The model of this name as `stored` describes it (SI).

        Raises:
            TypeError: for content that is not what `stored` writes.
            ValueError: likewise.
        """
        model = self.reshaped(stored_rows(stored["shape"])) if "shape" in stored else self
        return model.only_on(tuple(map(bool, _items(stored["joints"])))) if "joints" in stored else model

    def _shape_rows(self, n_dof: int) -> list[Float[Array, " n_dof"]]:
        for row in self.shape:
            if len(row) not in (1, n_dof):
                raise ParameterError(f"{self.name}: {len(row)} values for {n_dof} joints; give one, or one a joint")
        return [np.broadcast_to(np.array(row, dtype=float), (n_dof,)) for row in self.shape]

    def _mask(self, n_dof: int) -> Float[Array, " n_dof"]:
        if self.joints is None:
            return np.ones(n_dof)
        if len(self.joints) != n_dof:
            raise ParameterError(f"{self.name}: {len(self.joints)} joints named for a motion of {n_dof}")
        return np.array(self.joints, dtype=float)


def stored_rows(content: object) -> ShapeNumbers:
    """Rows of finite numbers (SI) from JSON.

    Raises:
        TypeError: for anything that is not a list of lists of numbers.
        ValueError: for a number that is not finite.
    """
    rows = tuple(tuple(float(x) if _is_number(x) else np.nan for x in _items(row)) for row in _items(content))
    if not np.all(np.isfinite(np.concatenate([*rows, ()]))):
        raise ValueError("a joint model holds something that is not a finite number")
    return rows


def _is_number(x: object) -> TypeGuard[int | float]:
    return isinstance(x, int | float) and not isinstance(x, bool)


def _items(content: object) -> list[object]:
    if not isinstance(content, list):
        raise TypeError(f"expected a list, found {type(content).__name__}")
    return content
