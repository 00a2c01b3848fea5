"""The compiled judgement of a jump of the external torque: who has seen it, and whether a load may have made it."""

from __future__ import annotations

from typing import no_type_check

from dynid.dynamics.kernels.stored import called_kernel
from dynid.tracking.contact_bands import load_like
from dynid.tracking.contact_jumps import CALM, SIZE, keep_calm
from dynid.tracking.decision_rules import LOW_SHARE, STILL_SUDDEN, SUSPICIOUS
from dynid.tracking.decision_state import CALLED, EXPLAINED, KNOWN, PHASE, QUICK, SMALL, SMOOTH, SUDDEN, WEAK
from dynid.tracking.hypotheses import mass_std
from dynid.tracking.load_bank import NOTHING

__all__ = ["is_free", "is_sudden", "jumped_for", "last_calm"]


@called_kernel
@no_type_check
def is_free(d):
    """Whether nothing has begun yet, but for what may be noise."""
    return d.numbers[PHASE] == KNOWN or d.numbers[WEAK] > 0.0


@called_kernel
@no_type_check
def jumped_for(k, o, d, r, t, dt):
    """Which watch has seen the external torque jump, be it by a contact or by a load; 0 where none has."""
    n = d.numbers
    keep_calm(k.jumps, o.jumps, t, dt, LOW_SHARE * k.jumps.threshold)
    keep_calm(k.small, o.small, t, dt, LOW_SHARE * k.small.threshold)
    if not is_free(d) or t - n[EXPLAINED] < r.decide:
        return 0.0
    size = o.jumps.numbers[SIZE] / k.jumps.threshold
    # What the quick watch sees well and finds too slow is an error of the model, and no small force.
    small = size < 1.0 and o.small.numbers[SIZE] >= k.small.threshold and _at_once(k.small, o.small, t)
    if _at_once(k.jumps, o.jumps, t) and size >= (SUSPICIOUS if n[PHASE] == KNOWN and not small else 1.0):
        return QUICK
    return SMALL if small else 0.0


@called_kernel
@no_type_check
def _at_once(k, o, t):
    """Whether a jump rose as fast as a contact does."""
    return t - o.numbers[CALM] <= k.rise


@called_kernel
@no_type_check
def last_calm(o, jumped):
    """When the watch that has seen a jump had not seen it yet, s."""
    return o.small.numbers[CALM] if jumped == SMALL else o.jumps.numbers[CALM]


@called_kernel
@no_type_check
def is_sudden(k, o, c, s, m, d, r, jumped):
    """Whether the external torque has jumped as no load makes it jump, or still is where it has jumped to."""
    seen_by = d.numbers[SUDDEN] if d.numbers[CALLED] == 1.0 else jumped
    size, level, value = o.jumps.numbers[SIZE], k.jumps.threshold, o.jumps.value
    if seen_by == SMALL:
        size, level, value = o.small.numbers[SIZE], k.small.threshold, o.small.value
    if d.numbers[CALLED] == 1.0:
        return size > STILL_SUDDEN * level
    # Velocities from positions smear a stop that torque shows at once: such a jump is no proof, the likelihoods decide.
    if jumped == 0.0 or size < level or d.numbers[SMOOTH] > 0.0:
        return False
    return load_like(k, o, c, s, m, value[0], value[1], mass_std(s, NOTHING), r.likeness) > r.evidence
