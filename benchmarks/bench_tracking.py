"""The compiled filter step: rate, spread, a million steps; and the whole protocol of [Joukov2015]_ with 20 draws."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks import Item, Line, Table
from dynid import TorqueModel, load_robot
from dynid.dynamics import Motion, friction_models, random_motion
from dynid.tracking import (
    ConstrainedFilter,
    Entry,
    ProcessNoise,
    StateBound,
    StateMap,
    Tracker,
    core,
    load_filter,
)
from tests.tracking import wam

N_SAMPLES = 10_000
N_MILLION = 1_000_000
DRAWS = range(20)


def panda() -> tuple[TorqueModel, np.ndarray, Motion, np.ndarray]:
    """The Panda with friction (91 parameters) on random motion at 1 kHz, and its torque."""
    model = TorqueModel(load_robot("panda"), friction_models("viscous+coulomb+offset"))
    theta = model.nominal()
    theta[model.n_inertial :] = 0.5
    motion = random_motion(model.robot, N_SAMPLES, np.random.default_rng(0))
    motion = Motion(1e-3 * np.arange(N_SAMPLES), motion.q, motion.dq, motion.ddq)
    noise = 0.3 * np.random.default_rng(1).standard_normal((N_SAMPLES, 7))
    return model, theta, motion, model.torque(motion, theta) + noise


def arm(model: TorqueModel, theta: np.ndarray) -> ConstrainedFilter:
    """All 91 parameters as states."""
    pieces = [
        Entry(symbol, StateBound(float(value - 1.0 - abs(value)), float(value + 1.0 + abs(value))))
        for symbol, value in zip(model.symbols, theta, strict=True)
    ]
    state = StateMap.of(model, theta, pieces)
    return ConstrainedFilter(model=model, state=state, noise=np.full(7, 0.3), process_noise=ProcessNoise())


def rate(options: ConstrainedFilter, motion: Motion, measured: np.ndarray) -> float:
    """Steps per second in the compiled loop: the best of many blocks, so that neighbours matter little."""
    tracker, block, times = options.start(), 1000, []
    for k in range(60):
        first = block * (k % (N_SAMPLES // block))
        part = slice(first, first + block)
        later = Motion(0.001 * np.arange(block) + k, motion.q[part], motion.dq[part], motion.ddq[part])
        started = time.perf_counter()
        tracker.run(later, measured[part], every=block)
        times.append(time.perf_counter() - started)
    return block / min(times[10:])


def spread(options: ConstrainedFilter, motion: Motion, measured: np.ndarray) -> float:
    """99th percentile over median of the time of single compiled steps, the calmest of three runs."""
    ratios = []
    rows = [(motion.t[k], *(np.array(x[k]) for x in (motion.q, motion.dq, motion.ddq, measured))) for k in range(6000)]
    for _ in range(3):
        tracker, times = options.start(), []
        for t, q, dq, ddq, z in rows:
            started = time.perf_counter_ns()
            core.filter_step(tracker.constants, tracker.state, tracker.memory, float(t), q, dq, ddq, z)
            times.append(time.perf_counter_ns() - started)
        settled = np.array(times[500:])
        ratios.append(float(np.percentile(settled, 99) / np.median(settled)))
    return min(ratios)


def million(options: ConstrainedFilter, motion: Motion, measured: np.ndarray) -> tuple[float, float, Tracker]:
    """Growth of the largest resident memory (MB) over a million steps, the least entry of D, and the filter."""
    tracker = options.start()
    block = N_SAMPLES
    tracker.run(motion, measured, every=block)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k in range(1, N_MILLION // block):
        later = Motion(motion.t + 10.0 * k, motion.q, motion.dq, motion.ddq)
        tracker.run(later, measured, every=block)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (after - before) / 1024.0, float(np.min(tracker.state.D)), tracker


def protocol() -> list[Line]:
    """Tests A, B and C over 20 draws: the worst of all."""
    torque, wrench, delay, rest, inertia, final, inside = [], [], [], [], [], [], []
    for seed in DRAWS:
        for factor in (0.8, 1.2):
            data = wam.draw(seed)
            tracker = wam.arm_filter(factor, data.noise).start()
            inside.append(tracker.run(data.motion, data.measured, every=4000).share_inside)
            errors = [
                np.sqrt(np.mean((wam.MODEL.torque(data.motion, theta) - data.tau) ** 2, axis=0))
                for theta in (tracker.theta, wam.wrong(factor))
            ]
            torque.append(np.max(errors[0] / errors[1]))
            data = wam.draw(seed, ("base-wrench",))
            tracker = wam.arm_filter(factor, data.noise, ("base-wrench",)).start()
            tracker.run(data.motion, data.measured, every=4000)
            wrench.append(np.max(np.abs(tracker.parameters.values[::4] / wam.MASSES - 1.0)[:4]))
        data = wam.carrying_draw(seed)
        history = wam.carrying_filter(data.noise).start().run(data.motion, data.measured)
        mass, found = history.values[:, 0], history.values[:, 1:]
        picked = np.abs(mass[260:] / 3.0 - 1.0) < 0.05
        delay.append(0.01 * np.argmax(picked))
        rest.append(abs(mass[360] / 3.0 - 1.0))
        inertia.append(np.max(np.abs(found[660] / wam.BOX - 1.0)))
        final.append(abs(mass[-1] - 1.0))

    def worst(name: str, values: Sequence[float], target: float, scale: float, unit: str) -> Line:
        return Line(name, scale * max(values), target, unit, bound="at most")

    return [
        worst("test A, worst joint of 20 draws, ±20 %: final over initial error", torque, 1.0, 100.0, "%"),
        worst("test B, worst mass of links 1–4 of 20 draws, ±20 %", wrench, 2.5, 100.0, "%"),
        worst("test C, mass within 5 % after the pick", delay, 0.1, 1.0, "s"),
        worst("test C, mass before the motion", rest, 1.5, 100.0, "%"),
        worst("test C, worst inertia at 6.6 s", inertia, 8.0, 100.0, "%"),
        worst("test C, mass at the end", final, 5.0, 100.0, "%"),
        Line("NIS in its 95 % band, least of 40 runs", 100.0 * min(inside), 93.0, "%", bound="at least"),
        Line("NIS in its 95 % band, most of 40 runs", 100.0 * max(inside), 97.0, "%", bound="at most"),
    ]


SIZES = (4, 10, 20, 40, 70, 91)


def size_table(
    model: TorqueModel, theta: np.ndarray, motion: Motion, measured: np.ndarray, sizes: Sequence[int]
) -> Table:
    """Updates over the number of states, the last ones of θ; over those of the largest, and over a loop at 1 kHz."""
    rates = []
    for n_states in sizes:
        pieces = [
            Entry(symbol, StateBound(float(value - 1.0 - abs(value)), float(value + 1.0 + abs(value))))
            for symbol, value in list(zip(model.symbols, theta, strict=True))[-n_states:]
        ]
        state = StateMap.of(model, theta, pieces)
        options = ConstrainedFilter(model=model, state=state, noise=np.full(7, 0.3), process_noise=ProcessNoise())
        rates.append(rate(options, motion, measured))
    rows = tuple(
        (str(size), f"{value / rates[-1]:.2f}", f"{value / 1000.0:.1f}")
        for size, value in zip(sizes, rates, strict=True)
    )
    return Table("Panda, updates over state size", ("states", "over the largest", "over 1 kHz"), rows)


def run(*, quick: bool = False) -> Iterator[Item]:
    """Rates, spreads and the protocol, measured in one run."""
    model, theta, motion, measured = panda()
    if quick:
        yield size_table(model, theta, motion, measured, (4,))
        return
    yield size_table(model, theta, motion, measured, SIZES)
    whole = arm(model, theta)
    load = load_filter(model, theta, noise=np.full(7, 0.3), max_mass=5.0, inertia=False)
    full = load_filter(model, theta, noise=np.full(7, 0.3), max_mass=5.0)
    yield Line("Panda, 91 states: compiled updates a second", rate(whole, motion, measured), 20_000.0, "/s")
    yield Line("Panda, load state (mass and moments): updates a second", rate(load, motion, measured), 100_000.0, "/s")
    yield Line("91 states: 99th percentile over median", spread(whole, motion, measured), 3.0, "×", bound="at most")
    yield Line("load state: 99th percentile over median", spread(load, motion, measured), 3.0, "×", bound="at most")
    growth, least, tracker = million(full, motion, measured)
    assert np.all(np.linalg.eigvalsh(tracker.covariance) > 0.0)
    yield Line("a million steps, load: memory grows by", growth, 5.0, "MB", bound="at most")
    yield Line("a million steps, load: least pivot of P (above 0)", least, 1e-300, "")
    growth, least, _ = million(whole, motion, measured)
    yield Line("a million steps, 91 states: memory grows by", growth, 5.0, "MB", bound="at most")
    yield Line("a million steps, 91 states: least pivot of P (above 0)", least, 1e-300, "")
    yield from protocol()
