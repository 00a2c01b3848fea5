"""The filter of all parameters of an arm: states and their spread, weights and low-pass of the rows, constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ParameterError, RecordingError, TrackingError
from dynid.recording.recording import Recording
from dynid.regression.constraints.constraints import Constraints, ParameterBound
from dynid.regression.feasible.prior import plain_bodies, reference_of
from dynid.regression.model import IdentifiedModel
from dynid.tracking.arm_cone import ArmCone
from dynid.tracking.base_link import BASE_SYMBOLS, base_spread, base_start, of_the_base
from dynid.tracking.filter import ConstrainedFilter
from dynid.tracking.samples import CHECKED_SAMPLES, ProcessNoise, refuse_wrong_unit
from dynid.tracking.setup import PEAK_SHARE, TrackingOptions, start_parameters
from dynid.tracking.state_map import Entry, StateBound, StateMap

__all__ = ["arm_cutoff", "arm_filter", "arm_noise", "check_units"]

LINK_STD = 1.0
"""Relative spread of a link at the start: little, so that one pass over a log gives what a batch fit of it gives. With
0.3, as in the batch fit, where rows count as fewer, the Panda's held-out error is 4 % larger."""
GUESSED_STD = 1.0
"""The same of a plain body, which is added for links that the robot file knows nothing of; as in the batch fit."""
ENTRY_STD = 0.3
"""Of the states between their own bounds (dimensionless): these are much wider than what a model is wrong by."""
JOINT_REACH = 1.0 / PEAK_SHARE
"""Spread of friction and rotor inertia at the start, over the noise: as large as the torque itself at 1 rad/s or
1 rad/s². Friction that starts at zero must be free to grow."""
SMALLEST_SIZE = 1e-3
"""Size (SI) of a parameter that is zero at every link or joint."""
ROUNDING = 1e-12
"""Relative variance below which base parameters count as known to rounding."""
GRAVITY = 9.81
"""m/s²; turns the largest torque into the first moment of the whole arm."""


def arm_noise(known: IdentifiedModel, guess: Float[Array, " n_rows"], period: float) -> Float[Array, " n_rows"]:
    """Noise of the rows (N·m and N) by which they are weighed: what the fit of the model left, or a guess.

    Args:
        known: whose fit may say how noisy low-passed torques are.
        guess: a share of the largest value of each row. What one joint does wrong, others feel through the links: the
            geometric mean of a row and the largest of its kind is closer to what is left of a fit (on seven measured
            arms) than the row alone.
        period: time in s between the rows that are absorbed.
    """
    n, weights = known.model.n_dof, np.array(guess)
    parts = [slice(0, n), slice(n, None)] if len(guess) in (n, n + 6) else [slice(None)]
    for part in parts:
        weights[part] = np.sqrt(guess[part] * np.max(guess[part], initial=0.0))
    found, memory = known.noise, known.noise_memory
    if found is None or len(guess) < n or not np.all(np.isfinite(found) & (found > 0.0)):
        return weights
    weights[:n] = found
    if memory is not None and np.all(np.isfinite(memory) & (memory > 0.0)):
        # Rows that remember count as fewer, so that they and what the model knows already are weighed alike.
        rho = np.exp(-period / memory)
        weights[:n] *= np.sqrt((1.0 + rho) / (1.0 - rho))
    return weights


def arm_cutoff(known: IdentifiedModel, recording: Recording | None) -> float | None:
    """Low-pass of the rows, Hz: that of the model's fit, else what a batch fit of the log would choose; None for none.

    Args:
        known: whose fit may have had a low-pass.
        recording: the log that is replayed; None for a live source.
    """
    if known.settings.cutoff_hz is not None or recording is None:
        return known.settings.cutoff_hz
    try:
        return known.settings.plan(_positions(recording)).low_pass.cutoff_hz
    except RecordingError:  # too short, or time stamps that no batch fit takes; a filter may still
        return None


