"""Mass matrix and bias torque of one state in scalar compiled code: a step of a simulation has one state at a time.

The batch kernels compute sixteen samples side by side, which a simulation cannot use: its next state follows from this
one. Composite bodies give M [Featherstone2008]_, one Newton–Euler recursion at zero acceleration gives the bias.
"""

from __future__ import annotations

from typing import Any, no_type_check

import numpy as np

from dynid.arrays import Array
from dynid.dynamics.kernels.stored import njit

__all__ = ["factor", "mass_matrix_and_bias", "rigid_torque", "solve_factored", "workspace"]

PER_LINK = 43
"""Numbers a link needs on the way: pose 12, velocity 6, acceleration 6, wrench 6, composite body 10, and 3 spare."""


def workspace(n_dof: int) -> Array:
    """What the functions below work in: a row for every link, one for the base, and one to spare."""
    return np.zeros((n_dof + 2, PER_LINK))


inner: Any = njit(cache=True, nogil=True, fastmath={"contract"})


@inner
@no_type_check
def _place(chain, i, angle, w):
    """Pose of link i in its parent: rotation row by row in w[0:9], origin in w[9:12]."""
    c, s = np.cos(angle), np.sin(angle)
    for r in range(12):
        w[r] = (
            c * chain.pose_cos[i, r]
            + s * chain.pose_sin[i, r]
            + angle * chain.pose_linear[i, r]
            + chain.pose_constant[i, r]
        )


@inner
@no_type_check
def _carry(w, up, at, here, to):
    """A spatial motion up[at:at+6] of the parent (linear, angular) in the frame of the link, into here[to:to+6]."""
    o0, o1, o2 = up[at + 3], up[at + 4], up[at + 5]
    p0, p1, p2 = w[9], w[10], w[11]
    v0, v1, v2 = up[at] + o1 * p2 - o2 * p1, up[at + 1] + o2 * p0 - o0 * p2, up[at + 2] + o0 * p1 - o1 * p0
    for c in range(3):
        here[to + c] = w[c] * v0 + w[3 + c] * v1 + w[6 + c] * v2
        here[to + 3 + c] = w[c] * o0 + w[3 + c] * o1 + w[6 + c] * o2


@inner
@no_type_check
def _advance(S, speed, push, w):
    """Add the joint's own motion to velocity w[12:18] and acceleration w[18:24] of its link."""
    s0, s1, s2, s3, s4, s5 = S[0], S[1], S[2], S[3], S[4], S[5]
    v0, v1, v2 = w[12] + s0 * speed, w[13] + s1 * speed, w[14] + s2 * speed
    o0, o1, o2 = w[15] + s3 * speed, w[16] + s4 * speed, w[17] + s5 * speed
    w[18] += s0 * push + (o1 * s2 - o2 * s1 + v1 * s5 - v2 * s4) * speed
    w[19] += s1 * push + (o2 * s0 - o0 * s2 + v2 * s3 - v0 * s5) * speed
    w[20] += s2 * push + (o0 * s1 - o1 * s0 + v0 * s4 - v1 * s3) * speed
    w[21] += s3 * push + (o1 * s5 - o2 * s4) * speed
    w[22] += s4 * push + (o2 * s3 - o0 * s5) * speed
    w[23] += s5 * push + (o0 * s4 - o1 * s3) * speed
    w[12], w[13], w[14], w[15], w[16], w[17] = v0, v1, v2, o0, o1, o2


@inner
@no_type_check
def _wrench(pi, w):
    """Force w[24:27] and moment w[27:30] about the link origin that Newton and Euler ask for."""
    m, h0, h1, h2 = pi[0], pi[1], pi[2], pi[3]
    xx, xy, yy, xz, yz, zz = pi[4], pi[5], pi[6], pi[7], pi[8], pi[9]
    v0, v1, v2, o0, o1, o2 = w[12], w[13], w[14], w[15], w[16], w[17]
    a0, a1, a2 = w[18] + o1 * v2 - o2 * v1, w[19] + o2 * v0 - o0 * v2, w[20] + o0 * v1 - o1 * v0
    d0, d1, d2 = w[21], w[22], w[23]
    # Force: m a + dω × h + ω × (ω × h).
    u0, u1, u2 = o1 * h2 - o2 * h1, o2 * h0 - o0 * h2, o0 * h1 - o1 * h0
    w[24] = m * a0 + d1 * h2 - d2 * h1 + o1 * u2 - o2 * u1
    w[25] = m * a1 + d2 * h0 - d0 * h2 + o2 * u0 - o0 * u2
    w[26] = m * a2 + d0 * h1 - d1 * h0 + o0 * u1 - o1 * u0
    k0, k1, k2 = xx * o0 + xy * o1 + xz * o2, xy * o0 + yy * o1 + yz * o2, xz * o0 + yz * o1 + zz * o2
    w[27] = xx * d0 + xy * d1 + xz * d2 + o1 * k2 - o2 * k1 + h1 * a2 - h2 * a1
    w[28] = xy * d0 + yy * d1 + yz * d2 + o2 * k0 - o0 * k2 + h2 * a0 - h0 * a2
    w[29] = xz * d0 + yz * d1 + zz * d2 + o0 * k1 - o1 * k0 + h0 * a1 - h1 * a0


