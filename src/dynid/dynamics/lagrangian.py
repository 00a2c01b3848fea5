"""The Lagrangian model from base parameters alone: M(q), c(q, dq), C(q, dq), g(q)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion

__all__ = ["LagrangianModel"]


@dataclass(frozen=True, eq=False)
class LagrangianModel:
    r"""Equations of motion :math:`M(q)\ddot q + C(q,\dot q)\dot q + g(q) + \tau_f = \tau` of base parameters β.

    M, C and g depend on the parameters only through β, so any θ with Kθ = β gives them exactly, even one that is not
    physically consistent; the simplest is used.
    """

    model: TorqueModel
    base: BaseParameters
    beta: Float[Array, " n_base"]
    """Base parameters in the units of their leading parameters."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        return f"LagrangianModel({self.model.robot.name!r}: {self.base.n_base} base parameters)"

    @cached_property
    def _theta(self) -> Float[Array, " n_params"]:
        return self.base.lift(self.beta)

    @cached_property
    def _rigid(self) -> tuple[TorqueModel, TorqueModel]:
        """The inertial part with gravity, and without."""
        robot = self.model.robot
        return TorqueModel(robot), TorqueModel(robot.with_gravity(np.zeros(3)))

    @cached_property
    def _rotor(self) -> Float[Array, " n_dof"]:
        own = self._theta[self.model.n_inertial :].reshape(self.model.n_dof, len(self.model.terms))
        return own[:, list(self.model.inertia_terms)].sum(axis=1)

    def inertia_matrix(self, q: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_dof n_dof"]:
        """M(q) in kg·m² (revolute), kg·m or kg, rotors included; symmetric."""
        M = np.empty((*q.shape, q.shape[1]))
        for k in range(q.shape[1]):
            ddq = np.zeros_like(q)
            ddq[:, k] = 1.0
            M[:, :, k] = self._weightless(q, np.zeros_like(q), ddq)
            M[:, k, k] += self._rotor[k]
        return 0.5 * (M + np.swapaxes(M, 1, 2))

    def gravity(self, q: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_dof"]:
        """g(q) in N·m or N: the torque that holds the arm still."""
        rigid = self._rigid[0]
        return rigid.torque(Motion.at_rest(q), self._theta[: rigid.n_params])

    def coriolis_vector(
        self, q: Float[Array, "n_samples n_dof"], dq: Float[Array, "n_samples n_dof"]
    ) -> Float[Array, "n_samples n_dof"]:
        """c(q, dq) = C(q, dq) dq, the centrifugal and Coriolis torque in N·m or N."""
        return self._weightless(q, dq, np.zeros_like(q))

    def coriolis_matrix(
        self, q: Float[Array, "n_samples n_dof"], dq: Float[Array, "n_samples n_dof"]
    ) -> Float[Array, "n_samples n_dof n_dof"]:
        r"""The Christoffel matrix C(q, dq) in SI units, with :math:`\dot M - 2C` skew-symmetric.

        c is a quadratic form in the velocity whose symmetric bilinear form is Christoffel's, so by polarisation

        .. math::

            C(q, \dot q)\,e_k = \tfrac14 \left[ c(q, \dot q + e_k) - c(q, \dot q - e_k) \right]
        """
        C = np.empty((*q.shape, q.shape[1]))
        for k in range(q.shape[1]):
            step = np.zeros(q.shape[1])
            step[k] = 1.0
            C[:, :, k] = 0.25 * (self.coriolis_vector(q, dq + step) - self.coriolis_vector(q, dq - step))
        return C

    def torque(self, motion: Motion) -> Float[Array, "n_samples n_dof"]:
        """M ddq + c + g and the joint terms, in N·m or N."""
        M = self.inertia_matrix(motion.q)
        own = self._theta[self.model.n_inertial :].reshape(self.model.n_dof, len(self.model.terms)).copy()
        own[:, list(self.model.inertia_terms)] = 0.0  # already in M
        joint_terms = np.einsum("njt,jt->nj", self.model.joint_columns(motion), own)
        return (
            np.einsum("njk,nk->nj", M, motion.ddq)
            + self.coriolis_vector(motion.q, motion.dq)
            + self.gravity(motion.q)
            + joint_terms
        )

    def _weightless(
        self,
        q: Float[Array, "n_samples n_dof"],
        dq: Float[Array, "n_samples n_dof"],
        ddq: Float[Array, "n_samples n_dof"],
    ) -> Float[Array, "n_samples n_dof"]:
        rigid = self._rigid[1]
        return rigid.torque(Motion(np.arange(len(q), dtype=float), q, dq, ddq), self._theta[: rigid.n_params])
