"""What joints add to the torque of the links, split for the forward simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.formula import POSITION
from dynid.dynamics.friction.mujoco import MUJOCO_RATE, MujocoFriction
from dynid.dynamics.friction.presliding import Presliding
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError
from dynid.simulation.friction_step import Resistance

__all__ = ["JointTables", "joint_tables"]

N_FINE, N_COARSE = 512, 512
"""Intervals of the table of a curve, on either side of rest: near it, and beyond."""
FINE_SPAN = 0.05
"""End of the fine part, relative to the largest speed."""
COARSE_SPAN = 4.0
"""End of the table, relative to the largest speed; the curve goes on straight outside."""
NEAR = 1e-9
"""Velocity next to rest, relative to the largest speed, where the jump of dry friction is read."""
STRAIGHT = 1e-9
"""Deviation from a straight line, relative to the curve, below which a column is viscous friction."""


@dataclass(frozen=True, eq=False)
class JointTables:
    """Every term of every joint as curves over velocity, per unit of its parameter; the simulation adds them up."""

    model: TorqueModel
    grid: Float[Array, " 4"]
    low: Float[Array, "n_dof n_terms"]
    high: Float[Array, "n_dof n_terms"]
    load: Float[Array, "n_dof n_terms"]
    viscous: Float[Array, "n_dof n_terms"]
    rise: Float[Array, "n_terms n_dof 2 n_nodes"]
    fall: Float[Array, "n_terms n_dof 2 n_nodes"]
    dahl_terms: tuple[int, ...]
    """Terms that are presliding, one for each length."""
    length: Float[Array, "n_dof n_lengths"]
    soft_term: int | None
    """The term that is MuJoCo's friction."""
    slip: Float[Array, " n_dof"]
    """The velocity at which it slips, rad/s or m/s."""
    springs: Float[Array, "n_dof n_terms 2"]
    """Torque of position of each term: per rad or m, and at zero."""
    load_links: Float[Array, "n_dof 10"]

    @property
    def n_lengths(self) -> int:
        """States of presliding that every joint has."""
        return len(self.dahl_terms)

    def own(self, theta: Float[Array, " n_params"]) -> Float[Array, "n_dof n_terms"]:
        """The parameters of friction and drives (SI), a row for each joint."""
        return theta[self.model.n_inertial :].reshape(self.model.n_dof, len(self.model.terms))

    def rotor(self, theta: Float[Array, " n_params"]) -> Float[Array, " n_dof"]:
        """Rotor inertia of each joint, kg·m² or kg."""
        own = self.own(theta)
        return np.array(sum((own[:, k] for k in self.model.inertia_terms), np.zeros(self.model.n_dof)))

    def resistance(self, theta: Float[Array, " n_params"]) -> Resistance:
        """Friction of an arm with these parameters (SI).

        Raises:
            ParameterError: for dry friction that drives a joint.
        """
        own, n_dof = self.own(theta), self.model.n_dof
        low, high = np.sum(own * self.low, axis=1), np.sum(own * self.high, axis=1)
        slack = 1e-9 * (np.abs(low) + np.abs(high))
        if np.any(high < low - slack):
            joint = self.model.robot.joint_names[int(np.argmin(high - low))]
            raise ParameterError(
                f"dry friction of {joint} is negative and would drive the joint; fit it with estimator feasible"
            )
        rise = np.einsum("jt,tjsn->jsn", own, self.rise)
        fall = np.einsum("jt,tjsn->jsn", own, self.fall)
        dahl = own[:, list(self.dahl_terms)] if self.dahl_terms else np.zeros((n_dof, 0))
        soft = np.zeros((n_dof, 3))
        soft[:, 1], soft[:, 2] = MUJOCO_RATE, MUJOCO_RATE * self.slip
        if self.soft_term is not None:
            soft[:, 0] = np.maximum(own[:, self.soft_term], 0.0)
        curved = np.any(rise != 0.0, axis=(1, 2)) | np.any(dahl != 0.0, axis=1) | (soft[:, 0] != 0.0)
        falls = np.any(fall != 0.0, axis=(1, 2))
        # Contiguous in all cases: each other order of the axes would be compiled again, which takes seconds.
        return Resistance(
            low, np.maximum(high, low), np.sum(own * self.load, axis=1), np.sum(own * self.viscous, axis=1), rise, fall,
            self.grid, np.maximum(dahl, 0.0, order="C"), self.length, soft, np.einsum("jt,jtk->jk", own, self.springs),
            self.load_links, curved.astype(float), falls.astype(float),
        )  # fmt: skip