def _positions(recording: Recording) -> Recording:
    """What of a log with holes a low-pass is chosen from: the samples whose positions (rad or m) are all there."""
    if not recording.holes:
        return recording
    some = np.isfinite(recording.q).all(axis=1)
    return Recording(recording.joint_names, recording.t[some], recording.q[some], source=recording.source)


def check_units(known: IdentifiedModel, recording: Recording, options: TrackingOptions) -> None:
    """Compare the size of a log's torques with what the model needs for its positions and velocities (SI).

    A filter whose links may be anything would take a wrong unit for heavy links.

    Raises:
        TrackingError: no wrong mass explains their ratio, but a wrong unit does.
    """
    if recording.tau is None or recording.dq is None or "torque" not in options.measured:
        return
    some = np.linspace(0, recording.n_samples - 1, min(recording.n_samples, CHECKED_SAMPLES)).astype(int)
    q, dq, tau = recording.q[some], recording.dq[some], recording.tau[some]
    good = np.isfinite(q).all(axis=1) & np.isfinite(dq).all(axis=1)
    still = Motion(recording.t[some][good], q[good], dq[good], np.zeros_like(q[good]))
    measured = np.isfinite(tau[good])
    needed = float(np.linalg.norm(known.model.torque(still, known.parameters)[measured]))
    size = float(np.linalg.norm(tau[good][measured]))
    if min(size, needed) > 0.0:
        refuse_wrong_unit(size / needed, source=f"{recording.source}: ")


def arm_filter(
    known: IdentifiedModel,
    noise: Float[Array, " n_rows"],
    options: TrackingOptions | None = None,
    *,
    cutoff_hz: float | None = None,
    rate_hz: float = 1000.0,
) -> ConstrainedFilter:
    """A filter of all parameters of an arm, which starts at an identified model; noise in N·m and N.

    Args:
        known: where it starts.
        noise: σ of the measured rows, which weighs them; its size is estimated on the way.
        options: what to follow.
        cutoff_hz: low-pass of the rows, Hz; None for none.
        rate_hz: samples per second.

    Raises:
        TrackingError: links are asked for, and those of the model are not physically consistent.
        ParameterError: the model lies outside a bound.
    """
    options = options or TrackingOptions()
    theta, base = start_parameters(known, options), _base(known, noise, options)
    process = ProcessNoise(start=options.process_noise, samples=options.annealing, floor=options.process_floor)
    if options.states == "entries" or (options.states == "auto" and not known.consistent):
        std = ENTRY_STD if options.initial_std is None else options.initial_std
        return ConstrainedFilter(
            model=known.model,
            state=StateMap.of(
                known.model,
                theta,
                [*_entries(known, theta, noise, options), *_base_entries(base, options, std)],
                base=None if base is None else InertialParameters(base.start),
            ),
            noise=noise,
            measure=options.measured,
            process_noise=process,
            carry=options.carry,
            initial_std=std,
            noise_memory=options.noise_memory,
            common_noise=True,
            cutoff_hz=cutoff_hz,
            rate_hz=rate_hz,
        )
    if not known.consistent:
        raise TrackingError(
            "`states` links needs a model whose links are all physically consistent; identify with feasible"
        )
    std = LINK_STD if options.initial_std is None else options.initial_std
    spread = _spread(known.model, theta, noise, std, shown="torque" in options.measured)
    learnt, start, symbols = _learnt(known, options), theta, known.model.symbols
    if base is not None:
        spread, start = block_diag(spread, base.spread), np.concatenate([theta, base.start])
        learnt, symbols = None if learnt is None else np.pad(learnt, ((0, 0), (0, 10))), (*symbols, *BASE_SYMBOLS)
    scale = np.sqrt(np.diag(spread))
    entries = [Entry(symbol, StateBound(scale=float(s))) for symbol, s in zip(symbols, scale, strict=True)]
    return ConstrainedFilter(
        model=known.model,
        state=StateMap.of(known.model, theta, entries, base=None if base is None else InertialParameters(base.start)),
        noise=noise,
        measure=options.measured,
        process_noise=process,
        correlation=spread / np.outer(scale, scale),
        learnt=None if learnt is None else learnt * scale,
        noise_memory=options.noise_memory,
        common_noise=True,
        cone=ArmCone.of(known.model, start, scale, options.bounds, tared=base is not None and base.tared),
        cutoff_hz=cutoff_hz,
        rate_hz=rate_hz,
    )


