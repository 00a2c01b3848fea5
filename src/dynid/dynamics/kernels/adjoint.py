"""The adjoint of the batched regressor: how a number computed from Y changes with the motion.

Given :math:`\\bar Y = \\partial F / \\partial Y`, the chain rule runs through the recursion of `kernels` backwards,
from the tips to the base, with samples across the same SIMD lanes. It rests on one observation: what Ȳ asks of joint j
and link i, :math:`\\bar y^T y = S_j^T A_i\\,\\bar y`, is the torque that link i would cause if its ten parameters were
ȳ. The derivative with respect to the subspace is therefore a wrench, and the rest are products of vectors.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.batch import _move, _outward
from dynid.dynamics.kernels.chains import LANES
from dynid.dynamics.kernels.stored import njit

__all__ = ["pull_back"]

L = LANES


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _pull_project(y, s, x, s_bar, x_bar):
    """One joint and one link: add to the adjoints of the subspace (6 rows) and of b, ω, dω (9 rows).

    With m = y[1…3] and H the symmetric matrix of y[4…9],
    F = v·(y₀ b + dω×m + ω(ω·m) − |ω|² m) + w·(m×b + H dω + ω×Hω) for the subspace s = (v, w).
    """
    for k in range(L):
        v0, v1, v2, w0, w1, w2 = s[k], s[L + k], s[2 * L + k], s[3 * L + k], s[4 * L + k], s[5 * L + k]
        b0, b1, b2 = x[k], x[L + k], x[2 * L + k]
        o0, o1, o2 = x[12 * L + k], x[13 * L + k], x[14 * L + k]
        d0, d1, d2 = x[15 * L + k], x[16 * L + k], x[17 * L + k]
        m, m0, m1, m2 = y[k], y[L + k], y[2 * L + k], y[3 * L + k]
        xx, xy, yy = y[4 * L + k], y[5 * L + k], y[6 * L + k]
        xz, yz, zz = y[7 * L + k], y[8 * L + k], y[9 * L + k]
        h0, h1, h2 = xx * o0 + xy * o1 + xz * o2, xy * o0 + yy * o1 + yz * o2, xz * o0 + yz * o1 + zz * o2
        om, vm, ov = o0 * m0 + o1 * m1 + o2 * m2, v0 * m0 + v1 * m1 + v2 * m2, o0 * v0 + o1 * v1 + o2 * v2
        oo = o0 * o0 + o1 * o1 + o2 * o2
        s_bar[k] += m * b0 + d1 * m2 - d2 * m1 + o0 * om - oo * m0
        s_bar[L + k] += m * b1 + d2 * m0 - d0 * m2 + o1 * om - oo * m1
        s_bar[2 * L + k] += m * b2 + d0 * m1 - d1 * m0 + o2 * om - oo * m2
        s_bar[3 * L + k] += m1 * b2 - m2 * b1 + xx * d0 + xy * d1 + xz * d2 + o1 * h2 - o2 * h1
        s_bar[4 * L + k] += m2 * b0 - m0 * b2 + xy * d0 + yy * d1 + yz * d2 + o2 * h0 - o0 * h2
        s_bar[5 * L + k] += m0 * b1 - m1 * b0 + xz * d0 + yz * d1 + zz * d2 + o0 * h1 - o1 * h0
        x_bar[k] += m * v0 + w1 * m2 - w2 * m1
        x_bar[L + k] += m * v1 + w2 * m0 - w0 * m2
        x_bar[2 * L + k] += m * v2 + w0 * m1 - w1 * m0
        u0, u1, u2 = w1 * o2 - w2 * o1, w2 * o0 - w0 * o2, w0 * o1 - w1 * o0
        x_bar[3 * L + k] += v0 * om + m0 * ov - 2.0 * o0 * vm + h1 * w2 - h2 * w1 + xx * u0 + xy * u1 + xz * u2
        x_bar[4 * L + k] += v1 * om + m1 * ov - 2.0 * o1 * vm + h2 * w0 - h0 * w2 + xy * u0 + yy * u1 + yz * u2
        x_bar[5 * L + k] += v2 * om + m2 * ov - 2.0 * o2 * vm + h0 * w1 - h1 * w0 + xz * u0 + yz * u1 + zz * u2
        x_bar[6 * L + k] += m1 * v2 - m2 * v1 + xx * w0 + xy * w1 + xz * w2
        x_bar[7 * L + k] += m2 * v0 - m0 * v2 + xy * w0 + yy * w1 + yz * w2
        x_bar[8 * L + k] += m0 * v1 - m1 * v0 + xz * w0 + yz * w1 + zz * w2


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _pull_accelerate(S, V, dq, x_bar, V_bar, dq_bar, ddq_bar):
    """Turn the adjoint of a link's motion (12 rows of V_bar) into that of the motion its parent hands to it."""
    s0, s1, s2, s3, s4, s5 = S[0], S[1], S[2], S[3], S[4], S[5]
    for k in range(L):
        v0, v1, v2, w0, w1, w2 = V[k], V[L + k], V[2 * L + k], V[3 * L + k], V[4 * L + k], V[5 * L + k]
        b0, b1, b2, r = x_bar[k], x_bar[L + k], x_bar[2 * L + k], dq[k]
        a0, a1, a2 = V_bar[6 * L + k] + b0, V_bar[7 * L + k] + b1, V_bar[8 * L + k] + b2
        d0, d1 = V_bar[9 * L + k] + x_bar[6 * L + k], V_bar[10 * L + k] + x_bar[7 * L + k]
        d2 = V_bar[11 * L + k] + x_bar[8 * L + k]
        p0 = V_bar[k] + b1 * w2 - b2 * w1 + r * (s4 * a2 - s5 * a1)
        p1 = V_bar[L + k] + b2 * w0 - b0 * w2 + r * (s5 * a0 - s3 * a2)
        p2 = V_bar[2 * L + k] + b0 * w1 - b1 * w0 + r * (s3 * a1 - s4 * a0)
        g0 = V_bar[3 * L + k] + x_bar[3 * L + k] + v1 * b2 - v2 * b1 + r * (s1 * a2 - s2 * a1 + s4 * d2 - s5 * d1)
        g1 = V_bar[4 * L + k] + x_bar[4 * L + k] + v2 * b0 - v0 * b2 + r * (s2 * a0 - s0 * a2 + s5 * d0 - s3 * d2)
        g2 = V_bar[5 * L + k] + x_bar[5 * L + k] + v0 * b1 - v1 * b0 + r * (s0 * a1 - s1 * a0 + s3 * d1 - s4 * d0)
        ddq_bar[k] = a0 * s0 + a1 * s1 + a2 * s2 + d0 * s3 + d1 * s4 + d2 * s5
        c0, c1 = w1 * s2 - w2 * s1 + v1 * s5 - v2 * s4, w2 * s0 - w0 * s2 + v2 * s3 - v0 * s5
        c2 = w0 * s1 - w1 * s0 + v0 * s4 - v1 * s3
        e0, e1, e2 = w1 * s5 - w2 * s4, w2 * s3 - w0 * s5, w0 * s4 - w1 * s3
        rate = a0 * c0 + a1 * c1 + a2 * c2 + d0 * e0 + d1 * e1 + d2 * e2
        dq_bar[k] = rate + p0 * s0 + p1 * s1 + p2 * s2 + g0 * s3 + g1 * s4 + g2 * s5
        V_bar[k], V_bar[L + k], V_bar[2 * L + k] = p0, p1, p2
        V_bar[3 * L + k], V_bar[4 * L + k], V_bar[5 * L + k] = g0, g1, g2
        V_bar[6 * L + k], V_bar[7 * L + k], V_bar[8 * L + k] = a0, a1, a2
        V_bar[9 * L + k], V_bar[10 * L + k], V_bar[11 * L + k] = d0, d1, d2


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _pull_move(E, up, bar, up_bar, E_bar):
    """Adjoint of carrying a spatial motion `up` into the link frame: add to those of `up` and of the pose E."""
    for k in range(L):
        w0, w1, w2 = up[3 * L + k], up[4 * L + k], up[5 * L + k]
        p0, p1, p2 = E[9 * L + k], E[10 * L + k], E[11 * L + k]
        v0, v1, v2 = up[k] + w1 * p2 - w2 * p1, up[L + k] + w2 * p0 - w0 * p2, up[2 * L + k] + w0 * p1 - w1 * p0
        a0, a1, a2 = bar[k], bar[L + k], bar[2 * L + k]
        c0, c1, c2 = bar[3 * L + k], bar[4 * L + k], bar[5 * L + k]
        g0 = E[k] * a0 + E[L + k] * a1 + E[2 * L + k] * a2
        g1 = E[3 * L + k] * a0 + E[4 * L + k] * a1 + E[5 * L + k] * a2
        g2 = E[6 * L + k] * a0 + E[7 * L + k] * a1 + E[8 * L + k] * a2
        up_bar[k] += g0
        up_bar[L + k] += g1
        up_bar[2 * L + k] += g2
        up_bar[3 * L + k] += E[k] * c0 + E[L + k] * c1 + E[2 * L + k] * c2 + p1 * g2 - p2 * g1
        up_bar[4 * L + k] += E[3 * L + k] * c0 + E[4 * L + k] * c1 + E[5 * L + k] * c2 + p2 * g0 - p0 * g2
        up_bar[5 * L + k] += E[6 * L + k] * c0 + E[7 * L + k] * c1 + E[8 * L + k] * c2 + p0 * g1 - p1 * g0
        E_bar[k] += v0 * a0 + w0 * c0
        E_bar[L + k] += v0 * a1 + w0 * c1
        E_bar[2 * L + k] += v0 * a2 + w0 * c2
        E_bar[3 * L + k] += v1 * a0 + w1 * c0
        E_bar[4 * L + k] += v1 * a1 + w1 * c1
        E_bar[5 * L + k] += v1 * a2 + w1 * c2
        E_bar[6 * L + k] += v2 * a0 + w2 * c0
        E_bar[7 * L + k] += v2 * a1 + w2 * c1
        E_bar[8 * L + k] += v2 * a2 + w2 * c2
        E_bar[9 * L + k] += g1 * w2 - g2 * w1
        E_bar[10 * L + k] += g2 * w0 - g0 * w2
        E_bar[11 * L + k] += g0 * w1 - g1 * w0


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def _pull_pose(chain, i, q, E_bar, q_bar):
    """Adjoint of link i's pose: its twelve numbers are cos q Pc + sin q Ps + q Pq + P0."""
    q_bar[:] = 0.0
    for r in range(12):
        row = E_bar[r * L : (r + 1) * L]
        c, s, x = chain.pose_cos[i, r], chain.pose_sin[i, r], chain.pose_linear[i, r]
        for k in range(L):
            q_bar[k] += row[k] * (s * np.cos(q[k]) - c * np.sin(q[k]) + x)


