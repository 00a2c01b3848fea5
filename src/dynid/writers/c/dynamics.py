"""The recursions of rigid-body dynamics, written out for one robot: every zero and every constant is used up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dynid.chain.robot import BASE, Robot
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays
from dynid.writers.c.code import UNITY, ZERO, Code, Scalar, ScalarTriple, constant, cross, dot

__all__ = ["ChainCode"]

Rotation = tuple[ScalarTriple, ScalarTriple, ScalarTriple]
"""Rows of a 3×3 matrix."""
_PLACE = {(0, 0): 4, (0, 1): 5, (1, 1): 6, (0, 2): 7, (1, 2): 8, (2, 2): 9}
"""Row and column of a tensor to its place among the ten inertial numbers."""


@dataclass(frozen=True)
class _Pose:
    """Rotation and origin of a link in its parent's frame."""

    R: Rotation
    p: ScalarTriple

    def down(self, code: Code, v: ScalarTriple, w: ScalarTriple) -> tuple[ScalarTriple, ScalarTriple]:
        """A motion (linear, angular) of the parent seen in the link: Rᵀ(v + ω × p), Rᵀω."""
        turned = cross(w, self.p)
        moved = tuple(code.sum((v[k],), *turned[k]) for k in range(3))
        columns = tuple(zip(*self.R, strict=True))
        return _triple([code.sum(*dot(c, moved)) for c in columns]), _triple([code.sum(*dot(c, w)) for c in columns])

    def up(self, code: Code, f: ScalarTriple, n: ScalarTriple) -> tuple[ScalarTriple, ScalarTriple]:
        """A wrench (force, moment) of the link in the parent's frame: Rf, Rn + p × Rf."""
        force = _triple([code.sum(*dot(row, f)) for row in self.R])
        lever = cross(self.p, force)
        return force, _triple([code.sum(*dot(self.R[k], n), *lever[k]) for k in range(3)])


def _triple(values: list[Scalar]) -> ScalarTriple:
    return values[0], values[1], values[2]


