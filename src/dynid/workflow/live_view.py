"""What a live run shows at one moment: frozen values, so that the page never meets a number half written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Vector3, freeze_arrays
from dynid.recording.recording import Recording
from dynid.regression.model import IdentifiedModel
from dynid.tracking.load import LoadEstimate
from dynid.tracking.session import TrackingResult
from dynid.tracking.sources.counts import StreamCounts

__all__ = ["LiveContact", "LiveEvent", "LiveSession", "LiveView"]


@dataclass(frozen=True)
class LiveEvent:
    """Something in the list of events: of the load, a contact, or what a person did."""

    t: float
    """Time in s on the clock of the source."""
    kind: str
    mass: float
    """Of the load then, kg."""
    detail: str = ""
    """What a list shows beside it: the load with its 95 % interval, or where and how hard something touches."""


@dataclass(frozen=True, eq=False)
class LiveContact:
    """What touches the arm."""

    link: int
    """Index of the link."""
    name: str
    """Of that link."""
    force: Vector3
    """The smallest force at the far end of the link that gives the external torque, N in base axes."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def size(self) -> float:
        """Of the force, N."""
        return float(np.linalg.norm(self.force))


@dataclass(frozen=True, eq=False)
class LiveView:
    """What is known at one moment, SI; the page shows it and nothing else."""

    t: float
    """Time of the newest sample, s."""
    q: Float[Array, " n_dof"]
    load: LoadEstimate
    contact: LiveContact | None
    """What touches the arm, or has just touched it; None where nothing does."""
    mass: Float[Array, "n_points 3"]
    """Time in s, mass and its standard deviation in kg, over the last minute."""
    torque: Float[Array, "n_times n_lines"]
    """Time in s; measured, predicted torque and the standard deviation about it, of every joint, N·m or N."""
    events: tuple[LiveEvent, ...]
    counts: StreamCounts
    state: str
    """Of the source: waiting, flowing, silent, ended."""
    health: str
    """One sentence."""
    healthy: bool
    rate_hz: float
    latency: float
    """Median time in s from the arrival of a sample to the estimate that has it."""
    n_recorded: int


@dataclass(frozen=True, eq=False)
class LiveSession:
    """What a live run leaves: `dynid.save` writes model.json, log.csv, report.html and events.json."""

    model: IdentifiedModel
    """As it was used last: with what was tared, and with the gains that were calibrated."""
    run: TrackingResult
    log: Recording
    """What was kept of the samples; `identify` reads it."""
    events: tuple[LiveEvent, ...]
    """Of the load, contacts, and what a person did, the oldest first."""

    def __repr__(self) -> str:
        return f"LiveSession({self.run!r}, {self.log.duration:.1f} s kept, {len(self.events)} events)"
