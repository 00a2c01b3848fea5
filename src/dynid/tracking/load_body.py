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

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.kernels.stored import njit

__all__ = [
    "BARRIER",
    "BodyScratch",
    "body_scratch",
    "is_body",
    "nearest_body",
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
SHORT, TINY = 0.5, 0.1
"""Lengths of a Newton step as the barrier measures them: up to the first it needs no search, and what it leaves of the
cost is below μ/8; after one below the second, it leaves less than a ten-thousandth of μ."""
FIRST_MASS, NEARLY = 1e-3, 0.99
"""Least and largest mass of a load over the heaviest one; also how close to an edge a load may lie."""
LEVER_SHARE, BALL_SHARE = 0.8, 0.2
"""Largest distance of the centre of mass, and radius of gyration of the ball about it, over the reach: together
they stay within it, 0.8² + 3·0.2² < 1."""


class BodyScratch(NamedTuple):
    """Memory of one Newton step."""

    J: Array
    """(4, 4) pseudo-inertia, then its Cholesky factor."""
    V: Array
    """(4, 4) its inverse."""
    dJ: Array
    H: Array
    """(10, 10) Hessian, then its factors."""
    g: Array
    step: Array
    trial: Array
    start: Array
    rise: Array
    """(10,) slope of the room within the reach; zero but for mass and moments of inertia."""
    W: Array
    """(10, 10) P⁻¹ of the ten parameters."""
    T: Array
    """(10, 10) inverse of their triangular factor."""


def body_scratch() -> BodyScratch:
    """Memory for `nearest_body`, made once."""
    z = np.zeros
    return BodyScratch(
        z((4, 4)), z((4, 4)), z((4, 4)), z((10, 10)), z(10), z(10), z(10), z(10), z(10), z((10, 10)), z((10, 10))
    )


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


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def pseudo_inertia(pi, J):
    """The lower triangle of J(π): second moments Σ = tr(I)/2 − I, first moments, mass."""
    J[0, 0] = 0.5 * (pi[6] + pi[9] - pi[4])
    J[1, 1] = 0.5 * (pi[4] + pi[9] - pi[6])
    J[2, 2] = 0.5 * (pi[4] + pi[6] - pi[9])
    J[1, 0], J[2, 0], J[2, 1] = -pi[5], -pi[7], -pi[8]
    J[3, 0], J[3, 1], J[3, 2], J[3, 3] = pi[1], pi[2], pi[3], pi[0]


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def is_body(pi, limits, J):
    """Whether π lies strictly inside the cone; J then holds the Cholesky factor of its pseudo-inertia."""
    pseudo_inertia(pi, J)
    if not (J[0, 0] + J[1, 1] + J[2, 2] < pi[0] * limits[1] * limits[1] and pi[0] < limits[0]):
        return False
    for k in range(4):
        total = J[k, k]
        for c in range(k):
            total -= J[k, c] * J[k, c]
        if not total > 0.0:
            return False
        J[k, k] = np.sqrt(total)
        inverse = 1.0 / J[k, k]
        for i in range(k + 1, 4):
            total = J[i, k]
            for c in range(k):
                total -= J[i, c] * J[k, c]
            J[i, k] = total * inverse
    return True


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _inverse_of_factor(L, out):
    """(L Lᵀ)⁻¹ of a 4×4 lower triangular factor."""
    r0, r1, r2, r3 = 1.0 / L[0, 0], 1.0 / L[1, 1], 1.0 / L[2, 2], 1.0 / L[3, 3]
    a10 = -L[1, 0] * r0 * r1
    a21 = -L[2, 1] * r1 * r2
    a32 = -L[3, 2] * r2 * r3
    a20 = -(L[2, 0] * r0 + L[2, 1] * a10) * r2
    a31 = -(L[3, 1] * r1 + L[3, 2] * a21) * r3
    a30 = -(L[3, 0] * r0 + L[3, 1] * a10 + L[3, 2] * a20) * r3
    out[0, 0], out[1, 1] = r0 * r0 + a10 * a10 + a20 * a20 + a30 * a30, r1 * r1 + a21 * a21 + a31 * a31
    out[2, 2], out[3, 3] = r2 * r2 + a32 * a32, r3 * r3
    out[1, 0], out[2, 0], out[3, 0] = r1 * a10 + a21 * a20 + a31 * a30, r2 * a20 + a32 * a30, r3 * a30
    out[2, 1], out[3, 1], out[3, 2] = r2 * a21 + a32 * a31, r3 * a31, r3 * a32
    for i in range(4):
        for k in range(i):
            out[k, i] = out[i, k]


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _solve(H, g, step):
    """H step = −g by H = L D Lᵀ in place (1/D on the diagonal); False where H is not positive definite."""
    n = g.shape[0]
    for i in range(n):
        for k in range(i):
            total = H[i, k]
            for c in range(k):
                total -= H[i, c] * H[k, c]
            H[i, k] = total  # L D, until the row is whole
        total = H[i, i]
        for k in range(i):
            ratio = H[i, k] * H[k, k]
            total -= ratio * H[i, k]
            H[i, k] = ratio
        if not total > 0.0:
            return False
        H[i, i] = 1.0 / total
    for i in range(n):
        total = -g[i]
        for k in range(i):
            total -= H[i, k] * step[k]
        step[i] = total
    for i in range(n):
        step[i] *= H[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i):
            step[k] -= H[i, k] * step[i]
    return True


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _information(U, D, W, T, inverse, row):
    """W = P⁻¹ of P = U D Uᵀ, U unit upper triangular; it and its inverse T are stored by columns."""
    for j in range(10):
        for i in range(j):
            T[j, i] = -U[j, i]
        T[j, j] = 1.0
        for k in range(j - 1, 0, -1):
            push = U[j, k]
            for i in range(k):
                T[j, i] -= push * T[k, i]
    for i in range(10):
        inverse[i] = 1.0 / D[i]
        for k in range(i + 1):
            row[k] = T[i, k] * inverse[k]
        for j in range(i, 10):
            total = 0.0
            for k in range(i + 1):
                total += row[k] * T[j, k]
            W[i, j], W[j, i] = total, total


@njit(cache=True, nogil=True)
@no_type_check
def _direct(x, limits, pi, trial, J):
    """A body with the mass and first moment of the Gaussian's mean and, as far as a body can have it, its inertia."""
    mass = min(NEARLY * limits[0], max(FIRST_MASS * limits[0], x[0]))
    size = np.sqrt(x[1] ** 2 + x[2] ** 2 + x[3] ** 2)
    longest = LEVER_SHARE * mass * limits[1]
    shrink = 1.0 if size <= longest else longest / size
    h0, h1, h2 = shrink * x[1], shrink * x[2], shrink * x[3]
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
            trial[a] = pi[a] + (share + step) * (x[a] - pi[a])
        if is_body(trial, limits, J):
            share += step
            if share >= 1.0:
                break
        step *= 0.5
    share = min(share, NEARLY)
    for a in range(4, 10):
        pi[a] += share * (x[a] - pi[a])


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _distance(W, x, pi):
    """Half the squared distance of π from the Gaussian's mean."""
    total = 0.0
    for a in range(10):
        row = 0.0
        for k in range(10):
            row += W[a, k] * (pi[k] - x[k])
        total += row * (pi[a] - x[a])
    return 0.5 * total


@njit(cache=True, nogil=True)
@no_type_check
def _cost(x, limits, pi, m):
    """What the maximum a posteriori minimises; infinite outside the cone. The first number is the distance alone."""
    if not is_body(pi, limits, m.J):
        return np.inf, np.inf
    distance = _distance(m.W, x, pi)
    inside = m.J[0, 0] * m.J[1, 1] * m.J[2, 2] * m.J[3, 3]
    room = pi[0] * limits[1] * limits[1] - 0.5 * (pi[4] + pi[6] + pi[9])
    return distance, distance - BARRIER * (2.0 * np.log(inside) + np.log(room) + np.log(limits[0] - pi[0]))


@njit(cache=True, nogil=True)
@no_type_check
def nearest_body(x, U, D, limits, n_steps, pi, m):
    """Move the load π to the maximum a posteriori; return half its squared distance from the Gaussian's mean.

    Newton steps that are short as the barrier measures them are taken as they are: within one unit a step cannot leave
    the cone, and what is left after it falls with the fourth power [Nesterov1994]_. Otherwise π starts from what it was
    or from the body with the mean's mass and moment, whichever is likelier, and goes on by Newton steps that are
    shortened until they make it likelier. `limits` are the largest mass (kg) and the reach (m).
    """
    _information(U, D, m.W, m.T, m.g, m.step)
    for _ in range(n_steps):
        if not _newton_step(x, limits, pi, m):
            break
        length = _length(limits, pi, m)
        if length > SHORT:
            return _search(x, limits, n_steps, pi, m)
        for a in range(10):
            pi[a] += m.step[a]
        if length < TINY:
            break
    return _distance(m.W, x, pi)


@njit(cache=True, nogil=True)
@no_type_check
def _search(x, limits, n_steps, pi, m):
    _direct(x, limits, m.start, m.trial, m.J)
    distance, cost = _cost(x, limits, m.start, m)
    before, cost_before = _cost(x, limits, pi, m)
    if cost_before < cost:
        distance, cost = before, cost_before
    else:
        for a in range(10):
            pi[a] = m.start[a]
    for _ in range(n_steps):
        if not _newton_step(x, limits, pi, m):
            break
        share = 1.0
        for _h in range(SHORTER):
            for a in range(10):
                m.trial[a] = pi[a] + share * m.step[a]
            then, cost_then = _cost(x, limits, m.trial, m)
            if cost_then < cost:
                distance, cost = then, cost_then
                for a in range(10):
                    pi[a] = m.trial[a]
                break
            share *= 0.3
    return distance


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _length(limits, pi, m):
    """Length of the step in the metric of the barrier: √(tr (J⁻¹ dJ)² + …)."""
    V, dJ, step = m.V, m.dJ, m.step
    pseudo_inertia(step, dJ)
    for i in range(4):
        for k in range(i):
            dJ[k, i] = dJ[i, k]
    total = 0.0
    for i in range(4):
        for k in range(i + 1):
            one, other = 0.0, 0.0
            for c in range(4):
                one += V[i, c] * dJ[c, k]
                other += V[k, c] * dJ[c, i]
            total += one * other if i == k else 2.0 * one * other
    slope = 0.0
    for a in range(10):
        slope += m.rise[a] * step[a]
    return np.sqrt(total + slope * slope + (step[0] / (limits[0] - pi[0])) ** 2)


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _curvature(V, g, H):
    """Gradient of log det J(π), and the negative of its second derivatives tr(V E_a V E_b), with V = J⁻¹."""
    for i in range(4):
        for j in range(i + 1):
            # Second moments stand where the inertia has the same axes.
            a = 4 + (i * i + i) // 2 + j if i < 3 else (1 + j) % 4
            g[a] = V[i, j] if i == j else 2.0 * V[i, j]
            for k in range(i + 1):
                for c in range(k + 1):
                    b = 4 + (k * k + k) // 2 + c if k < 3 else (1 + c) % 4
                    total = V[i, k] * V[j, c] + V[i, c] * V[j, k]
                    total *= (0.5 if i == j else 1.0) * (1.0 if k == c else 2.0)
                    H[a, b], H[b, a] = total, total
    xx, yy, zz = g[4], g[6], g[9]
    g[4], g[6], g[9] = 0.5 * (yy + zz - xx), 0.5 * (xx + zz - yy), 0.5 * (xx + yy - zz)
    g[5], g[7], g[8] = -g[5], -g[7], -g[8]
    for a in range(10):
        xx, yy, zz = H[4, a], H[6, a], H[9, a]
        H[4, a], H[6, a], H[9, a] = 0.5 * (yy + zz - xx), 0.5 * (xx + zz - yy), 0.5 * (xx + yy - zz)
        H[5, a], H[7, a], H[8, a] = -H[5, a], -H[7, a], -H[8, a]
    for a in range(10):
        xx, yy, zz = H[a, 4], H[a, 6], H[a, 9]
        H[a, 4], H[a, 6], H[a, 9] = 0.5 * (yy + zz - xx), 0.5 * (xx + zz - yy), 0.5 * (xx + yy - zz)
        H[a, 5], H[a, 7], H[a, 8] = -H[a, 5], -H[a, 7], -H[a, 8]


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _newton_step(x, limits, pi, m):
    """Fill m.step; False where rounding leaves no direction."""
    W, H, g, rise = m.W, m.H, m.g, m.rise
    if not is_body(pi, limits, m.J):
        return False
    _inverse_of_factor(m.J, m.V)
    _curvature(m.V, g, H)
    room = pi[0] * limits[1] * limits[1] - 0.5 * (pi[4] + pi[6] + pi[9])
    left = limits[0] - pi[0]
    rise[0] = limits[1] * limits[1] / room
    rise[4], rise[6], rise[9] = -0.5 / room, -0.5 / room, -0.5 / room
    g[0] -= 1.0 / left
    H[0, 0] += 1.0 / (left * left)
    for a in range(10):
        pull = 0.0
        for k in range(10):
            pull += W[a, k] * (pi[k] - x[k])
        for k in range(a + 1):
            H[a, k] = W[a, k] + BARRIER * (H[a, k] + rise[a] * rise[k])
        g[a] = pull - BARRIER * (g[a] + rise[a])
    return _solve(H, g, m.step)
