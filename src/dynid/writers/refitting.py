"""Friction that a robot file cannot say, refitted in what it can; and how soft MuJoCo's dry friction must be."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.friction.offset import Offset
from dynid.dynamics.kernels.bound import run_kernel
from dynid.recording.conditioning import Samples
from dynid.regression.model import IdentifiedModel
from dynid.regression.recast import DMAX, PassiveRows, RecastFriction, crisp_rate, recast_friction, rows_of_log
from dynid.simulation.arm_kernels import mass_matrix_and_bias, workspace
from dynid.simulation.roll_kernels import RUN
from dynid.writers.exported import ExportOptions
from dynid.writers.joint_terms import PassiveTerms

__all__ = ["FRESH_STEP", "chosen_log", "mujoco_softness", "refitted"]

CRISP = 1e-5
"""Slip velocity of dry friction that is to be crisp, rad/s or m/s."""
LEAST, MOST = 0.0001, 0.9999
"""Impedances that MuJoCo allows, dimensionless."""
FRESH_STEP, USUAL_STEP = 0.0005, 0.002
"""Time step of a fresh MJCF file, and MuJoCo's own where a file says nothing, s."""


def refitted(
    model: IdentifiedModel, exact: PassiveTerms, options: ExportOptions, *, file: str, soft: bool
) -> PassiveTerms:
    """The terms (SI) of a file that says all it can: `exact` where nothing is left out, else a refit over the log.

    Args:
        model: what is exported.
        exact: the terms that the file has a place for.
        options: with the training log, where it is still there.
        file: what the file is called in sentences.
        soft: whether its dry friction is MuJoCo's.
    """
    n_dof = model.model.n_dof
    friction = [joint_model for joint_model in model.model.joint_models if joint_model.is_friction]
    lost = {term.name for joint_model in friction for term in joint_model.terms if term.simulator is None}
    if not exact.left_out or not lost or model.robot.transmission is not None:
        if soft and exact.slip is None:
            return replace(exact, rate=np.full(n_dof, crisp_rate(_timestep(options))), slip=np.full(n_dof, CRISP))
        return exact
    if soft and options.template is None and lost <= {term.name for term in Offset.terms}:
        kept = tuple(text for text in exact.left_out if Offset.description not in text)
        crisp = np.full(n_dof, crisp_rate(_timestep(options)))
        return replace(exact, left_out=kept, rate=crisp, slip=np.full(n_dof, CRISP), offset=_offsets(model))
    found = _best(model, options, soft=soft)
    if found is None:
        return exact
    terms, before, scale, where, whole = found
    names = " and ".join(dict.fromkeys(m.description for m in friction if any(t.simulator is None for t in m.terms)))
    places = "damping, frictionloss and armature" if soft else "damping and friction"
    now, then = (100.0 * float(np.linalg.norm(x)) / scale for x in (terms.cost, before))
    own = f", {then:.2g} % with the model's own friction" if before.any() else ""
    sentence = (
        f"{file} has no place for {names}: {places} were refitted over {where}; the torque of the joints is off by "
        f"{now:.2g} % of {whole}{own}"
    )
    rotors = soft
    kept = tuple(text for text in exact.left_out if not rotors and "rotor inertia" in text)
    offset = terms.offset if np.any(terms.offset) else None
    return PassiveTerms(
        terms.damping,
        terms.dry,
        terms.rotor if rotors else np.zeros(n_dof),
        kept,
        terms.rate if soft else None,
        terms.slip if soft else None,
        offset,
        (sentence,),
    )


def _offsets(model: IdentifiedModel) -> Float[Array, " n_dof"]:
    """The constant torque of every joint, N·m or N."""
    terms = [term.name for term in model.model.terms]
    own = model.parameters[model.model.n_inertial :].reshape(model.model.n_dof, len(terms))
    return np.array(own[:, terms.index(Offset.terms[0].name)])


