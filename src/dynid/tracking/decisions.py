"""The compiled decision: load change, contact or nothing, by likelihood over time.

A second filter of the bank always believes that the load changes little by little; it is branched from the first again
and again, and takes its place where it predicts better. Where the contact watch sees external torque, or a jump of it,
the second is branched at the onset as a load that has just changed, and a third that takes the torque for a contact.
Each collects the log-likelihood of every sample since; the prior of what may change is in its covariance, so that a
hypothesis pays for its freedom. A load that no body has pays for its distance from one.

A contact that is no load at first sight is called at once. What may be a load waits until the likelihoods are clear,
at least `decide`. A contact that a load keeps explaining becomes a load.
"""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.dynamics.kernels.stored import called_kernel
from dynid.tracking.contact_bands import load_like, observe_contact
from dynid.tracking.contact_jumps import SIZE
from dynid.tracking.decision_rules import LOW_SHARE, SETTLING
from dynid.tracking.decision_state import (
    ANNOUNCED,
    ANNOUNCED_STD,
    AT_ONCE,
    AWAY,
    BEGAN,
    BEYOND,
    BRANCHED,
    CALLED,
    CHANGE,
    CONTACT_BEGAN,
    CONTACT_OVER,
    EXPLAINED,
    INITIAL_LOAD,
    JUMPED,
    KNOWN,
    LAST_BEYOND,
    LOW,
    NO_EVENT,
    OLDER_AT,
    ONSET,
    PHASE,
    PICK,
    PLACE,
    QUICK,
    QUIET,
    RESTART,
    RISE,
    SAVED_AT,
    SMALL,
    STARTED,
    SUDDEN,
    SUSPECT,
    TOUCHED,
    UNKNOWN,
    WEAK,
)
from dynid.tracking.hypotheses import (
    branch_contact,
    branch_filling,
    branch_load,
    copy_filter,
    mass_std,
    release_contact,
)
from dynid.tracking.load_bank import CONTACT, NOTHING, OLDER, PICKED, SAVED, absorb_sample
from dynid.tracking.sudden_torque import is_free, is_sudden, jumped_for, last_calm

__all__ = ["hear", "watch_sample"]

NEWTON_STEPS = 2
"""Of the load towards its maximum a posteriori, per sample."""


@called_kernel
@no_type_check
def _say(d, event):
    if d.events[0] == NO_EVENT:
        d.events[0] = event
    else:
        d.events[1] = event


@called_kernel
@no_type_check
def _rebranch(c, s, m, d, t):
    branch_load(c, s, m, NOTHING)
    d.numbers[BRANCHED] = t


@called_kernel
@no_type_check
def _follow(s, d, r, t):
    """The load is known: be ready for one that changes little by little."""
    branch_filling(s, r.haste)
    d.numbers[PHASE], d.numbers[BRANCHED], d.numbers[WEAK] = KNOWN, t, 0.0


@called_kernel
@no_type_check
def _save(s, d, r, t):
    """Keep what the first filter is now for a while."""
    n = d.numbers
    if t - n[SAVED_AT] >= r.keep or np.isnan(n[SAVED_AT]):
        copy_filter(s, SAVED, OLDER)
        copy_filter(s, NOTHING, SAVED)
        n[OLDER_AT], n[SAVED_AT] = n[SAVED_AT], t


@called_kernel
@no_type_check
def _forget_saved(s, d, t):
    copy_filter(s, NOTHING, SAVED)
    copy_filter(s, NOTHING, OLDER)
    d.numbers[SAVED_AT], d.numbers[OLDER_AT] = t, t


@called_kernel
@no_type_check
def _accept_load(c, s, m, d, r, t):
    """The load has changed: say how, or wait where the sign of the change is not clear yet; True once it is taken."""
    change, std = s.pi[PICKED, 0] - d.numbers[ANNOUNCED], mass_std(s, PICKED)
    signed = abs(change) > r.sure * std
    if not signed and t - d.numbers[BRANCHED] < r.longest:
        return False
    copy_filter(s, PICKED, NOTHING)
    if signed:
        _say(d, PICK if change > 0.0 else PLACE)
    else:
        _say(d, CHANGE)
    d.numbers[ANNOUNCED], d.numbers[ANNOUNCED_STD], d.numbers[AWAY] = s.pi[NOTHING, 0], std, np.inf
    d.numbers[CALLED], d.numbers[EXPLAINED] = 0.0, t
    d.numbers[ONSET], d.numbers[BEYOND], d.numbers[RESTART] = np.nan, np.nan, 1.0
    d.active[CONTACT] = False
    _forget_saved(s, d, t)
    _follow(s, d, r, t)
    return True


