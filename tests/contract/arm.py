"""A small arm whose dynamics are written out here, so that its logs depend on no line of dynid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

GRAVITY = np.array([0.0, 0.0, -9.81])


@dataclass(frozen=True, eq=False)
class Link:
    """A joint and the body behind it, in frames that are parallel to the base at zero."""

    joint: str
    origin: Sequence[float]
    """Of the joint in the frame of the one before, m."""
    axis: Sequence[float]
    mass: float
    com: Sequence[float]
    inertia: Sequence[float]
    """xx, yy, zz about the centre of mass, kg·m²."""
    friction: Sequence[float] = (0.0, 0.0, 0.0)
    """Viscous, Coulomb, offset."""

    def moved(self, angle):
        """Rotations of the joint, (n_samples, 3, 3), by the formula of Rodrigues."""
        x, y, z = self.axis
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        return np.eye(3) + np.sin(angle)[:, None, None] * K + (1.0 - np.cos(angle))[:, None, None] * (K @ K)

    def loaded(self, mass: float, com: Sequence[float], inertia: Sequence[float]) -> Link:
        """The same body with a load fixed to it; only for loads on the line of both centres, to keep axes principal."""
        total = self.mass + mass
        middle = (self.mass * np.array(self.com) + mass * np.array(com)) / total
        joint = np.array(self.inertia) + np.array(inertia)
        for part, centre in ((self.mass, self.com), (mass, com)):
            d = np.array(centre) - middle
            joint = joint + part * (d @ d - d**2)
        return replace(self, mass=total, com=tuple(middle), inertia=tuple(joint))


SHOULDER = Link("shoulder", (0.0, 0.0, 0.3), (0.0, 1.0, 0.0), 4.0, (0.2, 0.0, 0.0), (0.02, 0.07, 0.08), (0.6, 0.9, 0.1))
ELBOW = Link("elbow", (0.4, 0.0, 0.0), (0.0, 0.0, 1.0), 2.0, (0.15, 0.0, 0.0), (0.01, 0.03, 0.035), (0.3, 0.5, -0.05))
LOAD_MASS = 1.5
"""Of the load at the elbow's link, kg."""


@dataclass(frozen=True, eq=False)
class Arm:
    """A chain of links with viscous and Coulomb friction."""

    links: tuple[Link, ...] = (SHOULDER, ELBOW)

    def loaded(self) -> Arm:
        """The arm with a load at its end."""
        return Arm((*self.links[:-1], self.links[-1].loaded(LOAD_MASS, (0.3, 0.0, 0.0), (0.003, 0.004, 0.005))))

    def rigid_torque(self, q, dq, ddq):
        """Joint torques without friction, (n_samples, n_dof), by Newton and Euler in world axes."""
        n_samples, n_dof = q.shape
        R, p = np.broadcast_to(np.eye(3), (n_samples, 3, 3)), np.zeros((n_samples, 3))
        w, dw, a = (np.zeros((n_samples, 3)) for _ in range(3))
        axes, places, forces = [], [], []
        for j, link in enumerate(self.links):
            step = R @ np.array(link.origin)
            a = a + np.cross(dw, step) + np.cross(w, np.cross(w, step))
            p, axis = p + step, R @ np.array(link.axis)
            dw = dw + axis * ddq[:, [j]] + np.cross(w, axis * dq[:, [j]])
            w = w + axis * dq[:, [j]]
            R = R @ link.moved(q[:, j])
            arm = R @ np.array(link.com)
            force = link.mass * (a + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)) - GRAVITY)
            tensor = R @ np.diag(link.inertia) @ np.swapaxes(R, 1, 2)
            turn = np.einsum("nij,nj->ni", tensor, dw) + np.cross(w, np.einsum("nij,nj->ni", tensor, w))
            axes.append(axis)
            places.append(p)
            forces.append((p + arm, force, turn))
        torque = np.zeros((n_samples, n_dof))
        for j in range(n_dof):
            for centre, force, turn in forces[j:]:
                torque[:, j] += np.sum(axes[j] * (turn + np.cross(centre - places[j], force)), axis=1)
        return torque

    def torque(self, q, dq, ddq):
        """Joint torques with friction, (n_samples, n_dof)."""
        fv, fc, fo = np.array([link.friction for link in self.links]).T
        return self.rigid_torque(q, dq, ddq) + fv * dq + fc * np.sign(dq) + fo

    def controller(self, q):
        """Rows of M (lower triangle) and g at still postures, as a controller reports them."""
        still = np.zeros_like(q)
        g = self.rigid_torque(q, still, still)
        unit = [np.broadcast_to(row, q.shape) for row in np.eye(q.shape[1])]
        M = np.stack([self.rigid_torque(q, still, row) - g for row in unit], axis=2)
        return np.column_stack([q, *(M[:, i, j] for i in range(q.shape[1]) for j in range(i + 1)), g])

    def urdf(self) -> str:
        """The arm as a robot file."""
        body = "".join(
            f'<link name="{link.joint}_link"><inertial><origin xyz="{_text(link.com)}"/><mass value="{link.mass!r}"/>'
            '<inertia ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/></inertial></link>\n'.format(*link.inertia)
            + f'<joint name="{link.joint}" type="revolute"><parent link="{parent}"/><child link="{link.joint}_link"/>'
            f'<origin xyz="{_text(link.origin)}"/><axis xyz="{_text(link.axis)}"/>'
            '<limit lower="-3" upper="3" velocity="8" effort="150"/></joint>\n'
            for parent, link in zip(("base", *(f"{link.joint}_link" for link in self.links)), self.links, strict=False)
        )
        return f'<robot name="small arm"><link name="base"/>\n{body}</robot>\n'


def _text(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


@dataclass(frozen=True, eq=False)
class Motion:
    """Sums of sines, differentiated exactly."""

    frequencies: Sequence[float]
    """Of each joint, Hz; each gets further sines at higher ones."""
    duration: float = 12.0
    rate: float = 100.0
    phase: float = 0.0
    size: float = 1.0
    columns: tuple = field(init=False)
    """t, q, dq, ddq."""

    def __post_init__(self) -> None:
        t = np.arange(round(self.duration * self.rate)) / self.rate
        w = 2.0 * np.pi * np.array(self.frequencies)
        q, dq, ddq = (np.zeros((len(t), len(w))) for _ in range(3))
        for factor, size, phase in ((1.0, 0.8, 0.0), (2.3, 0.35, 1.0), (0.41, 0.5, 2.0), (3.7, 0.12, 0.5)):
            angle = np.outer(t, factor * w) + phase + self.phase
            q += self.size * size * np.sin(angle)
            dq += self.size * size * factor * w * np.cos(angle)
            ddq -= self.size * size * (factor * w) ** 2 * np.sin(angle)
        object.__setattr__(self, "columns", (t, q, dq, ddq))
