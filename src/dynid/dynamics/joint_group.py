"""All joint models of a robot together: their columns and states, at the motors where joints are coupled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.friction.table import friction_models
from dynid.dynamics.joint_model import JointModel, Term
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays, in_chunks
from dynid.dynamics.kernels.ready import fill_torques
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError

__all__ = ["JointGroup", "batch_newton_euler", "checked_models", "checked_robot"]


@dataclass(frozen=True, eq=False)
class JointGroup:
    """The joint models of one robot, in the order of their terms."""

    robot: Robot
    models: tuple[JointModel, ...]

    def __str__(self) -> str:
        return "+".join(model.name for model in self.models) or "no joint models"

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The terms of all models (units ride on each)."""
        return tuple(term for model in self.models for term in model.terms)

    @cached_property
    def _chain(self) -> ChainArrays:
        return chain_arrays(self.robot)

    def columns(
        self, motion: Motion, states: Float[Array, "n_samples n_dof n_states"] | None
    ) -> Float[Array, "n_samples n_dof n_terms"]:
        """Torque of each joint, or motor, per unit of each term (SI); `states` from a start at rest where None."""
        moved = self._at_motors(motion)
        out = np.empty((*motion.q.shape, len(self.terms)))
        term = first = 0
        for model in self.models:
            last, end = first + model.n_states, term + len(model.terms)
            known = states[:, :, first:last] if states is not None and last > first else None
            load = self._load(motion, model) if model.needs_load else None
            model.columns(moved, load=load, states=known, out=out[:, :, term:end])
            first, term = last, end
        return out

    def states(
        self, motion: Motion, start: Float[Array, "n_dof n_states"] | None
    ) -> Float[Array, "n_samples n_dof n_states"]:
        """What models with memory remember at every sample, from `start` at the first (0 where None)."""
        q = self._at_motors(motion).q
        found, first = [np.zeros((*q.shape, 0))], 0
        for model in self.models:
            last = first + model.n_states
            if last > first:
                found.append(model.states(q, None if start is None else start[:, first:last]))
            first = last
        return np.concatenate(found, axis=2)

    def _at_motors(self, motion: Motion) -> Motion:
        C = self.robot.transmission
        return motion if C is None else Motion(motion.t, motion.q @ C.T, motion.dq @ C.T, motion.ddq @ C.T)

    def _load(self, motion: Motion, model: JointModel) -> Float[Array, "n_samples n_dof"]:
        """Torque that the links ask of each gear, N·m or N; zero where nothing is known of the links."""
        links, C = model.load_links(self.robot), self.robot.transmission
        if links is None:
            return np.zeros(motion.q.shape)
        tau = batch_newton_euler(self._chain, motion, np.array(links))[0]
        return tau if C is None else np.linalg.solve(C.T, tau.T).T


def batch_newton_euler(
    chain: ChainArrays, motion: Motion, links: Float[Array, "n_rows 10"]
) -> tuple[Float[Array, "n_samples n_rows"], Float[Array, "n_samples n_rows 6"]]:
    """Joint torques (N·m or N) and wrenches (N, N·m) of links with these parameters (SI), on all threads."""
    n_rows = len(chain.parent)
    tau, wrench = np.empty((motion.n_samples, n_rows)), np.empty((motion.n_samples, n_rows, 6))
    in_chunks(
        lambda start, stop: fill_torques(chain, motion.q, motion.dq, motion.ddq, links, start, stop, tau, wrench),
        motion.n_samples,
    )
    return tau, wrench


def checked_robot(given: object) -> Robot:
    """The robot of a `TorqueModel`.

    Raises:
        ParameterError: for anything else, saying what was expected.
    """
    if not isinstance(given, Robot):
        raise ParameterError(f"TorqueModel takes a Robot first (see load_robot), got {_shown(given)}")
    return given


def checked_models(given: object) -> tuple[JointModel, ...]:
    """The joint models of a `TorqueModel`, or those of a friction text such as ``viscous+coulomb``.

    Raises:
        ParameterError: for anything else, saying what was expected.
        UnknownName: for friction that does not exist.
    """
    if isinstance(given, str):
        return friction_models(given)
    models = given if isinstance(given, list | tuple) else (given,)
    wrong = [model for model in models if not isinstance(model, JointModel)]
    if wrong:
        raise ParameterError(
            "TorqueModel takes joint models, such as (RotorInertia(), *friction_models('viscous+coulomb')), "
            f"or friction names joined by +; got {_shown(wrong[0])}"
        )
    return tuple(models)


def _shown(value: object) -> str:
    return f"{repr(value)[:60]} ({type(value).__name__})"
