"""Distances of capsules to walls, boxes and one another over many poses, and their gradients: compiled.

The distance of two capsules is that of their axes less both radii; of a capsule to a wall, that of the nearer end; to a
box, the smallest signed distance of a point on its axis. The gradient moves the two points that are nearest to each
other and nothing else: at a minimum, where they lie on the axes does not matter to first order.
"""

from __future__ import annotations

import math
from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.dynamics.kernels.batch import inner
from dynid.dynamics.kernels.stored import kernel

__all__ = ["CapsuleChecks", "fill_excess", "pull_excess"]

N_SEARCH = 24
"""Steps of the search for the point of an axis that is nearest to a box: each leaves two thirds of it."""


FAR = 0.25
"""m; what is farther away than this beyond its clearance is not measured more closely."""


class CapsuleChecks(NamedTuple):
    """Capsules, and what is checked of them; SI. A column of the result is the worst of its checks."""

    link: Int[Array, " n_capsules"]
    ends: Float[Array, "n_capsules 2 3"]
    radius: Float[Array, " n_capsules"]
    wall_point: Int[Array, "n_walls 2"]
    """Capsule and end (0 or 1) that must stay behind a wall."""
    wall: Float[Array, "n_walls 4"]
    """Unit normal into the free side, and the height of the wall along it, m."""
    wall_column: Int[Array, " n_walls"]
    box_capsule: Int[Array, " n_boxes"]
    box: Float[Array, "n_boxes 6"]
    """Corners of the box that the capsule must stay out of, m."""
    box_column: Int[Array, " n_boxes"]
    pair: Int[Array, "n_pairs 2"]
    """Capsules that must stay apart."""
    pair_column: Int[Array, " n_pairs"]
    clearance: float
    """Distance in m to keep."""
    n_columns: int


@inner
@no_type_check
def _frames(chain, q, R, p):
    """Rotation and origin of every link in the base frame for one pose."""
    for i in range(len(q)):
        c, s, x = math.cos(q[i]), math.sin(q[i]), q[i]
        up = chain.parent[i]
        for a in range(3):
            for b in range(3):
                k = 3 * a + b
                value = c * chain.pose_cos[i, k] + s * chain.pose_sin[i, k]
                R[i + 1, a, b] = value + x * chain.pose_linear[i, k] + chain.pose_constant[i, k]
            k = 9 + a
            value = c * chain.pose_cos[i, k] + s * chain.pose_sin[i, k]
            p[i + 1, a] = value + x * chain.pose_linear[i, k] + chain.pose_constant[i, k]
        if up >= 0:
            r00, r01, r02 = R[i + 1, 0, 0], R[i + 1, 0, 1], R[i + 1, 0, 2]
            r10, r11, r12 = R[i + 1, 1, 0], R[i + 1, 1, 1], R[i + 1, 1, 2]
            r20, r21, r22 = R[i + 1, 2, 0], R[i + 1, 2, 1], R[i + 1, 2, 2]
            x0, x1, x2 = p[i + 1, 0], p[i + 1, 1], p[i + 1, 2]
            for a in range(3):
                u0, u1, u2 = R[up + 1, a, 0], R[up + 1, a, 1], R[up + 1, a, 2]
                R[i + 1, a, 0] = u0 * r00 + u1 * r10 + u2 * r20
                R[i + 1, a, 1] = u0 * r01 + u1 * r11 + u2 * r21
                R[i + 1, a, 2] = u0 * r02 + u1 * r12 + u2 * r22
                p[i + 1, a] = p[up + 1, a] + u0 * x0 + u1 * x1 + u2 * x2


@inner
@no_type_check
def _axes(checks, R, p, ends):
    """Both ends of every capsule's axis in the base frame."""
    for k in range(len(checks.link)):
        i = checks.link[k] + 1
        for e in range(2):
            x, y, z = checks.ends[k, e, 0], checks.ends[k, e, 1], checks.ends[k, e, 2]
            for a in range(3):
                ends[k, e, a] = p[i, a] + R[i, a, 0] * x + R[i, a, 1] * y + R[i, a, 2] * z


@inner
@no_type_check
def _nearest(one, two):
    """Shares of two lines at which they are nearest to each other ([Ericson2005]_, section 5.1.9)."""
    a = e = f = b = c = 0.0
    for k in range(3):
        d1, d2, r = one[1, k] - one[0, k], two[1, k] - two[0, k], one[0, k] - two[0, k]
        a += d1 * d1
        e += d2 * d2
        f += d2 * r
        c += d1 * r
        b += d1 * d2
    tiny = 1e-18
    if a <= tiny and e <= tiny:
        return 0.0, 0.0
    if a <= tiny:
        return 0.0, min(max(f / e, 0.0), 1.0)
    if e <= tiny:
        return min(max(-c / a, 0.0), 1.0), 0.0
    denominator = a * e - b * b
    s = min(max((b * f - c * e) / denominator, 0.0), 1.0) if denominator > 1e-12 * a * e else 0.5
    t = (b * s + f) / e
    if t < 0.0:
        t = 0.0
        s = min(max(-c / a, 0.0), 1.0)
    elif t > 1.0:
        t = 1.0
        s = min(max((b - c) / a, 0.0), 1.0)
    return s, t


