"""The semidefinite programme of a seven-link arm: time of one fit, and the same programme through cvxpy."""

import importlib
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Line
from dynid import TorqueModel, base_parameters, friction_models, load_robot, random_motion
from dynid.regression.conditions import conditions
from dynid.regression.cones import smat
from dynid.regression.constraints import Bounds, Constraints
from dynid.regression.programme import solve
from dynid.regression.status import Status

N_RUNS = 15
NOISE = 1.0
"""N·m; enough that the plain least-squares fit is not a possible robot."""


def run() -> list[Line]:
    """Median wall time of a fit with and without bounds, and the ratio to cvxpy."""
    model = TorqueModel(load_robot("panda"), friction_models("viscous+coulomb+offset"))
    base = base_parameters(model)
    rng = np.random.default_rng(0)
    W = model.regressor(random_motion(model.robot, 500, rng)).reshape(-1, model.n_params)
    theta = 1.2 * model.nominal()
    theta[model.n_inertial :] = 0.3
    tau = W @ theta + NOISE * rng.normal(size=len(W))
    Q, R = np.linalg.qr(base.reduce(W))
    rho = Q.T @ tau
    residual = float(tau @ tau - rho @ rho)
    masses = {f"m{i + 1}": (0.0, 10.0) for i in range(7)}
    centres = {f"c{i + 1}{axis}": (-0.4, 0.4) for i in range(7) for axis in "xyz"}
    bounded = Constraints(bounds=Bounds.of(masses | centres), total_mass=(16.0, 25.0))

    def ours(constraints: Constraints) -> None:
        solution = solve(R, rho, model, base, constraints, residual=residual)
        assert solution.status is Status.CONVERGED, solution.status

    free_time = _median(lambda: ours(Constraints()))
    bounded_time = _median(lambda: ours(bounded))
    peer_time = _median(lambda: _peer(R, rho, model, base.K, bounded), n_runs=5)
    return [
        Line("feasible fit, 7 links with friction", 1e3 * free_time, 40.0, "ms", "at most"),
        Line("feasible fit, 7 links with friction, bounds and total mass", 1e3 * bounded_time, 40.0, "ms", "at most"),
        Line("best fit alone through cvxpy, over our fit and choice", peer_time / bounded_time),
    ]


def _median(work: Callable[[], None], *, n_runs: int = N_RUNS) -> float:
    work()
    times = []
    for _ in range(n_runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def _peer(R: Any, rho: Any, model: TorqueModel, K: Any, constraints: Constraints) -> None:
    cp: Any = importlib.import_module("cvxpy")
    theta = cp.Variable(model.n_params)
    rows = []
    for block in conditions(model, constraints).blocks:
        if block.kind == "nonnegative":
            rows.append(block.A @ theta + block.b >= 0)
        else:
            own = np.flatnonzero(block.A.any(axis=0))
            rows.append(sum(theta[int(k)] * smat(block.A[:, k]) for k in own) + smat(block.b) >> 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cp.Problem(cp.Minimize(cp.norm(R @ K @ theta - rho)), rows).solve(solver="CLARABEL")
