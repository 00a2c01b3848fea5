"""Friction and rotors of the joints, sample after sample, compiled: what remembers the motion goes on from the last.

Every joint model says its columns and states as formulas; here they become small programs for
`dynid.dynamics.kernels.formulas.formula_value`. The torque that the links ask of a gear is handed to a program as one
more state, so that friction which depends on it needs no Python either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, no_type_check

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.formula import Formula, state
from dynid.dynamics.kernels.bound import BoundKernel
from dynid.dynamics.kernels.chains import ChainArrays, chain_arrays
from dynid.dynamics.kernels.formulas import GIVEN, formula_value, programs
from dynid.dynamics.kernels.ready import fill_torques
from dynid.dynamics.kernels.stored import njit
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.tracking.bundles import ARM

__all__ = [
    "JointTerms",
    "TermArrays",
    "add_joint_terms",
    "begin_path",
    "fill_terms",
    "follow_path",
    "keep_to_velocity",
    "links_on_gears",
    "renew_loaded_terms",
    "state_value",
    "term_arrays",
    "term_value",
]


LONG_PATH = 1.0
"""Way after which friction has built up, rad or m: longer than any presliding."""
PATH_NOISE = 2e-4
"""Noise of positions between samples, rad or m: coarse encoders have 14 bits."""


class TermArrays(NamedTuple):
    """All terms of the joints as programs; constant while a filter runs."""

    code: Array
    """(n_terms, length) operations of each term's column."""
    numbers: Array
    """(n_terms, n_dof, length) numbers that go with them, SI."""
    mask: Array
    """(n_terms, n_dof) 1 where a joint has the term, 0 where it has not."""
    loaded: Array
    """(n_terms,) whether the column depends on the torque that the links ask of the gear."""
    state_code: Array
    """(n_states, length) operations of each state after a step along the path."""
    state_numbers: Array
    """(n_states, n_dof, length)"""
    state_mask: Array
    """(n_states, n_dof) 1 where a joint has a term of the state, 0 where it has not."""
    transmission: Array
    """(n_dof, n_dof) motor over joint velocities; the unit matrix without coupling."""
    gear: Array
    """(n_dof, n_dof) torque of each gear per torque of each joint; the unit matrix without coupling."""


def term_arrays(model: TorqueModel) -> TermArrays:
    """The joint terms of a model as compiled code takes them (SI)."""
    n_dof, n_states = model.n_dof, sum(joint_model.n_states for joint_model in model.joint_models)
    columns, steps, masks, kept, loaded, first = [], [], [], [], [], 0
    for joint_model in model.joint_models:
        shape = [np.broadcast_to(np.array(row, dtype=float), (n_dof,)) for row in joint_model.shape]
        placed = [_placed(term.column, first, n_states) for term in joint_model.terms]
        columns.append(programs(placed, shape, n_dof))
        # A model's own states stand together; its steps see no others.
        steps.append(programs([_placed(step, first, n_states) for step in joint_model.next_states], shape, n_dof))
        on = [float(joint_model.on(j)) for j in range(n_dof)]
        masks += [on] * len(placed)
        kept += [on] * joint_model.n_states
        loaded += ["load" in term.column.inputs for term in joint_model.terms]
        first += joint_model.n_states
    C = model.robot.transmission
    return TermArrays(
        *_stacked(columns, n_dof),
        np.array(masks).reshape(-1, n_dof),
        np.array(loaded, dtype=bool),
        *_stacked(steps, n_dof),
        np.array(kept).reshape(-1, n_dof),
        np.eye(n_dof) if C is None else np.array(C),
        np.eye(n_dof) if C is None else np.linalg.inv(C.T),
    )


def _placed(formula: Formula, first: int, load: int) -> Formula:
    """A formula whose states are counted over all models; load of the gear and position are the two after the last."""
    if formula.name == "load":
        return state(load)
    if formula.name == "q":
        return state(load + 1)
    if formula.name == "state":
        return state(first + formula.index)
    return replace(formula, parts=tuple(_placed(part, first, load) for part in formula.parts))


