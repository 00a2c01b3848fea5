"""Compiled steps between the filters of the bank: a hypothesis begins, wins, or is over."""

from __future__ import annotations

from typing import no_type_check

from numba import njit

from dynid.tracking.factors import add_noise
from dynid.tracking.load_bank import CONTACT, NOTHING, PICKED

__all__ = ["branch_contact", "branch_load", "copy_filter", "release_contact"]


@njit(cache=True, nogil=True)
@no_type_check
def copy_filter(s, source, target):
    """Let one filter of the bank go on as another."""
    n_x = s.x.shape[1]
    for i in range(n_x):
        s.x[target, i], s.D[target, i] = s.x[source, i], s.D[source, i]
        for j in range(n_x):
            s.U[target, i, j] = s.U[source, i, j]
    for a in range(10):
        s.pi[target, a] = s.pi[source, a]
    s.likelihood[target], s.touched[target] = s.likelihood[source], s.touched[source]


@njit(cache=True, nogil=True)
@no_type_check
def _renew(s, b, i, variance, m):
    """Make state i of a filter forget all it knows: zero, with this variance, correlated with nothing before it."""
    n_x, U, D = s.x.shape[1], s.U[b], s.D[b]
    s.x[b, i] = 0.0
    for j in range(i + 1, n_x):
        U[j, i] = 0.0
    for j in range(i):
        m.scale[j] = U[i, j]
        U[i, j] = 0.0
    kept = D[i]
    D[i] = variance
    # What it shared with the states before it stays theirs.
    _add_direction(U, D, i, kept, m.scale)


@njit(cache=True, nogil=True)
@no_type_check
def _add_direction(U, D, n, variance, a):
    """The factors of P + variance·a aᵀ over the first n states (Agee and Turner); a is used up."""
    for j in range(n - 1, -1, -1):
        push = a[j]
        d = D[j] + variance * push * push
        if d <= 0.0:
            continue
        gain = push * variance / d
        variance = variance * D[j] / d
        D[j] = d
        row = U[j]
        for k in range(j):
            a[k] -= push * row[k]
            row[k] += gain * a[k]


@njit(cache=True, nogil=True)
@no_type_check
def branch_load(c, s, m, source):
    """Start the hypothesis that the load changes now, from a filter that has not seen the change."""
    copy_filter(s, source, PICKED)
    if s.touched[PICKED] > 0.0:
        _unmark(c, s, PICKED, m)
    n_x = s.x.shape[1]
    for a in range(10):
        for i in range(n_x - 10):
            m.b[i] = 0.0
        for i in range(10):
            m.b[n_x - 10 + i] = c.jump[a, i]
        _add_direction(s.U[PICKED], s.D[PICKED], n_x, 1.0, m.b)
    s.likelihood[NOTHING], s.likelihood[PICKED] = 0.0, 0.0


@njit(cache=True, nogil=True)
@no_type_check
def branch_contact(c, s, m, source):
    """Start the hypothesis that something touches the arm now, from a filter that has not felt it."""
    copy_filter(s, source, CONTACT)
    s.touched[CONTACT] = 1.0
    for i in range(s.R.shape[0]):
        add_noise(s.U[CONTACT], s.D[CONTACT], i, c.touch[i] * c.touch[i], m.b)
    s.likelihood[CONTACT] = 0.0


@njit(cache=True, nogil=True)
@no_type_check
def _unmark(c, s, b, m):
    s.touched[b] = 0.0
    for i in range(s.R.shape[0]):
        _renew(s, b, i, c.slow[i] * c.slow[i], m)


@njit(cache=True, nogil=True)
@no_type_check
def release_contact(c, s, m):
    """The contact is over: slow errors are again those of the model."""
    if s.touched[NOTHING] > 0.0:
        _unmark(c, s, NOTHING, m)