def joint_tables(model: TorqueModel, fastest: float) -> JointTables:
    """The joint models of an arm as the simulation takes them, exact up to about `fastest` (rad/s or m/s).

    Raises:
        ParameterError: for friction that depends on more than velocity, gear load and a path as presliding does.
    """
    if model.robot.transmission is not None:
        raise ParameterError(
            f"{model.robot.name}: motors move several joints at once (transmission), which the forward simulation "
            "does not know"
        )
    n_dof, n_terms = model.n_dof, len(model.terms)
    reach = max(fastest, 1e-3)
    grid = np.array(
        [FINE_SPAN * reach, FINE_SPAN * reach / N_FINE, (COARSE_SPAN - FINE_SPAN) * reach / N_COARSE, float(N_FINE)]
    )
    sizes = np.concatenate(
        [grid[1] * np.arange(N_FINE), grid[0] + grid[2] * np.arange(N_COARSE + 1)],
    )
    low, high, load, viscous = np.zeros((4, n_dof, n_terms))
    rise, fall = np.zeros((2, n_terms, n_dof, 2, len(sizes)))
    dahl_terms: list[int] = []
    lengths: list[Float[Array, " n_dof"]] = []
    springs = np.zeros((n_dof, n_terms, 2))
    slip, soft_term, links, term = np.ones(n_dof), None, np.zeros((n_dof, 10)), 0
    for joint_model in model.joint_models:
        places = list(range(term, term + len(joint_model.terms)))
        term += len(places)
        mask = np.array([joint_model.on(j) for j in range(n_dof)], dtype=float)
        if isinstance(joint_model, Presliding):
            dahl_terms += places
            lengths += [np.array([joint_model.shape_of(j)[k] for j in range(n_dof)]) for k in range(len(places))]
            continue
        if isinstance(joint_model, MujocoFriction):
            soft_term = places[0]
            slip = np.array([joint_model.shape_of(j)[0] for j in range(n_dof)])
            continue
        if joint_model.has_memory:
            raise ParameterError(f"friction {joint_model.name} remembers, which the forward simulation does not know")
        if any(POSITION.name in one.column.inputs for one in joint_model.terms):
            springs[:, places] = _per_position(joint_model, n_dof)
            continue
        if not joint_model.is_friction:
            continue
        if joint_model.needs_load:
            known = joint_model.load_links(model.robot)
            links = np.zeros((n_dof, 10)) if known is None else np.array(known)
            load[:, places] = _per_load(joint_model, n_dof, reach) * mask[:, None]
            continue
        curves = [_columns(joint_model, n_dof, way * np.maximum(sizes, NEAR * reach)) for way in (1.0, -1.0)]
        for k, place in enumerate(places):
            forward, backward = curves[0][:, :, k], curves[1][:, :, k]
            if _is_straight(forward, sizes) and np.allclose(forward[1:], -backward[1:], rtol=STRAIGHT, atol=0.0):
                viscous[:, place] = forward[-1] / sizes[-1]
                continue
            high[:, place], low[:, place] = forward[0], backward[0]
            for way, curve in ((0, forward - forward[0]), (1, backward - backward[0])):
                steps = np.diff(curve, axis=0)
                out = np.maximum(steps, 0.0) if way == 0 else np.minimum(steps, 0.0)
                rise[place, :, way, 1:] = np.cumsum(out, axis=0).T
                fall[place, :, way, 1:] = np.cumsum(steps - out, axis=0).T
    length = np.stack(lengths, axis=1) if lengths else np.ones((n_dof, 0))
    return JointTables(
        model, grid, low, high, load, viscous, rise, fall, tuple(dahl_terms), length, soft_term, slip, springs, links
    )


def _columns(
    joint_model: JointModel, n_dof: int, v: Float[Array, " n_states"], load: float = 0.0
) -> Float[Array, "n_states n_dof n_terms"]:
    speeds = np.repeat(v[:, None], n_dof, axis=1)
    zeros = np.zeros_like(speeds)
    motion = Motion(np.arange(len(v), dtype=float), zeros, speeds, zeros)
    found = joint_model.columns(motion, load=np.full_like(speeds, load))
    pushed = joint_model.columns(Motion(motion.t, zeros, speeds, zeros + 1.0), load=np.full_like(speeds, load))
    if not np.array_equal(found, pushed):
        raise ParameterError(
            f"friction {joint_model.name} depends on acceleration, which the forward simulation does not know"
        )
    return found


def _per_position(joint_model: JointModel, n_dof: int) -> Float[Array, "n_dof n_terms 2"]:
    """Torque per rad or m of position, and at zero.

    Raises:
        ParameterError: for anything but a straight spring.
    """
    q = np.repeat(np.array([[0.0], [1.0], [-2.0]]), n_dof, axis=1)
    still = np.zeros_like(q)
    at = [joint_model.columns(Motion(np.arange(3.0), q, v, v)) for v in (still, still + 1.0)]
    stiffness = at[0][1] - at[0][0]
    if not (np.allclose(at[0][2], at[0][0] - 2.0 * stiffness) and np.array_equal(at[0], at[1])):
        raise ParameterError(f"{joint_model.name} is no straight spring, which the forward simulation does not know")
    return np.stack([stiffness, at[0][0]], axis=2)


def _is_straight(curve: Float[Array, "n_nodes n_dof"], sizes: Float[Array, " n_nodes"]) -> bool:
    straight = curve[-1] / sizes[-1] * sizes[:, None]
    return bool(np.all(np.abs(curve - straight) <= STRAIGHT * (np.abs(curve[-1]) + 1e-300)))


def _per_load(joint_model: JointModel, n_dof: int, reach: float) -> Float[Array, "n_dof n_terms"]:
    """Dry friction per torque of the gear.

    Raises:
        ParameterError: for anything but Coulomb friction in proportion to the load.
    """
    v = reach * np.array([-1.0, -NEAR, NEAR, 1.0])
    once, twice, back = (_columns(joint_model, n_dof, v, load) for load in (1.0, 2.0, -1.0))
    sides = np.array([-1.0, -1.0, 1.0, 1.0])[:, None, None]
    if not (np.allclose(once, sides * once[3]) and np.allclose(twice, 2.0 * once) and np.allclose(back, once)):
        raise ParameterError(
            f"friction {joint_model.name} is not in proportion to the load of the gear, which the forward simulation "
            "does not know"
        )
    return once[3]
