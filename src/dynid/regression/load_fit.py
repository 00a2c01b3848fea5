"""One fit of arm, friction drift, scale of the torques and load: what a run with a load says of it, and how surely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Int, freeze_arrays
from dynid.errors import ParameterError
from dynid.regression.load_rows import N_LOAD
from dynid.regression.problem import RANK_TOLERANCE, Regression
from dynid.regression.triangle import triangular

__all__ = ["KnownArm", "LoadFit", "LoadProblem"]

HIDDEN = 1e-3
"""Dimensionless part of an unseen direction from which on a number of the load counts as not seen."""
EXACT = 1e-12
"""Variance over the largest from which on a direction of β counts as exactly known; less would drown the log."""
SILENT_RUN = 1e-12
"""Length of a column over the longest below which it says nothing."""


@dataclass(frozen=True, eq=False)
class KnownArm:
    """What is known of the arm without load: base parameters and how sure they are."""

    beta: Float[Array, " n_base"]
    """Base parameters, in the units of their leading parameters."""
    covariance: Float[Array, "n_base n_base"]
    """Of β, without what an uncertain scale of the torques adds; infinite where a base parameter is not known."""
    gain_directions: Float[Array, "n_dof n_base"] | None = None
    """Change of β per relative change of each joint's scale; None where the scale is exact."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class LoadFit:
    """The ten numbers of a load by generalised least squares, consistent or not, and what makes them uncertain."""

    beta: Float[Array, " n_base"]
    """Of the arm."""
    deviation: Float[Array, " n_base"]
    """What the joint terms of the run with load differ by, as β."""
    load: Float[Array, " 10"]
    """The ten numbers in the flange frame (SI)."""
    covariance: Float[Array, "10 10"]
    """Of the load; infinite where it is not seen."""
    parts: dict[str, Float[Array, "10 10"]]
    """The same by source: noise (of the run with load), arm, friction, gains; they add up to it."""
    R: Float[Array, "10 10"]
    """Triangular problem of the load alone, all else left free."""
    rho: Float[Array, " 10"]
    """Its right side."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class LoadProblem:
    r"""Rows with unit white noise of runs with and without load, and what is known beside them.

    .. math::

        \tau_j = (1 + \gamma_j)(Y_j (\beta + K_f \delta) + Y_{Lj} \pi_L) + e_j, \qquad
        \hat\beta = \beta + \sum_i \gamma_i g_i + e_\beta, \quad \delta \sim N(0, D), \quad \gamma \sim N(0, \Gamma)

    Load, arm and drift δ are fitted together. Scales γ are not fitted, for what a model misses would pass for them;
    their uncertainty counts in full through the derivative of the fit [Schmidt1966]_.
    """

    loaded: Regression
    """Of the run with load; its last ten columns are the load."""
    unloaded: Regression | None
    """Of a run without it, with the same columns."""
    known: KnownArm | None
    drift: Float[Array, "n_base n_drifting"]
    """A root L of the covariance D of δ, as β: δ = Lξ with unit ξ."""
    scales: Float[Array, "n_dof n_dof"]
    """Γ: relative covariance of the γ."""

    def solved(self) -> LoadFit:
        """The fit; the noise of each joint counts as its residuals show it, and no less than is known of it."""
        calibration = np.ones(self._n_dof)
        for _ in range(2):
            rows = self._stacked(calibration)
            inverse, _ = _inverse(rows.A)
            calibration = calibration * self._excess(inverse @ rows.b, calibration, inverse)
        rows = self._stacked(calibration)
        inverse, scale = _inverse(rows.A)
        z, own = inverse @ rows.b, inverse[-N_LOAD:]
        parts = {
            name: own[:, rows.source == k] @ own[:, rows.source == k].T
            for k, name in enumerate(("noise", "arm", "friction"))
        }
        per_scale = own @ rows.of_scales(z, self)
        parts["gains"] = per_scale @ self.scales @ per_scale.T
        whole = triangular(np.column_stack([rows.A, rows.b]))
        n = rows.A.shape[1]
        covariance = np.array(sum(parts.values()))
        hidden = _hidden(rows.A, scale)
        covariance[hidden, hidden] = np.inf
        return LoadFit(
            beta=z[: self.n_base],
            deviation=self.drift @ z[self.n_base : -N_LOAD],
            load=z[-N_LOAD:],
            covariance=covariance,
            parts=parts,
            R=whole[n - N_LOAD : n, n - N_LOAD : n],
            rho=whole[n - N_LOAD : n, -1],
        )

    @property
    def n_base(self) -> int:
        """Base parameters of the arm."""
        return self.loaded.base.n_base - N_LOAD

    @property
    def _n_dof(self) -> int:
        return self.loaded.model.n_dof

    @property
    def _runs(self) -> tuple[tuple[int, Regression], ...]:
        """Rows of noise of the run with load (source 0), and of the arm (source 1)."""
        return ((0, self.loaded),) if self.unloaded is None else ((0, self.loaded), (1, self.unloaded))

    def transform(self, joint: int, *, with_load: bool) -> Float[Array, "n_visible n_unknown"]:
        """What the unknowns β, ξ and π make of the coefficients of a joint's columns (SI)."""
        n_base, n_drift = self.n_base, self.drift.shape[1]
        T = np.zeros((n_base + N_LOAD, n_base + n_drift + N_LOAD))
        T[:n_base, :n_base] = np.eye(n_base)
        if with_load:
            T[:n_base, n_base:-N_LOAD] = self.drift
            T[n_base:, -N_LOAD:] = np.eye(N_LOAD)
        return T[self.loaded.visible[joint]]

    def _stacked(self, calibration: Float[Array, " n_dof"]) -> _Rows:
        A, b, source, joint = [], [], [], []
        for k, regression in self._runs:
            for j, factor in enumerate(regression.joints):
                weight = 1.0 / np.sqrt(calibration[j])
                A.append(weight * factor.R @ self.transform(j, with_load=k == 0))
                b.append(weight * factor.rho)
                source.append(np.full(len(factor.rho), k))
                joint.append(np.full(len(factor.rho), j))
        n_base, n_drift = self.n_base, self.drift.shape[1]
        n_unknown = n_base + n_drift + N_LOAD
        if self.known is not None:
            W = _information_rows(self.known, n_base)
            A.append(np.hstack([W, np.zeros((len(W), n_unknown - n_base))]))
            b.append(W @ self.known.beta)
            source.append(np.full(len(W), 1))
            joint.append(np.full(len(W), -1))
        A.append(np.eye(n_unknown)[n_base : n_base + n_drift])
        b.append(np.zeros(n_drift))
        source.append(np.full(n_drift, 2))
        joint.append(np.full(n_drift, -1))
        return _Rows(np.vstack(A), np.concatenate(b), np.concatenate(source), np.concatenate(joint))

    def _excess(
        self,
        z: Float[Array, " n_unknown"],
        calibration: Float[Array, " n_dof"],
        inverse: Float[Array, "n_unknown n_rows"],
    ) -> Float[Array, " n_dof"]:
        """Variance of the scores of each joint's blocks of time over what white rows of unit noise give, at least 1."""
        G = inverse @ inverse.T
        seen, expected = np.zeros(self._n_dof), np.zeros(self._n_dof)
        for k, regression in self._runs:
            for j in range(self._n_dof):
                T, weight = self.transform(j, with_load=k == 0), 1.0 / np.sqrt(calibration[j])
                for block in regression.blocks:
                    A = weight * block[j].R @ T
                    g = A.T @ (weight * block[j].rho - A @ z)
                    AG = A @ G
                    seen[j] += float(g @ G @ g)
                    expected[j] += float(np.sum(AG * A) - np.sum((AG @ A.T) ** 2))
        return np.where(expected > 0.0, np.maximum(seen / np.where(expected > 0.0, expected, 1.0), 1.0), 1.0)


