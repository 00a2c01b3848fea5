"""Base parameters from a controller's own M(q) and g(q), for any robot [Gaz2019]_."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.disk import MAX_TEXT_BYTES
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import RecordingError
from dynid.regression.estimate import Estimate, FitError
from dynid.regression.problem import RANK_TOLERANCE, Stacked, column_scale
from dynid.regression.status import Status
from dynid.regression.triangle import triangular
from dynid.regression.uncertainty import Uncertainty

__all__ = ["ControllerSamples", "Reverse", "read_controller_samples"]

POSTURES_AT_ONCE = 1000
"""Postures whose rows are held at a time."""
SILENT = 1e-9
"""A kind of row whose largest entry is below this share of the largest of its quantity says nothing."""


@dataclass(frozen=True, eq=False)
class ControllerSamples:
    """What a controller reports of its own model at still postures."""

    q: Float[Array, "n_samples n_dof"]
    """Positions in rad or m."""
    M: Float[Array, "n_samples n_pairs"]
    """Lower triangle of the inertia matrix row by row (M11, M21, M22, …), SI."""
    g: Float[Array, "n_samples n_dof"]
    """Gravity torques in N·m or N."""
    source: str = "memory"

    def __post_init__(self) -> None:
        n_dof = self.q.shape[1]
        if self.M.shape != (len(self.q), n_dof * (n_dof + 1) // 2) or self.g.shape != self.q.shape:
            raise RecordingError(f"{self.source}: q, M and g do not belong to one robot: {self.q.shape[1]} joints")
        freeze_arrays(self)
        for name in ("q", "M", "g"):
            bad = np.argwhere(~np.isfinite(getattr(self, name)))
            if len(bad):
                raise RecordingError(
                    f"{self.source}: {name} is not finite at sample {bad[0][0]}, column {bad[0][1] + 1}; drop that row"
                )


def read_controller_samples(path: Path, n_dof: int) -> ControllerSamples:
    """Samples from a CSV file (also gzipped) with columns q1…qn, M11, M21, M22, …, g1…gn, SI units.

    Raises:
        RecordingError: naming the file and the columns that are missing or the row that is not numeric.
    """
    header, table = _read_table(path)
    wanted = [f"q{i + 1}" for i in range(n_dof)]
    wanted += [f"M{i + 1}{j + 1}" for i in range(n_dof) for j in range(i + 1)]
    wanted += [f"g{i + 1}" for i in range(n_dof)]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise RecordingError(f"{path}: column given twice: {', '.join(twice)}")
    missing = [name for name in wanted if name not in header]
    if missing:
        have = sum(1 for name in header if name.startswith("q"))
        raise RecordingError(
            f"{path}: no column {', '.join(missing[:6])}{' …' if len(missing) > 6 else ''} for a robot of {n_dof} "
            f"joints; the file has {len(header)} columns, {have} of them positions"
        )
    values = table[:, [header.index(name) for name in wanted]]
    n_pairs = n_dof * (n_dof + 1) // 2
    return ControllerSamples(
        values[:, :n_dof], values[:, n_dof : n_dof + n_pairs], values[:, n_dof + n_pairs :], str(path)
    )


def _read_table(path: Path) -> tuple[list[str], Float[Array, "n_rows n_columns"]]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(MAX_TEXT_BYTES + 1)
        if len(data) > MAX_TEXT_BYTES:
            raise RecordingError(f"{path}: larger than {MAX_TEXT_BYTES // 2**20} MB; give fewer samples")
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    except FileNotFoundError as error:
        raise RecordingError(f"{path}: no such file") from error
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path}: cannot be read as CSV: {error}") from error
    if len(rows) < 2:
        raise RecordingError(f"{path}: needs a header and at least one row of numbers")
    header = [name.strip() for name in rows[0]]
    table = np.empty((len(rows) - 1, len(header)))
    for k, row in enumerate(rows[1:]):
        if len(row) != len(header):
            raise RecordingError(f"{path}: row {k + 2} has {len(row)} cells, the header {len(header)}")
        for c, cell in enumerate(row):
            try:
                table[k, c] = float(cell)
            except ValueError as error:
                raise RecordingError(f"{path}: row {k + 2}, column {header[c]!r}: {cell!r} is not a number") from error
    return header, table


@dataclass(frozen=True, kw_only=True)
class Reverse:
    """Least squares on the stack of inertia and gravity rows; rows that say nothing are found and dropped."""

    def fit(self, model: TorqueModel, base: BaseParameters, samples: ControllerSamples) -> ReverseEstimate:
        """The base parameters whose M(q) and g(q) are closest to the controller's (SI)."""
        inertia_used, gravity_used = _informative(model, base, samples)
        columns = base.n_base
        stack = np.zeros((0, columns + 1))
        for start in range(0, len(samples.q), POSTURES_AT_ONCE):
            part = slice(start, start + POSTURES_AT_ONCE)
            q = np.ascontiguousarray(samples.q[part])
            rows = np.concatenate(
                [model.inertia_rows(q)[:, inertia_used], model.gravity_rows(q)[:, gravity_used]], axis=1
            )
            value = np.concatenate([samples.M[part][:, inertia_used], samples.g[part][:, gravity_used]], axis=1)
            block = np.column_stack([base.reduce(rows).reshape(-1, columns), value.ravel()])
            stack = triangular(np.vstack([stack, block]))
        n_rows = len(samples.q) * (len(inertia_used) + len(gravity_used))
        whole = triangular(np.vstack([stack, np.zeros((columns + 1, columns + 1))]))
        stacked = Stacked(whole[:columns, :columns], whole[:columns, -1], float(whole[-1, -1] ** 2), n_rows)
        dropped = tuple(f"g{j + 1}" for j in range(model.n_dof) if j not in gravity_used)
        return ReverseEstimate(_estimate(model, base, stacked), dropped, stacked)


