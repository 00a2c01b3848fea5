"""What the load watch remembers, as it starts: arrays of a fixed size, made once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.tracking import contact_bands, contact_jumps, decision_state, load_bank
from dynid.tracking.load_body import body_scratch, small_body
from dynid.tracking.load_gauss import LOAD_SIZE, N_ERRORS
from dynid.tracking.load_noise import ALIKE
from dynid.tracking.rows import work_for

__all__ = ["contact_state", "filter_bank", "first_decision", "known_mass_std"]

FIRST_MASS = 0.01
"""Mass of the body that every filter starts from, over the heaviest load."""


def filter_bank(
    c: load_bank.LoadConstants, priors: Sequence[Float[Array, "10 10"]]
) -> tuple[load_bank.LoadState, load_bank.LoadMemory]:
    """The filters before the first sample, with the covariance (SI) of each one's load, and their scratch."""
    n, n_rows, n_filters = len(c.own), len(c.white), len(priors)
    variances = c.drift**2
    variances[:, 0] = c.slow**2
    factors = [_factors(prior) for prior in priors]
    max_mass, reach = (float(limit) for limit in c.limits)
    state = load_bank.LoadState(
        p=np.zeros((n_filters, LOAD_SIZE)),
        U=np.stack([U for U, _ in factors]),
        D=np.stack([D for _, D in factors]),
        e=np.zeros((n_filters, n_rows, N_ERRORS)),
        B=np.zeros((n_filters, n_rows, N_ERRORS, LOAD_SIZE)),
        C=np.stack([variances[:, :, None] * np.eye(N_ERRORS)] * n_filters),
        R=c.white**2,
        slow=np.array(c.slow),
        pace=np.ones(n_rows),
        spread=np.ones((2, n_rows)),
        alike=np.concatenate([np.zeros((ALIKE, n_rows)), np.ones((1, n_rows))]),
        speed=np.full(n, np.nan),
        pi=np.stack([small_body(FIRST_MASS * max_mass, reach)] * n_filters),
        likelihood=np.zeros(n_filters),
        touched=np.zeros(n_filters),
        haste=np.ones(n_filters),
        before=np.full(n, np.nan),
        z=np.zeros((n, len(c.terms.state_code) + 2)),
        t=np.array([np.nan, 0.0, np.nan]),
    )
    memory = load_bank.LoadMemory(
        work=work_for(c.rows, len(c.theta)),
        body=body_scratch(),
        terms=np.zeros((n, len(c.inertia))),
        stack=np.zeros(max(c.terms.code.shape[1], c.terms.state_code.shape[1])),
        rigid=np.zeros(n_rows),
        arm=np.zeros(n_rows),
        friction=np.zeros(n),
        extra=np.zeros((2, n)),
        H=np.zeros((n_rows, 10)),
        gears=np.zeros(n),
        doubted=np.zeros(n_rows),
        grown=np.ones(n_rows),
        swept=np.zeros(n_rows),
        more=np.zeros(n_rows),
        loads=np.zeros(n),
        fade=np.zeros(n_rows + 2),
        moved=np.zeros(LOAD_SIZE),
        he=np.zeros(N_ERRORS),
        k=np.zeros(LOAD_SIZE),
        seen=np.zeros(N_ERRORS),
        knows=np.zeros((n_rows, N_ERRORS + 1)),
        f=np.zeros(LOAD_SIZE),
        b=np.zeros(LOAD_SIZE),
    )
    return state, memory


def _factors(P: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, " n"]]:
    """U by columns and D of P = U D Uᵀ, U unit upper triangular."""
    # The Cholesky factor of the reversed matrix is the triangular factor from the last state on.
    L = np.linalg.cholesky(P[::-1, ::-1])[::-1, ::-1]
    half = np.diag(L)
    return np.ascontiguousarray((L / half).T), half**2


def contact_state(c: load_bank.LoadConstants, k: contact_bands.BandConstants) -> contact_bands.BandState:
    """The contact watch before the first sample."""
    n, n_states = len(c.own), len(c.terms.state_code)
    z = np.zeros
    return contact_bands.BandState(
        r=z(n),
        band=np.ones(n),
        peak=np.ones((2, n)),
        between=z(n),
        still=z(n),
        usual=z(n),
        p=z(n),
        rate=z(n),
        drive=z(n),
        before=np.full(n, np.nan),
        z=z((n, n_states + 2)),
        theta=np.array(c.theta),
        out=z((3, n)),
        zeros=z(n),
        speed=z(n),
        acceleration=z(n),
        H=z((n, 4)),
        A=z((4, 5)),
        impulse=z(n),
        shake=z(n),
        near=z(n),
        jumps=contact_jumps.jump_state(k.jumps),
        small=contact_jumps.jump_state(k.small),
        numbers=np.array([np.nan, 0.0, 0.0, 0.0, 0.0]),
    )


def first_decision() -> decision_state.DecisionState:
    """The decision before the first sample: the load is unknown."""
    numbers = np.full(decision_state.N_NUMBERS, np.nan)
    zeros = (
        decision_state.PHASE,
        decision_state.CALLED,
        decision_state.AT_ONCE,
        decision_state.EXPLAINED,
        decision_state.RESTART,
        decision_state.SUDDEN,
        decision_state.WEAK,
        decision_state.SMOOTH,
    )
    numbers[list(zeros)] = 0.0
    numbers[[decision_state.AWAY, decision_state.QUIET]] = np.inf
    numbers[decision_state.LAST_BEYOND] = -np.inf
    return decision_state.DecisionState(
        numbers, np.array([True, True, False]), np.zeros(3), np.zeros(2, dtype=np.int64)
    )


def known_mass_std(s: load_bank.LoadState, b: int) -> float:
    """Standard deviation of the mass in one filter, kg; `hypotheses.mass_std` outside of compiled code."""
    return float(np.sqrt(s.D[b, 0] + s.D[b, 1:] @ s.U[b, 1:, 0] ** 2))
