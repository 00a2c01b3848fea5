"""Checks of the values themselves: frozen and held samples, clipping, saturation, coarse steps, jumps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.review.findings import MAP, Finding, Severity
from dynid.review.view import View, listed, runs

__all__ = ["step_of", "value_findings"]

UNIT = {"q": "rad or m", "dq": "rad/s or m/s", "tau": "N·m or N", "current": "A"}
LATTICE_LEVELS = 4096
"""Steps across the range of a signal below which its resolution is looked at."""
COARSE_LEVELS = {"q": 1000, "dq": 128, "tau": 128, "current": 128}
"""Steps across the range of a signal below which it is coarse, where noise does not blur them."""
BLURRED = 0.35
"""Noise, relative to the step, from which on steps are blurred and do no harm."""
FROZEN_SECONDS = 0.02
FROZEN_SAMPLES = 8
"""Shortest frozen stretch: the longer of the two."""
MANY = 20
"""Stretches from which on a signal is held rather than frozen, where they fill much of the log."""
MIN_HELD = 0.25
"""Share of samples that repeat the one before, from which on a signal is held."""
MIN_REPEATED_ROWS = 0.01
BY_CHANCE = 1e-6
"""Probability that a stretch of repeated values would be met by chance."""
CLIPPED_SAMPLES = 8
CLIPPED_SHARE = 0.002
"""Samples at the very extreme of a signal, from which on it is clipped: the larger of the two."""
AT_LIMIT = 0.985
"""Effort, relative to the limit of the drive, that is at the limit."""


def value_findings(view: View) -> Iterator[Finding]:
    """Everything that the values of single signals show."""
    if view.log.n_samples < 50:
        return
    yield from _repeated_rows(view)
    for signal in ("q", "dq", "tau", "current"):
        values = getattr(view.log, signal)
        if values is None or (signal == "current" and view.log.tau is not None):
            continue
        levels = view.noise_of(signal)
        for j in range(view.log.n_dof):
            if np.ptp(values[:, j]) == 0.0:
                continue
            step = step_of(values[:, j])
            clipped = list(_clipped(view, signal, j, values[:, j], step))
            coarse = list(_coarse(view, signal, j, values[:, j], step, float(levels[j])))
            frozen = list(_frozen(view, signal, j, values[:, j], step, clipped=bool(clipped)))
            # Each of the three makes plateaus: held samples pass for clipped ones, coarse ones for frozen ones.
            held = any(finding.code == "held" for finding in frozen)
            yield from () if held else clipped
            yield from (finding for finding in frozen if not (coarse and finding.code == "frozen"))
            yield from coarse
    yield from _jumps(view)
    yield from _at_effort_limit(view)


def step_of(values: Float[Array, " n_samples"]) -> float:
    """The step of a quantised signal in its own unit; 0 where its values lie on no lattice, or a fine one."""
    levels = np.unique(values)
    span = float(levels[-1] - levels[0])
    if len(levels) < 2 or len(levels) > LATTICE_LEVELS:
        return 0.0
    gaps = np.diff(levels)
    gaps = gaps[gaps > 1e-6 * span]
    if not len(gaps):
        return 0.0
    step = float(np.median(gaps[gaps <= 1.5 * gaps.min()]))
    if span / step > LATTICE_LEVELS:
        return 0.0
    multiples = gaps / step
    # Continuous values have gaps of every length; those of a lattice are whole multiples of one.
    whole = np.abs(multiples - np.round(multiples)) < 0.1
    fine = len(levels) < 0.7 * len(values) or np.mean(gaps < 1.5 * step) > 0.5
    return step if fine and np.mean(whole) > 0.9 else 0.0


def _repeated_rows(view: View) -> Iterator[Finding]:
    """Rows that repeat the whole row before, with a new stamp."""
    # At rest, noiseless signals repeat themselves by nature.
    same = view.rows_repeat & ~view.still[1:].all(axis=1)
    share = float(np.mean(same))
    if share < MIN_REPEATED_ROWS:
        return
    longest = max(stop - start for start, stop in runs(same))
    yield Finding(
        code="repeated-rows",
        severity=Severity.INFO if share < MIN_HELD else Severity.WARNING,
        evidence=f"{100.0 * share:.2g} % of the rows repeat every value of the row before, up to {longest} in a row; "
        f"{listed(view.numbers((np.flatnonzero(same) + 1).tolist()), 'samples ')}",
        cause="the logger runs faster than the robot sends, or messages were lost and the last one written again",
        fix="nothing, where they are few; else log at the rate of the robot",
    )


def _frozen(
    view: View, signal: str, j: int, values: Float[Array, " n_samples"], step: float, *, clipped: bool
) -> Iterator[Finding]:
    """Stretches that stand still though the motion goes on, and signals of a lower rate."""
    changes = np.diff(values)
    zero = changes == 0.0
    others = view.rows_repeat
    moving = ~view.still[1:, j]
    usual = np.abs(changes[~zero])
    if not len(usual):
        return
    grain = max(step, float(np.percentile(usual, 1.0)))
    shortest = max(FROZEN_SAMPLES, int(np.ceil(FROZEN_SECONDS / view.period)))
    extremes = (values.min(), values.max()) if clipped else ()
    stretches = [
        (start, stop)
        for start, stop in runs(zero, shortest)
        if values[start] not in extremes and _goes_on(view, signal, j, start, stop, grain)
    ]
    if sum(stop - start for start, stop in stretches) > MIN_HELD * len(zero) and len(stretches) >= MANY:
        stretches = []
    counted = zero & moving & ~others & ~np.isin(values[1:], extremes)
    for start, stop in stretches:
        counted[start:stop] = False
    n_moving = max(int(np.sum(moving & ~others)), 1)
    one_step = int(np.sum((np.abs(changes) < 1.5 * grain) & ~zero & moving))
    held = float(np.sum(counted)) / n_moving
    # Coarse signals repeat themselves too, but then change by single steps.
    if held > MIN_HELD and one_step < 0.5 * np.sum(~zero & moving):
        times = 1.0 / max(1.0 - held, 1e-6)
        yield Finding(
            code="held",
            severity=Severity.WARNING,
            joint=view.names[j],
            evidence=f"{signal} repeats the sample before in {100.0 * held:.3g} % of the moving samples: it changes "
            f"about {1.0 / (times * view.period):.3g} times a second at {1.0 / view.period:.4g} samples a second",
            cause=f"{signal} is measured at a lower rate than the log, and held in between",
            fix=f"log at the rate of the slowest signal, or a {signal} that is measured as often",
        )
    if stretches:
        longest = max(stretches, key=lambda s: s[1] - s[0])
        seconds = view.log.t[longest[1]] - view.log.t[longest[0]]
        total = sum(view.log.t[b] - view.log.t[a] for a, b in stretches)
        places = [f"{a}–{b} ({view.log.t[a]:.3f} s)" for a, b in stretches]
        cuts = ", ".join(f"[{view.log.t[a]:.6f}, {view.log.t[b] + 0.5 * view.period:.6f}]" for a, b in stretches[:50])
        line = f"exclude = [{cuts}]" if len(stretches) <= 50 else ""
        yield Finding(
            code="frozen",
            severity=Severity.WARNING,
            joint=view.names[j],
            evidence=f"{signal} stands still for {len(stretches)} stretches while the joint moves, "
            f"{1e3 * total:.4g} ms in all, the longest {1e3 * seconds:.4g} ms ({longest[1] - longest[0] + 1} samples); "
            f"{listed(places, 'samples ')}",
            cause="a sensor or its bus stopped sending, and the last value was written on",
            fix=f"leave what stands still out; {MAP}\n{line}" if line else "log again",
        )


def _goes_on(view: View, signal: str, j: int, start: int, stop: int, grain: float) -> bool:
    """Whether the joint moves on while a signal repeats samples `start` to `stop`."""
    values = getattr(view.log, signal)[:, j]
    if signal == "q":
        # Positions themselves cannot say so while they stand still: velocities do, or the leap behind.
        leap = abs(values[stop + 1] - values[stop]) if stop + 1 < len(values) else 0.0
        dq = view.log.dq
        told = 0.0 if dq is None else abs(float(np.trapezoid(dq[start : stop + 1, j], view.log.t[start : stop + 1])))
        usual = view.fast[j] * view.period
        return bool(max(told, leap) > 4.0 * grain + 3.0 * usual)
    q = view.log.q[:, j]
    moved = np.ptp(q[start : stop + 1])
    resolution = view.q_noise[j]
    if moved <= 0.02 * view.fast[j] * (view.log.t[stop] - view.log.t[start]) + 8.0 * resolution:
        return False
    if signal == "dq":
        # Steady motion has a steady velocity: only a change that dq does not show counts.
        slope = view.velocity[start : stop + 1, j]
        room = 4.0 * grain + 6.0 * view.speed_noise[j] + 0.02 * view.fast[j]
        return bool(np.max(np.abs(slope - np.median(slope))) > room)
    after = values[min(stop + 1, len(values) - 1)] - values[stop]
    # Torque without noise may rest for a moment and leap when a joint turns round.
    long = view.log.t[stop] - view.log.t[start] > 5.0 * FROZEN_SECONDS
    return bool((long and abs(after) > 4.0 * grain) or _is_noisy(values, start, stop))


def _is_noisy(values: Float[Array, " n_samples"], start: int, stop: int) -> bool:
    """Whether the samples around a stretch change so often that it could not stand still by chance."""
    around = np.concatenate([np.diff(values[max(0, start - 50) : start]), np.diff(values[stop + 1 : stop + 51])])
    if len(around) < 10:
        return False
    repeats = (np.sum(around == 0.0) + 1.0) / (len(around) + 2.0)
    return bool((stop - start) * np.log(repeats) < np.log(BY_CHANCE))


def _clipped(view: View, signal: str, j: int, values: Float[Array, " n_samples"], step: float) -> Iterator[Finding]:
    """Plateaus at the largest or smallest value of a signal, which no smooth or noisy signal has."""
    fewest = max(CLIPPED_SAMPLES, int(CLIPPED_SHARE * len(values)))
    changes = np.abs(np.diff(values))
    bit = step if step > 0.0 else float(np.min(changes[changes > 0.0]))
    for name, extreme in (("largest", float(values.max())), ("smallest", float(values.min()))):
        inside = abs(extreme) * 1e-12 + 1e-3 * step
        at = np.abs(values - extreme) <= inside
        count = int(np.sum(at))
        if count < fewest:
            continue
        plateaus = [(a, b) for a, b in runs(at, 3) if _is_cut_off(view, signal, j, a, b, bit)]
        total = sum(b - a for a, b in plateaus)
        if total < fewest:
            continue
        # The peak of a smooth signal fills its last step, but the next one almost as much.
        inward = extreme - bit if name == "largest" else extreme + bit
        near = int(np.sum(np.abs(values - inward) < 0.5 * bit))
        if count < 6 * near:
            continue
        yield _clipping(view, signal, j, extreme, name, plateaus, total)


def _is_cut_off(view: View, signal: str, j: int, start: int, stop: int, step: float) -> bool:
    """Whether a plateau of a signal is no rest and no steady velocity."""
    t, q = view.log.t, view.log.q[:, j]
    if signal == "q":
        dq = view.log.dq
        usual = view.fast[j] * view.period
        if dq is not None:
            told = float(np.trapezoid(np.abs(dq[start:stop, j]), t[start:stop]))
            blur = view.noise_of("dq")[j] * (t[stop - 1] - t[start])
            return bool(told - blur > 4.0 * step + usual)
        # A joint comes to rest gently: the last steps before are far smaller than the usual ones.
        before = abs(q[start] - q[start - 1]) if start > 0 else 0.0
        after = abs(q[stop] - q[stop - 1]) if stop < len(q) else 0.0
        return bool(max(before, after) > 0.08 * usual + 2.0 * step)
    if bool(view.still[start:stop].all()):
        return False
    if signal == "dq":
        slope = (q[stop - 1] - q[start]) / (t[stop - 1] - t[start])
        told = float(getattr(view.log, signal)[start, j])
        spread = 4.0 * view.q_noise[j] / (t[stop - 1] - t[start])
        return bool(abs(slope) - abs(told) > 0.02 * abs(told) + spread + step)
    return True


def _clipping(
    view: View, signal: str, j: int, extreme: float, name: str, plateaus: Sequence[tuple[int, int]], total: int
) -> Finding:
    torque = signal in ("tau", "current")
    share = total / view.log.n_samples
    limit = view.robot.joints[j].limits.effort
    at_limit = torque and np.isfinite(limit) and limit > 0.0 and abs(abs(extreme) / limit - 1.0) < 0.05
    places = [f"{a}–{b - 1} ({view.log.t[a]:.3f} s)" for a, b in plateaus]
    return Finding(
        code="saturation" if torque else "clipping",
        severity=Severity.ERROR if share > 0.05 else Severity.WARNING,
        joint=view.names[j],
        evidence=f"{signal} stays at its {name} value {extreme:.5g} {UNIT[signal]} for {total} samples "
        f"({100.0 * share:.2g} %) in {len(plateaus)} plateaus; {listed(places, 'samples ')}",
        cause=f"the drive is at its limit of {limit:g}"
        if at_limit
        else f"{signal} left the range of the sensor, the drive or the number format",
        fix="move more gently or widen the range, and log again: cut-off values bias the fit",
    )


def _coarse(
    view: View, signal: str, j: int, values: Float[Array, " n_samples"], step: float, level: float
) -> Iterator[Finding]:
    """Steps so large that they show in the fit."""
    if step == 0.0:
        return
    n_levels = float(np.ptp(values)) / step
    if n_levels >= COARSE_LEVELS[signal]:
        return
    if signal == "dq" and _is_difference(view, j, step):
        return
    repeats = float(np.mean(np.diff(values) == 0.0))
    blurred = level > BLURRED * step and repeats < 0.5
    if blurred and n_levels > 32:
        return
    if signal == "q" and not view.moves[j] and n_levels < 8:
        return
    yield Finding(
        code="quantisation",
        severity=Severity.WARNING,
        joint=view.names[j],
        evidence=f"{signal} has steps of {step:.4g} {UNIT[signal]}, {n_levels:.3g} over its whole range (normal: over "
        f"{COARSE_LEVELS[signal]}, or blurred by noise); {100.0 * repeats:.2g} % of the samples repeat the one before",
        cause="numbers were written with too few digits, or the sensor is coarse for this motion",
        fix=f"write {signal} with more digits, or make the motion larger",
    )


def _is_difference(view: View, j: int, step: float) -> bool:
    """Whether the steps of a velocity are those of the encoder over one or two periods."""
    changes = np.abs(np.diff(view.log.q[:, j]))
    count = float(np.min(changes[changes > 0.0], initial=np.inf)) / view.period
    return any(abs(step * periods / count - 1.0) < 0.02 for periods in (1.0, 2.0))


def _jumps(view: View) -> Iterator[Finding]:
    """Single samples at which a position leaps."""
    t, q = view.log.t, view.log.q
    steps = np.diff(t)
    for j in range(view.log.n_dof):
        leap = np.abs(np.diff(q[:, j])) / np.maximum(steps, view.period)
        if view.log.n_samples < 100 or leap.max() == 0.0:
            continue
        usual = float(np.percentile(leap, 98.0))
        least = max(10.0 * usual, 3.0 * float(np.max(np.abs(view.log.dq[:, j]))) if view.log.dq is not None else 0.0)
        found = np.flatnonzero((leap > least) & (steps < 2.5 * view.period))
        around = np.maximum(leap[np.maximum(found - 2, 0)], leap[np.minimum(found + 2, len(leap) - 1)])
        alone: list[int] = found[around < leap[found] / 3.0].tolist()
        if alone and usual > 0.0:
            worst = alone[int(np.argmax(leap[alone]))]
            yield Finding(
                code="jump",
                severity=Severity.WARNING,
                joint=view.names[j],
                evidence=f"q leaps {len(alone)} times, by up to {abs(q[worst + 1, j] - q[worst, j]):.3g} rad or m "
                f"in one sample, {leap[worst] / usual:.2g} times the fastest motion; "
                f"{listed(view.numbers(alone), 'after samples ')}",
                cause="a spike of the encoder, a turn that was lost, or samples cut out without a gap in time",
                fix="cut the log there (--from, --until), or leave these samples out of it",
            )


def _at_effort_limit(view: View) -> Iterator[Finding]:
    """Torque that stays at the drive's limit, blurred by noise."""
    tau = view.log.tau
    if tau is None:
        return
    for j, joint in enumerate(view.robot.joints):
        limit = joint.limits.effort
        if not 0.0 < limit < np.inf:
            continue
        size = np.abs(tau[:, j])
        spread = 3.0 * float(view.noise_of("tau")[j])
        at = (size > AT_LIMIT * limit - spread) & (size < limit / AT_LIMIT + spread)
        beyond = float(np.mean(size > 1.1 * limit + spread))
        share = float(np.mean(at))
        # Torques that pass through the limit, or are in another unit, do not dwell there.
        band = 2.0 * ((1.0 - AT_LIMIT) * limit + spread) / limit
        if share > max(0.005, 1.5 * band) and beyond == 0.0 and spread < 0.1 * limit:
            yield Finding(
                code="saturation",
                severity=Severity.ERROR if share > 0.1 else Severity.WARNING,
                joint=joint.name,
                evidence=f"tau is within {100.0 * (1.0 - AT_LIMIT):.2g} % of the effort limit of {limit:g} "
                f"{UNIT['tau']} in {100.0 * share:.2g} % of the samples; it should hardly ever be",
                cause="the drive is at its limit",
                fix="move more gently, and log again: what the drive could not give biases the fit",
            )