@dataclass(frozen=True, eq=False)
class ReverseEstimate:
    """Base parameters of a controller's model, and the rows that could not help."""

    estimate: Estimate
    dropped: tuple[str, ...]
    """Kinds of gravity rows that are zero whatever the parameters."""
    stacked: Stacked
    """The triangular factor of the rows that were used (SI)."""

    def __repr__(self) -> str:
        unused = f", gravity rows not used: {', '.join(self.dropped)}" if self.dropped else ""
        return f"ReverseEstimate({self.estimate!r}{unused})"

    def __str__(self) -> str:
        return str(self.estimate)


def _informative(model: TorqueModel, base: BaseParameters, samples: ControllerSamples) -> tuple[list[int], list[int]]:
    q = np.ascontiguousarray(samples.q[:POSTURES_AT_ONCE])
    sizes = [np.abs(base.reduce(rows)).max(axis=(0, 2)) for rows in (model.inertia_rows(q), model.gravity_rows(q))]
    used = [np.flatnonzero(size > SILENT * max(float(size.max()), 1e-300)).tolist() for size in sizes]
    return used[0], used[1] if float(sizes[1].max()) > 0.0 else []


def _estimate(model: TorqueModel, base: BaseParameters, stacked: Stacked) -> Estimate:
    condition, rank = stacked.condition()
    scale, beta = column_scale(stacked.R), stacked.solution()
    residual = float(np.sum((stacked.rho - stacked.R @ beta) ** 2)) + stacked.rest
    power = float(stacked.rho @ stacked.rho) + stacked.rest
    noise = np.sqrt(residual / max(stacked.n_rows - rank, 1))
    inverse = np.linalg.pinv(stacked.R / scale, rcond=RANK_TOLERANCE)
    covariance = noise**2 * (inverse @ inverse.T) / np.outer(scale, scale)
    sure = Uncertainty(covariance, np.sqrt(np.diag(covariance)), np.full(model.n_dof, noise), np.ones(model.n_dof))
    relative = 100.0 * float(np.sqrt(residual / power)) if power > 0.0 else np.nan
    nan = np.full(model.n_dof, np.nan)
    return Estimate(
        estimator="reverse",
        model=model,
        base=base,
        beta=beta,
        uncertainty=sure,
        condition_number=condition,
        rank=rank,
        n_rows=stacked.n_rows,
        fit=FitError(relative, nan, nan),
        status=Status.CONVERGED if rank == base.n_base else Status.RANK_DEFICIENT,
    )
