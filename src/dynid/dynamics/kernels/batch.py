"""The batched regressor and Newton–Euler recursion: compiled, the only hot loop of the project.

Samples run across SIMD lanes: a block of `LANES` samples is computed side by side, each scalar of the recursion a row
of `LANES` numbers. Rows lie in flat arrays at constant offsets (``x[3 * L + k]``), because only then does the compiler
see that reads and writes do not overlap, and vectorises. The kernels are serial and release the interpreter lock;
`in_chunks` runs them on a pool of threads. Python calls them through `ready`, where they are compiled already; compiled
functions call `newton_euler`.

Spatial vectors are (linear, angular) in link axes about the link origin, as in Pinocchio. With the motion subspace
:math:`S_j` of joint j carried into the frame of a link i beyond it, the torque of joint j that link i causes is
:math:`S_j^T A_i \\pi_i`, where :math:`A_i \\pi_i` is the wrench Newton and Euler ask for [Gautier1990]_.
"""

from __future__ import annotations

import math
from typing import Any, no_type_check

import numpy as np

from dynid.dynamics.kernels.chains import LANES, LaneArrays
from dynid.dynamics.kernels.stored import kernel, njit

__all__ = [
    "columns_kernel",
    "compiled_columns",
    "compiled_regressor",
    "newton_euler",
    "regressor_kernel",
    "torque_kernel",
]

L = LANES
QUARTER = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
"""A quarter turn as the sum of three numbers, the first two with bits to spare for a whole factor."""
SINE = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 8))
COSINE = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(1, 9))
"""Taylor's series of sin(r)/r and cos(r) in r², from the second term on."""