@called_kernel
@no_type_check
def _first_load(c, s, m, d, r, t, lead):
    age = t - d.numbers[STARTED]
    if age < r.decide:
        return
    needed = r.evidence * max(0.0, 1.0 - age / r.patience)
    empty = lead > needed
    if not empty and not (lead < -needed and mass_std(s, NOTHING) < r.initial_std * (1.0 + s.pi[NOTHING, 0])):
        return
    if empty:
        copy_filter(s, PICKED, NOTHING)
    d.numbers[ANNOUNCED], d.numbers[EXPLAINED] = s.pi[NOTHING, 0], t
    # What it pulled with while it was not known is no torque to compare with.
    d.numbers[ANNOUNCED_STD], d.numbers[RESTART] = mass_std(s, NOTHING), 1.0
    _say(d, INITIAL_LOAD)
    _forget_saved(s, d, t)
    _follow(s, d, r, t)


@called_kernel
@no_type_check
def _slow_change(s, d, r, t):
    mass, std = s.pi[NOTHING, 0], mass_std(s, NOTHING)
    change = abs(mass - d.numbers[ANNOUNCED])
    then = d.numbers[ANNOUNCED_STD]
    if change <= max(r.slow_mass, r.sure * np.sqrt(std * std + then * then)):
        d.numbers[AWAY] = np.inf
        if std < SETTLING * then:
            # What was announced gets known better: no change of the load.
            d.numbers[ANNOUNCED], d.numbers[ANNOUNCED_STD] = mass, std
        return
    d.numbers[AWAY] = min(d.numbers[AWAY], t)
    if t - d.numbers[AWAY] >= r.hold:
        d.numbers[ANNOUNCED], d.numbers[ANNOUNCED_STD], d.numbers[AWAY] = mass, std, np.inf
        _say(d, CHANGE)


@called_kernel
@no_type_check
def _raise_suspicion(c, s, m, d, r, t):
    source = SAVED if d.numbers[SAVED_AT] < d.numbers[ONSET] - r.lead else OLDER
    branch_load(c, s, m, source)
    branch_contact(c, s, m, source)
    d.numbers[BRANCHED] = t
    d.active[CONTACT], d.numbers[PHASE], d.numbers[ONSET] = True, SUSPECT, np.nan


@called_kernel
@no_type_check
def _known(c, s, m, d, r, t, lead):
    n = d.numbers
    if t >= n[ONSET] + r.lag:
        _raise_suspicion(c, s, m, d, r, t)
        return
    if n[CALLED] == 2.0:
        n[CALLED] = 0.0
    _save(s, d, r, t)
    if not np.isnan(n[ONSET]):
        return  # what has begun is compared soon, from before it on; until then nothing follows it
    if lead > r.evidence:
        copy_filter(s, PICKED, NOTHING)
    if lead > r.evidence or t - n[BRANCHED] >= r.filling:
        _follow(s, d, r, t)
    _slow_change(s, d, r, t)


@called_kernel
@no_type_check
def _suspect(c, s, m, d, r, t, nothing, picked, contact):
    n = d.numbers
    if t >= n[ONSET] + r.lag:
        _raise_suspicion(c, s, m, d, r, t)
        return
    if n[WEAK] > 0.0:
        _save(s, d, r, t)
    if not np.isnan(n[ONSET]):
        return
    age = t - n[BRANCHED]
    seen = n[LAST_BEYOND] > n[BRANCHED] - r.decide
    # A jump that never left the band has not come back to it either.
    ended = t >= n[QUIET] and not n[JUMPED] > n[BRANCHED] - r.decide
    if age < r.decide and not ended:
        return
    # Errors of the model grow with the torque that is to be explained; free torques follow them, a load does not.
    slack = r.evidence + r.likeness * max(0.0, contact - nothing)
    # What was called a contact was no load at first sight: it becomes one only if it lasts.
    explained = picked > nothing + r.evidence and not ended and n[CALLED] == 0.0
    if explained and (picked > contact + r.evidence or (age >= r.longest and picked > contact - slack)):
        _accept_load(c, s, m, d, r, t)
        return
    touched = n[CALLED] > 0.0 or (
        seen and contact > nothing + r.evidence and contact > picked + (0.0 if ended else slack)
    )
    if not ended and age < r.longest and not touched:
        return
    d.active[CONTACT] = False
    if not touched:
        _follow(s, d, r, t)
        return
    copy_filter(s, CONTACT, NOTHING)
    n[PHASE] = TOUCHED
    if n[CALLED] == 0.0:
        n[CALLED], n[AT_ONCE] = 1.0, 0.0
        _say(d, CONTACT_BEGAN)
        if ended:
            n[CALLED] = 2.0
            _say(d, CONTACT_OVER)
    _rebranch(c, s, m, d, t)


@called_kernel
@no_type_check
def _touched(c, s, m, d, r, t, lead):
    n = d.numbers
    if t >= n[QUIET]:
        release_contact(c, s, m)
        _forget_saved(s, d, t)
        n[QUIET] = np.inf
        _follow(s, d, r, t)
        return
    age = t - n[BRANCHED]
    if age >= r.renew and lead > r.evidence:
        _accept_load(c, s, m, d, r, t)
    elif age >= r.longest:
        _rebranch(c, s, m, d, t)


