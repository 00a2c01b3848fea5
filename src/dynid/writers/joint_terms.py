"""What joints add to the torque of the links, term by term, and how much of it a simulator's file can say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, freeze_arrays
from dynid.dynamics.formula import Formula
from dynid.dynamics.friction.mujoco import MUJOCO_RATE, MujocoFriction
from dynid.dynamics.joint_model import JointModel, Term
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion

__all__ = ["JointTerm", "PassiveTerms", "passive_terms", "terms_by_joint"]


@dataclass(frozen=True)
class JointTerm:
    """One friction or drive parameter of one joint (of one motor where joints are coupled)."""

    joint: int
    """Index of the joint or motor."""
    model: JointModel
    """Whose term it is."""
    term: Term
    unit: str
    value: float
    """SI"""
    column: int
    """Its place in θ."""
    states: tuple[int, ...] = ()
    """Places of the model's states among all that the joint remembers."""

    @property
    def formula(self) -> Formula:
        """Torque (N·m or N) per unit of the parameter."""
        return self.term.column

    @property
    def shape(self) -> tuple[float, ...]:
        """Numbers that bend the curve at this joint (SI)."""
        return self.model.shape_of(self.joint)


def terms_by_joint(model: TorqueModel, theta: ArrayLike) -> tuple[JointTerm, ...]:
    """Every term that acts on a joint, with its value in θ (SI), joint by joint."""
    values = np.asarray(theta, dtype=float)
    found: list[JointTerm] = []
    for joint in range(model.n_dof):
        column, first = model.n_inertial + joint * len(model.terms), 0
        for joint_model in model.joint_models:
            states = tuple(range(first, first + joint_model.n_states))
            first += len(states)
            for term in joint_model.terms:
                if joint_model.on(joint):
                    unit = term.unit(model.robot.joints[joint].type)
                    found.append(JointTerm(joint, joint_model, term, unit, float(values[column]), column, states))
                column += 1
    return tuple(found)


@dataclass(frozen=True, eq=False)
class PassiveTerms:
    """Damping, dry friction and rotor inertia of every joint, and what else the model has."""

    damping: Float[Array, " n_dof"]
    """N·m·s/rad or N·s/m"""
    friction: Float[Array, " n_dof"]
    """N·m or N"""
    rotor: Float[Array, " n_dof"]
    """kg·m² or kg"""
    left_out: tuple[str, ...] = ()
    """Sentences about the terms that are none of these, or cannot be written."""
    rate: Float[Array, " n_dof"] | None = None
    """b of MuJoCo's soft friction, 1/s; None for plain dry friction."""
    slip: Float[Array, " n_dof"] | None = None
    """v of MuJoCo's soft friction, rad/s or m/s; None likewise."""
    offset: Float[Array, " n_dof"] | None = None
    """Constant torque that the file keeps beside, N·m or N."""
    told: tuple[str, ...] = ()
    """Sentences about what was refitted, and what that lost."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def torque(self, motion: Motion) -> Float[Array, "n_samples n_dof"]:
        """What they add to the torque of the links, N·m or N."""
        return self.damping * motion.dq + self.friction * np.sign(motion.dq) + self.rotor * motion.ddq


def passive_terms(model: TorqueModel, theta: ArrayLike, *, rotors: bool, file: str) -> PassiveTerms:
    """The terms (SI) that a file with damping and dry friction, and armature where `rotors`, can say.

    Args:
        model: the arm with friction and drives.
        theta: its parameters.
        rotors: whether the file has a place for rotor inertia.
        file: what the file is called in sentences, ``URDF``.
    """
    n_dof = model.n_dof
    damping, friction, rotor = np.zeros(n_dof), np.zeros(n_dof), np.zeros(n_dof)
    places = {"damping": damping, "frictionloss": friction} | ({"armature": rotor} if rotors else {})
    lost: dict[str, list[JointTerm]] = {}
    soft = [joint_model for joint_model in model.joint_models if isinstance(joint_model, MujocoFriction)]
    for term in terms_by_joint(model, theta):
        attribute, what = term.term.simulator, term.model.description
        where = _joint_of_motor(model, term.joint)
        if term.value == 0.0:
            continue
        if attribute not in places:
            lost.setdefault(what, []).append(term)
        elif term.value < 0.0:
            lost.setdefault(f"negative {what}", []).append(term)
        elif where is None:
            lost.setdefault(f"{what} of coupled motors", []).append(term)
        else:
            joint, ratio = where
            places[attribute][joint] += term.value * (abs(ratio) if attribute == "frictionloss" else ratio**2)
    sentences = tuple(f"{file} has no place for {what}: {_listed(model, terms)}" for what, terms in lost.items())
    if not soft or not rotors:
        return PassiveTerms(damping, friction, rotor, sentences)
    slip = np.array([soft[0].shape_of(j)[0] for j in range(n_dof)])
    return PassiveTerms(damping, friction, rotor, sentences, np.full(n_dof, MUJOCO_RATE), slip)


def _joint_of_motor(model: TorqueModel, motor: int) -> tuple[int, float] | None:
    """The joint that a motor alone moves, with its ratio; None where joints are coupled."""
    C = model.robot.transmission
    if C is None:
        return motor, 1.0
    joints = np.flatnonzero(C[motor])
    if len(joints) != 1 or np.count_nonzero(C[:, joints[0]]) != 1:
        return None
    return int(joints[0]), float(C[motor, joints[0]])


def _listed(model: TorqueModel, terms: Sequence[JointTerm]) -> str:
    names = model.robot.joint_names
    return ", ".join(f"{names[t.joint]} {t.term.name} {t.value:.4g} {t.unit}".strip() for t in terms)