@dataclass(frozen=True, eq=False)
class _Rows:
    """All rows of a problem, with unit noise."""

    A: Float[Array, "n_rows n_unknown"]
    b: Float[Array, " n_rows"]
    source: Int[Array, " n_rows"]
    """0 the run with load, 1 the arm, 2 the drift of friction."""
    joint: Int[Array, " n_rows"]
    """Whose torque a row is of; −1 for what is known beside the rows."""

    def of_scales(self, z: Float[Array, " n_unknown"], problem: LoadProblem) -> Float[Array, "n_rows n_dof"]:
        """Change of the right side per relative change of each joint's scale: its own torques, and β of a known arm."""
        fitted = self.A @ z
        change = np.zeros((len(fitted), len(problem.scales)))
        for j in range(len(problem.scales)):
            change[self.joint == j, j] = fitted[self.joint == j]
        if problem.known is not None and problem.known.gain_directions is not None:
            arm = (self.joint == -1) & (self.source == 1)
            change[arm] = self.A[np.ix_(arm, np.arange(problem.n_base))] @ problem.known.gain_directions.T
        return change


def _inverse(
    A: Float[Array, "n_rows n_unknown"],
) -> tuple[Float[Array, "n_unknown n_rows"], Float[Array, " n_unknown"]]:
    """The pseudo-inverse, columns scaled to unit length first, and their lengths."""
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > SILENT_RUN * np.max(scale, initial=0.0), scale, 1.0)
    return np.linalg.pinv(A / scale, rcond=RANK_TOLERANCE) / scale[:, None], scale


def _hidden(A: Float[Array, "n_rows n_unknown"], scale: Float[Array, " n_unknown"]) -> Int[Array, " n_hidden"]:
    """Which of the ten numbers the rows do not show."""
    _, values, directions = np.linalg.svd(A / scale, full_matrices=False)
    null = directions[values <= RANK_TOLERANCE * max(values[0], 1e-300)]
    return np.flatnonzero(np.linalg.norm(null, axis=0)[-N_LOAD:] > HIDDEN)


def _information_rows(known: KnownArm, n_base: int) -> Float[Array, "n_known n_base"]:
    """W with WᵀW the information of β: rows of unit noise."""
    if known.beta.shape != (n_base,):
        raise ParameterError(f"the model has {len(known.beta)} base parameters, not {n_base}")
    finite = np.isfinite(np.diag(known.covariance))
    own = known.covariance[np.ix_(finite, finite)]
    scale = np.sqrt(np.maximum(np.diag(own), 1e-300))
    values, vectors = np.linalg.eigh(own / np.outer(scale, scale))
    rows = np.zeros((len(values), n_base))
    rows[:, np.flatnonzero(finite)] = (vectors / scale[:, None]).T / np.sqrt(np.maximum(values, EXACT * values[-1]))[
        :, None
    ]
    return rows