def _timestep(options: ExportOptions) -> float:
    return FRESH_STEP if options.template is None else USUAL_STEP


def chosen_log(model: IdentifiedModel, options: ExportOptions) -> Samples | None:
    """The training log as a refit in MuJoCo's friction explains it best: with the delay of the fit, or without.

    A law that looks ahead, as MuJoCo's does, passes for a torque that leads; a refit must be able to undo that.
    """
    if options.log is None or options.aligned is None:
        return options.log
    costs = [
        float(np.linalg.norm(recast_friction(rows_of_log(model.model, model.parameters, samples), "mujoco").cost))
        for samples in (options.log, options.aligned)
    ]
    return options.log if costs[0] <= costs[1] else options.aligned


def _best(
    model: IdentifiedModel, options: ExportOptions, *, soft: bool
) -> tuple[RecastFriction, Float[Array, " n_dof"], float, str, str] | None:
    """A refit, the RMS torque (N·m or N) that the model's own friction leaves, that it is compared with, and the names
    of the motion and of the torque compared with.
    """
    kind: Literal["mujoco", "dry"] = "mujoco" if soft else "dry"
    offsets = soft and options.template is None
    samples = chosen_log(model, options) if soft else options.log
    if samples is not None:
        rows = rows_of_log(model.model, model.parameters, samples)
        terms = recast_friction(rows, kind, timestep=_timestep(options), rotors=soft, offsets=offsets)
        motions = [segment.motion for segment in samples.segments]
        own = tuple(
            tau - model.model.joint_torque(motion, model.parameters)
            for tau, motion in zip(rows.tau, motions, strict=True)
        )
        whole = np.concatenate([segment.tau for segment in samples.segments])
        before = np.sqrt(np.mean(rows.thin(own) ** 2, axis=0))
        scale = float(np.linalg.norm(np.sqrt(np.mean(whole**2, axis=0))))
        return terms, before, scale, "the training log", "the whole torque"
    if model.motion is None:
        return None
    rows = PassiveRows.of_motion(model.motion)
    terms = recast_friction(rows, kind, timestep=_timestep(options), rotors=soft, offsets=offsets)
    scale = float(np.linalg.norm(np.sqrt(np.mean(model.motion.tau**2, axis=0))))
    where = "the motion that the model keeps of its log"
    return terms, np.zeros(model.model.n_dof), max(scale, 1e-12), where, "the torque of friction and rotors"


def mujoco_softness(model: IdentifiedModel, passive: PassiveTerms) -> list[dict[str, str]]:
    """solreffriction and solimpfriction of every joint with dry friction, so that it slips where it should.

    MuJoCo's regulariser is R = (1 − d)/d Â with Â the inverse inertia of the joint at its zero position, and the
    constraint slips beyond the velocity R F / b.
    """
    if passive.rate is None or passive.slip is None:
        return [{} for _ in range(model.model.n_dof)]
    n = model.model.n_dof
    M, bias, zero = np.empty((n, n)), np.empty(n), np.zeros(n)
    links = np.array(model.parameters[: model.model.n_inertial]).reshape(n, 10)
    rotor = np.array(passive.rotor)
    run_kernel(RUN, mass_matrix_and_bias, model.model.chain, zero, zero, zero, links, rotor, workspace(n), M, bias)
    ease = np.diag(np.linalg.inv(M))
    found: list[dict[str, str]] = []
    for j in range(n):
        if passive.friction[j] <= 0.0:
            found.append({})
            continue
        ratio = passive.slip[j] * passive.rate[j] / (passive.friction[j] * ease[j])
        d = float(np.clip(1.0 / (1.0 + ratio), LEAST, MOST))
        constant = 2.0 / (DMAX * float(passive.rate[j]))
        found.append({"solreffriction": f"{constant:.6g} 1", "solimpfriction": f"{d:.6g} {DMAX} 0.001 0.5 2"})
    return found