@inner
@no_type_check
def _apart(one, two, s, t):
    total = 0.0
    for k in range(3):
        d = one[0, k] + s * (one[1, k] - one[0, k]) - two[0, k] - t * (two[1, k] - two[0, k])
        total += d * d
    return math.sqrt(total)


@inner
@no_type_check
def _to_box(axis, t, box):
    """Signed distance to a box of the point at a share of a line."""
    outside, inside = 0.0, -1e300
    for k in range(3):
        x = axis[0, k] + t * (axis[1, k] - axis[0, k])
        d = max(box[k] - x, x - box[3 + k])
        inside = max(inside, d)
        if d > 0.0:
            outside += d * d
    return math.sqrt(outside) if outside > 0.0 else inside


@inner
@no_type_check
def _nearest_to_box(axis, box):
    """Share of a line at which it is nearest to a box; the signed distance is convex along it."""
    low, high = 0.0, 1.0
    for _ in range(N_SEARCH):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        if _to_box(axis, left, box) <= _to_box(axis, right, box):
            high = right
        else:
            low = left
    return 0.5 * (low + high)


@inner
@no_type_check
def _wall_excess(checks, ends, w):
    k, e = checks.wall_point[w, 0], checks.wall_point[w, 1]
    height = -checks.wall[w, 3]
    for a in range(3):
        height += checks.wall[w, a] * ends[k, e, a]
    return checks.clearance + checks.radius[k] - height


@inner
@no_type_check
def _box_excess(checks, ends, w):
    k = checks.box_capsule[w]
    t = _nearest_to_box(ends[k], checks.box[w])
    return checks.clearance + checks.radius[k] - _to_box(ends[k], t, checks.box[w]), t


@inner
@no_type_check
def _pair_excess(checks, ends, w):
    i, j = checks.pair[w, 0], checks.pair[w, 1]
    s, t = _nearest(ends[i], ends[j])
    return checks.clearance + checks.radius[i] + checks.radius[j] - _apart(ends[i], ends[j], s, t), s, t


@inner
@no_type_check
def _far_apart(checks, ends, w, least):
    """Whether two capsules are so far apart that their excess is below `least`, by the balls around them."""
    i, j = checks.pair[w, 0], checks.pair[w, 1]
    gap = one = two = 0.0
    for k in range(3):
        m = 0.5 * (ends[i, 0, k] + ends[i, 1, k] - ends[j, 0, k] - ends[j, 1, k])
        gap += m * m
        one += (ends[i, 1, k] - ends[i, 0, k]) ** 2
        two += (ends[j, 1, k] - ends[j, 0, k]) ** 2
    near = checks.clearance + checks.radius[i] + checks.radius[j] - least + 0.5 * (math.sqrt(one) + math.sqrt(two))
    return near < 0.0 or gap > near * near


@inner
@no_type_check
def _far_from_box(checks, ends, w, least):
    """Whether a capsule is so far from a box that its excess is below `least`, by the ball around it."""
    k = checks.box_capsule[w]
    length = 0.0
    for a in range(3):
        length += (ends[k, 1, a] - ends[k, 0, a]) ** 2
    near = checks.clearance + checks.radius[k] - least + 0.5 * math.sqrt(length)
    return _to_box(ends[k], 0.5, checks.box[w]) > near


@kernel
@no_type_check
def fill_excess(chain, checks, q, out):
    """The worst excess (m) of every column in every pose; at least −`FAR`."""
    n_samples, n_dof = q.shape
    R, p = np.empty((n_dof + 1, 3, 3)), np.zeros((n_dof + 1, 3))
    R[0] = np.eye(3)
    ends = np.empty((len(checks.link), 2, 3))
    for n in range(n_samples):
        _frames(chain, q[n], R, p)
        _axes(checks, R, p, ends)
        out[n] = -FAR
        for w in range(len(checks.wall_column)):
            column = checks.wall_column[w]
            out[n, column] = max(out[n, column], _wall_excess(checks, ends, w))
        for w in range(len(checks.box_column)):
            column = checks.box_column[w]
            if not _far_from_box(checks, ends, w, out[n, column]):
                out[n, column] = max(out[n, column], _box_excess(checks, ends, w)[0])
        for w in range(len(checks.pair_column)):
            column = checks.pair_column[w]
            if not _far_apart(checks, ends, w, out[n, column]):
                out[n, column] = max(out[n, column], _pair_excess(checks, ends, w)[0])


