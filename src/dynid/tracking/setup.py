"""Filters for an identified model: which parameters are states, between which bounds, from how noisy a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.model import TorqueModel
from dynid.errors import RecordingError, TrackingError
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.tracking.filter import ConstrainedFilter
from dynid.tracking.noise import torque_noise
from dynid.tracking.rows import Measurement
from dynid.tracking.samples import ProcessNoise
from dynid.tracking.state_map import Consistent, Entry, StateBound, StateMap, StatePiece
from dynid.tracking.watch import LoadWatch

__all__ = ["TrackingOptions", "arm_filter", "live_noise", "load_watch", "recorded_noise"]

INITIAL_STD = 0.3
"""Of the states of the arm (dimensionless): their bounds are much wider than what an identified model is wrong by."""
LINK_SCALE = 0.15
"""Relative size of what a whole link may be wrong by, per unit of state (dimensionless)."""
NOISE_MEMORY = 500.0
"""Samples over which the filter of the arm estimates the measurement noise."""
PEAK_SHARE = 0.02
"""First guess of the noise of a log, over the largest measured value."""
LIVE_SHARE = 0.01
"""First guess of the noise of a live torque, over the effort limit."""
LIVE_TORQUE, LIVE_WRENCH = 1.0, 5.0
"""First guess of the noise of a live torque where there is no limit, and of a base wrench; N·m or N."""
SMALLEST_SIZE = 1e-3
"""Size (SI) of a parameter that is zero at every link or joint."""
_MEASURES: dict[str, tuple[Measurement, ...]] = {
    "torque": ("torque",),
    "base-wrench": ("base-wrench",),
    "both": ("torque", "base-wrench"),
}
"""What is measured, by the names of `TrackingOptions.measure`."""


@dataclass(frozen=True, kw_only=True)
class TrackingOptions:
    """What to follow, from what, and how fast; the command line shows these texts as its help."""

    from_wrong: float = 0.0
    """Share by which initial parameters are disturbed, sign by link and joint term (0.2 is 20 %)."""
    payload: bool = False
    """Follow the load on a known arm, and contacts, instead of the parameters of the arm."""
    measure: Literal["torque", "base-wrench", "both"] = "torque"
    """What is measured."""
    states: Literal["entries", "links"] = "entries"
    """entries: each parameter between its own bounds; links: whole links, always physically consistent."""
    max_mass: float = 5.0
    """The heaviest load, kg."""
    speed: float | None = None
    """Speed of a replay over real time (dimensionless) [default: full speed]."""
    half_window: float = 0.1
    """Half the window that gives velocity and acceleration, s."""
    rate: float = 1000.0
    """Samples per second of a live source."""
    checkpoint: Path | None = None
    """File to resume the filter of the arm from, if it is there, and to save it to."""
    seed: int = 0
    """Seed of the signs of the disturbance."""
    process_noise: float = 0.0
    """k₀: process noise of every state per sample at the start, dimensionless; 0 for an arm that does not change."""
    annealing: float = 200.0
    """n₀: samples (dimensionless) after which the process noise has fallen by e."""
    process_floor: float = 0.0
    """k∞: process noise per sample that stays (dimensionless), to follow parameters that change."""
    carry: Literal["parameters", "state"] = "parameters"
    """Whose covariance stays when a sigmoid's slope changes: the parameters', or the state's as in the paper."""
    initial_std: float = INITIAL_STD
    """Standard deviation of every state of the arm at the start, dimensionless; P₀ = I in the paper."""
    noise_memory: float = NOISE_MEMORY
    """Samples (dimensionless) over which the measurement noise is estimated; 0 keeps it as given."""
    noise: tuple[float, ...] | None = None
    """Standard deviation of every measured row, N·m and N; None takes it from model or log."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.from_wrong < 1.0:
            raise TrackingError(f"`from_wrong` {self.from_wrong:g}: give a share between 0 and 1")
        if self.measure not in _MEASURES:
            raise TrackingError(f"`measure` {self.measure!r}: choose among {', '.join(_MEASURES)}")
        if self.carry not in ("parameters", "state"):
            raise TrackingError(f"`carry` {self.carry!r}: choose parameters or state")
        if self.noise is not None and not all(np.isfinite(std) and std > 0.0 for std in self.noise):
            raise TrackingError("`noise`: every standard deviation must be above zero")
        if self.noise_memory < 0.0 or not self.initial_std > 0.0:
            raise TrackingError("`noise_memory` cannot be negative, and `initial_std` must be above zero")
        if self.payload and self.measure == "base-wrench":
            raise TrackingError("`payload` tells loads and contacts apart by joint torques; `measure` torque or both")

    @property
    def measured(self) -> tuple[Measurement, ...]:
        """What is measured, in the order in which the rows are stacked."""
        return _MEASURES[self.measure]


def recorded_noise(recording: Recording, options: TrackingOptions) -> Float[Array, " n_rows"]:
    """A first guess of the noise of each measured row (N·m and N) of a log.

    Raises:
        RecordingError: the log lacks what is to be measured.
    """
    parts = [_measured(recording, kind) for kind in options.measured]
    return np.concatenate([PEAK_SHARE * np.maximum(np.max(np.abs(part), axis=0), 1e-6) for part in parts])


def _measured(recording: Recording, kind: Measurement) -> Float[Array, "n_samples n_rows"]:
    values = recording.tau if kind == "torque" else recording.base_wrench
    if values is None:
        columns = "torque columns" if kind == "torque" else "base wrench columns fx fy fz mx my mz"
        raise RecordingError(f"{recording.source}: no {columns}; choose another `measure` or log them")
    return values


def live_noise(robot: Robot, options: TrackingOptions) -> Float[Array, " n_rows"]:
    """A first guess of the noise of each measured row (N·m and N) of a live source."""
    limits = np.array([joint.limits.effort for joint in robot.joints])
    torque = np.where(np.isfinite(limits), LIVE_SHARE * limits, LIVE_TORQUE)
    return np.concatenate([torque if kind == "torque" else np.full(6, LIVE_WRENCH) for kind in options.measured])


def arm_filter(
    known: IdentifiedModel, noise: Float[Array, " n_rows"], options: TrackingOptions | None = None
) -> ConstrainedFilter:
    """A filter of all parameters of an arm, which starts at an identified model; noise in N·m and N.

    Raises:
        TrackingError: whole links are asked for, and the model is not physically consistent.
    """
    options = options or TrackingOptions()
    theta = _initial(known, options)
    return ConstrainedFilter(
        model=known.model,
        state=StateMap.of(known.model, theta, _pieces(known, theta, options)),
        noise=noise,
        measure=options.measured,
        process_noise=ProcessNoise(start=options.process_noise, samples=options.annealing, floor=options.process_floor),
        carry=options.carry,
        initial_std=options.initial_std,
        noise_memory=options.noise_memory,
    )


def load_watch(
    known: IdentifiedModel,
    noise: Float[Array, " n_rows"],
    options: TrackingOptions | None = None,
    *,
    rate_hz: float | None = None,
) -> LoadWatch:
    """Filters of the load and contact watch on a known arm.

    Args:
        known: the arm; its residuals say how large the noise is, how long it lasts and how friction drifts.
        noise: σ of the measured rows (N·m and N) where the model does not say.
        options: what to follow.
        rate_hz: samples per second.
    """
    options, n_dof = options or TrackingOptions(payload=True), known.model.n_dof
    return LoadWatch(
        model=known.model,
        theta=_initial(known, options),
        noise=torque_noise(known, noise[:n_dof]),
        wrench_noise=noise[n_dof:],
        measure=options.measured,
        rate_hz=options.rate if rate_hz is None else rate_hz,
        max_mass=options.max_mass,
    )


def _initial(known: IdentifiedModel, options: TrackingOptions) -> Float[Array, " n_params"]:
    """Parameters (SI) of the model, each link and each joint term wrong by the asked share with a sign of its own."""
    rng, n_dof = np.random.default_rng(options.seed), known.model.n_dof
    links = np.repeat(rng.choice([-1.0, 1.0], n_dof), 10)
    terms = rng.choice([-1.0, 1.0], known.model.n_params - len(links))
    return known.parameters * (1.0 + options.from_wrong * np.concatenate([links, terms]))


def _pieces(known: IdentifiedModel, theta: Float[Array, " n_params"], options: TrackingOptions) -> list[StatePiece]:
    """Every parameter of a full set, or whole links; where there is no full set, the base parameters."""
    model = known.model
    size = np.maximum(_sizes(model, theta), np.abs(theta))
    nonnegative = {"m", "Ixx", "Iyy", "Izz", *(term.name for term in model.terms if term.nonnegative)}

    def entry(k: int) -> Entry:
        value, reach = float(theta[k]), float(size[k])
        if known.theta is not None and model.columns[k].name in nonnegative and value > -1e-3 * reach:
            return Entry(model.symbols[k], StateBound(-2e-3 * reach, 2.0 * value + reach))
        return Entry(model.symbols[k], StateBound(value - reach, value + reach))

    own = [entry(k) for k in range(model.n_inertial, model.n_params)]
    if options.states == "links":
        if not known.consistent:
            raise TrackingError(
                "`states` links needs a model whose links are all physically consistent; identify with feasible"
            )
        return [*(Consistent(link, scale=LINK_SCALE) for link in model.robot.link_names), *own]
    if known.theta is not None:
        return [*(entry(k) for k in range(model.n_inertial)), *own]
    return [entry(int(k)) for k in known.base.independent]


def _sizes(model: TorqueModel, theta: Float[Array, " n_params"]) -> Float[Array, " n_params"]:
    """A typical size (SI) for each parameter: the root mean square over all links or joints."""
    inertial = theta[: model.n_inertial].reshape(-1, 10)
    kinds = np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2])
    typical = np.array([np.sqrt(np.mean(inertial[:, kinds == kind] ** 2)) for kind in range(3)])[kinds]
    own = theta[model.n_inertial :].reshape(model.n_dof, len(model.terms))
    terms = np.sqrt(np.mean(own**2, axis=0)) if own.size else np.zeros(len(model.terms))
    whole = np.concatenate([np.tile(typical, model.n_dof), np.tile(terms, model.n_dof)])
    return np.maximum(whole, SMALLEST_SIZE)
