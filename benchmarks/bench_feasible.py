"""The physically consistent fit: one programme through dynid and cvxpy, and FIGAROH's physical fit of the same rows."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin

from benchmarks import Item, Line, Note, Table, best_of
from benchmarks.logs import Case, cases, instants, simulated, through_urdf
from benchmarks.peers import Answer, PeerError, ask
from dynid import TorqueModel, base_parameters
from dynid.arrays import Array
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.recording import Samples
from dynid.regression import Constraints, Feasible, ParameterBounds, SampleRows, Status, compress
from dynid.regression.constraints.cones import smat
from dynid.regression.feasible.programme import FeasibleSolution, solve


def same_programme(case: Case, repetitions: int) -> Iterator[Line]:
    """The best fit under bounds and a total mass: time and objective of dynid and of cvxpy with Clarabel.

    dynid's time includes the choice among equal fits, which the peer's programme does not make.
    """
    model = case.model
    base = base_parameters(model)
    stacked = compress(SampleRows(model, base, (case.train,))).stacked()
    masses = {f"m{i + 1}": (0.0, 10.0) for i in range(model.n_dof)}
    centres = {f"c{i + 1}{axis}": (-0.4, 0.4) for i in range(model.n_dof) for axis in "xyz"}
    bounded = Constraints(bounds=ParameterBounds.of(masses | centres), total_mass=(16.0, 25.0))

    def ours(constraints: Constraints) -> FeasibleSolution:
        solution = solve(stacked.R, stacked.rho, model, base, constraints, residual=stacked.rest)
        assert solution.status is Status.CONVERGED, solution.status
        return solution

    def objective(theta: Array) -> float:
        rest = stacked.R @ base.project(theta) - stacked.rho
        return float(rest @ rest) + stacked.rest

    found, theirs = ours(bounded), objective(_cvxpy(stacked.R, stacked.rho, model, base.K, bounded))
    apart = (found.best_objective + stacked.rest) / theirs - 1.0
    chosen = (found.objective + stacked.rest) / theirs - 1.0
    free_time, bounded_time, peer_time = best_of(
        (
            lambda: ours(Constraints()),
            lambda: ours(bounded),
            lambda: _cvxpy(stacked.R, stacked.rho, model, base.K, bounded),
        ),
        repetitions=repetitions,
    )
    name = f"{case.name}, bounds and total mass"
    yield Line(f"{name}: cvxpy + Clarabel over dynid", peer_time / bounded_time, 1.0)
    yield Line(f"{name}: optima apart, relative", abs(apart), 1e-6, "", "at most")
    yield Line(f"{name}: the θ chosen among equal fits above them", 100.0 * chosen, None, "%")
    yield Line("feasible fit, 7 links with friction", 1e3 * free_time, 20.0, "ms", "at most")
    yield Line("feasible fit, 7 links with friction, bounds and total mass", 1e3 * bounded_time, 20.0, "ms", "at most")


def _cvxpy(R: Any, rho: Any, model: TorqueModel, K: Any, constraints: Constraints) -> Array:
    cp: Any = importlib.import_module("cvxpy")
    theta = cp.Variable(model.n_params)
    rows = []
    for block in constraints.compile(model).blocks:
        if block.kind == "nonnegative":
            rows.append(block.A @ theta + block.b >= 0)
        else:
            own = np.flatnonzero(block.A.any(axis=0))
            rows.append(sum(theta[int(k)] * smat(block.A[:, k]) for k in own) + smat(block.b) >> 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cp.Problem(cp.Minimize(cp.norm(R @ K @ theta - rho)), rows).solve(solver="CLARABEL")
    return np.asarray(theta.value, dtype=float)


def relative_error(model: TorqueModel, theta: Array, samples: Samples) -> float:
    """100·‖τ − τ̂‖/‖τ‖ over all samples, %."""
    (segment,) = samples.segments
    rest = segment.tau - model.torque(segment.motion, theta)
    return float(100.0 * np.linalg.norm(rest) / np.linalg.norm(segment.tau))


def properties(model: TorqueModel, theta: Array, train: Samples, unseen: Samples) -> tuple[str, ...]:
    """Errors on both logs, least margin of a link, lightest and heaviest link, total mass, wrong friction signs."""
    links = [InertialParameters(pi) for pi in theta[: model.n_inertial].reshape(-1, 10)]
    margin = min(consistency(link).margin for link in links)
    friction = theta[model.n_inertial :].reshape(model.n_dof, 3)[:, :2]
    masses = np.array([link.mass for link in links])
    return (
        f"{relative_error(model, theta, train):.3f}",
        f"{relative_error(model, theta, unseen):.3f}",
        f"{margin:.1e}",
        f"{masses.min():.2g} … {masses.max():.3g}",
        f"{masses.sum():.3g}",
        str(int(np.count_nonzero(friction < 0.0))),
    )


def exported_error(answer: Answer, model: TorqueModel, unseen: Samples) -> str:
    """Relative error (%) of the links in the file the peer exported, with the friction it fitted."""
    if not answer.figures["exported"]:
        return "refused"
    # Read by Pinocchio: dynid refuses links that are not consistent, even by a rounding.
    file = pin.buildModelFromXML(answer.figures["exported"])
    written = np.concatenate([inertia.toDynamicParameters() for inertia in list(file.inertias)[1:]])
    theta = np.concatenate([written, answer.arrays["theta"][model.n_inertial :]])
    return f"{relative_error(model, theta, unseen):.3f}"


def against_figaroh(case: Case, repetitions: int) -> Iterator[Item]:
    """Both programs from the same states and torques to full parameters, plain torque error, friction and offsets."""
    model, train, unseen = case.model, instants(case.train), instants(case.held_out)
    base = base_parameters(model)
    (segment,) = train.segments
    arrays = {"q": segment.motion.q, "dq": segment.motion.dq, "ddq": segment.motion.ddq, "tau": segment.tau}
    estimator = Feasible(weighted=False)

    def ours() -> Array:
        theta = estimator.fit(compress(SampleRows(model, base, (train,)))).theta
        assert theta is not None
        return theta

    own = ours()
    (seconds,) = best_of([ours], repetitions=repetitions)
    text = through_urdf(case.robot)[0]
    rows = [("dynid", "1", *properties(model, own, train, unseen), f"{relative_error(model, own, unseen):.3f}")]
    try:
        answer = ask("figaroh", "physical", arrays, {"robot.urdf": text}, repetitions=min(2, repetitions))
        if "theta" not in answer.arrays:
            raise PeerError(f"{case.name}: it found no solution ({answer.figures['status']})")
        theta = answer.arrays["theta"]
        ratio = f"{answer.figures['whole'] / seconds:.1f}"
        peer = properties(model, theta, train, unseen)
        rows.append(("FIGAROH", ratio, *peer, exported_error(answer, model, unseen)))
    except PeerError as error:
        yield Note(f"FIGAROH skipped: {error}")
    header = (
        "",
        "time",
        "train, %",
        "held out, %",
        "margin (SI)",
        "links, kg",
        "total, kg",
        "friction < 0",
        "exported, held out, %",
    )
    title = f"{case.name}: from {train.n_samples} samples to full parameters, with friction and offset columns"
    yield Table(title, header, tuple(rows))


def run(*, quick: bool = False) -> Iterator[Item]:
    """The programme against cvxpy, then every case against FIGAROH."""
    repetitions = 1 if quick else 5
    yield from same_programme(simulated(500 if quick else 5000), 1 if quick else 15)
    for case in cases(quick=quick):
        yield from (case,) if isinstance(case, Note) else against_figaroh(case, repetitions)
