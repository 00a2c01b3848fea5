"""Friction that is a curve over velocity: smoothed Coulomb, the sigmoid of the Panda paper, Stribeck's peak."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit

from dynid.arrays import Array, Float
from dynid.dynamics.joint_model import Shape, ShapeNumbers, Term, check_positive, of_each_joint
from dynid.dynamics.motion import Motion

__all__ = ["Sigmoid", "Stribeck", "Tanh"]

_VELOCITY = ("rad/s", "m/s")
# Curves are searched where they level off within the speeds of a log: slower ones pass for viscous friction there,
# and go wrong beyond.


@dataclass(frozen=True)
class Tanh:
    r"""Dry friction without the jump, :math:`F_t \tanh(\dot q / v)`."""

    shape: ShapeNumbers = ((0.02,),)
    """The velocity v at which three quarters of the friction are reached, rad/s or m/s."""
    name: ClassVar[str] = "tanh"
    terms: ClassVar[tuple[Term, ...]] = (Term("Ft", "ft", ("N·m", "N"), nonnegative=True),)
    shapes: ClassVar[tuple[Shape, ...]] = (Shape("velocity", _VELOCITY, "speed", 2e-3, 0.4, 24),)

    def __post_init__(self) -> None:
        check_positive(self.shape, self.name)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """The hyperbolic tangent, dimensionless."""
        v = of_each_joint(self.shape[0], motion.n_dof, self.name)
        return np.tanh(motion.dq / v)[:, :, None]

    def reshaped(self, shape: ShapeNumbers) -> Tanh:
        """The same with another velocity, rad/s or m/s."""
        return replace(self, shape=shape)


@dataclass(frozen=True)
class Sigmoid:
    r"""The curve of [Gaz2019]_, eq. (25); zero at rest, of different height on both sides when shifted.

    .. math::

        \tau_f = \frac{\varphi_1}{1 + e^{-\varphi_2 (\dot q + \varphi_3)}}
            - \frac{\varphi_1}{1 + e^{-\varphi_2 \varphi_3}}
    """

    shape: ShapeNumbers = ((10.0,), (0.0,))
    r""":math:`\varphi_2` in s/rad or s/m, then :math:`\varphi_3` in rad/s or m/s."""
    name: ClassVar[str] = "sigmoid"
    terms: ClassVar[tuple[Term, ...]] = (Term("phi1", "phi1_", ("N·m", "N"), nonnegative=True),)
    shapes: ClassVar[tuple[Shape, ...]] = (
        Shape("phi2", ("s/rad", "s/m"), "1/speed", 3.0, 500.0, 20),
        Shape("phi3", _VELOCITY, "speed", -0.3, 0.3, 7, signed=True),
    )

    def __post_init__(self) -> None:
        check_positive(self.shape[:1], self.name)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """The difference of the two logistic functions, dimensionless."""
        steep, shift = (of_each_joint(row, motion.n_dof, self.name) for row in self.shape)
        return (expit(steep * (motion.dq + shift)) - expit(steep * shift))[:, :, None]

    def reshaped(self, shape: ShapeNumbers) -> Sigmoid:
        """The same with other numbers: s/rad or s/m, then rad/s or m/s."""
        return replace(self, shape=shape)


@dataclass(frozen=True)
class Stribeck:
    r"""The peak of dry friction near standstill, :math:`F_s\,e^{-(\dot q/v)^2}\,\mathrm{sign}(\dot q)`.

    What static friction exceeds Coulomb friction by; join it with ``coulomb`` (or ``presliding``) for the whole curve.
    """

    shape: ShapeNumbers = ((0.1,),)
    """The velocity v at which 37 % of the peak are left, rad/s or m/s."""
    name: ClassVar[str] = "stribeck"
    terms: ClassVar[tuple[Term, ...]] = (Term("Fs", "fs", ("N·m", "N"), nonnegative=True),)
    shapes: ClassVar[tuple[Shape, ...]] = (Shape("velocity", _VELOCITY, "speed", 5e-3, 0.5, 20),)

    def __post_init__(self) -> None:
        check_positive(self.shape, self.name)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """The peak over its height, dimensionless."""
        v = of_each_joint(self.shape[0], motion.n_dof, self.name)
        return (np.exp(-((motion.dq / v) ** 2)) * np.sign(motion.dq))[:, :, None]

    def reshaped(self, shape: ShapeNumbers) -> Stribeck:
        """The same with another velocity, rad/s or m/s."""
        return replace(self, shape=shape)
