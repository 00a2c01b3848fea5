"""Filters for an identified model: which parameters are states, between which bounds, from how noisy a measurement."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.errors import RecordingError, TrackingError
from dynid.recording.recording import Recording
from dynid.regression.constraints.constraints import ParameterBounds
from dynid.regression.model import IdentifiedModel
from dynid.tracking.noise import torque_noise
from dynid.tracking.rows import Measurement
from dynid.tracking.watch import LoadWatch

__all__ = [
    "PEAK_SHARE",
    "TrackingOptions",
    "live_noise",
    "load_watch",
    "recorded_noise",
    "recorded_rows",
    "start_parameters",
]

NOISE_MEMORY = 500.0
"""Rows over which the filter of the arm estimates the size of the measurement noise."""
PEAK_SHARE = 0.02
"""First guess of the noise of a log, over the largest measured value."""
LIVE_SHARE = 0.01
"""First guess of the noise of a live torque, over the effort limit."""
LIVE_TORQUE, LIVE_WRENCH = 1.0, 5.0
"""First guess of the noise of a live torque where there is no limit, and of a base wrench; N·m or N."""
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
    """What is measured: joint torques, the wrench that holds the base, or both; the wrench shows the base link as
    well, whose parameters are then states."""
    tared: bool = False
    """Whether the sensor under the base was set to zero with the arm on it: the base link then stands for its offset,
    and its mass may be negative."""
    states: Literal["auto", "entries", "links"] = "auto"
    """links: all parameters together, the links physically consistent; entries: each parameter between its own bounds,
    as in the paper; auto: links where the model has physically consistent ones."""
    bounds: ParameterBounds | None = None
    """Where parameters may lie, SI; beside physical consistency, or in place of the usual bounds of entries."""
    max_mass: float = 5.0
    """The heaviest load, kg."""
    false_alarms: float = 0.5
    """Contacts that may be invented in 3600 s of free motion; more of them find smaller forces."""
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
    initial_std: float | None = None
    """Standard deviation at the start, relative: 0.3 lets a link be 30 % off; of the state for entries, where P₀ = I in
    the paper. None for 1 with links, 0.3 with entries."""
    noise_memory: float = NOISE_MEMORY
    """Samples (dimensionless) over which the measurement noise is estimated; 0 keeps it as given."""
    noise: tuple[float, ...] | Literal["periodic"] | None = None
    """Standard deviation of every measured row, N·m and N; periodic takes it, with its memory, from how the periods of
    a log differ; None takes it from model or log."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.from_wrong < 1.0:
            raise TrackingError(f"`from_wrong` {self.from_wrong:g}: give a share between 0 and 1")
        if self.measure not in _MEASURES:
            raise TrackingError(f"`measure` {self.measure!r}: choose among {', '.join(_MEASURES)}")
        if self.states not in ("auto", "entries", "links"):
            raise TrackingError(f"`states` {self.states!r}: choose auto, entries or links")
        if self.carry not in ("parameters", "state"):
            raise TrackingError(f"`carry` {self.carry!r}: choose parameters or state")
        if isinstance(self.noise, str) and (self.noise != "periodic" or self.payload):
            raise TrackingError("`noise`: give numbers in N·m and N; periodic is for the filter of an arm")
        if (
            self.noise is not None
            and not isinstance(self.noise, str)
            and not all(np.isfinite(std) and std > 0.0 for std in self.noise)
        ):
            raise TrackingError("`noise`: every standard deviation must be above zero")
        for name, k in (("process_noise", self.process_noise), ("process_floor", self.process_floor)):
            if not (np.isfinite(k) and k >= 0.0):
                raise TrackingError(f"`{name}` {k:g}: give a number from 0 up")
        if not (np.isfinite(self.annealing) and self.annealing > 0.0):
            raise TrackingError(f"`annealing` {self.annealing:g}: give a number of samples above zero")
        if not (np.isfinite(self.false_alarms) and self.false_alarms > 0.0):
            raise TrackingError(f"`false_alarms` {self.false_alarms:g}: give a number above zero an hour, such as 0.5")
        if self.noise_memory < 0.0 or (self.initial_std is not None and not self.initial_std > 0.0):
            raise TrackingError("`noise_memory` cannot be negative, and `initial_std` must be above zero")
        if self.tared and self.measure == "torque":
            raise TrackingError("`tared` is about the sensor under the base; `measure` base-wrench or both")
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
    parts = [np.abs(np.nan_to_num(_measured(recording, kind))) for kind in options.measured]
    return np.concatenate([PEAK_SHARE * np.maximum(np.max(part, axis=0), 1e-6) for part in parts])


def recorded_rows(recording: Recording, options: TrackingOptions) -> Float[Array, "n_samples n_rows"]:
    """What is measured (N·m and N), stacked as the filter has it.

    Raises:
        RecordingError: the log lacks what is to be measured.
    """
    return np.concatenate([_measured(recording, kind) for kind in options.measured], axis=1)


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
        theta=start_parameters(known, options),
        noise=torque_noise(known, noise[:n_dof]),
        wrench_noise=noise[n_dof:],
        base_link=np.zeros(10) if known.base_link is None else known.base_link.pi,
        measure=options.measured,
        rate_hz=options.rate if rate_hz is None else rate_hz,
        max_mass=options.max_mass,
        false_alarms_per_hour=options.false_alarms,
    )


def start_parameters(known: IdentifiedModel, options: TrackingOptions) -> Float[Array, " n_params"]:
    """Parameters (SI) of the model, each link and each joint term wrong by the asked share with a sign of its own."""
    rng, n_dof = np.random.default_rng(options.seed), known.model.n_dof
    links = np.repeat(rng.choice([-1.0, 1.0], n_dof), 10)
    terms = rng.choice([-1.0, 1.0], known.model.n_params - len(links))
    return known.parameters * (1.0 + options.from_wrong * np.concatenate([links, terms]))