@inner
@no_type_check
def _push(chain, R, p, link, point, force, q_bar):
    """Add what a unit of `force` at a point of a link does along every joint that moves it."""
    i = link
    while i >= 0:
        for r in range(3):
            linear = angular = 0.0
            for c in range(3):
                linear += R[i + 1, r, c] * chain.S[i, c]
                angular += R[i + 1, r, c] * chain.S[i, 3 + c]
            a, b = (r + 1) % 3, (r + 2) % 3
            arm = (point[a] - p[i + 1, a]) * force[b] - (point[b] - p[i + 1, b]) * force[a]
            q_bar[i] += linear * force[r] + angular * arm
        i = chain.parent[i]


@kernel
@no_type_check
def pull_excess(chain, checks, q, weight, q_bar):
    """The derivative by q of the sum of all excesses (m), each times its weight."""
    n_samples, n_dof = q.shape
    R, p = np.empty((n_dof + 1, 3, 3)), np.zeros((n_dof + 1, 3))
    R[0] = np.eye(3)
    ends = np.empty((len(checks.link), 2, 3))
    worst, which = np.empty(checks.n_columns), np.empty(checks.n_columns, np.int64)
    shares = np.empty((checks.n_columns, 2))
    point, force = np.empty(3), np.empty(3)
    n_walls, n_boxes = len(checks.wall_column), len(checks.box_column)
    for n in range(n_samples):
        _frames(chain, q[n], R, p)
        _axes(checks, R, p, ends)
        worst[:] = -FAR
        which[:] = -1
        for w in range(n_walls):
            column, value = checks.wall_column[w], _wall_excess(checks, ends, w)
            if value > worst[column]:
                worst[column], which[column] = value, w
        for w in range(n_boxes):
            column = checks.box_column[w]
            if weight[n, column] == 0.0 or _far_from_box(checks, ends, w, worst[column]):
                continue
            value, t = _box_excess(checks, ends, w)
            if value > worst[column]:
                worst[column], which[column], shares[column, 0] = value, n_walls + w, t
        for w in range(len(checks.pair_column)):
            column = checks.pair_column[w]
            if weight[n, column] == 0.0 or _far_apart(checks, ends, w, worst[column]):
                continue
            value, s, t = _pair_excess(checks, ends, w)
            if value > worst[column]:
                worst[column], which[column] = value, n_walls + n_boxes + w
                shares[column, 0], shares[column, 1] = s, t
        for column in range(checks.n_columns):
            w = which[column]
            if w < 0 or weight[n, column] == 0.0:
                continue
            if w < n_walls:
                k, e = checks.wall_point[w, 0], checks.wall_point[w, 1]
                for a in range(3):
                    force[a] = -weight[n, column] * checks.wall[w, a]
                _push(chain, R, p, checks.link[k], ends[k, e], force, q_bar[n])
            elif w < n_walls + n_boxes:
                _push_out(chain, checks, R, p, ends, w - n_walls, shares[column, 0], weight[n, column], q_bar[n])
            else:
                i, j = checks.pair[w - n_walls - n_boxes]
                s, t = shares[column, 0], shares[column, 1]
                gap = _apart(ends[i], ends[j], s, t)
                for side in range(2):
                    k, share = (i, s) if side == 0 else (j, t)
                    for a in range(3):
                        one = ends[i, 0, a] + s * (ends[i, 1, a] - ends[i, 0, a])
                        two = ends[j, 0, a] + t * (ends[j, 1, a] - ends[j, 0, a])
                        sign = -1.0 if side == 0 else 1.0
                        force[a] = sign * weight[n, column] * (one - two) / max(gap, 1e-12)
                        point[a] = ends[k, 0, a] + share * (ends[k, 1, a] - ends[k, 0, a])
                    _push(chain, R, p, checks.link[k], point, force, q_bar[n])


@inner
@no_type_check
def _push_out(chain, checks, R, p, ends, w, t, weight, q_bar):
    """As `_push`, for the point of an axis that is nearest to a box, away from it."""
    k, box = checks.box_capsule[w], checks.box[w]
    point, force = np.empty(3), np.zeros(3)
    distance = _to_box(ends[k], t, box)
    for a in range(3):
        x = ends[k, 0, a] + t * (ends[k, 1, a] - ends[k, 0, a])
        point[a] = x
        d, side = (box[a] - x, -1.0) if box[a] - x >= x - box[3 + a] else (x - box[3 + a], 1.0)
        if distance > 0.0:
            force[a] = -weight * side * max(d, 0.0) / distance
        elif d == distance:
            force[a] = -weight * side
    _push(chain, R, p, checks.link[k], point, force, q_bar)