def _stacked(parts: list[tuple[Array, Array]], n_dof: int) -> tuple[Array, Array]:
    length = max((code.shape[1] for code, _ in parts), default=2)
    codes = [np.pad(code, ((0, 0), (0, length - code.shape[1]))) for code, _ in parts]
    numbers = [np.pad(values, ((0, 0), (0, 0), (0, length - values.shape[2]))) for _, values in parts]
    none = np.zeros((0, length), dtype=np.int64), np.zeros((0, n_dof, length))
    return np.concatenate([none[0], *codes]), np.concatenate([none[1], *numbers])


def links_on_gears(model: TorqueModel) -> Float[Array, "n_links 10"] | None:
    """Inertial parameters (SI) whose torque loads the gears; None where no term depends on one."""
    for joint_model in model.joint_models:
        if joint_model.needs_load:
            return joint_model.load_links(model.robot)
    return None


@njit(cache=True, nogil=True)
@no_type_check
def term_value(a, k, j, speed, acceleration, z, stack):
    """Column of term k at joint j."""
    return formula_value(a.code[k], a.numbers[k, j], speed, acceleration, 0.0, z, stack)


@njit(cache=True, nogil=True)
@no_type_check
def state_value(a, k, j, path, z, stack):
    """State k of joint j after a step along its path."""
    return formula_value(a.state_code[k], a.state_numbers[k, j], 0.0, 0.0, path, z, stack)


@njit(cache=True, nogil=True)
@no_type_check
def follow_path(a, q, before, z, stack):
    """Move the states z (n_dof, n_states + 2) of all joints from positions `before` to q, which `before` becomes."""
    n, C, n_states = q.shape[0], a.transmission, a.state_code.shape[0]
    for j in range(n):
        path = 0.0
        for k in range(n):
            path += C[j, k] * (q[k] - before[k])
        if path == 0.0:
            continue
        for s in range(n_states):
            if a.state_mask[s, j] != 0.0:
                z[j, s] = state_value(a, s, j, path, z[j], stack)
    for j in range(n):
        before[j] = q[j]


@njit(cache=True, nogil=True)
@no_type_check
def begin_path(a, q, dq, slow, before, z, stack):
    """Friction at the first sample of a stream: built up where a joint already moves faster than `slow`."""
    n = q.shape[0]
    for j in range(n):
        before[j] = q[j]
        if dq[j] > slow[j]:
            before[j] -= LONG_PATH
        elif dq[j] < -slow[j]:
            before[j] += LONG_PATH
    follow_path(a, q, before, z, stack)


@njit(cache=True, nogil=True)
@no_type_check
def keep_to_velocity(q, dq, dt, before):
    """Where positions jump against the velocity (a lost turn, a restart), let the path follow the velocity."""
    for j in range(q.shape[0]):
        expected = dq[j] * dt
        if abs(q[j] - before[j] - expected) > abs(expected) + PATH_NOISE:
            before[j] = q[j] - expected


@njit(cache=True, nogil=True)
@no_type_check
def fill_terms(a, q, dq, ddq, load, z, stack, out):
    """Columns (n_dof, n_terms) of all joints (motors where coupled), with the joint torque that loads the gears."""
    n, C, n_terms, last = dq.shape[0], a.transmission, a.code.shape[0], a.state_code.shape[0]
    for j in range(n):
        position, speed, acceleration, gear = 0.0, 0.0, 0.0, 0.0
        for k in range(n):
            position += C[j, k] * q[k]
            speed += C[j, k] * dq[k]
            acceleration += C[j, k] * ddq[k]
            gear += a.gear[j, k] * load[k]
        z[j, last], z[j, last + 1] = gear, position
        for k in range(n_terms):
            out[j, k] = 0.0
            if a.mask[k, j] != 0.0:
                out[j, k] = term_value(a, k, j, speed, acceleration, z[j], stack)


@njit(cache=True, nogil=True)
@no_type_check
def renew_loaded_terms(a, dq, ddq, load, z, stack, out):
    """The columns of `fill_terms` that depend on the load of the gears, at another load."""
    n, C, last = dq.shape[0], a.transmission, a.state_code.shape[0]
    for j in range(n):
        speed, acceleration, gear = 0.0, 0.0, 0.0
        for k in range(n):
            speed += C[j, k] * dq[k]
            acceleration += C[j, k] * ddq[k]
            gear += a.gear[j, k] * load[k]
        z[j, last] = gear
        for k in range(a.code.shape[0]):
            if a.loaded[k] and a.mask[k, j] != 0.0:
                out[j, k] = term_value(a, k, j, speed, acceleration, z[j], stack)