@njit(cache=True, nogil=True, fastmath={"contract"})
@no_type_check
def pull_back(chain, q, dq, ddq, Y_bar, start, stop, q_bar, dq_bar, ddq_bar):
    """Write ∂F/∂q, ∂F/∂dq, ∂F/∂ddq of samples `start` to `stop`, given Y_bar[sample, joint, 10·link + parameter].

    Entries of Y_bar for links that a joint does not carry are not read.
    """
    n_dof = chain.parent.shape[0]
    E, X, V = np.empty((n_dof, 12 * L)), np.empty((n_dof, 18 * L)), np.empty((n_dof, 12 * L))
    E_bar, x_bar, V_bar = np.empty(12 * L), np.empty(9 * L), np.empty((n_dof, 12 * L))
    s, s_bar = np.empty((n_dof, n_dof, 6 * L)), np.empty((n_dof, n_dof, 6 * L))
    y, lane, unused = np.empty(10 * L), np.empty((5, L)), np.empty(12 * L)
    u, base = np.empty(5 * L), np.empty(12 * L)
    for first in range(start, stop, L):
        count = min(L, stop - first)
        _outward(chain, q, dq, ddq, first, stop - 1, E, V, X, u, base)
        for i in range(n_dof):
            for r in range(6):
                s[i, i, r * L : (r + 1) * L] = chain.S[i, r]
            j = chain.parent[i]
            while j >= 0:
                _move(E[i], s[chain.parent[i], j], s[i, j])
                j = chain.parent[j]
        s_bar[:] = 0.0
        V_bar[:] = 0.0
        y[:] = 0.0
        for i in range(n_dof - 1, -1, -1):
            up = chain.parent[i]
            E_bar[:] = 0.0
            x_bar[:] = 0.0
            j = i
            while j >= 0:
                for k in range(count):
                    for c in range(10):
                        y[c * L + k] = Y_bar[first + k, j, 10 * i + c]
                _pull_project(y, s[i, j], X[i], s_bar[i, j], x_bar)
                if j != i:
                    _pull_move(E[i], s[up, j], s_bar[i, j], s_bar[up, j], E_bar)
                j = chain.parent[j]
            for k in range(L):
                sample = min(first + k, stop - 1)
                lane[0, k], lane[1, k] = q[sample, i], dq[sample, i]
            _pull_accelerate(chain.S[i], V[i], lane[1], x_bar, V_bar[i], lane[3], lane[4])
            motion, received = (base, unused) if up < 0 else (V[up], V_bar[up])
            _pull_move(E[i], motion[: 6 * L], V_bar[i, : 6 * L], received[: 6 * L], E_bar)
            _pull_move(E[i], motion[6 * L :], V_bar[i, 6 * L :], received[6 * L :], E_bar)
            _pull_pose(chain, i, lane[0], E_bar, lane[2])
            for k in range(count):
                q_bar[first + k, i], dq_bar[first + k, i], ddq_bar[first + k, i] = lane[2, k], lane[3, k], lane[4, k]