@dataclass(frozen=True, eq=False)
class ChainCode:
    """A robot whose dynamics are to be written as C."""

    robot: Robot
    parameters: Mapping[tuple[int, int], Scalar]
    """Link and place in `INERTIAL_NAMES` to what stands for the number in C."""

    @cached_property
    def _chain(self) -> ChainArrays:
        return chain_arrays(self.robot)

    def _pose(self, code: Code, link: int) -> _Pose:
        chain = self._chain
        q = Scalar(1.0, f"q[{link}]")
        c, s = ZERO, ZERO
        if self.robot.joints[link].type == "revolute":
            c, s = code.call("cos", q), code.call("sin", q)
        parts = (chain.pose_cos[link], chain.pose_sin[link], chain.pose_linear[link], chain.pose_constant[link])
        entries = [
            code.sum(*((constant(float(part[k])), of) for part, of in zip(parts, (c, s, q, UNITY), strict=True)))
            for k in range(12)
        ]
        rows = tuple(_triple(entries[3 * r : 3 * r + 3]) for r in range(3))
        return _Pose((rows[0], rows[1], rows[2]), _triple(entries[9:]))

    def _axis(self, link: int) -> tuple[ScalarTriple, ScalarTriple]:
        """Linear and angular part of the joint's motion in the link frame."""
        S = [constant(float(value)) for value in self._chain.S[link]]
        return _triple(S[:3]), _triple(S[3:])

    def _own(self, link: int) -> tuple[Scalar, ScalarTriple, Rotation]:
        """Mass, first moment and tensor of a link."""
        pi = [self.parameters[link, k] for k in range(10)]
        rows = [[pi[_PLACE[min(r, c), max(r, c)]] for c in range(3)] for r in range(3)]
        return pi[0], _triple(pi[1:4]), (_triple(rows[0]), _triple(rows[1]), _triple(rows[2]))

    def _motions(self, code: Code, *, moving: bool, pushed: bool, heavy: bool) -> tuple[list[_Pose], list[_State]]:
        """Pose, velocity and acceleration of every link, from the base outwards."""
        g = self._chain.gravity
        still: ScalarTriple = (ZERO, ZERO, ZERO)
        weight = _triple([constant(-float(x)) if heavy else ZERO for x in g])
        poses: list[_Pose] = []
        states: list[_State] = []
        for i, parent in enumerate(self._chain.parent):
            pose = self._pose(code, i)
            above = _State(still, still, weight, still) if parent == BASE else states[parent]
            v, w = pose.down(code, above.v, above.w)
            a, d = pose.down(code, above.a, above.d)
            Sv, Sw = self._axis(i)
            dq = Scalar(1.0, f"dq[{i}]") if moving else ZERO
            ddq = Scalar(1.0, f"ddq[{i}]") if pushed else ZERO
            v = _triple([code.sum((v[k],), (Sv[k], dq)) for k in range(3)])
            w = _triple([code.sum((w[k],), (Sw[k], dq)) for k in range(3)])
            # V × S dq: what the turning frame adds to the acceleration.
            fast = _triple([code.sum((Sv[k], dq)) for k in range(3)])
            spin = _triple([code.sum((Sw[k], dq)) for k in range(3)])
            linear, turning, both = cross(w, fast), cross(w, spin), cross(v, spin)
            a = _triple([code.sum((a[k],), (Sv[k], ddq), *linear[k], *both[k]) for k in range(3)])
            d = _triple([code.sum((d[k],), (Sw[k], ddq), *turning[k]) for k in range(3)])
            poses.append(pose)
            states.append(_State(v, w, a, d))
        return poses, states

    def torque(self, code: Code, *, moving: bool = True, pushed: bool = True, heavy: bool = True) -> list[Scalar]:
        """Newton–Euler: torque of every joint (N·m or N); without velocity, acceleration or gravity where not asked."""
        poses, states = self._motions(code, moving=moving, pushed=pushed, heavy=heavy)
        forces = [state.wrench(code, *self._own(i)) for i, state in enumerate(states)]
        taus = [ZERO] * len(forces)
        for i in reversed(range(len(forces))):
            f, n = forces[i]
            Sv, Sw = self._axis(i)
            taus[i] = code.sum(*dot(Sv, f), *dot(Sw, n))
            parent = int(self._chain.parent[i])
            if parent != BASE:
                g, m = poses[i].up(code, f, n)
                F, N = forces[parent]
                forces[parent] = (
                    _triple([code.sum((F[k],), (g[k],)) for k in range(3)]),
                    _triple([code.sum((N[k],), (m[k],)) for k in range(3)]),
                )
        return taus

    def mass_matrix(self, code: Code) -> dict[tuple[int, int], Scalar]:
        """Composite rigid bodies: lower triangle of M (kg·m², kg·m or kg) where it is not zero by structure."""
        n_dof = self.robot.n_dof
        poses = [self._pose(code, i) for i in range(n_dof)]
        bodies = [self._own(i) for i in range(n_dof)]
        M: dict[tuple[int, int], Scalar] = {}
        for i in reversed(range(n_dof)):
            mass, h, tensor = bodies[i]
            Sv, Sw = self._axis(i)
            swing, lever = cross(Sw, h), cross(h, Sv)
            f = _triple([code.sum((mass, Sv[k]), *swing[k]) for k in range(3)])
            n = _triple([code.sum(*dot(tensor[k], Sw), *lever[k]) for k in range(3)])
            M[i, i] = code.sum(*dot(Sv, f), *dot(Sw, n))
            j = i
            while (parent := int(self._chain.parent[j])) != BASE:
                f, n = poses[j].up(code, f, n)
                Pv, Pw = self._axis(parent)
                M[i, parent] = code.sum(*dot(Pv, f), *dot(Pw, n))
                j = parent
            parent = int(self._chain.parent[i])
            if parent != BASE:
                bodies[parent] = _welded(code, bodies[parent], _carried(code, poses[i], bodies[i]))
        return M

    def regressor(self, code: Code) -> dict[tuple[int, int, int], Scalar]:
        """Torque of a joint per unit of a number of a link: (joint, link, number), where not zero by structure."""
        poses, states = self._motions(code, moving=True, pushed=True, heavy=True)
        rows: dict[tuple[int, int, int], Scalar] = {}
        seen: dict[tuple[int, int], tuple[ScalarTriple, ScalarTriple]] = {}
        for i, state in enumerate(states):
            lever = state.rates(code)
            j = i
            while j != BASE:
                parent = int(self._chain.parent[i])
                seen[i, j] = self._axis(i) if i == j else poses[i].down(code, *seen[parent, j])
                for k, value in enumerate(state.columns(code, lever, *seen[i, j])):
                    rows[j, i, k] = value
                j = int(self._chain.parent[j])
        return rows


