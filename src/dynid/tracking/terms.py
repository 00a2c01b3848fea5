"""Friction of the joints sample after sample: what remembers the motion goes on from the sample before."""

from __future__ import annotations

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.motion import Motion
from dynid.dynamics.regressor import TorqueModel

__all__ = ["JointTerms"]


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
