"""Dry friction that grows with the load of the gear: proportional to the torque the links ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.formula import DQ, GEAR_LOAD, sign, size
from dynid.dynamics.joint_model import JointModel, Term, stored_rows

__all__ = ["LoadCoulomb"]

LARGEST_LOSS = 0.5
"""Torque that a gear loses over the torque that it transmits, at most: harmonic and cycloidal drives lose 0.1 to 0.4.
A larger one was fitted to a joint that carries nearly nothing, and is wrong as soon as it carries a load."""


@dataclass(frozen=True, eq=False)
class LoadCoulomb(JointModel):
    r"""Coulomb friction in proportion to the load of the gear, :math:`F_l\,|\tau_r|\,\mathrm{sign}(\dot q)`.

    :math:`\tau_r` is the torque of the links with `reference` parameters, so that the column stays linear in θ; the
    fit repeats itself with the parameters it found until they no longer change.
    """

    reference: Float[Array, "n_links 10"] | None = None
    """Inertial parameters (SI) for τ_r; only their torque matters. None takes the nominal ones of the robot."""
    name = "load"
    description = "load-dependent friction"
    terms = (Term("Fl", "fl", ("", ""), size(GEAR_LOAD) * sign(DQ), share=0.03, most=LARGEST_LOSS),)

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze_arrays(self)

    def load_links(self, robot: Robot) -> Float[Array, "n_links 10"] | None:
        """The reference, or the nominal parameters (SI); None where a robot file says nothing about inertias."""
        if self.reference is not None:
            return self.reference
        return robot.nominal if robot.has_nominal else None

    def referred(self, links: Float[Array, "n_links 10"]) -> LoadCoulomb:
        """The same with other inertial parameters (SI) for the load."""
        return replace(self, reference=links)

    def stored(self) -> dict[str, object]:
        """With the reference (SI), where it has one."""
        return super().stored() | ({} if self.reference is None else {"reference": self.reference.tolist()})

    def restored(self, stored: Mapping[str, object]) -> JointModel:
        """With the reference (SI) that was stored."""
        model = super().restored(stored)
        return model.referred(np.array(stored_rows(stored["reference"]))) if "reference" in stored else model


MODEL = LoadCoulomb()