class JointTerms:
    """Columns of the joints' own terms as the motion goes on; what remembers the path starts at rest."""

    def __init__(self, model: TorqueModel) -> None:
        n = model.n_dof
        self.arrays = term_arrays(model)
        self._links = links_on_gears(model)
        self._chain: ChainArrays = chain_arrays(model.robot)
        self.q = np.full(n, np.nan)
        """Positions of the sample before, rad or m; nan before the first."""
        self._z = np.zeros((n, len(self.arrays.state_code) + 2))
        self._model = model
        self._stack = np.zeros(max(self.arrays.code.shape[1], self.arrays.state_code.shape[1]))
        self._now, self._tau, self._wrench = np.zeros((3, 1, n)), np.zeros((1, n)), np.zeros((1, n, 6))
        self._out = np.zeros((n, len(model.terms)))
        q, dq, ddq = self._now[:, 0]
        remembered = self._z, self._stack
        self._follow = BoundKernel(ARM, follow_path, self.arrays, q, self.q, *remembered)
        self._fill = BoundKernel(ARM, fill_terms, self.arrays, q, dq, ddq, self._tau[0], *remembered, self._out)

    @property
    def z(self) -> Float[Array, "n_dof n_states"]:
        """What friction remembers, dimensionless."""
        return self._z[:, :-2]

    def at(
        self, q: Float[Array, " n_dof"], dq: Float[Array, " n_dof"], ddq: Float[Array, " n_dof"]
    ) -> Float[Array, "n_dof n_terms"] | None:
        """The columns of the next sample (SI); None, and nothing is remembered, where a value is not finite."""
        now = self._now
        now[0, 0], now[1, 0], now[2, 0] = q, dq, ddq
        if not np.all(np.isfinite(now)):
            return None
        if np.isnan(self.q[0]):
            self.q[:] = q
        self._follow()
        if self._links is not None:
            fill_torques(self._chain, now[0], now[1], now[2], self._links, 0, 1, self._tau, self._wrench)
        self._fill()
        return self._out

    def resume(self, motion: Motion) -> None:
        """Go on from the end of a motion that started at rest."""
        self.q[:], self.z[:] = motion.q[-1], self._model.joint_states(motion)[-1]


@njit(cache=True, nogil=True)
@no_type_check
def add_joint_terms(a, dq, ddq, theta, w):
    """Add friction and rotor inertia to the rows of the joints."""
    rows, first, codes, numbers, n_terms = a.term_row, a.term_first, a.term_code, a.term_numbers, a.term_code.shape[0]
    terms, stack, Y, z = w.terms, w.stack, w.Y, w.z
    if a.transmission.shape[0] > 0:
        _add_coupled_terms(a, dq, ddq, theta, w)
        return
    for j in range(rows.shape[0]):
        row = rows[j]
        if row < 0:
            continue
        for k in range(n_terms):
            if codes[k, 0] != GIVEN:
                terms[j, k] = formula_value(codes[k], numbers[k, j], dq[j], ddq[j], 0.0, stack, stack)
            column = first + j * n_terms + k
            Y[row, column] = terms[j, k]
            z[row] += theta[column] * terms[j, k]


@njit(cache=True, nogil=True)
@no_type_check
def _add_coupled_terms(a, dq, ddq, theta, w):
    """The same where the terms are those of motors: each acts on every joint that its motor moves."""
    rows, first, codes, numbers, C = a.term_row, a.term_first, a.term_code, a.term_numbers, a.transmission
    n_terms, terms, stack, Y, z = codes.shape[0], w.terms, w.stack, w.Y, w.z
    for motor in range(C.shape[0]):
        speed, acceleration = 0.0, 0.0
        for j in range(C.shape[1]):
            speed += C[motor, j] * dq[j]
            acceleration += C[motor, j] * ddq[j]
        for k in range(n_terms):
            if codes[k, 0] != GIVEN:
                terms[motor, k] = formula_value(codes[k], numbers[k, motor], speed, acceleration, 0.0, stack, stack)
            column = first + motor * n_terms + k
            for j in range(C.shape[1]):
                if C[motor, j] != 0.0 and rows[j] >= 0:
                    Y[rows[j], column] = C[motor, j] * terms[motor, k]
                    z[rows[j]] += theta[column] * Y[rows[j], column]