@inner
@no_type_check
def _hand_up(w, f, at, up, to):
    """Add the wrench f[at:at+6] of a link to up[to:to+6] of its parent, in the parent's frame."""
    g0 = w[0] * f[at] + w[1] * f[at + 1] + w[2] * f[at + 2]
    g1 = w[3] * f[at] + w[4] * f[at + 1] + w[5] * f[at + 2]
    g2 = w[6] * f[at] + w[7] * f[at + 1] + w[8] * f[at + 2]
    n0 = w[0] * f[at + 3] + w[1] * f[at + 4] + w[2] * f[at + 5]
    n1 = w[3] * f[at + 3] + w[4] * f[at + 4] + w[5] * f[at + 5]
    n2 = w[6] * f[at + 3] + w[7] * f[at + 4] + w[8] * f[at + 5]
    p0, p1, p2 = w[9], w[10], w[11]
    up[to] += g0
    up[to + 1] += g1
    up[to + 2] += g2
    up[to + 3] += n0 + p1 * g2 - p2 * g1
    up[to + 4] += n1 + p2 * g0 - p0 * g2
    up[to + 5] += n2 + p0 * g1 - p1 * g0


@inner
@no_type_check
def _merge(w, up):
    """Add the composite body w[30:40] (m, h, J about the origin) to that of the parent, in the parent's frame."""
    m = w[30]
    p0, p1, p2 = w[9], w[10], w[11]
    r0 = w[0] * w[31] + w[1] * w[32] + w[2] * w[33]
    r1 = w[3] * w[31] + w[4] * w[32] + w[5] * w[33]
    r2 = w[6] * w[31] + w[7] * w[32] + w[8] * w[33]
    xx, xy, yy, xz, yz, zz = w[34], w[35], w[36], w[37], w[38], w[39]
    # R J Rᵀ, row by row of R J first.
    a0, a1, a2 = w[0] * xx + w[1] * xy + w[2] * xz, w[0] * xy + w[1] * yy + w[2] * yz, w[0] * xz + w[1] * yz + w[2] * zz
    b0, b1, b2 = w[3] * xx + w[4] * xy + w[5] * xz, w[3] * xy + w[4] * yy + w[5] * yz, w[3] * xz + w[4] * yz + w[5] * zz
    c0, c1, c2 = w[6] * xx + w[7] * xy + w[8] * xz, w[6] * xy + w[7] * yy + w[8] * yz, w[6] * xz + w[7] * yz + w[8] * zz
    k0, k1, k2 = r0 + 0.5 * m * p0, r1 + 0.5 * m * p1, r2 + 0.5 * m * p2
    spread = 2.0 * (p0 * k0 + p1 * k1 + p2 * k2)
    up[30] += m
    up[31] += r0 + m * p0
    up[32] += r1 + m * p1
    up[33] += r2 + m * p2
    up[34] += a0 * w[0] + a1 * w[1] + a2 * w[2] + spread - 2.0 * k0 * p0
    up[35] += a0 * w[3] + a1 * w[4] + a2 * w[5] - k0 * p1 - p0 * k1
    up[36] += b0 * w[3] + b1 * w[4] + b2 * w[5] + spread - 2.0 * k1 * p1
    up[37] += a0 * w[6] + a1 * w[7] + a2 * w[8] - k0 * p2 - p0 * k2
    up[38] += b0 * w[6] + b1 * w[7] + b2 * w[8] - k1 * p2 - p1 * k2
    up[39] += c0 * w[6] + c1 * w[7] + c2 * w[8] + spread - 2.0 * k2 * p2