@dataclass(frozen=True)
class _State:
    """Velocity (v, ω) and spatial acceleration (a, dω) of a link in its own axes, gravity subtracted."""

    v: ScalarTriple
    w: ScalarTriple
    a: ScalarTriple
    d: ScalarTriple

    def origin(self, code: Code) -> ScalarTriple:
        """Acceleration of the link's origin, a + ω × v."""
        turn = cross(self.w, self.v)
        return _triple([code.sum((self.a[k],), *turn[k]) for k in range(3)])

    def rates(self, code: Code) -> Rotation:
        """The matrix [dω]× + [ω]×[ω]×."""
        w, d = self.w, self.d
        squares = [code.sum((x, x)) for x in w]
        xy, xz, yz = ((w[0], w[1]), (w[0], w[2]), (w[1], w[2]))
        return (
            (code.sum((-squares[1],), (-squares[2],)), code.sum(xy, (-d[2],)), code.sum(xz, (d[1],))),
            (code.sum(xy, (d[2],)), code.sum((-squares[0],), (-squares[2],)), code.sum(yz, (-d[0],))),
            (code.sum(xz, (-d[1],)), code.sum(yz, (d[0],)), code.sum((-squares[0],), (-squares[1],))),
        )

    def wrench(self, code: Code, mass: Scalar, h: ScalarTriple, tensor: Rotation) -> tuple[ScalarTriple, ScalarTriple]:
        """Force and moment about the origin that Newton and Euler ask for."""
        a, rates = self.origin(code), self.rates(code)
        spin = _triple([code.sum(*dot(row, self.w)) for row in tensor])
        gyro, lever = cross(self.w, spin), cross(h, a)
        force = _triple([code.sum((mass, a[k]), *dot(rates[k], h)) for k in range(3)])
        return force, _triple([code.sum(*dot(tensor[k], self.d), *gyro[k], *lever[k]) for k in range(3)])

    def columns(self, code: Code, rates: Rotation, v: ScalarTriple, w: ScalarTriple) -> list[Scalar]:
        """Power of the wrench on a motion (v, w), per unit of each of the ten numbers."""
        a, o, d = self.origin(code), self.w, self.d
        lever = cross(a, w)
        u = _triple([code.sum(*products) for products in cross(w, o)])
        moments = [code.sum(*dot(v, tuple(row[k] for row in rates)), *lever[k]) for k in range(3)]
        pairs = [
            code.sum((w[r], d[c]), (u[r], o[c]), *([] if r == c else [(w[c], d[r]), (u[c], o[r])])) for r, c in _PLACE
        ]
        return [code.sum(*dot(v, a)), *moments, *pairs]


def _carried(
    code: Code, pose: _Pose, body: tuple[Scalar, ScalarTriple, Rotation]
) -> tuple[Scalar, ScalarTriple, Rotation]:
    """A body in the frame of its parent: turned, then moved to the other origin by the parallel-axis theorem."""
    mass, h, tensor = body
    turned = [code.sum(*dot(row, h)) for row in pose.R]
    half = [[code.sum(*dot(row, column)) for column in tensor] for row in pose.R]
    p = pose.p
    twice = code.sum(*((Scalar(2.0), p[k], turned[k]) for k in range(3)), *((mass, p[k], p[k]) for k in range(3)))
    rows: list[list[Scalar]] = [[ZERO] * 3 for _ in range(3)]
    for r in range(3):
        for c in range(r, 3):
            steiner = [(-p[r], turned[c]), (-turned[r], p[c]), (-mass, p[r], p[c])]
            own = [(twice,)] if r == c else []
            rows[r][c] = rows[c][r] = code.sum(*dot(half[r], pose.R[c]), *own, *steiner)
    first = _triple([code.sum((turned[k],), (mass, p[k])) for k in range(3)])
    return mass, first, (_triple(rows[0]), _triple(rows[1]), _triple(rows[2]))


def _welded(
    code: Code, body: tuple[Scalar, ScalarTriple, Rotation], other: tuple[Scalar, ScalarTriple, Rotation]
) -> tuple[Scalar, ScalarTriple, Rotation]:
    def plus(a: ScalarTriple, b: ScalarTriple) -> ScalarTriple:
        return _triple([code.sum((x,), (y,)) for x, y in zip(a, b, strict=True)])

    rows = [plus(a, b) for a, b in zip(body[2], other[2], strict=True)]
    return code.sum((body[0],), (other[0],)), plus(body[1], other[1]), (rows[0], rows[1], rows[2])
