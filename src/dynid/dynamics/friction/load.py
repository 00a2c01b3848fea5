"""Dry friction that grows with the load of the gear: proportional to the torque the links ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.joint_model import Term
from dynid.dynamics.kernels.batch import ChainArrays, chain_arrays, in_chunks, newton_euler
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError

__all__ = ["LoadCoulomb"]


@dataclass(frozen=True, eq=False)
class LoadCoulomb:
    r"""Coulomb friction in proportion to the load of the gear, :math:`F_l\,|\tau_r|\,\mathrm{sign}(\dot q)`.

    :math:`\tau_r` is the torque of the links with `reference` parameters, so that the column stays linear in θ; the
    fit repeats itself with the parameters it found until they no longer change.
    """

    robot: Robot | None = None
    """The arm; a `TorqueModel` fills it in."""
    reference: Float[Array, "n_links 10"] | None = None
    """Inertial parameters (SI) for τ_r; only their torque matters. None takes the nominal ones of the robot."""
    name: ClassVar[str] = "load"
    terms: ClassVar[tuple[Term, ...]] = (Term("Fl", "fl", ("", ""), nonnegative=True),)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @cached_property
    def _chain(self) -> ChainArrays:
        assert self.robot is not None
        return chain_arrays(self.robot)

    def bound(self, robot: Robot) -> LoadCoulomb:
        """The same on this robot."""
        return self if self.robot is robot else replace(self, robot=robot)

    def referred(self, links: Float[Array, "n_links 10"]) -> LoadCoulomb:
        """The same with other inertial parameters (SI) for the load."""
        return replace(self, reference=links)

    def load(self, motion: Motion) -> Float[Array, "n_samples n_dof"]:
        """Size of the rigid torque of every joint (of every motor where joints are coupled), N·m or N.

        Raises:
            ParameterError: without a robot.
        """
        if self.robot is None:
            raise ParameterError("friction 'load' needs the robot: use it inside a TorqueModel")
        links = self.reference
        if links is None:
            # A robot file without inertias says nothing about the load; the fit finds a reference itself.
            links = self.robot.nominal if self.robot.has_nominal else np.zeros((self.robot.n_dof, 10))
        values, chain = np.array(links), self._chain
        tau, wrench = np.empty(motion.q.shape), np.empty((*motion.q.shape, 6))
        in_chunks(
            lambda start, stop: newton_euler(chain, motion.q, motion.dq, motion.ddq, values, start, stop, tau, wrench),
            motion.n_samples,
        )
        C = self.robot.transmission
        return np.abs(tau if C is None else np.linalg.solve(C.T, tau.T).T)

    def columns(self, motion: Motion) -> Float[Array, "n_samples n_dof n_terms"]:
        """Rigid torque size in the direction of motion, N·m or N; `motion` is of the joints even if coupled."""
        load = self.load(motion)
        C = None if self.robot is None else self.robot.transmission
        return (load * np.sign(motion.dq if C is None else motion.dq @ C.T))[:, :, None]
