"""The filter of an arm beside others on the same log: unconstrained, recursive and batch least squares."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import RecordingError, TrackingError
from dynid.prose import Document, Grid, Line, PrintsAsDocument
from dynid.recording.conditioning import Samples
from dynid.recording.log_settings import LogSettings
from dynid.recording.recording import Recording
from dynid.regression.feasible.certificate import ProvenFeasible, is_feasible
from dynid.regression.least_squares import OLS
from dynid.regression.problem import compress
from dynid.regression.rows import SampleRows
from dynid.tracking.arm_setup import arm_filter
from dynid.tracking.filter import ConstrainedFilter, Tracker
from dynid.tracking.samples import ProcessNoise
from dynid.tracking.session import KEPT, TrackingResult, TrackingSession
from dynid.tracking.sources.intake import SampleIntake
from dynid.tracking.state_map import Entry, StateBound, StateMap
from dynid.validation.torque import compare_torque

__all__ = ["ComparedFilter", "FilterComparison", "FilterComparisonJson", "compare_filters"]

OPEN = 1e3
"""Spread of the parameters of recursive least squares at the start, over their size: as good as none."""


class ComparedFilterJson(TypedDict):
    """One estimator of a comparison."""

    name: str
    relative_error_percent: float
    held_out_percent: float | None
    consistent: str
    seconds_per_sample: float


class FilterComparisonJson(TypedDict):
    """Estimators side by side."""

    settle_s: float
    filters: list[ComparedFilterJson]


@dataclass(frozen=True)
class ComparedFilter:
    """Where one estimator ended on a log."""

    name: str
    error: float
    """100·‖τ − τ̂‖/‖τ‖ of its last parameters on the log after the time to converge, %."""
    held_out: float | None
    """The same on the time that was held out, %; None where none was."""
    consistent: str
    """yes or no for links; some or none: whether any physically consistent links have these base parameters."""
    seconds: float
    """Computing time of one sample, s."""


@dataclass(frozen=True)
class FilterComparison(PrintsAsDocument):
    """Estimators side by side on the same log."""

    settle: float
    """Time to converge that does not count, s."""
    filters: tuple[ComparedFilter, ...]

    def json(self) -> FilterComparisonJson:
        """What scripts read of it, SI and per cent."""
        return {
            "settle_s": self.settle,
            "filters": [
                {
                    "name": row.name,
                    "relative_error_percent": row.error,
                    "held_out_percent": row.held_out,
                    "consistent": row.consistent,
                    "seconds_per_sample": row.seconds,
                }
                for row in self.filters
            ],
        }

    def grid(self) -> Grid:
        """The table that terminal and report show."""
        rows = tuple(
            (
                row.name,
                f"{row.error:.2f}",
                "" if row.held_out is None else f"{row.held_out:.2f}",
                row.consistent,
                f"{1e6 * row.seconds:.3g}",
            )
            for row in self.filters
        )
        header = ("estimator", f"error after {self.settle:g} s / %", "held out / %", "consistent", "time a sample / µs")
        return Grid(header, rows, (1, 2, 4))

    def document(self) -> Document:
        """The table under its title."""
        return (
            Line("compared", "last parameters of each on the same log; torques low-passed as in a fit"),
            self.grid(),
        )


def compare_filters(
    session: TrackingSession,
    run: TrackingResult,
    log: Recording,
    held_out: Recording | SampleIntake | None,
    settings: LogSettings,
    settle: float,
) -> FilterComparison:
    """Run the other estimators over the samples that the session has followed, and judge all by the same torques.

    Args:
        session: which was followed to its end.
        run: its result.
        log: what it followed, torques in N·m or N.
        held_out: time that was not followed; None for none.
        settings: how logs are conditioned.
        settle: time in s at the start of the log that does not count.

    Raises:
        TrackingError: a log that is over before the filters have converged.
    """
    known, options = session.known, session.options
    model, base = known.model, known.base
    if not isinstance(session.tracker, Tracker):
        raise TrackingError("`compare` is for the filter of an arm, not for a load")
    own = session.tracker.options
    motion, tau = session.samples_of(log)
    try:
        settled = settings.condition(log.part(float(log.t[0]) + settle, None).complete())
        unseen = settings.condition(held_out.complete()) if isinstance(held_out, Recording) else None
    except RecordingError as error:
        raise TrackingError(
            f"`settle` {settle:g} s or the time held out leaves too little of the log: {error}"
        ) from error
    seen = (settled, unseen)
    bounded = arm_filter(
        known, own.noise, replace(options, states="entries", bounds=None), cutoff_hz=own.cutoff_hz, rate_hz=own.rate_hz
    )
    found = []
    for name, filter_ in (
        ("constrained filter", own),
        ("bounded entries, as in the paper", bounded),
        ("unconstrained filter", replace(own, cone=None)),
    ):
        theta, seconds = _timed(filter_, motion, tau)
        found.append(_judged(name, model, theta, _of_links(model, theta), seconds, seen))
    theta, seconds = _timed(_recursive(model, base, own), motion, tau)
    found.append(_judged("recursive least squares", model, theta, _of_base(model, base, theta), seconds, seen))
    started = time.perf_counter()
    beta = OLS().fit(compress(SampleRows(model, base, (settings.condition(log.complete()),)))).beta
    seconds = (time.perf_counter() - started) / log.n_samples
    theta = base.lift(beta)
    found.append(_judged("batch least squares", model, theta, _of_base(model, base, theta), seconds, seen))
    return FilterComparison(settle, tuple(found))


def _timed(
    options: ConstrainedFilter, motion: Motion, tau: Float[Array, "n_samples n_dof"]
) -> tuple[Float[Array, " n_params"], float]:
    """Last parameters (SI), and seconds a sample with the estimate read as often as a session reads it."""
    options.start().run(motion.part(0, min(10, motion.n_samples)), tau[:10], every=10)  # compiled before it is timed
    tracker, n = options.start(), motion.n_samples
    block = max(1, n // KEPT)
    started = time.perf_counter()
    theta = tracker.theta
    for first in range(0, n, block):
        last = min(first + block, n)
        tracker.run(motion.part(first, last), tau[first:last], every=last - first)
        theta = tracker.theta
    return theta, (time.perf_counter() - started) / n


def _recursive(model: TorqueModel, base: BaseParameters, like: ConstrainedFilter) -> ConstrainedFilter:
    """Least squares, row after row: every joint weighs the same, and the start next to nothing."""
    size = np.maximum(np.abs(like.state.at(like.state.x0).theta[: model.n_params]), 1.0)
    entries = [Entry(model.symbols[k], StateBound(scale=float(OPEN * size[k]))) for k in base.independent]
    return ConstrainedFilter(
        model=model,
        state=StateMap.of(model, np.zeros(model.n_params), entries),
        noise=np.ones(model.n_dof),
        process_noise=ProcessNoise(start=0.0),
        cutoff_hz=like.cutoff_hz,
        rate_hz=like.rate_hz,
    )


def _judged(
    name: str,
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    consistent: str,
    seconds: float,
    seen: tuple[Samples, Samples | None],
) -> ComparedFilter:
    errors = [None if log is None else compare_torque(model, theta, log).error.relative_percent for log in seen]
    return ComparedFilter(name, float(errors[0] or 0.0), errors[1], consistent, seconds)


def _of_links(model: TorqueModel, theta: Float[Array, " n_params"]) -> str:
    rows = theta[: model.n_inertial].reshape(-1, 10)
    return "yes" if all(consistency(InertialParameters(row)).holds for row in rows) else "no"


def _of_base(model: TorqueModel, base: BaseParameters, theta: Float[Array, " n_params"]) -> str:
    return "some" if isinstance(is_feasible(model, base, base.project(theta)), ProvenFeasible) else "none"
