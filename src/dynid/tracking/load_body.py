r"""A load that is always a body: the most probable physically consistent load of a Gaussian over its ten parameters.

The measurement is linear in the ten parameters, so a Gaussian :math:`\mathcal N(\hat\pi, P)` holds all that was
measured, without linearisation. The load itself is the maximum a posteriori

.. math::

    \min_\pi \tfrac12 (\pi-\hat\pi)^T P^{-1} (\pi-\hat\pi)
    - \mu \bigl[ \log\det J(\pi) + \log(m R^2 - \mathrm{tr}\,\Sigma) + \log(\bar m - m) \bigr]

over pseudo-inertias :math:`J = \begin{bmatrix} \Sigma & mc \\ mc^T & m \end{bmatrix} \succ 0` [Wensing2018]_ whose mass
lies within a ball of radius R about the flange (:math:`\mathrm{tr}\,\Sigma \le m R^2`) and weighs at most
:math:`\bar m`. The problem is convex and its solution lies strictly inside the cone: the load is physically
consistent at every sample, is never negative, and leaves an empty hand as easily as any other place. The body that has
the mean's mass and first moment and as much of its inertia as a body can is nearly it; a few Newton steps do the rest.
"""

from __future__ import annotations

from typing import NamedTuple, no_type_check

import numpy as np
from numba import njit

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters

__all__ = [
    "BARRIER",
    "BodyScratch",
    "body_scratch",
    "is_body",
    "nearest_body",
    "pseudo_basis",
    "small_body",
    "typical_bodies",
]

BARRIER = 0.02
"""μ, the weight of the prior det(J)^μ, in units of log-likelihood: what a fiftieth of a nat may decide."""
N_BODIES = 2000
"""Bodies over which the second moments of a load are taken."""
HALVINGS = 12
"""Of the search for how much of an inertia a body can have; each is a factor of two."""
SHORTER = 5
"""Times that a Newton step is shortened before it is left out."""
FIRST_MASS, NEARLY = 1e-3, 0.99
"""Least and largest mass of a load over the heaviest one; also how close to an edge a load may lie."""
LEVER_SHARE, BALL_SHARE = 0.8, 0.2
"""Largest distance of the centre of mass, and radius of gyration of the ball about it, over the reach: together
they stay within it, 0.8² + 3·0.2² < 1."""


class BodyScratch(NamedTuple):
    """Memory of one Newton step."""

    J: Array
    """(4, 4) pseudo-inertia, then its Cholesky factor."""
    inverse: Array
    """(4, 4)"""
    A: Array
    """(10, 4, 4) J⁻¹ E_a"""
    H: Array
    """(10, 10) Hessian"""
    g: Array
    step: Array
    trial: Array
    start: Array
    W: Array
    """(10, 10) P⁻¹ of the ten parameters."""
    T: Array
    """(10, 10) inverse of their triangular factor."""


def body_scratch() -> BodyScratch:
    """Memory for `nearest_body`, made once."""
    z = np.zeros
    return BodyScratch(
        z((4, 4)), z((4, 4)), z((10, 4, 4)), z((10, 10)), z(10), z(10), z(10), z(10), z((10, 10)), z((10, 10))
    )


def pseudo_basis() -> Float[Array, "10 4 4"]:
    """The pseudo-inertia of each of the ten unit parameters (SI): J(π) = Σ π_a E_a."""
    return np.array([InertialParameters(unit).pseudo_inertia for unit in np.eye(10)])


def small_body(mass: float, reach: float) -> Float[Array, " 10"]:
    """A ball of `mass` (kg) at the flange, a third of `reach` (m) in radius of gyration: where a load starts."""
    ball = InertialParameters.from_com(mass, np.zeros(3), mass * (reach / 3.0) ** 2 * np.eye(3))
    return np.array(ball.pi)


def typical_bodies(mass: float, lever: float, size: float) -> Float[Array, "10 10"]:
    """Second moments (SI) of the ten parameters over bodies of a root mean square mass (kg).

    Their centres lie within `lever` (m, σ of each coordinate) of the flange, and their radii of gyration about it are
    between a third and all of `size` (m). Mass, first moment and inertia of a body go together; so does the prior.
    """
    rng = np.random.default_rng(0)
    bodies = []
    for _ in range(N_BODIES):
        second = np.diag((size * rng.uniform(1.0 / 3.0, 1.0, 3)) ** 2) / 3.0
        turned = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        inertia = np.trace(second) * np.eye(3) - turned @ second @ turned.T
        bodies.append(InertialParameters.from_com(1.0, lever * rng.standard_normal(3), inertia).pi)
    stacked = np.array(bodies)
    return mass**2 * stacked.T @ stacked / N_BODIES


