"""Friction models: what a joint adds to the torque, one column a joint and term, behind one protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import JointType
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError, UnknownName

__all__ = ["FRICTION", "Coulomb", "JointModel", "Offset", "Term", "Viscous", "friction_models"]


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
class Viscous:
    r"""Friction proportional to velocity, :math:`F_v \dot q`."""

    name: ClassVar[str] = "viscous"
    terms: ClassVar[tuple[Term, ...]] = (Term("Fv", "fv", ("N·m·s/rad", "N·s/m"), nonnegative=True),)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """Velocity, rad/s or m/s."""
        return motion.dq[:, :, None]


@dataclass(frozen=True)
class Coulomb:
    r"""Dry friction, :math:`F_c\,\mathrm{sign}(\dot q)`, zero at rest."""

    name: ClassVar[str] = "coulomb"
    terms: ClassVar[tuple[Term, ...]] = (Term("Fc", "fc", ("N·m", "N"), nonnegative=True),)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """Sign of the velocity, dimensionless."""
        return np.sign(motion.dq)[:, :, None]


@dataclass(frozen=True)
class Offset:
    """A constant torque: sensor bias or asymmetric dry friction."""

    name: ClassVar[str] = "offset"
    terms: ClassVar[tuple[Term, ...]] = (Term("Fo", "fo", ("N·m", "N"), nonnegative=False),)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """One, dimensionless."""
        return np.ones((*motion.q.shape, 1))


FRICTION: Mapping[str, JointModel] = {model.name: model for model in (Viscous(), Coulomb(), Offset())}
"""Friction models by the name users type."""


def friction_models(names: str) -> tuple[JointModel, ...]:
    """The models of a text such as ``viscous+coulomb+offset``; ``none`` is no friction.

    Raises:
        UnknownName: listing the models that exist.
        ParameterError: for a model named twice.
    """
    if names.strip() == "none":
        return ()
    wanted = [name.strip() for name in names.split("+")]
    for name in wanted:
        if name not in FRICTION:
            raise UnknownName(name, known=("none", *FRICTION), kind="friction model")
        if wanted.count(name) > 1:
            raise ParameterError(f"friction {names!r} names {name!r} twice; its columns would be identical")
    return tuple(FRICTION[name] for name in wanted)
