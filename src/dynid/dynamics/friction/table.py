"""Friction models by name: the linear ones, and the table of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.friction.curves import Sigmoid, Stribeck, Tanh
from dynid.dynamics.friction.load import LoadCoulomb
from dynid.dynamics.friction.presliding import Presliding
from dynid.dynamics.joint_model import JointModel, Term
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError, UnknownName

__all__ = ["FRICTION", "Asymmetric", "Coulomb", "JointModel", "Offset", "Term", "Viscous", "friction_models"]


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


@dataclass(frozen=True)
class Asymmetric:
    """Coulomb and viscous friction with values of their own for each direction; instead of those, not beside them."""

    name: ClassVar[str] = "asymmetric"
    terms: ClassVar[tuple[Term, ...]] = (
        Term("Fv+", "fvp", ("N·m·s/rad", "N·s/m"), nonnegative=True),
        Term("Fv-", "fvn", ("N·m·s/rad", "N·s/m"), nonnegative=True),
        Term("Fc+", "fcp", ("N·m", "N"), nonnegative=True),
        Term("Fc-", "fcn", ("N·m", "N"), nonnegative=True),
    )

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """Velocity (rad/s or m/s) forwards and backwards, then its sign (dimensionless) forwards and backwards."""
        dq = motion.dq
        parts = (np.maximum(dq, 0.0), np.minimum(dq, 0.0), np.where(dq > 0.0, 1.0, 0.0), np.where(dq < 0.0, -1.0, 0.0))
        return np.stack(parts, axis=2)


FRICTION: Mapping[str, JointModel] = {
    model.name: model
    for model in (
        Viscous(),
        Coulomb(),
        Offset(),
        Asymmetric(),
        Tanh(),
        Sigmoid(),
        Stribeck(),
        LoadCoulomb(),
        Presliding(),
    )
}
"""Friction models by the name users type."""


def friction_models(names: str) -> tuple[JointModel, ...]:
    """The models of a text such as ``viscous+coulomb+offset``; ``none`` is no friction.

    Raises:
        UnknownName: listing the models that exist.
        ParameterError: for a model named twice, or columns that would be the same.
    """
    if names.strip() == "none":
        return ()
    wanted = [name.strip() for name in names.split("+")]
    for name in wanted:
        if name not in FRICTION:
            raise UnknownName(name, known=("none", *FRICTION), kind="friction model")
        if wanted.count(name) > 1:
            raise ParameterError(f"friction {names!r} names {name!r} twice; its columns would be identical")
    doubled = [name for name in ("viscous", "coulomb", "offset") if name in wanted]
    if "asymmetric" in wanted and doubled:
        raise ParameterError(
            f"friction {names!r}: asymmetric contains {' and '.join(doubled)} already; leave one of them out"
        )
    return tuple(FRICTION[name] for name in wanted)