class _Base(NamedTuple):
    """The base link at the start of a filter."""

    start: Float[Array, " 10"]
    spread: Float[Array, "10 10"]
    tared: bool
    """Whether it stands for the offset of a sensor, and is no body."""


def _base(known: IdentifiedModel, noise: Float[Array, " n_rows"], options: TrackingOptions) -> _Base | None:
    """Start and covariance (SI) of the base link; None where no wrench under it is measured."""
    if "base-wrench" not in options.measured:
        return None
    # A draw of its own, so that the signs of the others are as without it.
    sign = float(np.random.default_rng([options.seed, 1]).choice([-1.0, 1.0]))
    tared = options.tared or (known.base_link is not None and not known.base_link.pi[0] > 0.0)
    start = base_start(known, options.bounds, tared=tared) * (1.0 + sign * options.from_wrong)
    spread = base_spread(known, start, JOINT_REACH * noise[-6:], anew=options.from_wrong > 0.0, tared=tared)
    return _Base(start, spread, tared)


def _base_entries(base: _Base | None, options: TrackingOptions, std: float) -> list[Entry]:
    """The ten parameters of the base link between their own bounds; its mass is positive, unless that of an offset.

    A base is less known than a link of the arm, so its curves are steeper: a state of `std` (dimensionless) is as wrong
    as the wrench is large.
    """
    if base is None:
        return []
    given = {bound.name: bound for bound in of_the_base(options.bounds)[0].entries}
    unknown = sorted(set(given) - set(BASE_SYMBOLS))
    if unknown:
        raise ParameterError(f"bounds of {', '.join(unknown)}: no state of its own; name {', '.join(BASE_SYMBOLS)}")
    reach = np.sqrt(np.diag(base.spread))

    def entry(symbol: str, value: float, size: float) -> Entry:
        positive = symbol in ("m0", "J0xx", "J0yy", "J0zz") and not base.tared
        lower, upper = (0.0, 2.0 * value + size) if positive else (value - size, value + size)
        bound = _within(given.get(symbol), lower, upper, size)
        if not bound.lower < value < bound.upper:
            return Entry(symbol, bound)  # which the map refuses by name
        rate = (value - bound.lower) * (bound.upper - value) / (bound.upper - bound.lower)
        return Entry(symbol, replace(bound, slope=max(1.0, size / (std * rate))))

    numbers = zip(BASE_SYMBOLS, base.start.tolist(), reach.tolist(), strict=True)
    return [entry(symbol, value, size) for symbol, value, size in numbers]


def _within(bound: ParameterBound | None, lower: float, upper: float, reach: float) -> StateBound:
    """The usual bounds of a state, or what is given of them (SI)."""
    if bound is not None:
        lower = bound.lower if np.isfinite(bound.lower) else min(lower, bound.upper - reach)
        upper = bound.upper if np.isfinite(bound.upper) else max(upper, bound.lower + reach)
    return StateBound(lower, upper)


def _spread(
    model: TorqueModel, theta: Float[Array, " n_params"], noise: Float[Array, " n_rows"], std: float, *, shown: bool
) -> Float[Array, "n_params n_params"]:
    """Covariance (SI) of all parameters at the start: of links as in the batch fit, of joint terms next to nothing.

    `shown` says whether torques are measured, which show joint terms.
    """
    n = model.n_inertial
    # A wrench under the base shows no friction, which would only wander about in a wide prior.
    own = _joint_reach(model, noise) if shown else np.maximum(np.abs(theta[n:]), SMALLEST_SIZE)
    spread = np.diag(np.concatenate([np.zeros(n), own**2]))
    spread[:n, :n] = std**2 * _of_bodies(model, theta[:n].reshape(-1, 10))
    unknown = np.repeat([not joint.link.known for joint in model.robot.joints], 10)
    if np.any(unknown):
        size = np.zeros(model.n_params)
        size[1] = JOINT_REACH * float(np.max(noise[: model.n_dof])) / GRAVITY
        plain = _of_bodies(model, plain_bodies(model, Constraints(), size, tapered=True))
        spread[:n, :n] += GUESSED_STD**2 * plain * np.outer(unknown, unknown)
    return spread


