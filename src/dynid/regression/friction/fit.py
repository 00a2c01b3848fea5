"""Friction alone, on the residual of a known rigid model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, ArrayLike, Float, freeze_arrays
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError
from dynid.recording.conditioning import Samples
from dynid.regression.estimate import FitError
from dynid.regression.friction.choice import FrictionChoice, choose_friction
from dynid.regression.friction.rows import FrictionRows, friction_rows
from dynid.regression.friction.search import solved

__all__ = ["FrictionFit", "JointFriction", "fit_friction", "friction_parts"]

STEP = 1e-4
"""Relative change of a shape number for the derivative of its curve."""


@dataclass(frozen=True, eq=False)
class JointFriction:
    """Friction of one joint: what was fitted, and how sure it is."""

    joint: str
    names: tuple[str, ...]
    """Terms, then shape numbers as ``tanh.velocity``."""
    units: tuple[str, ...]
    values: Float[Array, " n_numbers"]
    """In `units`."""
    std: Float[Array, " n_numbers"]
    """In `units`; shape numbers and linear ones together, residuals may be correlated in time."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class FrictionFit:
    """Friction of an arm whose links are known."""

    model: TorqueModel
    """The known model with the friction found."""
    theta: Float[Array, " n_params"]
    """Known parameters, and the friction found (SI)."""
    choice: FrictionChoice
    joints: tuple[JointFriction, ...]
    fit: FitError
    """Of the model with this friction."""
    without: FitError
    """Of the model without any."""
    velocity: Float[Array, "n_rows n_dof"]
    """Low-passed velocity at the rows, rad/s or m/s, to be drawn behind the curves."""
    residual: Float[Array, "n_rows n_dof"]
    """Low-passed torque that the links do not explain, N·m or N."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def fit_friction(
    rigid: TorqueModel, theta: ArrayLike, samples: Sequence[Samples], friction: str | Sequence[JointModel] = "auto"
) -> FrictionFit:
    """Friction on what known links and rotors do not explain [Gaz2019]_: lubrication, temperature, another copy.

    Args:
        rigid: links and drives, without friction.
        theta: its parameters (SI); lifted base parameters will do.
        samples: conditioned logs, such as sinusoids that reach all velocities.
        friction: names joined by +, ``auto``, or models.

    Raises:
        RegressionError: a joint never reverses, so that dry friction and offset cannot be told apart.
    """
    known = np.asarray(theta, dtype=float)
    if known.shape != (rigid.n_params,):
        raise ParameterError(f"θ of the rigid model must have {rigid.n_params} entries, got shape {known.shape}")
    rows = friction_rows(rigid, None, samples, known)
    links = known[: rigid.n_inertial].reshape(-1, 10)
    choice = choose_friction(rows, friction, reference=links)
    model = TorqueModel(rigid.robot, (*rigid.joint_models, *choice.models))
    n_drive, n_terms = len(rigid.terms), len(model.terms)
    own = np.zeros((rigid.n_dof, n_terms))
    own[:, :n_drive] = known[rigid.n_inertial :].reshape(rigid.n_dof, n_drive)
    columns = [rows.columns(friction_model) for friction_model in choice.models]
    joints, residual_power = [], np.zeros(rigid.n_dof)
    for j in range(rigid.n_dof):
        F = np.hstack([part[j] for part in columns]) if columns else np.zeros((len(rows.tau[j]), 0))
        seen = np.flatnonzero(np.any(F != 0.0, axis=0))
        free = np.array([not term.nonnegative for m in choice.models for term in m.terms], dtype=bool)
        phi = np.zeros(F.shape[1])
        phi[seen] = solved(F[:, seen].T @ F[:, seen], F[:, seen].T @ rows.tau[j], np.arange(len(seen)), free[seen])
        own[j, n_drive:] = phi
        rest = rows.tau[j] - F @ phi
        residual_power[j] = rest @ rest
        joints.append(_joint(rows, choice.models, j, F, phi, rest))
    n_rows = np.array([len(tau) for tau in rows.tau], dtype=float)
    power = rows.power * n_rows
    before = np.array([tau @ tau for tau in rows.tau])
    velocity, residual = friction_parts(rigid, known, samples)
    return FrictionFit(
        model=model,
        theta=np.concatenate([known[: rigid.n_inertial], own.ravel()]),
        choice=choice,
        joints=tuple(joints),
        fit=FitError.of(residual_power, power, n_rows),
        without=FitError.of(before, power, n_rows),
        velocity=velocity,
        residual=residual,
    )


def _joint(
    rows: FrictionRows,
    models: Sequence[JointModel],
    j: int,
    F: Float[Array, "n_rows n_columns"],
    phi: Float[Array, " n_columns"],
    rest: Float[Array, " n_rows"],
) -> JointFriction:
    """Values and standard deviations of one drive, from the derivatives of its torque by every number."""
    joint = rows.model.robot.joints[j]
    kind = 0 if joint.type == "revolute" else 1
    linear: list[tuple[str, str, float, Float[Array, " n_rows"]]] = []
    shapes: list[tuple[str, str, float, Float[Array, " n_rows"]]] = []
    first = 0
    for model in models:
        places = range(first, first + len(model.terms))
        first += len(model.terms)
        if not model.on(j):
            continue
        linear += [(t.name, t.units[kind], float(phi[k]), F[:, k]) for k, t in zip(places, model.terms, strict=True)]
        own = np.array([phi[k] for k in places])
        for row, (parameter, number) in enumerate(zip(model.shapes, model.shape_of(j), strict=True)):
            change = _derivative(rows, model, row, j) @ own
            shapes.append((f"{model.name}.{parameter.name}", parameter.units[kind], number, change))
    names, units, values, parts = zip(*linear, *shapes, strict=True) if linear else ((), (), (), ())
    J = np.column_stack(parts) if parts else np.zeros((len(rest), 0))
    return JointFriction(joint.name, names, units, np.array(values), _standard_deviations(J, rest, rows.block[j]))


def _derivative(rows: FrictionRows, model: JointModel, row: int, j: int) -> Float[Array, "n_rows n_terms"]:
    """How the low-passed columns of one drive change with one shape number (SI)."""
    numbers = np.array([np.broadcast_to(np.array(r), rows.n_dof) for r in model.shape])
    scale = model.shapes[row].size(rows.speed, rows.travel)
    step = STEP * np.maximum(np.abs(numbers[row]), 0.1 * scale)
    moved = []
    for sign in (1.0, -1.0):
        other = numbers.copy()
        other[row] += sign * step
        moved.append(rows.columns(model.reshaped(tuple(tuple(r.tolist()) for r in other)))[j])
    return (moved[0] - moved[1]) / (2.0 * step[j])


def _standard_deviations(
    J: Float[Array, "n_rows n_numbers"], rest: Float[Array, " n_rows"], block: Float[Array, " n_rows"] | ArrayLike
) -> Float[Array, " n_numbers"]:
    """From the Jacobian and residuals; blocks of time tell how far the residuals are correlated."""
    n_numbers = J.shape[1]
    if not n_numbers:
        return np.zeros(0)
    scale = np.linalg.norm(J, axis=0)
    hidden = scale == 0.0
    A = J / np.where(hidden, 1.0, scale)
    inverse = np.linalg.pinv(A.T @ A, hermitian=True, rcond=1e-10)
    noise = float(rest @ rest) / max(len(rest) - n_numbers, 1)
    index = np.asarray(block)
    seen = expected = 0.0
    for b in np.unique(index):
        part = A[index == b]
        g = part.T @ rest[index == b]
        inner = part.T @ part
        seen += float(g @ inverse @ g)
        expected += noise * float(np.trace(inverse @ (inner - inner @ inverse @ inner)))
    inflation = max(seen / expected, 1.0) if expected > 0.0 else 1.0
    std = np.sqrt(np.maximum(noise * inflation * np.diag(inverse), 0.0))
    return np.where(hidden, np.inf, std / np.where(hidden, 1.0, scale))


def friction_parts(
    rigid: TorqueModel, theta: ArrayLike, samples: Sequence[Samples]
) -> tuple[Float[Array, "n_rows n_dof"], Float[Array, "n_rows n_dof"]]:
    """Low-passed velocity (rad/s or m/s) and the torque that known links do not explain (N·m or N)."""
    velocity, residual = [], []
    for log in samples:
        low_pass, every = log.plan.low_pass, log.plan.every
        for segment in log.segments:
            rest = segment.tau - rigid.torque(segment.motion, theta)
            velocity.append(low_pass.thinned(np.ascontiguousarray(segment.motion.dq), every))
            residual.append(low_pass.thinned(np.ascontiguousarray(rest), every))
    return np.concatenate(velocity), np.concatenate(residual)
