"""Presliding: dry friction that builds up over a short path after every reversal (Dahl)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.formula import PATH, Formula, exp, shape_number, sign, size, state
from dynid.dynamics.joint_model import JointModel, ShapeNumbers, ShapeParameter, Term
from dynid.dynamics.kernels.ready import follow_dahl

__all__ = ["Presliding"]

_LETTERS = "abcdefghij"


@dataclass(frozen=True)
class Presliding(JointModel):
    r"""Dry friction :math:`F_d z` with Dahl's state z along the path [Dahl1968]_, at one or several lengths.

    .. math::

        \frac{dz}{dq} = \frac{1}{\ell}\bigl(1 - z\,\mathrm{sign}(\dot q)\bigr), \qquad
        z_{k+1} = s + (z_k - s)\,e^{-|\Delta q|/\ell}, \quad s = \mathrm{sign}(\Delta q)

    The state of a motion starts at zero, so a motion is cut only where its memory may be lost. With a length far below
    the steps of q it is the sign of the velocity.
    """

    shape: ShapeNumbers = ((1e-3,),)
    """Path ℓ over which 63 % of a reversal are done, rad or m; a row (and a term) for every length scale."""
    name = "presliding"
    description = "presliding friction"
    kinds = ("dry",)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """One height (N·m or N) for every length scale."""
        count = len(self.shape)
        names = [("Fd", "fd")] if count == 1 else [(f"Fd{x}", f"fd{x}_") for x in _LETTERS[:count]]
        return tuple(Term(name, symbol, ("N·m", "N"), state(k)) for k, (name, symbol) in enumerate(names))

    @cached_property
    def shapes(self) -> tuple[ShapeParameter, ...]:
        """The length scales, relative to the range that a joint travels."""
        count = len(self.shape)
        names = ["length"] if count == 1 else [f"length{k + 1}" for k in range(count)]
        return tuple(
            ShapeParameter(name, ("rad", "m"), "travel", 1e-5, 0.1, 25, term=k) for k, name in enumerate(names)
        )

    @cached_property
    def next_states(self) -> tuple[Formula, ...]:
        """Dahl's states, dimensionless, between −1 and 1; exact between samples while a joint does not turn."""
        return tuple(
            sign(PATH) + (state(k) - sign(PATH)) * exp(-size(PATH) / shape_number(k)) for k in range(len(self.shape))
        )

    def states(
        self, q: Float[Array, "n_samples n_dof"], start: Float[Array, "n_dof n_states"] | None = None
    ) -> Float[Array, "n_samples n_dof n_states"]:
        """The same as `next_states` in compiled code of its own: searches go along thousands of paths (rad or m)."""
        out = np.zeros((*q.shape, self.n_states))
        out[0] = 0.0 if start is None else start
        for k, length in enumerate(self._shape_rows(q.shape[1])):
            follow_dahl(q, np.array(length), out[:, :, k])
        return out

    @property
    def label(self) -> str:
        """Says how many lengths there are, where it is not one."""
        return {1: self.name, 2: f"{self.name} at two lengths"}.get(
            len(self.shape), f"{self.name} at {len(self.shape)} lengths"
        )

    @property
    def interchangeable(self) -> bool:
        """Whether there are several lengths."""
        return len(self.shape) > 1

    def candidates(self) -> tuple[JointModel, ...]:
        """One length, or two."""
        return (self, self.reshaped(((1e-3,), (1e-2,))))


MODEL = Presliding()