def _learnt(known: IdentifiedModel, options: TrackingOptions) -> Float[Array, "n_learnt n_params"] | None:
    """What a model that a filter left knows of its base parameters β = Kθ, as rows (one over SI) of unit noise.

    The covariance C = LLᵀ of β gives the rows L⁻¹K. Of other models nothing is taken over: an arm is followed because
    it may differ from them.
    """
    C = known.covariance
    if known.estimator != "track" or options.from_wrong or not np.all(np.isfinite(C)) or not np.all(np.diag(C) > 0.0):
        return None
    size = np.sqrt(np.diag(C))
    L = np.linalg.cholesky(C / np.outer(size, size) + ROUNDING * np.eye(len(C)))
    return np.linalg.solve(L, known.base.K / size[:, None])


def _of_bodies(model: TorqueModel, bodies: Float[Array, "n_links 10"]) -> Float[Array, "n_inertial n_inertial"]:
    """Covariance (SI) of links that are off by as much as they are large."""
    S = reference_of(model, bodies, bodies, "nominal", "", triangle=True).S[: model.n_inertial, : model.n_inertial]
    return S @ S.T


def _joint_reach(model: TorqueModel, noise: Float[Array, " n_rows"]) -> Float[Array, " n_own"]:
    """How large friction and rotor inertia (SI) may be, from the noise of the torques (N·m or N)."""
    torque = noise[: model.n_dof] if len(noise) != 6 else np.full(model.n_dof, np.max(noise))
    return np.repeat(JOINT_REACH * torque, len(model.terms))


def _entries(
    known: IdentifiedModel, theta: Float[Array, " n_params"], noise: Float[Array, " n_rows"], options: TrackingOptions
) -> list[Entry]:
    """Every parameter of a full set, or the base parameters, each between its own bounds."""
    model = known.model
    size = np.maximum(_sizes(model, theta), np.abs(theta))
    size[model.n_inertial :] = np.maximum(size[model.n_inertial :], _joint_reach(model, noise))
    nonnegative = {"m", "Ixx", "Iyy", "Izz", *(term.name for term in model.terms if term.nonnegative)}
    bounds = of_the_base(options.bounds)[1] if "base-wrench" in options.measured else options.bounds
    given = {} if bounds is None else {bound.name: bound for bound in bounds.entries}
    unknown = sorted(set(given) - set(model.symbols))
    if unknown:
        raise ParameterError(
            f"bounds of {', '.join(unknown)}: no state of its own; with `states` entries name "
            "columns of the model (m1, mc1x, J1xx, fv1), or take `states` links"
        )

    def entry(k: int) -> Entry:
        value, reach, symbol = float(theta[k]), float(size[k]), model.symbols[k]
        lower, upper = value - reach, value + reach
        if known.theta is not None and model.columns[k].name in nonnegative and value > -1e-3 * reach:
            lower, upper = -2e-3 * reach, 2.0 * value + reach
        return Entry(symbol, _within(given.get(symbol), lower, upper, reach))

    states = range(model.n_params) if known.theta is not None else known.base.independent
    return [entry(int(k)) for k in states]


def _sizes(model: TorqueModel, theta: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
    """A typical size (SI) for each parameter: the root mean square over all links or joints."""
    inertial = theta[: model.n_inertial].reshape(-1, 10)
    kinds = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    typical = np.array([np.sqrt(np.mean(inertial[:, kinds == kind] ** 2)) for kind in range(3)])[kinds]
    own = theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))
    terms = np.sqrt(np.mean(own**2, axis=0)) if own.size else np.zeros(len(model.terms))
    whole = np.concatenate([np.tile(typical, model.n_dof), np.tile(terms, model.n_dof)])
    return np.maximum(whole, SMALLEST_SIZE)