@njit(cache=True, nogil=True)
@no_type_check
def is_body(E, pi, limits, J):
    """Whether π lies strictly inside the cone; J then holds the Cholesky factor of its pseudo-inertia."""
    room = pi[0] * limits[1] * limits[1]
    for i in range(4):
        for k in range(4):
            total = 0.0
            for a in range(10):
                total += pi[a] * E[a, i, k]
            J[i, k] = total
    if not (J[0, 0] + J[1, 1] + J[2, 2] < room and pi[0] < limits[0]):
        return False
    for k in range(4):
        for i in range(k, 4):
            total = J[i, k]
            for c in range(k):
                total -= J[i, c] * J[k, c]
            if i == k:
                if not total > 0.0:
                    return False
                J[k, k] = np.sqrt(total)
            else:
                J[i, k] = total / J[k, k]
    return True


@njit(cache=True, nogil=True)
@no_type_check
def _inverse_of_factor(L, out):
    """(L Lᵀ)⁻¹ of a 4×4 lower triangular factor."""
    for c in range(4):
        for i in range(4):
            total = 1.0 if i == c else 0.0
            for k in range(i):
                total -= L[i, k] * out[k, c]
            out[i, c] = total / L[i, i]
        for i in range(3, -1, -1):
            total = out[i, c]
            for k in range(i + 1, 4):
                total -= L[k, i] * out[k, c]
            out[i, c] = total / L[i, i]


@njit(cache=True, nogil=True)
@no_type_check
def _solve(H, g, step):
    """H step = −g by Cholesky, in place; False where H is not positive definite."""
    n = g.shape[0]
    for k in range(n):
        for i in range(k, n):
            total = H[i, k]
            for c in range(k):
                total -= H[i, c] * H[k, c]
            if i == k:
                if not total > 0.0:
                    return False
                H[k, k] = np.sqrt(total)
            else:
                H[i, k] = total / H[k, k]
    for i in range(n):
        total = -g[i]
        for k in range(i):
            total -= H[i, k] * step[k]
        step[i] = total / H[i, i]
    for i in range(n - 1, -1, -1):
        total = step[i]
        for k in range(i + 1, n):
            total -= H[k, i] * step[k]
        step[i] = total / H[i, i]
    return True


@njit(cache=True, nogil=True)
@no_type_check
def _information(U, D, first, W, T):
    """W = P⁻¹ of the states from `first` on, which stand last: P = U D Uᵀ there needs only their own block."""
    for j in range(10):
        for i in range(10):
            T[i, j] = 0.0
        T[j, j] = 1.0
    # Columns of T = U⁻¹, U unit upper triangular and stored by columns.
    for j in range(10):
        for i in range(j - 1, -1, -1):
            total = 0.0
            for k in range(i + 1, j + 1):
                total -= U[first + k, first + i] * T[k, j]
            T[i, j] = total
    for i in range(10):
        for j in range(i, 10):
            total = 0.0
            for k in range(i + 1):
                total += T[k, i] * T[k, j] / D[first + k]
            W[i, j], W[j, i] = total, total


@njit(cache=True, nogil=True)
@no_type_check
def _direct(E, x, first, limits, pi, trial, J):
    """A body with the mass and first moment of the Gaussian's mean and, as far as a body can have it, its inertia."""
    mass = min(NEARLY * limits[0], max(FIRST_MASS * limits[0], x[first]))
    size = np.sqrt(x[first + 1] ** 2 + x[first + 2] ** 2 + x[first + 3] ** 2)
    longest = LEVER_SHARE * mass * limits[1]
    shrink = 1.0 if size <= longest else longest / size
    h0, h1, h2 = shrink * x[first + 1], shrink * x[first + 2], shrink * x[first + 3]
    # Second moments of a ball about that centre: inside the cone for every mass and moment above.
    ball = mass * (BALL_SHARE * limits[1]) ** 2
    s0, s1, s2 = h0 * h0 / mass + ball, h1 * h1 / mass + ball, h2 * h2 / mass + ball
    trial[0], trial[1], trial[2], trial[3] = mass, h0, h1, h2
    trial[4], trial[6], trial[9] = s1 + s2, s0 + s2, s0 + s1
    trial[5], trial[7], trial[8] = -h0 * h1 / mass, -h0 * h2 / mass, -h1 * h2 / mass
    for a in range(10):
        pi[a] = trial[a]
    share, step = 0.0, 1.0
    for _ in range(HALVINGS):
        # The largest share of the mean's own inertia that still leaves a body.
        for a in range(4, 10):
            trial[a] = pi[a] + (share + step) * (x[first + a] - pi[a])
        if is_body(E, trial, limits, J):
            share += step
            if share >= 1.0:
                break
        step *= 0.5
    share = min(share, NEARLY)
    for a in range(4, 10):
        pi[a] += share * (x[first + a] - pi[a])


