"""Every method on the same rows, robot by robot: training and held-out error, consistent or not, time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np

from benchmarks import Item, Note, Table
from benchmarks.logs import Case, cases
from dynid import base_parameters
from dynid.arrays import Array
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.regression import (
    OLS,
    WLS,
    Constraints,
    Estimate,
    Feasible,
    IdentifiedModel,
    MultiStart,
    Prior,
    Regression,
    Retrieval,
    Robust,
    SampleRows,
    compress,
)
from dynid.regression.feasible.certificate import ProvenFeasible, is_feasible
from dynid.tracking import arm_filter
from dynid.tracking.arm_setup import arm_noise
from dynid.tracking.row_filter import rows_every
from dynid.tracking.setup import PEAK_SHARE
from dynid.validation import compare_torque

ROUNDING = -1e-9
"""Margin (SI) above which a link counts as possible: the solver ends on the boundary to this."""


def methods(case: Case, *, quick: bool) -> dict[str, Callable[[], tuple[Array, Array | None]]]:
    """Name to a function that starts from conditioned samples and returns base parameters, and θ where it has one."""
    model = case.model
    base = base_parameters(model)
    heavy = 3.0 * float(np.sum(model.robot.nominal[:, 0])) + 10.0
    bounds = Constraints(total_mass=(0.0, heavy))
    engine, runs = (MultiStart(passes=2, evaluations=20), 1) if quick else (MultiStart(), 3)
    retrieval = Retrieval(constraints=bounds, engine=engine, runs=runs)

    def fit(estimator: OLS | WLS | Robust | Feasible | Retrieval) -> Callable[[], tuple[Array, Array | None]]:
        def work() -> tuple[Array, Array | None]:
            regression: Regression = compress(SampleRows(model, base, (case.train,)))
            estimate: Estimate = estimator.fit(regression)
            return estimate.beta, estimate.theta

        return work

    def filtered() -> tuple[Array, Array | None]:
        theta = tracked(case)
        return base.project(theta), theta

    return {
        "OLS": fit(OLS()),
        "WLS": fit(WLS()),
        "robust": fit(Robust()),
        "feasible": fit(Feasible()),
        "feasible, entropic prior": fit(Feasible(prior=Prior("entropic"))),
        "retrieval": fit(retrieval),
        "filter, once through": filtered,
    }


def tracked(case: Case) -> Array:
    """θ after one pass of the filter of `dynid track` over the samples: links from the robot file, no friction."""
    model, base, low_pass = case.model, base_parameters(case.model), case.train.plan.low_pass
    theta = model.nominal()
    unknown = np.full((base.n_base, base.n_base), np.nan)
    known = IdentifiedModel(model, base, "nominal", "", base.project(theta), unknown, theta=theta)
    peak = np.max(np.abs(np.concatenate([segment.tau for segment in case.train.segments])), axis=0)
    noise = arm_noise(known, PEAK_SHARE * peak, rows_every(low_pass.cutoff_hz, low_pass.rate_hz) / low_pass.rate_hz)
    tracker = arm_filter(known, noise, cutoff_hz=low_pass.cutoff_hz, rate_hz=low_pass.rate_hz).start()
    for segment in case.train.segments:
        tracker.run(segment.motion, segment.tau, every=segment.motion.n_samples)
    return np.array(tracker.theta)


def consistent(case: Case, beta: Array, theta: Array | None) -> tuple[str, str]:
    """Whether the links can exist, and the least margin; for bare base parameters the best that any θ with them has."""
    if theta is None:
        model = case.model
        found = is_feasible(model, base_parameters(model), beta)
        return ("some θ" if isinstance(found, ProvenFeasible) else "no θ"), f"{found.margin:.1e}"
    links = [InertialParameters(pi) for pi in theta[: case.model.n_inertial].reshape(-1, 10)]
    margin = min(consistency(link).margin for link in links)
    return ("yes" if margin >= ROUNDING else "no"), f"{margin:.1e}"


def table(case: Case, *, quick: bool) -> Table:
    """All methods on one case; times over that of OLS, all from the conditioned samples on."""
    model = case.model
    base = base_parameters(model)
    rows, first = [], 0.0
    for name, work in methods(case, quick=quick).items():
        work()
        started = perf_counter()
        beta, theta = work()
        seconds = perf_counter() - started
        first = first or seconds
        full = base.lift(beta) if theta is None else theta
        errors = [compare_torque(model, full, log).error.relative_percent for log in (case.train, case.held_out)]
        shown = [f"{error:.2f}" for error in errors]
        rows.append((name, *shown, *consistent(case, beta, theta), f"{seconds / first:.3g}"))
    header = ("method", "train, %", "held out, %", "consistent", "margin (SI)", "time over OLS")
    return Table(f"{case.name}, {model.n_dof} joints, viscous + Coulomb + offset", header, tuple(rows))


def run(*, quick: bool = False) -> Iterator[Item]:
    """A table a case."""
    for case in cases(quick=quick):
        yield case if isinstance(case, Note) else table(case, quick=quick)
