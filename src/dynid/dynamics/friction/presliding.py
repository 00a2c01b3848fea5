"""Presliding: dry friction that builds up over a short path after every reversal (Dahl)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array, Float
from dynid.dynamics.joint_model import Shape, ShapeNumbers, Term, check_positive, of_each_joint
from dynid.dynamics.motion import Motion

__all__ = ["Presliding"]


@dataclass(frozen=True)
class Presliding:
    r"""Dry friction :math:`F_d z` with Dahl's state z along the path [Dahl1968]_, at one or several lengths.

    .. math::

        \frac{dz}{dq} = \frac{1}{\ell}\bigl(1 - z\,\mathrm{sign}(\dot q)\bigr), \qquad
        z_{k+1} = s + (z_k - s)\,e^{-|\Delta q|/\ell}, \quad s = \mathrm{sign}(\Delta q)

    The state of a motion starts at zero, so a motion is cut only where its memory may be lost. With a length far below
    the steps of q it is the sign of the velocity.
    """

    shape: ShapeNumbers = ((1e-3,),)
    """Path ℓ over which 63 % of a reversal are done, rad or m; a row (and a term) for every length scale."""
    name: ClassVar[str] = "presliding"

    def __post_init__(self) -> None:
        check_positive(self.shape, self.name)

    @property
    def terms(self) -> tuple[Term, ...]:
        """One height (N·m or N) for every length scale."""
        if len(self.shape) == 1:
            return (Term("Fd", "fd", ("N·m", "N"), nonnegative=True),)
        letters = "abcdefghij"
        return tuple(
            Term(f"Fd{letters[k]}", f"fd{letters[k]}_", ("N·m", "N"), nonnegative=True) for k in range(len(self.shape))
        )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The length scales, relative to the range that a joint travels."""
        count = len(self.shape)
        names = ["length"] if count == 1 else [f"length{k + 1}" for k in range(count)]
        return tuple(Shape(name, ("rad", "m"), "travel", 1e-5, 0.1, 25) for name in names)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """The states z, dimensionless, between −1 and 1."""
        out = np.zeros((motion.n_samples, motion.n_dof, len(self.shape)))
        for k, row in enumerate(self.shape):
            length = np.array(of_each_joint(row, motion.n_dof, self.name))
            _follow(motion.q, length, out[:, :, k])
        return out

    def reshaped(self, shape: ShapeNumbers) -> Presliding:
        """The same with other lengths, rad or m."""
        return replace(self, shape=shape)


@njit(cache=True, nogil=True)
@no_type_check
def _follow(q, length, z):
    """Dahl's state of every joint from sample to sample, exact between them while a joint does not turn."""
    for k in range(1, q.shape[0]):
        for j in range(q.shape[1]):
            step = q[k, j] - q[k - 1, j]
            side = 1.0 if step > 0.0 else -1.0
            z[k, j] = z[k - 1, j] if step == 0.0 else side + (z[k - 1, j] - side) * np.exp(-abs(step) / length[j])