@njit(cache=True, nogil=True)
@no_type_check
def _cost(E, x, first, limits, pi, m):
    """What the maximum a posteriori minimises; infinite outside the cone. The first number is the distance alone."""
    if not is_body(E, pi, limits, m.J):
        return np.inf, np.inf
    distance = 0.0
    for a in range(10):
        for k in range(10):
            distance += (pi[a] - x[first + a]) * m.W[a, k] * (pi[k] - x[first + k])
    moment = 0.0
    for i in range(3):
        for a in range(10):
            moment += pi[a] * E[a, i, i]
    log = np.log(pi[0] * limits[1] * limits[1] - moment) + np.log(limits[0] - pi[0])
    for i in range(4):
        log += 2.0 * np.log(m.J[i, i])
    return 0.5 * distance, 0.5 * distance - BARRIER * log


@njit(cache=True, nogil=True)
@no_type_check
def nearest_body(E, x, U, D, first, limits, n_steps, pi, m):
    """Move the load π to the maximum a posteriori; return half its squared distance from the Gaussian's mean.

    It starts from what π was or from the body with the mean's mass and moment, whichever is likelier, and goes on by
    Newton steps, shortened until they make it likelier. `limits` are the largest mass (kg) and the reach (m).
    """
    _information(U, D, first, m.W, m.T)
    _direct(E, x, first, limits, m.start, m.trial, m.J)
    distance, cost = _cost(E, x, first, limits, m.start, m)
    before, cost_before = _cost(E, x, first, limits, pi, m)
    if cost_before < cost:
        distance, cost = before, cost_before
    else:
        for a in range(10):
            pi[a] = m.start[a]
    for _ in range(n_steps):
        if not _newton_step(E, x, first, limits, pi, m):
            break
        share = 1.0
        for _h in range(SHORTER):
            for a in range(10):
                m.trial[a] = pi[a] + share * m.step[a]
            then, cost_then = _cost(E, x, first, limits, m.trial, m)
            if cost_then < cost:
                distance, cost = then, cost_then
                for a in range(10):
                    pi[a] = m.trial[a]
                break
            share *= 0.3
    return distance


@njit(cache=True, nogil=True)
@no_type_check
def _newton_step(E, x, first, limits, pi, m):
    """Fill m.step; False where rounding leaves no direction."""
    W, J, inverse, A, H, g = m.W, m.J, m.inverse, m.A, m.H, m.g
    if not is_body(E, pi, limits, J):
        return False
    _inverse_of_factor(J, inverse)
    moment = 0.0
    for i in range(3):
        for a in range(10):
            moment += pi[a] * E[a, i, i]
    room, left = pi[0] * limits[1] * limits[1] - moment, limits[0] - pi[0]
    for a in range(10):
        trace = 0.0
        for i in range(4):
            for k in range(4):
                total = 0.0
                for c in range(4):
                    total += inverse[i, c] * E[a, c, k]
                A[a, i, k] = total
            trace += A[a, i, i]
        rise = (limits[1] * limits[1] if a == 0 else 0.0) - E[a, 0, 0] - E[a, 1, 1] - E[a, 2, 2]
        g[a] = -BARRIER * (trace + rise / room - (1.0 / left if a == 0 else 0.0))
        m.trial[a] = rise / room
        for k in range(10):
            g[a] += W[a, k] * (pi[k] - x[first + k])
    for a in range(10):
        for k in range(a + 1):
            total = m.trial[a] * m.trial[k]
            for i in range(4):
                for j in range(4):
                    total += A[a, i, j] * A[k, j, i]
            H[a, k] = W[a, k] + BARRIER * total
    H[0, 0] += BARRIER / (left * left)
    return _solve(H, g, m.step)
