"""TorqueModel: the torque of a motion as named columns times parameters, and the wrenches inside the robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, Int, Vector3, skew
from dynid.chain.inertia import INERTIAL_NAMES, INERTIAL_UNITS
from dynid.chain.robot import Robot
from dynid.dynamics.joint_group import JointGroup, batch_newton_euler, checked_models, checked_robot
from dynid.dynamics.joint_model import JointModel, Term
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays, in_chunks, on_free_base
from dynid.dynamics.kernels.ready import fill_regressor
from dynid.dynamics.motion import Motion
from dynid.errors import MotionError, ParameterError, UnknownName

__all__ = ["Column", "TorqueModel"]


_SYMBOLS = {"m": "m{n}", "mx": "mc{n}x", "my": "mc{n}y", "mz": "mc{n}z"} | {
    name: f"J{{n}}{name[1:]}" for name in INERTIAL_NAMES[4:]
}


@dataclass(frozen=True)
class Column:
    """One parameter of the torque: whose it is, what it is, and its unit."""

    owner: str
    """Link name for inertial numbers, joint name for friction and rotor inertia."""
    name: str
    """``m``, ``mx`` … ``Izz`` about the link frame, ``Fv``, ``Fc``, ``Fo``, ``Ia``, …"""
    unit: str

    def __str__(self) -> str:
        return f"{self.owner} {self.name}"


@dataclass(frozen=True, eq=False, init=False)
class TorqueModel:
    r"""The torque a motion needs, linear in the parameters: :math:`\tau = Y(q, \dot q, \ddot q)\,\theta`.

    θ holds ten numbers a link (`INERTIAL_NAMES`, link after link), then for every joint the terms of `joint_models`,
    which may be given as a friction text such as ``viscous+coulomb``.
    """

    robot: Robot
    joint_models: tuple[JointModel, ...]
    """Friction and drive models whose columns act on their own joint (on their own motor where joints are coupled)."""

    def __init__(self, robot: Robot, joint_models: str | Sequence[JointModel] = ()) -> None:
        object.__setattr__(self, "robot", checked_robot(robot))
        object.__setattr__(self, "joint_models", checked_models(joint_models))

    def __repr__(self) -> str:
        return f"TorqueModel({self.robot.name}, {self._own}, {self.n_params} parameters)"

    @cached_property
    def chain(self) -> ChainArrays:
        """The robot as the compiled kernels take it."""
        return chain_arrays(self.robot)

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return self.robot.n_dof

    @property
    def n_inertial(self) -> int:
        """Number of inertial columns: ten a link."""
        return 10 * self.n_dof

    @property
    def n_params(self) -> int:
        """Number of columns in all."""
        return self.n_inertial + self.n_dof * len(self.terms)

    @cached_property
    def _own(self) -> JointGroup:
        return JointGroup(self.robot, self.joint_models)

    @property
    def terms(self) -> tuple[Term, ...]:
        """Terms that every joint has beyond the inertia of its links (units ride on each)."""
        return self._own.terms

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Owner, name and unit of every entry of θ, in order."""
        inertial = [
            Column(link, name, unit)
            for link in self.robot.link_names
            for name, unit in zip(INERTIAL_NAMES, INERTIAL_UNITS, strict=True)
        ]
        joints = [
            Column(joint.name, term.name, term.unit(joint.type)) for joint in self.robot.joints for term in self.terms
        ]
        return (*inertial, *joints)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Short names by joint number, as papers print them: ``J3xy``, ``mc3x``, ``m3``, ``fv3``."""
        inertial = [_SYMBOLS[name].format(n=i + 1) for i in range(self.n_dof) for name in INERTIAL_NAMES]
        joints = [f"{term.symbol}{i + 1}" for i in range(self.n_dof) for term in self.terms]
        return (*inertial, *joints)

    def index(self, column: Column | str) -> int:
        """Where a column (or its symbol) stands in θ.

        Raises:
            UnknownName: offering the nearest symbol.
        """
        if isinstance(column, Column):
            if column not in self.columns:
                raise UnknownName(str(column), known=map(str, self.columns), kind="column")
            return self.columns.index(column)
        if column not in self.symbols:
            raise UnknownName(column, known=self.symbols, kind="parameter")
        return self.symbols.index(column)

    def seen_by(self, joint: int) -> Int[Array, " n_seen"]:
        """Columns that can act on one joint: the links it carries and its own terms."""
        carried = [i for i, path in enumerate(self.robot.path_to) if joint in path]
        inertial = np.concatenate([np.arange(10 * i, 10 * i + 10) for i in carried])
        C = self.robot.transmission
        motors = [joint] if C is None else np.flatnonzero(C[:, joint]).tolist()
        own = [self.n_inertial + motor * len(self.terms) + np.arange(len(self.terms)) for motor in motors]
        return np.concatenate([inertial, *own])

    @property
    def has_memory(self) -> bool:
        """Whether columns of a sample depend on the samples before it."""
        return any(model.has_memory for model in self.joint_models)

    @cached_property
    def inertia_terms(self) -> tuple[int, ...]:
        """Which of `terms` are inertias: part of the mass matrix, not of friction."""
        return tuple(k for k, term in enumerate(self.terms) if term.is_inertia)

    def nominal(self) -> Float[Array, " n_params"]:
        """θ of the robot file (SI): its nominal inertias and rotors, friction zero; coupled motors without rotors."""
        theta = np.zeros(self.n_params)
        theta[: self.n_inertial] = self.robot.nominal.ravel()
        own = theta[self.n_inertial :].reshape(self.n_dof, len(self.terms))
        if self.robot.transmission is None:
            for k in self.inertia_terms:
                own[:, k] = [joint.rotor_inertia for joint in self.robot.joints]
        return theta

    def regressor(
        self,
        motion: Motion,
        out: Float[Array, "n_samples n_dof n_params"] | None = None,
        *,
        extra: Float[Array, "n_samples n_dof n_terms"] | None = None,
    ) -> Float[Array, "n_samples n_dof n_params"]:
        """Y of every sample: torque (N·m or N) of each joint per unit of each parameter.

        Args:
            motion: what the joints do.
            out: an array to fill instead of a new one; its entries that are structurally zero must be zero already.
            extra: `joint_columns` of this motion, precomputed if it is a slice of a longer one (friction may remember).
        """
        self._check_motion(motion)
        shape = (motion.n_samples, self.n_dof, self.n_params)
        if out is None:
            out = np.zeros(shape)
        elif out.shape != shape or not out.flags.c_contiguous:
            raise ParameterError(f"out must be contiguous, {shape}")
        own = self.joint_columns(motion) if extra is None else extra
        chain, n_terms, pairs = self.chain, len(self.terms), self.motor_pairs

        def fill(start: int, stop: int) -> None:
            part, Y = slice(start, stop), out[start:stop]
            fill_regressor(chain, motion.q[part], motion.dq[part], motion.ddq[part], 0, stop - start, Y)
            for motor, j, ratio in pairs if n_terms else ():
                first = self.n_inertial + motor * n_terms
                Y[:, j, first : first + n_terms] = ratio * own[part, motor]

        in_chunks(fill, motion.n_samples)
        return out

    def joint_columns(
        self, motion: Motion, *, states: Float[Array, "n_samples n_dof n_states"] | None = None
    ) -> Float[Array, "n_samples n_dof n_terms"]:
        """Columns of `joint_models` alone: torque (N·m or N) of each joint per unit of each of its terms.

        Where joints are coupled: torque of each motor, from the motion of the motors. `states` are `joint_states` of
        these samples, precomputed if the motion goes on from an earlier one.
        """
        return self._own.columns(motion, states)

    def joint_states(
        self, motion: Motion, start: Float[Array, "n_dof n_states"] | None = None
    ) -> Float[Array, "n_samples n_dof n_states"]:
        """What `joint_models` with memory remember at every sample; `start` is that of the first, 0 where None."""
        return self._own.states(motion, start)

    def joint_torque(self, motion: Motion, theta: ArrayLike) -> Float[Array, "n_samples n_dof"]:
        """What `joint_models` alone add to the torque of each joint, N·m or N."""
        own = self._check_theta(theta)[self.n_inertial :].reshape(self.n_dof, len(self.terms))
        tau = np.einsum("njt,jt->nj", self.joint_columns(motion), own)
        return tau if self.robot.transmission is None else tau @ self.robot.transmission

    @cached_property
    def motor_pairs(self) -> tuple[tuple[int, int, float], ...]:
        """Motor, joint and ratio wherever a motor acts on a joint; each on its own without coupling."""
        C = np.eye(self.n_dof) if self.robot.transmission is None else self.robot.transmission
        return tuple((int(m), int(j), float(C[m, j])) for m, j in np.argwhere(C))

    def torque(self, motion: Motion, theta: ArrayLike) -> Float[Array, "n_samples n_dof"]:
        """Joint torques (N·m or N) of a motion by Newton–Euler recursion; Y is not formed."""
        values = self._check_theta(theta)
        tau = self._newton_euler(self.chain, motion, values)[0]
        return tau + self.joint_torque(motion, values)

    def joint_wrenches(self, motion: Motion, theta: ArrayLike) -> Float[Array, "n_samples n_dof 6"]:
        """Force (N) and moment (N·m) that each joint passes from its parent to its link, by Newton–Euler.

        In axes of the moved joint frame and about its origin, on the joint axis. Five of the six components never
        show in the joint torque, and only a physically consistent parameter set gets them right.
        """
        wrench = self._newton_euler(self.chain, motion, self._check_theta(theta))[1]
        moved = np.empty_like(wrench)
        for j, joint in enumerate(self.robot.joints):
            R, p = joint.T_joint_link[:3, :3], joint.T_joint_link[:3, 3]
            force = wrench[:, j, :3] @ R.T
            moved[:, j, :3] = force
            moved[:, j, 3:] = wrench[:, j, 3:] @ R.T + np.cross(p, force)
        return moved

    def base_wrench(
        self, motion: Motion, theta: ArrayLike, base: ArrayLike | None = None
    ) -> Float[Array, "n_samples 6"]:
        """Force (N) and moment (N·m) about the base origin that hold the robot, in base axes.

        A sensor under the base that reports what the robot does to it reads the negative.

        Args:
            motion: what the joints do.
            theta: parameters, SI.
            base: ten inertial parameters of the base link, SI; None for the moving links alone.
        """
        chain, free = self._free_base(motion)
        values = np.zeros((6 + self.n_dof, 10))
        values[6:] = self._check_theta(theta)[: self.n_inertial].reshape(self.n_dof, 10)
        wrench = self._newton_euler(chain, free, values)[0][:, :6]
        return wrench if base is None else wrench + self.base_link_rows @ np.asarray(base, dtype=float)

    @cached_property
    def base_link_rows(self) -> Float[Array, "6 10"]:
        """What the base link adds to `base_wrench` (N and N·m) per unit of its ten parameters: its weight."""
        return _weight_rows(self.robot.gravity)

    def base_wrench_regressor(self, motion: Motion) -> Float[Array, "n_samples 6 n_params"]:
        """Rows of `base_wrench` (N and N·m) per unit of each parameter; friction and rotors do not show at the base."""
        self._check_motion(motion)
        chain, free = self._free_base(motion)
        Y = np.zeros((motion.n_samples, 6, self.n_params))

        def work(start: int, stop: int) -> None:
            part = np.zeros((stop - start, 6 + self.n_dof, 10 * (6 + self.n_dof)))
            fill_regressor(chain, free.q[start:stop], free.dq[start:stop], free.ddq[start:stop], 0, stop - start, part)
            Y[start:stop, :, : self.n_inertial] = part[:, :6, 60:]

        in_chunks(work, motion.n_samples)
        return Y

    def gravity_rows(self, q: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_dof n_params"]:
        """Rows of the gravity torque g(q) (N·m or N) per unit of each parameter; friction columns are zero."""
        return TorqueModel(self.robot)._padded(Motion.at_rest(q), self.n_params, with_gravity=True)

    def inertia_rows(self, q: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_pairs n_params"]:
        """Rows of M(q), lower triangle row by row (M11, M21, M22, M31, …), per unit of each parameter (SI).

        The rotor inertia of a joint counts in its diagonal entry; other joint terms do not.
        """
        n = self.n_dof
        rigid = TorqueModel(self.robot)
        rows = np.zeros((len(q), n * (n + 1) // 2, self.n_params))
        rotor = self.inertia_terms
        for column in range(n):
            ddq = np.zeros_like(q)
            ddq[:, column] = 1.0
            motion = Motion(np.arange(len(q), dtype=float), q, np.zeros_like(q), ddq)
            Y = rigid._padded(motion, self.n_params, with_gravity=False)
            for motor, joint, ratio in self.motor_pairs if rotor else ():
                turned = sum(r for m, j, r in self.motor_pairs if m == motor and j == column)
                for k in rotor:
                    Y[:, joint, self.n_inertial + motor * len(self.terms) + k] += ratio * turned
            for row in range(column, n):
                rows[:, row * (row + 1) // 2 + column] = Y[:, row]
        return rows

    def _padded(self, motion: Motion, n_params: int, *, with_gravity: bool) -> Float[Array, "n_samples n_dof n_params"]:
        self._check_motion(motion)
        chain = self.chain if with_gravity else self._weightless
        Y = np.zeros((motion.n_samples, self.n_dof, n_params))
        in_chunks(
            lambda start, stop: fill_regressor(chain, motion.q, motion.dq, motion.ddq, start, stop, Y), motion.n_samples
        )
        return Y

    @cached_property
    def _weightless(self) -> ChainArrays:
        return chain_arrays(self.robot.with_gravity(np.zeros(3)))

    def _newton_euler(
        self, chain: ChainArrays, motion: Motion, theta: Float[Array, ...]
    ) -> tuple[Float[Array, "n_samples n_rows"], Float[Array, "n_samples n_rows 6"]]:
        n_rows = len(chain.parent)
        if motion.n_dof != n_rows:
            self._check_motion(motion)
        links = np.array(theta.ravel()[: 10 * n_rows].reshape(n_rows, 10))
        return batch_newton_euler(chain, motion, links)

    def _free_base(self, motion: Motion) -> tuple[ChainArrays, Motion]:
        def pad(values: Float[Array, "n_samples n_dof"]) -> Float[Array, "n_samples n_free"]:
            return np.concatenate([np.zeros((len(values), 6)), values], axis=1)

        self._check_motion(motion)
        return on_free_base(self.chain), Motion(motion.t, pad(motion.q), pad(motion.dq), pad(motion.ddq))

    def _check_motion(self, motion: Motion) -> None:
        if motion.n_dof != self.n_dof:
            raise MotionError(
                f"the motion has {motion.n_dof} joints but {self.robot.name} has {self.n_dof}: "
                f"{', '.join(self.robot.joint_names)}"
            )

    def _check_theta(self, theta: ArrayLike) -> Float[Array, " n_params"]:
        values = np.asarray(theta, dtype=float)
        if values.shape != (self.n_params,):
            raise ParameterError(f"θ must have {self.n_params} entries (see columns), got shape {values.shape}")
        if not np.all(np.isfinite(values)):
            bad = [str(self.columns[k]) for k in np.flatnonzero(~np.isfinite(values))[:3]]
            raise ParameterError(f"parameter not finite: {', '.join(bad)}")
        return values


def _weight_rows(g: Vector3) -> Float[Array, "6 10"]:
    r"""Wrench (N and N·m) that holds a body at rest, per unit of its ten parameters.

    .. math::

        f = -m g, \qquad n = -(m c) \times g

    Inertias do not show, nor the first moment along gravity.
    """
    rows = np.zeros((6, 10))
    rows[:3, 0], rows[3:, 1:4] = -g, skew(g)
    return rows