@inner
@no_type_check
def _outward(chain, q, dq, ddq, links, W):
    """Poses, motions and wrenches of all links, from the base outwards; W is a `workspace`."""
    n_dof = q.shape[0]
    base = W[n_dof]
    for r in range(12, 24):
        base[r] = -chain.gravity[r - 18] if 18 <= r < 21 else 0.0
    for i in range(n_dof):
        w = W[i]
        up = base if chain.parent[i] < 0 else W[chain.parent[i]]
        _place(chain, i, q[i], w)
        _carry(w, up, 12, w, 12)
        _carry(w, up, 18, w, 18)
        _advance(chain.S[i], dq[i], ddq[i], w)
        _wrench(links[i], w)


@inner
@no_type_check
def rigid_torque(chain, q, dq, ddq, links, W, tau):
    """Inverse dynamics of one state: the torque of every joint."""
    n_dof = q.shape[0]
    _outward(chain, q, dq, ddq, links, W)
    for i in range(n_dof - 1, -1, -1):
        w, S = W[i], chain.S[i]
        tau[i] = S[0] * w[24] + S[1] * w[25] + S[2] * w[26] + S[3] * w[27] + S[4] * w[28] + S[5] * w[29]
        if chain.parent[i] >= 0:
            _hand_up(w, w, 24, W[chain.parent[i]], 24)


@inner
@no_type_check
def mass_matrix_and_bias(chain, q, dq, zero, links, rotor, W, M, bias):
    """Fill M(q), both triangles, with `rotor` on its diagonal, and h(q, dq); `zero` is a vector of zeros."""
    n_dof = q.shape[0]
    _outward(chain, q, dq, zero, links, W)
    for i in range(n_dof):
        for r in range(10):
            W[i, 30 + r] = links[i, r]
        for j in range(n_dof):
            M[i, j] = 0.0
    spare = W[n_dof + 1]
    force, moved = spare[:6], spare[6:12]
    for i in range(n_dof - 1, -1, -1):
        w, S = W[i], chain.S[i]
        bias[i] = S[0] * w[24] + S[1] * w[25] + S[2] * w[26] + S[3] * w[27] + S[4] * w[28] + S[5] * w[29]
        m, h0, h1, h2 = w[30], w[31], w[32], w[33]
        force[0] = m * S[0] + S[4] * h2 - S[5] * h1
        force[1] = m * S[1] + S[5] * h0 - S[3] * h2
        force[2] = m * S[2] + S[3] * h1 - S[4] * h0
        force[3] = w[34] * S[3] + w[35] * S[4] + w[37] * S[5] + h1 * S[2] - h2 * S[1]
        force[4] = w[35] * S[3] + w[36] * S[4] + w[38] * S[5] + h2 * S[0] - h0 * S[2]
        force[5] = w[37] * S[3] + w[38] * S[4] + w[39] * S[5] + h0 * S[1] - h1 * S[0]
        j = i
        while True:
            T = chain.S[j]
            M[i, j] = (
                T[0] * force[0]
                + T[1] * force[1]
                + T[2] * force[2]
                + T[3] * force[3]
                + T[4] * force[4]
                + T[5] * force[5]
            )
            M[j, i] = M[i, j]
            if chain.parent[j] < 0:
                break
            for r in range(6):
                moved[r] = 0.0
            _hand_up(W[j], force, 0, moved, 0)
            for r in range(6):
                force[r] = moved[r]
            j = chain.parent[j]
        M[i, i] += rotor[i]
        if chain.parent[i] >= 0:
            _hand_up(w, w, 24, W[chain.parent[i]], 24)
            _merge(w, W[chain.parent[i]])


@inner
@no_type_check
def factor(A):
    """Replace the lower triangle of A by its Cholesky factor, with reciprocals on the diagonal; False where A is not
    positive definite."""
    n = A.shape[0]
    for j in range(n):
        total = A[j, j]
        for k in range(j):
            total -= A[j, k] * A[j, k]
        if not total > 0.0:
            return False
        inverse = 1.0 / np.sqrt(total)
        A[j, j] = inverse
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = total * inverse
    return True


@inner
@no_type_check
def solve_factored(A, b):
    """Replace b by the solution of A x = b, with what `factor` made of A."""
    n = b.shape[0]
    for i in range(n):
        total = b[i]
        for k in range(i):
            total -= A[i, k] * b[k]
        b[i] = total * A[i, i]
    for i in range(n - 1, -1, -1):
        total = b[i]
        for k in range(i + 1, n):
            total -= A[k, i] * b[k]
        b[i] = total * A[i, i]