@called_kernel
@no_type_check
def watch_sample(c, s, m, d, r, t, q, dq, ddq, tau):
    """One sample with its accelerations into the load filters, and what follows; False where it is skipped."""
    d.events[0], d.events[1] = NO_EVENT, NO_EVENT
    first = np.isnan(s.t[0])
    adapt = not d.active[CONTACT] and np.isnan(d.numbers[ONSET])
    if not absorb_sample(c, s, m, t, q, dq, ddq, tau, d.active, adapt, NEWTON_STEPS, d.distance):
        return False
    if first:
        d.numbers[STARTED] = t
    nothing = s.likelihood[NOTHING] - d.distance[NOTHING]
    picked = s.likelihood[PICKED] - d.distance[PICKED]
    contact = s.likelihood[CONTACT] - d.distance[CONTACT]
    phase = d.numbers[PHASE]
    if phase == UNKNOWN:
        # An innovation that the first load still explains says nothing about the noise.
        for row in range(s.R.shape[0]):
            s.spread[0, row], s.spread[1, row] = min(1.0, s.spread[0, row]), min(1.0, s.spread[1, row])
        _first_load(c, s, m, d, r, t, picked - nothing)
    elif phase == KNOWN:
        _known(c, s, m, d, r, t, picked - nothing)
    elif phase == SUSPECT:
        _suspect(c, s, m, d, r, t, nothing, picked, contact)
    else:
        _touched(c, s, m, d, r, t, picked - nothing)
    return True


@called_kernel
@no_type_check
def hear(k, o, c, s, m, d, r, t, q, dq, tau):
    """One sample as it comes, without acceleration, into the contact watch; events are those of `d.events`."""
    d.events[0], d.events[1] = NO_EVENT, NO_EVENT
    n = d.numbers
    if n[RESTART] > 0.0:
        # The load is another one, and so is its momentum: what it pulled with until now is no external torque.
        n[RESTART], n[EXPLAINED], o.numbers[2] = 0.0, t, 0.0
        o.p[0] = np.nan
    dt = t - o.numbers[0]
    total = observe_contact(k, o, c, s, m, t, q, dq, tau, n[CALLED] == 1.0)
    if np.isfinite(total) and np.isfinite(dt):
        o.numbers[2] += (total - o.numbers[2]) * dt / (dt + r.confirm)
        total = o.numbers[2]
    if n[PHASE] == UNKNOWN or np.isnan(total):
        return
    # What begins must be more than the model may get wrong of a change of torque.
    free = is_free(d)
    strong = total > k.threshold and (not free or o.numbers[4] > k.threshold)
    jumped = 0.0 if strong else jumped_for(k, o, d, r, t, dt)
    sudden = not strong and is_sudden(k, o, c, s, m, d, r, jumped)
    beyond = strong or sudden
    if total < LOW_SHARE * k.threshold:
        n[LOW] = t
        if free and n[CALLED] == 0.0:
            o.numbers[3] = 0.0
    if not beyond:
        n[BEYOND] = np.nan
        if jumped > 0.0 and np.isnan(n[ONSET]):
            # May be a load: the likelihoods decide, from before the jump on.
            calm = last_calm(o, jumped)
            n[ONSET], n[QUIET], n[BEGAN] = calm if jumped == SMALL else t, np.inf, min(n[LOW], calm)
            n[RISE], n[JUMPED] = t - n[BEGAN], t
            n[WEAK] = 1.0 if jumped == QUICK and o.jumps.numbers[SIZE] < k.jumps.threshold else 0.0
        if t - n[LAST_BEYOND] > r.clear and n[PHASE] >= SUSPECT and not n[QUIET] <= t:
            n[QUIET] = n[LAST_BEYOND] + 0.5 * r.clear
            if n[CALLED] == 1.0:
                n[CALLED] = 2.0
                _say(d, CONTACT_OVER)
        return
    n[LAST_BEYOND] = t
    if free and t - n[EXPLAINED] < r.clear:
        return  # the observer is still on its way to the new load
    if np.isnan(n[BEYOND]):
        n[BEYOND] = t
    if free and np.isnan(n[ONSET]):
        n[ONSET], n[QUIET], n[BEGAN] = n[BEYOND], np.inf, n[LOW]
        if sudden:
            n[BEGAN] = min(n[LOW], last_calm(o, jumped))
        if jumped == SMALL:
            n[ONSET] = last_calm(o, jumped)
        n[RISE] = n[BEYOND] - n[BEGAN]
    n[WEAK] = 0.0
    if n[QUIET] <= t:
        n[QUIET] = np.inf
    # Slow errors of load and friction come slowly; so do contacts that can wait for the likelihoods.
    at_once = t - n[BEYOND] < r.at_once and n[BEYOND] - n[LOW] < r.quick
    if (
        at_once
        and n[CALLED] != 1.0
        and (sudden or load_like(k, o, c, s, m, o.r, o.band, mass_std(s, NOTHING), r.likeness) > r.evidence)
    ):
        n[CALLED], n[AT_ONCE], n[SUDDEN] = 1.0, 1.0, jumped if sudden else 0.0
        _say(d, CONTACT_BEGAN)
