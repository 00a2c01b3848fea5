"""BaseParameters: which combinations of parameters the torque can reveal, with labels a paper could print."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, ArrayLike, Bool, Float, Int, freeze_arrays
from dynid.dynamics.model import Column, TorqueModel
from dynid.dynamics.motion import Motion, random_motion
from dynid.errors import ParameterError
from dynid.prose import Grid, PrintsAsTable

__all__ = ["TOLERANCE", "BaseParameters", "base_parameters", "independent_columns"]

TOLERANCE = 1e-9
"""A column whose part outside the span of those chosen is below this fraction of itself depends on them."""
_SNAP = 1e-10
"""An entry of the regrouping matrix this close to a whole number (0 above all) is that number."""


@dataclass(frozen=True, eq=False)
class BaseParameters(PrintsAsTable):
    r"""The combinations :math:`\beta = K\theta` that determine the torque, and a choice of columns for them.

    :math:`Y\theta = Y_b\,\beta` with :math:`Y_b` the independent columns of Y [Gautier1990]_.
    """

    columns: tuple[Column, ...]
    """All parameters, in the order of θ."""
    symbols: tuple[str, ...]
    """Short names of `columns`."""
    independent: Int[Array, " n_base"]
    """Indices of the leading parameter of each combination."""
    K: Float[Array, "n_base n_params"]
    """Regrouping matrix; units follow from its row's and column's parameter."""
    tolerance: float = TOLERANCE
    """Dimensionless, relative: part of a column outside the span of the others, over the column itself."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        return f"BaseParameters({self.n_base} base parameters of {len(self.columns)} parameters)"

    def _table(self) -> Grid:
        leading = zip(self.leading_columns, self.labels(), strict=True)
        rows = [(column.owner, label, column.unit) for column, label in leading]
        return Grid(("link or joint", "base parameter", "unit"), rows)

    @property
    def n_base(self) -> int:
        """Number of combinations."""
        return len(self.independent)

    @property
    def leading(self) -> tuple[str, ...]:
        """Symbol of the leading parameter of each combination."""
        return tuple(self.symbols[k] for k in self.independent)

    @property
    def leading_columns(self) -> tuple[Column, ...]:
        """Leading parameter of each combination; its unit is the combination's."""
        return tuple(self.columns[k] for k in self.independent)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Symbols of the parameters that no motion shows in any torque."""
        return tuple(self.symbols[k] for k in np.flatnonzero(~self.K.any(axis=0)))

    @property
    def alone(self) -> tuple[str, ...]:
        """Symbols of the parameters that show by themselves."""
        rows = np.flatnonzero(np.count_nonzero(self.K, axis=1) == 1)
        alone = self.independent[rows]
        return tuple(self.symbols[k] for k in alone if np.count_nonzero(self.K[:, k]) == 1)

    @property
    def combined(self) -> tuple[str, ...]:
        """Symbols of the parameters that show only in combination with others."""
        other = {*self.alone, *self.unseen}
        return tuple(symbol for symbol in self.symbols if symbol not in other)

    def project(self, theta: ArrayLike) -> Float[Array, " n_base"]:
        """β = Kθ, in the units of the leading parameters."""
        values = np.asarray(theta, dtype=float)
        if values.shape != (len(self.columns),):
            raise ParameterError(f"θ must have {len(self.columns)} entries, got shape {values.shape}")
        return self.K @ values

    def lift(self, beta: ArrayLike) -> Float[Array, " n_params"]:
        """The simplest θ with Kθ = β: leading parameters take β (SI), others zero; rarely physically consistent."""
        values = np.asarray(beta, dtype=float)
        if values.shape != (self.n_base,):
            raise ParameterError(f"β must have {self.n_base} entries, got shape {values.shape}")
        theta = np.zeros(len(self.columns))
        theta[self.independent] = values
        return theta

    def reduce(self, Y: Float[Array, "*rows n_params"]) -> Float[Array, "*rows n_base"]:
        """The independent columns of a regressor (units of torque per unit of the leading parameter)."""
        return Y[..., self.independent]

    def labels(self, *, digits: int = 3) -> tuple[str, ...]:
        """Each combination as a sum, leading parameter first: ``J2xx − J2yy + J3yy + 0.632·mc3z``."""
        return tuple(self._label(row, digits) for row in range(self.n_base))

    def _label(self, row: int, digits: int) -> str:
        first = int(self.independent[row])
        text = self.symbols[first]
        others = [int(k) for k in np.flatnonzero(self.K[row]) if k != first]
        for k in sorted(others, key=lambda k: (_kind(self.columns[k]), k)):
            weight = self.K[row, k]
            factor = "" if abs(weight) == 1.0 else f"{abs(weight):.{digits}g}·"
            text += f" {'−' if weight < 0 else '+'} {factor}{self.symbols[k]}"
        return text


def base_parameters(model: TorqueModel, *, tolerance: float = TOLERANCE, seed: int = 0) -> BaseParameters:
    """The base parameters of a model, chosen greedily: inertias first, then first moments, masses, joint terms.

    Columns are scaled to unit length on random states over the whole circle, so `tolerance` is relative and does not
    depend on units. This order gives the sets that [Gaz2019]_ and [Sousa2013]_ print. The states are random but
    fixed by `seed`.
    """
    n_samples = 10 + 4 * model.n_params // model.n_dof
    motion = random_motion(model.robot, n_samples, np.random.default_rng(seed), within_limits=False)
    W = model.regressor(motion, extra=_generic_columns(model, motion, seed)).reshape(-1, model.n_params)
    lengths = np.linalg.norm(W, axis=0)
    seen = lengths > tolerance * np.max(lengths)
    independent = independent_columns(W, [k for k in _greedy_order(model) if seen[k]], tolerance)
    return BaseParameters(model.columns, model.symbols, independent, _regrouping(W, independent, seen), tolerance)


def independent_columns(
    W: Float[Array, "n_rows n_columns"], order: Iterable[int], tolerance: float
) -> Int[Array, " n_picked"]:
    """The columns of W, none of them zero, that do not depend on those picked before, tried in this order.

    Args:
        W: in any unit: every column is scaled to unit length.
        order: the columns to try.
        tolerance: part outside the span of those picked, relative to the column, below which it depends on them.
    """
    basis = np.zeros((len(W), 0))
    picked: list[int] = []
    for k in order:
        direction = W[:, k] / np.linalg.norm(W[:, k])
        for _ in range(2):  # twice is enough: the second pass removes what rounding left of the first
            direction = direction - basis @ (basis.T @ direction)
        rest = float(np.linalg.norm(direction))
        if rest > tolerance:
            basis = np.column_stack([basis, direction / rest])
            picked.append(k)
    return np.array(picked, dtype=np.int64)


def _generic_columns(model: TorqueModel, motion: Motion, seed: int) -> Float[Array, "n_samples n_dof n_terms"]:
    """Columns of the joint terms on steps of all sizes (SI), as friction that remembers needs them."""
    if not model.has_memory:
        return model.joint_columns(motion)
    rng = np.random.default_rng(seed + 1)
    steps = rng.choice([-1.0, 1.0], motion.q.shape) * 10.0 ** rng.uniform(-6.0, 0.0, motion.q.shape)
    return model.joint_columns(Motion(motion.t, np.cumsum(steps, axis=0), motion.dq, motion.ddq))


def _greedy_order(model: TorqueModel) -> list[int]:
    def place(k: int) -> tuple[int, int, int]:
        if k >= model.n_inertial:
            joint, term = divmod(k - model.n_inertial, len(model.terms))
            return (_kind(model.columns[k]), term, joint)
        name = model.columns[k].name
        return (_kind(model.columns[k]), k // 10, _TENSOR.index(name) if name in _TENSOR else k % 10)

    return sorted(range(model.n_params), key=place)


_TENSOR = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def _kind(column: Column) -> int:
    """0 inertias, 1 first moments, 2 masses, 3 terms of the joint."""
    if column.name in _TENSOR:
        return 0
    return {"mx": 1, "my": 1, "mz": 1, "m": 2}.get(column.name, 3)


def _regrouping(
    W: Float[Array, "n_rows n_params"], independent: Int[Array, " n_base"], seen: Bool[Array, " n_params"]
) -> Float[Array, "n_base n_params"]:
    scale = np.linalg.norm(W[:, independent], axis=0)
    K = np.linalg.lstsq(W[:, independent] / scale, W, rcond=None)[0] / scale[:, None]
    whole = np.round(K)
    K = np.where(np.abs(K - whole) < _SNAP * np.maximum(1.0, np.abs(whole)), whole, K)
    # Noise is relative to what the entry does to the torque, not to its own size.
    effect = np.abs(K) * scale[:, None]
    K[effect < TOLERANCE * np.linalg.norm(W, axis=0)] = 0.0
    K[:, ~seen] = 0.0
    K[:, independent] = np.eye(len(independent))
    return K
