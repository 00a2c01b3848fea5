"""The programme in the coordinates of a reference robot: fit, choose, find an interior point, move inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from dynid.arrays import Array, Float
from dynid.errors import ContradictoryBounds
from dynid.regression.constraints.compiled import CompiledConstraints
from dynid.regression.constraints.cones import ConeBlock, clashing, slack, smat, svec
from dynid.regression.feasible.prior import Reference
from dynid.regression.feasible.solver import ConeOutcome, ConeSolution, SolverSettings, solve_cones

__all__ = ["SEEN_TOLERANCE", "ScaledProgramme", "scaled_programme"]

SEEN_TOLERANCE = 1e-9
"""Relative: directions of θ whose torque is below this fraction of the strongest are not seen by the data."""
_INSIDE = 1e-8
"""Dimensionless; how far inside every condition the solver is asked to stay, more than its own rounding."""
_MAGNIFY = 100.0
"""What physics costs in fit is about a hundredth of the torque: so magnified, the solver's tolerances suit it."""
_LEASH = 1e-7
"""Relative torque that a point as far from the reference as the unconstrained fit costs: a hair, but it keeps
directions that cost nothing else from running away."""
_JOINT_LEASH = 1e-3
"""Relative torque that a joint term as large as the whole torque costs at least where links have a prior: it takes a
millionth off what the data show, and keeps curves that look alike from cancelling at a thousand times their size."""
_CONTRADICTION = 1e-7
"""Dimensionless; conditions that miss each other by more than this contradict each other."""
_SHARES = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""Shares of the interior point that are tried, in order, to move an answer inside."""


@dataclass(frozen=True, eq=False)
class ScaledProgramme:
    r"""Minimise :math:`\|Fx - y\|` over x with :math:`\theta = Sx`, conditions as blocks over x."""

    reference: Reference
    F: Float[Array, "n_base n_params"]
    """RKS over ‖ρ‖: relative torque per dimensionless parameter."""
    y: Float[Array, " n_base"]
    """ρ over ‖ρ‖."""
    blocks: tuple[ConeBlock, ...]
    """Inequalities, tightened by a hair."""
    pins: ConeBlock
    asked: tuple[ConeBlock, ...]
    """The inequalities over θ, SI, not tightened."""
    solver: SolverSettings

    @property
    def n_params(self) -> int:
        """Number of entries of x."""
        return self.F.shape[1]

    @cached_property
    def seen(self) -> tuple[Float[Array, "rank n_params"], Float[Array, " rank"]]:
        """Orthonormal directions of x that the data see, and the value of each at the unconstrained best fit."""
        # A pivoted QR shows the rank as well as an SVD here, and never waits for BLAS threads.
        Q, T, order = linalg.qr(self.F.T, mode="economic", pivoting=True)
        size = np.abs(np.diag(T))
        rank = int(np.count_nonzero(size > SEEN_TOLERANCE * size[0])) if len(size) and size[0] > 0.0 else 0
        return Q[:, :rank].T, np.linalg.lstsq(T[:rank].T, self.y[order], rcond=None)[0]

    def theta(self, x: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
        """θ = Sx (SI), pins met to rounding."""
        if len(self.pins.b):
            x = x - np.linalg.lstsq(self.pins.A, self.pins.at(x), rcond=None)[0]
        return self.reference.S @ x

    def error(self, x: Float[Array, " n_params"]) -> float:
        """‖Fx − y‖, relative to ‖ρ‖."""
        return float(np.linalg.norm(self.F @ x - self.y))

    def unconstrained(self) -> Float[Array, " n_params"]:
        """The best fit that is nearest to the target (dimensionless), whatever the conditions."""
        directions, values = self.seen
        x = self.reference.x_target
        return x + directions.T @ (values - directions @ x)

    @cached_property
    def distance_of_data(self) -> float:
        """How far (dimensionless) the nearest unconstrained fit is from the reference."""
        return float(np.linalg.norm(self.unconstrained() - self.reference.x_target))

    def fit(self, pull: Float[Array, " n_params"] | None = None) -> ConeSolution:
        r"""The smallest error under all conditions: minimise t with ‖Fx − y‖ ≤ t (dimensionless).

        With a `pull` p, minimise :math:`\|Fx - y\|^2 + \|p \circ (x - x_0)\|^2` instead: data and prior as one.

        Raises:
            ContradictoryBounds: when the conditions exclude each other.
        """
        n, n_fit = self.n_params, len(self.y)
        A, b = np.zeros((n_fit + n + 1, n + 1)), np.zeros(n_fit + n + 1)
        A[0, n] = 1.0
        A[1 : n_fit + 1, :n], b[1 : n_fit + 1] = _MAGNIFY * self.F, -_MAGNIFY * self.y
        target = self.reference.x_target
        hair = np.full(n, _LEASH / max(1.0, self.distance_of_data))
        if pull is not None:
            # Joint terms that no torque shows, as those of a friction that a joint does not have, stay at zero.
            effect, n_inertial = np.linalg.norm(self.F, axis=0), 10 * len(self.reference.factors)
            joint = np.where(effect > SEEN_TOLERANCE * np.max(effect), _JOINT_LEASH * effect, 1.0)
            joint[:n_inertial] = 0.0
            hair = np.maximum(np.maximum(pull, joint), hair)
        leash = _MAGNIFY * hair
        A[n_fit + 1 :, :n], b[n_fit + 1 :] = np.diag(leash), -leash * target
        cone = ConeBlock("second order", A, b, ())
        linear = np.eye(n + 1)[n]
        return self._checked(solve_cones(linear, [*self._padded(n + 1), cone], self.solver))

    def choose(self, error: float) -> ConeSolution:
        """The point nearest to the reference among those whose error (relative to ‖ρ‖) is at most `error`.

        An error of zero keeps the unconstrained fit exactly.
        """
        linear, quadratic, blocks = self._distance()
        n_all = len(linear)
        if error <= 0.0:
            directions, values = self.seen
            fit = ConeBlock("zero", _wider(directions, n_all), -values, ())
            return solve_cones(linear, [*self._padded(n_all), *blocks, fit], self.solver, quadratic=quadratic)
        # Measured from the unconstrained fit the residual has no large constant that rounding could eat into.
        origin = np.zeros(n_all)
        origin[: self.n_params] = self.unconstrained()
        A = np.zeros((len(self.y) + 1, n_all))
        A[1:, : self.n_params] = self.F / error
        residual = (self.F @ origin[: self.n_params] - self.y) / error
        fit = ConeBlock("second order", A, np.concatenate([[1.0], residual]), ())
        moved = [ConeBlock(b.kind, b.A, b.at(origin), b.names) for b in (*self._padded(n_all), *blocks)]
        found = solve_cones(linear + quadratic * origin, [*moved, fit], self.solver, quadratic=quadratic)
        return replace(found, x=found.x + origin)

    def regularised(self, weight: float) -> ConeSolution:
        r"""Minimise :math:`\|Fx - y\|^2 + w\,d^2` with d the dimensionless distance to the reference.

        Raises:
            ContradictoryBounds: when the conditions exclude each other.
        """
        linear, quadratic, blocks = self._distance()
        n_near, n_fit = len(linear), len(self.y)
        n_all = n_near + n_fit
        residual = np.zeros((n_fit, n_all))
        residual[:, : self.n_params], residual[:, n_near:] = self.F, -np.eye(n_fit)
        # Scaled so that the objective is of order one whichever part is larger.
        size = 1.0 / max(weight, 1e-6)
        return self._checked(
            solve_cones(
                np.concatenate([size * weight * linear, np.zeros(n_fit)]),
                [
                    *self._padded(n_all),
                    *(ConeBlock(b.kind, _wider(b.A, n_all), b.b, b.names) for b in blocks),
                    ConeBlock("zero", residual, -self.y, ()),
                ],
                self.solver,
                quadratic=np.concatenate([size * weight * quadratic, np.full(n_fit, size)]),
            )
        )

    def interior(self) -> Float[Array, " n_params"] | None:
        """A point strictly inside every condition (dimensionless), None where the solver finds none.

        Raises:
            ContradictoryBounds: when the conditions exclude each other.
        """
        target = self.reference.x_target
        if not len(self.pins.b) and all(slack(block, target) > 1e-3 for block in self.blocks):
            return target
        found, room = self._roomiest()
        return found.x[:-1] if found.outcome is not ConeOutcome.STOPPED and room > 0.0 else None

    def check(self) -> None:
        """Look for contradictions among the conditions alone.

        Raises:
            ContradictoryBounds: naming the conditions that exclude each other.
        """
        self._roomiest()

    def _roomiest(self) -> tuple[ConeSolution, float]:
        """The point with most room to every condition, and how much (dimensionless, at most 1)."""
        n, blocks = self.n_params, self._all_blocks
        room = [ConeBlock(b.kind, np.column_stack([b.A, -b.identity]), b.b, b.names) for b in blocks]
        cap = ConeBlock("nonnegative", -np.eye(n + 1)[n:], np.array([1.0]), ("",))
        found = solve_cones(-np.eye(n + 1)[n], [*room, cap], self.solver)
        excluded = found.outcome in (ConeOutcome.SOLVED, ConeOutcome.STALLED) and found.x[n] < -_CONTRADICTION
        if excluded or found.outcome is ConeOutcome.INFEASIBLE:
            raise ContradictoryBounds(clashing(blocks, found.multipliers[:-1]))
        return found, float(found.x[n])

    def inside(
        self, x: Float[Array, " n_params"], *, shares: Sequence[float] = _SHARES
    ) -> Float[Array, " n_params"] | None:
        """θ (SI) of x moved towards the interior until every condition holds, None where that does not help."""
        if self.holds(self.theta(x)):
            return self.theta(x)
        interior = self.interior()
        if interior is None:
            return None
        for share in shares:
            theta = self.theta((1.0 - share) * x + share * interior)
            if self.holds(theta):
                return theta
        return None

    def holds(self, theta: Float[Array, " n_params"]) -> bool:
        """Whether physics holds strictly and bounds to rounding (1e-9 of their scale, SI)."""
        if not np.all(np.isfinite(theta)):
            return False
        for block in self.asked:
            allowance = 0.0 if block.strict else 1e-9 * max(1.0, float(np.max(np.abs(block.b), initial=0.0)))
            if slack(block, theta) < -allowance:
                return False
        return True

    @property
    def _all_blocks(self) -> list[ConeBlock]:
        return [*self.blocks, *([self.pins] if len(self.pins.b) else [])]

    def _padded(self, n_all: int) -> list[ConeBlock]:
        return [ConeBlock(b.kind, _wider(b.A, n_all), b.b, b.names) for b in self._all_blocks]

    def _checked(self, solution: ConeSolution) -> ConeSolution:
        # The multipliers of the room are cleaner than those of an infeasible fit: they name fewer innocent conditions.
        if solution.outcome in (ConeOutcome.INFEASIBLE, ConeOutcome.STALLED):
            self.check()
        return solution

    def _distance(self) -> tuple[Float[Array, " n_all"], Float[Array, " n_all"], list[ConeBlock]]:
        r"""Half the squared distance to the reference as q, p and cones over (x, …).

        ``nominal``: :math:`\tfrac12 \|x - x_0\|^2`. Otherwise, link by link, the divergence
        :math:`\mathrm{tr}(X_0^{-1} X) - \log\det X`, whose second-order part is the same, with
        :math:`\log\det X \ge \sum_i \log Z_{ii}` for lower-triangular Z where
        :math:`\begin{pmatrix} X & Z \\ Z^T & \mathrm{diag}(Z) \end{pmatrix} \succeq 0`.
        """
        n, target = self.n_params, self.reference.x_target
        if self.reference.rule == "nominal":
            return -target, np.ones(n), []
        n_links = len(self.reference.factors)
        per_link = 14  # ten entries of Z, four logarithms
        n_all = n + per_link * n_links
        linear, quadratic, blocks = np.zeros(n_all), np.zeros(n_all), []
        linear[10 * n_links : n] = -target[10 * n_links :]
        quadratic[10 * n_links : n] = 1.0
        for k in range(n_links):
            own, first = slice(10 * k, 10 * k + 10), n + per_link * k
            linear[own] = svec(np.linalg.inv(smat(target[own])))
            linear[first + 10 : first + 14] = -1.0
            psd = np.zeros((36, n_all))
            psd[:, own] = _EMBED_X
            psd[:, first : first + 10] = _EMBED_Z
            blocks.append(ConeBlock("psd", psd, np.zeros(36), ()))
            exponential, ones = np.zeros((12, n_all)), np.zeros(12)
            for i in range(4):
                exponential[3 * i, first + 10 + i] = 1.0
                ones[3 * i + 1] = 1.0
                exponential[3 * i + 2, first + _DIAGONAL[i]] = 1.0
            blocks.append(ConeBlock("exponential", exponential, ones, ()))
        return linear, quadratic, blocks


def scaled_programme(
    F: Float[Array, "n_base n_params"],
    rho: Float[Array, " n_base"],
    compiled: CompiledConstraints,
    reference: Reference,
    solver: SolverSettings,
    extra: Sequence[ConeBlock] = (),
) -> ScaledProgramme:
    """The programme min ‖Fθ − ρ‖ (N·m) in the coordinates of `reference`, with `extra` conditions over θ (SI)."""
    size = float(np.linalg.norm(rho)) or 1.0
    return ScaledProgramme(
        reference=reference,
        F=F @ reference.sparse / size,
        y=rho / size,
        blocks=tuple(_scaled(block, reference, inside=_INSIDE) for block in (*compiled.blocks, *extra)),
        pins=_scaled(compiled.pins, reference),
        asked=(*compiled.blocks, *extra),
        solver=solver,
    )


def _scaled(block: ConeBlock, reference: Reference, *, inside: float = 0.0) -> ConeBlock:
    """A block over θ as one over x, its rows of order one, tightened by `inside` (dimensionless)."""
    if block.kind == "psd" and len(block.b) == 10 and block.link >= 0:
        # In these coordinates the pseudo-inertia of a link is x itself.
        A = np.zeros_like(block.A)
        A[:, 10 * block.link : 10 * block.link + 10] = np.eye(10)
        b = reference.congruence(block.link) @ block.b
    else:
        A, b = block.A @ reference.sparse, block.b
        size = _row_sizes(block, A, reference)
        A, b = A / size[:, None], b / size
    return ConeBlock(block.kind, A, b - inside * block.identity, block.names, strict=block.strict, link=block.link)


def _row_sizes(block: ConeBlock, A: Float[Array, "n_rows n_params"], reference: Reference) -> Float[Array, " n_rows"]:
    """What the rows of a block are divided by; its cone stays the same."""
    if block.kind == "psd" and block.link >= 0:
        # No coordinates make every 6×6 matrix the identity; a length and a mass are enough to scale it.
        J = reference.factors[block.link] @ reference.factors[block.link].T
        root = np.sqrt(np.array([np.trace(J[:3, :3])] * 3 + [J[3, 3]] * 3))
        return svec(np.outer(root, root)) / svec(np.ones((6, 6)))
    if block.kind in ("nonnegative", "zero"):
        return np.maximum(np.linalg.norm(A, axis=1), np.finfo(float).tiny)
    return np.full(len(A), np.max(np.abs(A)))


def _wider(A: Float[Array, "n_rows n_before"], n_all: int) -> Float[Array, "n_rows n_all"]:
    return np.hstack([A, np.zeros((len(A), n_all - A.shape[1]))])


def _embeddings() -> tuple[Float[Array, "36 10"], Float[Array, "36 10"], tuple[int, ...]]:
    """How the 8×8 matrix of `_distance` depends on svec(X), and on the ten entries of lower-triangular Z."""
    of_x, of_z, diagonal = np.zeros((36, 10)), np.zeros((36, 10)), []
    for k, unit in enumerate(np.eye(10)):
        big = np.zeros((8, 8))
        big[:4, :4] = smat(unit)
        of_x[:, k] = svec(big)
    for k, (row, column) in enumerate(zip(*np.tril_indices(4), strict=True)):
        big = np.zeros((8, 8))
        big[row, 4 + column] = big[4 + column, row] = 1.0
        if row == column:
            big[4 + row, 4 + row] = 1.0
            diagonal.append(k)
        of_z[:, k] = svec(big)
    return of_x, of_z, tuple(diagonal)


_EMBED_X, _EMBED_Z, _DIAGONAL = _embeddings()
