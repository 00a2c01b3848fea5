"""Friction and rotors of the joints, sample after sample: what remembers the motion goes on from the sample before."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array, Float
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion

__all__ = ["JointTerms", "joint_terms"]


class JointTerms:
    r"""Columns of the joints' own terms as the motion goes on; presliding starts relaxed.

    From rest a step along the path gives :math:`z' = s\,(1 - e^{-|\Delta q|/\ell})`, so from any state
    :math:`z_{k+1} = z' + z_k\,(1 - |z'|)`.
    """

    def __init__(self, model: TorqueModel) -> None:
        self._model = model
        self._remembering = np.array(model.remembering, dtype=np.int64)
        self.q = np.full(model.n_dof, np.nan)
        """Positions of the sample before, rad or m; nan before the first."""
        self.z = np.zeros((model.n_dof, len(self._remembering)))
        """Dahl's states then, dimensionless, between −1 and 1."""

    def at(
        self, q: Float[Array, " n_dof"], dq: Float[Array, " n_dof"], ddq: Float[Array, " n_dof"]
    ) -> Float[Array, "n_dof n_terms"] | None:
        """The columns of the next sample (SI); None, and nothing is remembered, where a value is not finite."""
        if not np.all(np.isfinite([*q, *dq, *ddq])):
            return None
        if not len(self._remembering):
            return self._model.joint_columns(Motion(np.zeros(1), q[None], dq[None], ddq[None]))[0]
        before = q if np.isnan(self.q[0]) else self.q
        step = Motion(np.array([0.0, 1.0]), np.stack([before, q]), np.stack([dq, dq]), np.stack([ddq, ddq]))
        columns = self._model.joint_columns(step)[1]
        moved = columns[:, self._remembering]
        self.z[:] = moved + self.z * (1.0 - np.abs(moved))
        self.q[:] = q
        columns[:, self._remembering] = self.z
        return columns

    def resume(self, q: Float[Array, " n_dof"], columns: Float[Array, "n_dof n_terms"]) -> None:
        """Go on from a sample at q (rad or m) with these columns (SI)."""
        self.q[:], self.z[:] = q, columns[:, self._remembering]


@njit(cache=True, nogil=True)
@no_type_check
def joint_terms(a, dq, ddq, theta, terms, Y, z):
    """Add friction and rotor inertia to the rows of the joints."""
    rows, first, codes, n_terms = a.term_row, a.term_first, a.term_code, a.term_code.shape[0]
    if a.transmission.shape[0] > 0:
        _coupled_terms(a, dq, ddq, theta, terms, Y, z)
        return
    for j in range(rows.shape[0]):
        row = rows[j]
        if row < 0:
            continue
        for k in range(n_terms):
            terms[j, k] = _term(codes[k], dq[j], ddq[j], terms[j, k])
            column = first + j * n_terms + k
            Y[row, column] = terms[j, k]
            z[row] += theta[column] * terms[j, k]


@njit(cache=True, nogil=True)
@no_type_check
def _coupled_terms(a, dq, ddq, theta, terms, Y, z):
    """The same where the terms are those of motors: each acts on every joint that its motor moves."""
    rows, first, codes, C, n_terms = a.term_row, a.term_first, a.term_code, a.transmission, a.term_code.shape[0]
    for motor in range(C.shape[0]):
        speed, acceleration = 0.0, 0.0
        for j in range(C.shape[1]):
            speed += C[motor, j] * dq[j]
            acceleration += C[motor, j] * ddq[j]
        for k in range(n_terms):
            terms[motor, k] = _term(codes[k], speed, acceleration, terms[motor, k])
            column = first + motor * n_terms + k
            for j in range(C.shape[1]):
                if C[motor, j] != 0.0 and rows[j] >= 0:
                    Y[rows[j], column] = C[motor, j] * terms[motor, k]
                    z[rows[j]] += theta[column] * Y[rows[j], column]


@njit(cache=True, nogil=True)
@no_type_check
def _term(code, speed, acceleration, given):
    """What a term multiplies; what was given where the core does not know it."""
    if code == 0:
        return speed
    if code == 1:
        return np.sign(speed)
    if code == 2:
        return 1.0
    return acceleration if code == 3 else given
