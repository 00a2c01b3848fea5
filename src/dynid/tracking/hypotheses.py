"""Compiled steps between the filters of the bank: a hypothesis begins, wins, or is over."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.stored import called_kernel, njit
from dynid.tracking.load_bank import CONTACT, NOTHING, PICKED
from dynid.tracking.load_gauss import LOAD_SIZE, N_ERRORS, spread_load

__all__ = ["branch_contact", "branch_filling", "branch_load", "copy_filter", "mass_std", "release_contact"]


@called_kernel
@no_type_check
def copy_filter(s, source, target):
    """Let one filter of the bank go on as another."""
    for a in range(LOAD_SIZE):
        s.p[target, a], s.D[target, a], s.pi[target, a] = s.p[source, a], s.D[source, a], s.pi[source, a]
        for i in range(LOAD_SIZE):
            s.U[target, a, i] = s.U[source, a, i]
    for r in range(s.R.shape[0]):
        for i in range(N_ERRORS):
            s.e[target, r, i] = s.e[source, r, i]
            for a in range(LOAD_SIZE):
                s.B[target, r, i, a] = s.B[source, r, i, a]
            for j in range(N_ERRORS):
                s.C[target, r, i, j] = s.C[source, r, i, j]
    s.likelihood[target], s.touched[target] = s.likelihood[source], s.touched[source]


@called_kernel
@no_type_check
def branch_load(c, s, m, source):
    """Start the hypothesis that the load changes now, from a filter that has not seen the change."""
    copy_filter(s, source, PICKED)
    if s.touched[PICKED] > 0.0:
        _unmark(c, s, PICKED)
    for way in range(LOAD_SIZE):
        for a in range(LOAD_SIZE):
            m.k[a] = c.jump[way, a]
        spread_load(s.U[PICKED], s.D[PICKED], s.B[PICKED], s.C[PICKED], m.k, -1, 1.0, m.f, m.knows)
    s.likelihood[NOTHING], s.likelihood[PICKED], s.haste[PICKED] = 0.0, 0.0, 1.0


@called_kernel
@no_type_check
def branch_filling(s, haste):
    """Start the hypothesis that the load changes from now on, little by little, so much faster than a held one."""
    copy_filter(s, NOTHING, PICKED)
    s.likelihood[NOTHING], s.likelihood[PICKED], s.haste[PICKED] = 0.0, 0.0, haste


@called_kernel
@no_type_check
def branch_contact(c, s, m, source):
    """Start the hypothesis that something touches the arm now, from a filter that has not felt it."""
    copy_filter(s, source, CONTACT)
    s.touched[CONTACT] = 1.0
    for r in range(s.R.shape[0]):
        s.C[CONTACT, r, 0, 0] += c.touch[r] * c.touch[r]
    s.likelihood[CONTACT] = 0.0


@called_kernel
@no_type_check
def _unmark(c, s, b):
    """Let slow errors be those of the model again: what was taken for a contact says nothing of them."""
    s.touched[b] = 0.0
    for r in range(s.R.shape[0]):
        s.e[b, r, 0] = 0.0
        for a in range(LOAD_SIZE):
            s.B[b, r, 0, a] = 0.0
        for i in range(N_ERRORS):
            s.C[b, r, 0, i], s.C[b, r, i, 0] = 0.0, 0.0
        s.C[b, r, 0, 0] = s.slow[r] * s.slow[r]


@called_kernel
@no_type_check
def release_contact(c, s, m):
    """The contact is over: slow errors are again those of the model."""
    if s.touched[NOTHING] > 0.0:
        _unmark(c, s, NOTHING)


@njit(cache=True, nogil=True)
@no_type_check
def mass_std(s, b):
    """Standard deviation of the mass in one filter, kg."""
    total = s.D[b, 0]
    for j in range(1, s.D.shape[1]):
        total += s.U[b, j, 0] * s.U[b, j, 0] * s.D[b, j]
    return np.sqrt(total)
