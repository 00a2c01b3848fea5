"""Friction and rotors of the joints, sample after sample: what remembers the motion goes on from the sample before."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array, Float
from dynid.dynamics.kernels.formulas import GIVEN, formula_value
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion

__all__ = ["JointTerms", "add_joint_terms"]


class JointTerms:
    """Columns of the joints' own terms as the motion goes on; what remembers the path starts at rest."""

    def __init__(self, model: TorqueModel) -> None:
        self._model = model
        self.q = np.full(model.n_dof, np.nan)
        """Positions of the sample before, rad or m; nan before the first."""
        self.z = np.zeros((model.n_dof, sum(joint_model.n_states for joint_model in model.joint_models)))
        """What friction remembered then, dimensionless."""

    def at(
        self, q: Float[Array, " n_dof"], dq: Float[Array, " n_dof"], ddq: Float[Array, " n_dof"]
    ) -> Float[Array, "n_dof n_terms"] | None:
        """The columns of the next sample (SI); None, and nothing is remembered, where a value is not finite."""
        if not np.all(np.isfinite([*q, *dq, *ddq])):
            return None
        now = Motion(np.zeros(1), q[None], dq[None], ddq[None])
        if not self.z.shape[1]:
            return self._model.joint_columns(now)[0]
        before = q if np.isnan(self.q[0]) else self.q
        step = Motion(np.array([0.0, 1.0]), np.stack([before, q]), np.stack([dq, dq]), np.stack([ddq, ddq]))
        states = self._model.joint_states(step, self.z)[1:]
        self.q[:], self.z[:] = q, states[0]
        return self._model.joint_columns(now, states=states)[0]

    def resume(self, motion: Motion) -> None:
        """Go on from the end of a motion that started at rest."""
        self.q[:], self.z[:] = motion.q[-1], self._model.joint_states(motion)[-1]


@njit(cache=True, nogil=True)
@no_type_check
def add_joint_terms(a, dq, ddq, theta, w):
    """Add friction and rotor inertia to the rows of the joints."""
    rows, first, codes, numbers, n_terms = a.term_row, a.term_first, a.term_code, a.term_numbers, a.term_code.shape[0]
    terms, stack, Y, z = w.terms, w.stack, w.Y, w.z
    if a.transmission.shape[0] > 0:
        _add_coupled_terms(a, dq, ddq, theta, w)
        return
    for j in range(rows.shape[0]):
        row = rows[j]
        if row < 0:
            continue
        for k in range(n_terms):
            if codes[k, 0] != GIVEN:
                terms[j, k] = formula_value(codes[k], numbers[k, j], dq[j], ddq[j], 0.0, stack, stack)
            column = first + j * n_terms + k
            Y[row, column] = terms[j, k]
            z[row] += theta[column] * terms[j, k]


@njit(cache=True, nogil=True)
@no_type_check
def _add_coupled_terms(a, dq, ddq, theta, w):
    """The same where the terms are those of motors: each acts on every joint that its motor moves."""
    rows, first, codes, numbers, C = a.term_row, a.term_first, a.term_code, a.term_numbers, a.transmission
    n_terms, terms, stack, Y, z = codes.shape[0], w.terms, w.stack, w.Y, w.z
    for motor in range(C.shape[0]):
        speed, acceleration = 0.0, 0.0
        for j in range(C.shape[1]):
            speed += C[motor, j] * dq[j]
            acceleration += C[motor, j] * ddq[j]
        for k in range(n_terms):
            if codes[k, 0] != GIVEN:
                terms[motor, k] = formula_value(codes[k], numbers[k, motor], speed, acceleration, 0.0, stack, stack)
            column = first + motor * n_terms + k
            for j in range(C.shape[1]):
                if C[motor, j] != 0.0 and rows[j] >= 0:
                    Y[rows[j], column] = C[motor, j] * terms[motor, k]
                    z[rows[j]] += theta[column] * Y[rows[j], column]
