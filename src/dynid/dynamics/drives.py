"""Drives: from motor currents to joint torque, and what drives add to it: the inertia of rotors behind their gears."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.formula import DDQ
from dynid.dynamics.friction.table import FRICTION
from dynid.dynamics.joint_model import JointModel, Term
from dynid.errors import ParameterError

__all__ = ["Drives", "RotorInertia", "joint_models"]


@dataclass(frozen=True)
class RotorInertia(JointModel):
    r"""Inertia of rotor and gear seen at the joint, :math:`I_a \ddot q` (the gyroscopic part is neglected)."""

    name = "rotor"
    description = "rotor inertia"
    is_friction = False
    terms = (Term("Ia", "Ia", ("kg·m²", "kg"), DDQ, share=0.0, simulator="armature"),)


def joint_models() -> dict[str, JointModel]:
    """Every joint model by name: friction, then what drives add."""
    return {**FRICTION, RotorInertia.name: RotorInertia()}


@dataclass(frozen=True, eq=False)
class Drives:
    r"""Motors of an arm: :math:`\tau = C^T (k_t\,r\,i)` with torque constants, gear ratios and coupled joints."""

    gains: Float[Array, " n_dof"]
    """Torque per current: N·m/A (N/A for a prismatic joint); behind the gear where `ratios` is None. Signs count."""
    ratios: Float[Array, " n_dof"] | None = None
    """Turns of the motor per turn of its output, dimensionless; None where the gains contain them."""
    transmission: Float[Array, "n_dof n_dof"] | None = None
    """Matrix C of coupled joints, as in `Robot`, dimensionless; None where every motor moves its own joint."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for name in ("gains", "ratios"):
            values = getattr(self, name)
            if values is not None and not (np.all(np.isfinite(values)) and np.all(values != 0.0)):
                raise ParameterError(f"drive {name} must be finite and not zero, got {values.tolist()}")

    @classmethod
    def of(cls, robot: Robot, gains: Float[Array, " n_dof"]) -> Drives:
        """The drives of a robot with these gains (N·m/A, behind the gears).

        Raises:
            ParameterError: for another number of gains than joints.
        """
        if len(gains) != robot.n_dof:
            raise ParameterError(f"{len(gains)} drive gains but {robot.name} has {robot.n_dof} joints")
        return cls(gains, transmission=robot.transmission)

    @property
    def output_gains(self) -> Float[Array, " n_dof"]:
        """Torque behind the gear per current, N·m/A or N/A."""
        return self.gains if self.ratios is None else self.gains * self.ratios

    def joint_torque(self, current: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_dof"]:
        """Torque at the joints (N·m or N) of motor currents (A)."""
        tau = current * self.output_gains
        return tau if self.transmission is None else tau @ self.transmission

    def current(self, tau: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_dof"]:
        """Motor currents (A) that give a torque at the joints (N·m or N)."""
        C = self.transmission
        return (tau if C is None else np.linalg.solve(C.T, tau.T).T) / self.output_gains