inner: Any = njit(cache=True, nogil=True, fastmath={"contract"}, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Compiles what only other kernels call: without the wrappers that Python and C would need."""
inlined: Any = njit(cache=True, nogil=True, fastmath={"contract"}, inline="always")
"""Becomes part of each kernel that calls it before anything is compiled: a layer less to compile twice."""


@inner
@no_type_check
def _pose(chain, i, u, E):
    """Rows 0…8 of E: rotation of link i in its parent (row-major); 9…11: its origin; u holds cos q, sin q and q."""
    for r in range(12):
        row = E[r * L : (r + 1) * L]
        c, s = chain.pose_cos[i, r], chain.pose_sin[i, r]
        x, o = chain.pose_linear[i, r], chain.pose_constant[i, r]
        for k in range(L):
            row[k] = c * u[k] + s * u[L + k] + x * u[2 * L + k] + o


@inner
@no_type_check
def _move(E, up, here):
    """Carry a spatial motion (linear 0…2, angular 3…5) from the parent frame into the link frame."""
    for k in range(L):
        w0, w1, w2 = up[3 * L + k], up[4 * L + k], up[5 * L + k]
        p0, p1, p2 = E[9 * L + k], E[10 * L + k], E[11 * L + k]
        v0 = up[k] + w1 * p2 - w2 * p1
        v1 = up[L + k] + w2 * p0 - w0 * p2
        v2 = up[2 * L + k] + w0 * p1 - w1 * p0
        here[k] = E[k] * v0 + E[3 * L + k] * v1 + E[6 * L + k] * v2
        here[L + k] = E[L + k] * v0 + E[4 * L + k] * v1 + E[7 * L + k] * v2
        here[2 * L + k] = E[2 * L + k] * v0 + E[5 * L + k] * v1 + E[8 * L + k] * v2
        here[3 * L + k] = E[k] * w0 + E[3 * L + k] * w1 + E[6 * L + k] * w2
        here[4 * L + k] = E[L + k] * w0 + E[4 * L + k] * w1 + E[7 * L + k] * w2
        here[5 * L + k] = E[2 * L + k] * w0 + E[5 * L + k] * w1 + E[8 * L + k] * w2


@inner
@no_type_check
def _accelerate(S, u, V, x):
    """Add the joint's own motion to velocity (rows 0…5 of V) and acceleration (6…11); fill what the wrench needs.

    Rows 3 and 4 of u are dq and ddq.

    Rows of x: 0…2 classical acceleration of the origin (gravity subtracted); 3…11 the matrix [dω]× + [ω]×[ω]×,
    column by column; 12…14 ω; 15…17 dω. The bias of a subspace constant in the link frame is V × S dq.
    """
    s0, s1, s2, s3, s4, s5 = S[0], S[1], S[2], S[3], S[4], S[5]
    for k in range(L):
        dq, ddq = u[3 * L + k], u[4 * L + k]
        v0, v1, v2 = V[k] + s0 * dq, V[L + k] + s1 * dq, V[2 * L + k] + s2 * dq
        w0, w1, w2 = V[3 * L + k] + s3 * dq, V[4 * L + k] + s4 * dq, V[5 * L + k] + s5 * dq
        a0 = V[6 * L + k] + s0 * ddq + (w1 * s2 - w2 * s1 + v1 * s5 - v2 * s4) * dq
        a1 = V[7 * L + k] + s1 * ddq + (w2 * s0 - w0 * s2 + v2 * s3 - v0 * s5) * dq
        a2 = V[8 * L + k] + s2 * ddq + (w0 * s1 - w1 * s0 + v0 * s4 - v1 * s3) * dq
        d0 = V[9 * L + k] + s3 * ddq + (w1 * s5 - w2 * s4) * dq
        d1 = V[10 * L + k] + s4 * ddq + (w2 * s3 - w0 * s5) * dq
        d2 = V[11 * L + k] + s5 * ddq + (w0 * s4 - w1 * s3) * dq
        V[k], V[L + k], V[2 * L + k], V[3 * L + k], V[4 * L + k], V[5 * L + k] = v0, v1, v2, w0, w1, w2
        V[6 * L + k], V[7 * L + k], V[8 * L + k] = a0, a1, a2
        V[9 * L + k], V[10 * L + k], V[11 * L + k] = d0, d1, d2
        x[k], x[L + k], x[2 * L + k] = a0 + w1 * v2 - w2 * v1, a1 + w2 * v0 - w0 * v2, a2 + w0 * v1 - w1 * v0
        x[3 * L + k], x[4 * L + k], x[5 * L + k] = -w1 * w1 - w2 * w2, w0 * w1 + d2, w0 * w2 - d1
        x[6 * L + k], x[7 * L + k], x[8 * L + k] = w0 * w1 - d2, -w0 * w0 - w2 * w2, w1 * w2 + d0
        x[9 * L + k], x[10 * L + k], x[11 * L + k] = w0 * w2 + d1, w1 * w2 - d0, -w0 * w0 - w1 * w1
        x[12 * L + k], x[13 * L + k], x[14 * L + k] = w0, w1, w2
        x[15 * L + k], x[16 * L + k], x[17 * L + k] = d0, d1, d2


@inner
@no_type_check
def _project(s, x, y):
    """Row of one joint over the ten parameters of one link: its subspace s (in the link frame) times the wrench."""
    for k in range(L):
        v0, v1, v2, w0, w1, w2 = s[k], s[L + k], s[2 * L + k], s[3 * L + k], s[4 * L + k], s[5 * L + k]
        a0, a1, a2 = x[k], x[L + k], x[2 * L + k]
        o0, o1, o2 = x[12 * L + k], x[13 * L + k], x[14 * L + k]
        d0, d1, d2 = x[15 * L + k], x[16 * L + k], x[17 * L + k]
        y[k] = v0 * a0 + v1 * a1 + v2 * a2
        y[L + k] = x[3 * L + k] * v0 + x[4 * L + k] * v1 + x[5 * L + k] * v2 + a1 * w2 - a2 * w1
        y[2 * L + k] = x[6 * L + k] * v0 + x[7 * L + k] * v1 + x[8 * L + k] * v2 + a2 * w0 - a0 * w2
        y[3 * L + k] = x[9 * L + k] * v0 + x[10 * L + k] * v1 + x[11 * L + k] * v2 + a0 * w1 - a1 * w0
        u0, u1, u2 = w1 * o2 - w2 * o1, w2 * o0 - w0 * o2, w0 * o1 - w1 * o0
        y[4 * L + k] = w0 * d0 + u0 * o0
        y[5 * L + k] = w0 * d1 + w1 * d0 + u0 * o1 + u1 * o0
        y[6 * L + k] = w1 * d1 + u1 * o1
        y[7 * L + k] = w0 * d2 + w2 * d0 + u0 * o2 + u2 * o0
        y[8 * L + k] = w1 * d2 + w2 * d1 + u1 * o2 + u2 * o1
        y[9 * L + k] = w2 * d2 + u2 * o2


@inner
@no_type_check
def _turn(u):
    """Rows 0 and 1 of u: cosine and sine of row 2, all lanes at once (the mathematical library takes one at a time).

    The angle less whole quarter turns, in three parts as [Cody1980]_ does, then Taylor's series within ±π/4.
    """
    for k in range(L):
        n = np.floor(u[2 * L + k] * (2.0 / np.pi) + 0.5)
        r = ((u[2 * L + k] - n * QUARTER[0]) - n * QUARTER[1]) - n * QUARTER[2]
        z = r * r
        s, c = SINE[6], COSINE[7]
        for term in range(5, -1, -1):
            s = SINE[term] + z * s
        for term in range(6, -1, -1):
            c = COSINE[term] + z * c
        half = np.floor(0.5 * n)
        sign = 1.0 - 2.0 * (half - 2.0 * np.floor(0.5 * half))
        s, c = sign * (r + r * z * s), sign * (1.0 + z * c)
        even = n == 2.0 * half
        u[k] = c if even else -s
        u[L + k] = s if even else c


@inlined
@no_type_check
def _outward(chain, q, dq, ddq, first, last, E, V, X, u, base):
    """Poses, velocities and accelerations of all links for one block of lanes, from the base outwards."""
    for r in range(12):
        still = -chain.gravity[r - 6] if 6 <= r < 9 else 0.0
        for k in range(L):
            base[r * L + k] = still
    for i in range(chain.parent.shape[0]):
        for k in range(L):
            sample = first + k if first + k < last else last
            u[2 * L + k], u[3 * L + k], u[4 * L + k] = q[sample, i], dq[sample, i], ddq[sample, i]
        _turn(u)
        _pose(chain, i, u, E[i])
        up = base if chain.parent[i] < 0 else V[chain.parent[i]]
        _move(E[i], up[: 6 * L], V[i, : 6 * L])
        _move(E[i], up[6 * L :], V[i, 6 * L :])
        _accelerate(chain.S[i], u, V[i], X[i])


@inlined
@no_type_check
def _own_subspaces(chain, s):
    """Row n_dof·i + j of s is the subspace of joint j in the frame of link i; here those of j = i, for all lanes."""
    n_dof = chain.parent.shape[0]
    for i in range(n_dof):
        for r in range(6 * L):
            s[n_dof * i + i, r] = chain.S[i, r // L]


@inlined
@no_type_check
def _lane_arrays(n_dof):
    E, X, V = np.empty((n_dof, 12 * L)), np.empty((n_dof, 18 * L)), np.empty((n_dof, 12 * L))
    s, y, f = np.empty((n_dof * n_dof, 6 * L)), np.empty((1, 10 * L))[0], np.empty((n_dof, 6 * L))
    return LaneArrays(E, X, V, s, y, np.empty((1, 5 * L))[0], np.empty((1, 12 * L))[0], f)


@inner
@no_type_check
def regressor_kernel(chain, q, dq, ddq, start, stop, out, work):
    """Write samples `start` to `stop` of the inertial regressor into out[sample, joint, 10·link + parameter].

    Entries of links that a joint does not carry are left as they are: zero.
    """
    n_dof, E, X, s, y = chain.parent.shape[0], work.E, work.X, work.s, work.y
    _own_subspaces(chain, s)
    for first in range(start, stop, L):
        _outward(chain, q, dq, ddq, first, stop - 1, E, work.V, X, work.u, work.base)
        for i in range(n_dof):
            j = i
            while j >= 0:
                here = s[n_dof * i + j]
                if j != i:
                    _move(E[i], s[n_dof * chain.parent[i] + j], here)
                _project(here, X[i], y)
                for k in range(L if first + L < stop else stop - first):
                    row = out[first + k, j, 10 * i : 10 * i + 10]
                    for c in range(10):
                        row[c] = y[c * L + k]
                j = chain.parent[j]


@kernel
@no_type_check
def compiled_regressor(chain, q, dq, ddq, start, stop, out):
    """`regressor_kernel` in arrays of its own."""
    regressor_kernel(chain, q, dq, ddq, start, stop, out, _lane_arrays(chain.parent.shape[0]))


@inner
@no_type_check
def columns_kernel(chain, q, dq, ddq, place, flat, work):
    """Write entry (joint, column) of the inertial regressor over all samples into row place[joint, column] of `flat`.

    Where `place` is negative nothing is written. What a factorisation reads lies in one piece, as it is computed.
    The walk over links and joints stands here again: behind a function of its own it takes up to twice as long.
    """
    n_dof, n_samples, E, X, s, y = chain.parent.shape[0], q.shape[0], work.E, work.X, work.s, work.y
    _own_subspaces(chain, s)
    for first in range(0, n_samples, L):
        _outward(chain, q, dq, ddq, first, n_samples - 1, E, work.V, X, work.u, work.base)
        count = L if first + L < n_samples else n_samples - first
        for i in range(n_dof):
            j = i
            while j >= 0:
                here = s[n_dof * i + j]
                if j != i:
                    _move(E[i], s[n_dof * chain.parent[i] + j], here)
                _project(here, X[i], y)
                for c in range(10):
                    if place[j, 10 * i + c] >= 0:
                        to = place[j, 10 * i + c] * n_samples + first
                        for k in range(count):
                            flat[to + k] = y[c * L + k]
                j = chain.parent[j]


@kernel
@no_type_check
def compiled_columns(chain, q, dq, ddq, place, flat):
    """`columns_kernel` in arrays of its own."""
    columns_kernel(chain, q, dq, ddq, place, flat, _lane_arrays(chain.parent.shape[0]))


@inner
@no_type_check
def _wrench(x, pi, f):
    """Force (rows 0…2) and moment about the link origin (3…5) that Newton and Euler ask for."""
    m, m0, m1, m2 = pi[0], pi[1], pi[2], pi[3]
    xx, xy, yy, xz, yz, zz = pi[4], pi[5], pi[6], pi[7], pi[8], pi[9]
    for k in range(L):
        a0, a1, a2 = x[k], x[L + k], x[2 * L + k]
        w0, w1, w2 = x[12 * L + k], x[13 * L + k], x[14 * L + k]
        d0, d1, d2 = x[15 * L + k], x[16 * L + k], x[17 * L + k]
        h0, h1, h2 = xx * w0 + xy * w1 + xz * w2, xy * w0 + yy * w1 + yz * w2, xz * w0 + yz * w1 + zz * w2
        f[k] = m * a0 + x[3 * L + k] * m0 + x[6 * L + k] * m1 + x[9 * L + k] * m2
        f[L + k] = m * a1 + x[4 * L + k] * m0 + x[7 * L + k] * m1 + x[10 * L + k] * m2
        f[2 * L + k] = m * a2 + x[5 * L + k] * m0 + x[8 * L + k] * m1 + x[11 * L + k] * m2
        f[3 * L + k] = xx * d0 + xy * d1 + xz * d2 + w1 * h2 - w2 * h1 + m1 * a2 - m2 * a1
        f[4 * L + k] = xy * d0 + yy * d1 + yz * d2 + w2 * h0 - w0 * h2 + m2 * a0 - m0 * a2
        f[5 * L + k] = xz * d0 + yz * d1 + zz * d2 + w0 * h1 - w1 * h0 + m0 * a1 - m1 * a0


@inner
@no_type_check
def _pass_on(E, f, up):
    """Add the wrench of a link to that of its parent, moved into the parent's frame."""
    for k in range(L):
        g0 = E[k] * f[k] + E[L + k] * f[L + k] + E[2 * L + k] * f[2 * L + k]
        g1 = E[3 * L + k] * f[k] + E[4 * L + k] * f[L + k] + E[5 * L + k] * f[2 * L + k]
        g2 = E[6 * L + k] * f[k] + E[7 * L + k] * f[L + k] + E[8 * L + k] * f[2 * L + k]
        n0 = E[k] * f[3 * L + k] + E[L + k] * f[4 * L + k] + E[2 * L + k] * f[5 * L + k]
        n1 = E[3 * L + k] * f[3 * L + k] + E[4 * L + k] * f[4 * L + k] + E[5 * L + k] * f[5 * L + k]
        n2 = E[6 * L + k] * f[3 * L + k] + E[7 * L + k] * f[4 * L + k] + E[8 * L + k] * f[5 * L + k]
        p0, p1, p2 = E[9 * L + k], E[10 * L + k], E[11 * L + k]
        up[k] += g0
        up[L + k] += g1
        up[2 * L + k] += g2
        up[3 * L + k] += n0 + p1 * g2 - p2 * g1
        up[4 * L + k] += n1 + p2 * g0 - p0 * g2
        up[5 * L + k] += n2 + p0 * g1 - p1 * g0


@inlined
@no_type_check
def _torques(chain, q, dq, ddq, theta, start, stop, tau, wrench, E, X, V, u, base, f):
    """What `newton_euler` says, in arrays of its caller; part of both kernels that call it."""
    n_dof = chain.parent.shape[0]
    for first in range(start, stop, L):
        _outward(chain, q, dq, ddq, first, stop - 1, E, V, X, u, base)
        for i in range(n_dof):
            _wrench(X[i], theta[i], f[i])
        for i in range(n_dof - 1, -1, -1):
            for k in range(min(L, stop - first)):
                power = 0.0
                for r in range(6):
                    power += chain.S[i, r] * f[i, r * L + k]
                    wrench[first + k, i, r] = f[i, r * L + k]
                tau[first + k, i] = power
            if chain.parent[i] >= 0:
                _pass_on(E[i], f[i], f[chain.parent[i]])


@inner
@no_type_check
def torque_kernel(chain, q, dq, ddq, theta, start, stop, tau, wrench, work):
    """`newton_euler` in arrays of its caller."""
    E, X, V, u, base, f = work.E, work.X, work.V, work.u, work.base, work.f
    _torques(chain, q, dq, ddq, theta, start, stop, tau, wrench, E, X, V, u, base, f)


@kernel
@no_type_check
def newton_euler(chain, q, dq, ddq, theta, start, stop, tau, wrench):
    """Inverse dynamics: torque of every joint, and the wrench it passes on, in link axes about the link origin.

    tau[sample, joint]; wrench[sample, joint, (force, moment)]; theta is (n_links, 10).
    """
    n_dof = chain.parent.shape[0]
    E, X, V, f = (
        np.empty((n_dof, 12 * L)),
        np.empty((n_dof, 18 * L)),
        np.empty((n_dof, 12 * L)),
        np.empty((n_dof, 6 * L)),
    )
    u, base = np.empty((1, 5 * L))[0], np.empty((1, 12 * L))[0]
    _torques(chain, q, dq, ddq, theta, start, stop, tau, wrench, E, X, V, u, base, f)
