"""What drives add to the torque at the joint: the inertia of rotors behind their gears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dynid.arrays import Array, Float
from dynid.dynamics.friction import Term
from dynid.dynamics.motion import Motion

__all__ = ["RotorInertia"]


@dataclass(frozen=True)
class RotorInertia:
    r"""Inertia of rotor and gear seen at the joint, :math:`I_a \ddot q` (the gyroscopic part is neglected)."""

    name: ClassVar[str] = "rotor"
    terms: ClassVar[tuple[Term, ...]] = (Term("Ia", "Ia", ("kg·m²", "kg"), nonnegative=True),)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """Acceleration, rad/s² or m/s²."""
        return motion.ddq[:, :, None]
