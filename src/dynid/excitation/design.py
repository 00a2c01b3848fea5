"""The best exciting trajectory inside every limit."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.optimize import minimize

from dynid.arrays import Array, Float
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import n_threads
from dynid.errors import ExcitationError
from dynid.excitation.assembly import Assembly, assemble, check_static, safe_pose
from dynid.excitation.criteria import ConditionNumber, DesignCriterion, ExcitationReport, assess
from dynid.excitation.curves.curve import Basis, Curve, PerJoint
from dynid.excitation.curves.fourier import FourierBasis
from dynid.excitation.gauge import Gauge
from dynid.excitation.interruption import finishing_on_interrupt
from dynid.excitation.limits.certificate import LimitCertificate
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit, with_effort
from dynid.excitation.objective import Objective, Smoothing
from dynid.excitation.trajectory import Cruise, Trajectory

__all__ = ["DesignProgress", "Excitation", "ExcitationStatus", "curve_motion", "design_excitation"]

_STAGES = ((8.0, 0.05, 0.18), (16.0, 0.025, 0.24), (32.0, 0.015, 0.29), (64.0, 0.01, 0.29))
"""Sharpness of the criterion, softness of dry friction (of the largest speed), share of the iterations."""
_JUDGED, _MAX_NUMBERS = 1000, 4e6
"""Samples at which a finished candidate is judged, and numbers of a regressor above which it is judged at fewer."""
_CANDIDATES, _LOST = 4, 0.05
"""Candidates that are kept, and by how much of its criterion one may be worse once it is certified."""
_FINISHING = 1.0
"""s; what the ramps and the certificate may take before they hurry."""
_HEARING = 0.1
"""s; within which Ctrl-C is heard while threads search."""
_TIGHT = 200
"""Density of bounds with which the final motion is brought to its limits."""


class ExcitationStatus(enum.Enum):
    """How a design ended; the value is advice, empty where none is needed."""

    FINISHED = ""
    TIME_BUDGET = "the time budget ended the search; this is the best motion so far, more time may find a better one"
    INTERRUPTED = "the search was interrupted; this is the best motion so far"


@dataclass(frozen=True)
class DesignProgress:
    """Where a search stands."""

    seconds: float
    """Time since its start, in s."""
    restart: int
    n_restarts: int
    condition_number: float
    """The best so far, a ratio."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A designed trajectory: certified, judged, and how it was found."""

    trajectory: Trajectory
    curve: Curve
    report: ExcitationReport
    """Of the curve at full speed, once through."""
    certificate: LimitCertificate
    limits: MotionLimits
    status: ExcitationStatus
    seed: int
    n_evaluations: int
    history: tuple[tuple[float, float], ...]
    """Seconds since the start and the best condition number (a ratio) at that time."""

    def __repr__(self) -> str:
        verdict = "inside every limit" if self.certificate.holds else "limits violated"
        return f"Excitation({self.trajectory!r}: condition number {self.condition_number:.4g}, {verdict})"

    def __str__(self) -> str:
        return "\n".join(filter(None, [repr(self), str(self.certificate), self.status.value]))

    def _repr_html_(self) -> str:
        return self.certificate._repr_html_()

    @property
    def condition_number(self) -> float:
        """Of the base regressor, unscaled, once through the curve; a ratio."""
        return self.report.condition_number


class _Stop(BaseException):
    """Leaves the optimiser from within; a KeyboardInterrupt of our own, for threads."""


@dataclass(eq=False)
class _Search:
    """The best candidate of all restarts, shared by the threads that run them."""

    objective: Objective
    n_restarts: int
    max_iterations: int
    deadline: float
    progress: Callable[[DesignProgress], None] | None
    began: float
    stop: threading.Event
    lock: threading.Lock = field(default_factory=threading.Lock)
    best: list[tuple[float, int, Float[Array, "n_coordinates n_dof"]]] = field(default_factory=list)
    """The few best candidates, best first: score, restart and point."""
    history: list[tuple[float, float]] = field(default_factory=list)
    n_evaluations: int = 0
    late: bool = False
    longest: float = 0.0
    """Seconds that an evaluation took at most: none is begun that would end too late."""

    def run(self, restart: int, seed: np.random.SeedSequence) -> None:
        """One restart from a random point, through all stages."""
        shape = self.objective.gauge.shape
        x = self.objective.gauge.random(np.random.default_rng(seed))
        self.offer(restart, x)
        if self.stop.is_set():
            return
        for sharpness, softness, share in _STAGES:
            smoothing = self.objective.smoothing(sharpness, softness)
            # Where the last accepted point touches its limits, and where the one tried last does.
            accepted, scales = [x.ravel()], [1.0, 1.0]

            def value(
                point: Array, *, corners: Smoothing = smoothing, touched: list[float] = scales
            ) -> tuple[float, Array]:
                self.check()
                begun = time.monotonic()
                result, gradient, touched[1] = self.objective.smooth(point.reshape(shape), corners, touched[0])
                self.longest = max(self.longest, time.monotonic() - begun)
                return result, gradient.ravel()

            try:
                minimize(
                    value,
                    x.ravel(),
                    jac=True,
                    method="L-BFGS-B",
                    callback=partial(_accept, accepted, scales),
                    options={"maxiter": max(1, round(share * self.max_iterations)), "maxcor": 20},
                )
            except _Stop:
                self.offer(restart, accepted[-1].reshape(shape))
                return
            # A direction has no length: bring it back to about one, where steps are well scaled.
            x = accepted[-1].reshape(shape).copy()
            x[:-2] /= np.maximum(np.sqrt(np.mean(x[:-2] ** 2, axis=0)), 1e-12)
            self.offer(restart, x)

    def check(self) -> None:
        """Leave when told to or when time is up."""
        self.n_evaluations += 1
        if time.monotonic() + self.longest > self.deadline:
            self.late = True
            self.stop.set()
        if self.stop.is_set():
            raise _Stop

    def finished(
        self,
        repeats: int,
        start: Float[Array, " n_dof"] | None,
        unchecked: tuple[str, ...],
        latest: float,
        paths: Sequence[PathLimit],
    ) -> tuple[Assembly, Curve]:
        """The best candidate from rest to rest and certified; the next where it loses much on the way and time is left.

        A motion that is free at its samples may touch something between them, and have to shrink far to pass it.
        """
        done: list[tuple[float, Assembly, Curve]] = []
        gauge, anchor = self.objective.gauge, self.objective.anchor
        for score, _, x in self.best:
            coefficients, centre = self.finest(x)
            assembly, curve = assemble(
                partial(_curve_at, gauge.basis, anchor, coefficients, centre),
                ramps=not gauge.basis.at_rest,
                cruise=repeats * gauge.basis.length,
                limits=gauge.limits,
                path_limits=paths,
                start=start,
                unchecked=unchecked,
                hurried=lambda: time.monotonic() > latest,
            )
            final = self._score(curve)[0]
            done.append((final, assembly, curve))
            if final <= score + _LOST * abs(score) or time.monotonic() > latest:
                break
        return min(done, key=lambda one: one[0])[1:]

    def finest(
        self, x: Float[Array, "n_coordinates n_dof"]
    ) -> tuple[Float[Array, "n_free n_dof"], Float[Array, " n_dof"]]:
        """Coefficients and centre (SI) of a point, brought closer to the joint limits where that is better."""
        gauge = self.objective.gauge
        found = [self.objective.coefficients(x, gauge=one) for one in (replace(gauge, density=_TIGHT), gauge)]
        return min(found, key=lambda both: self._score(gauge.basis.curve(*both))[0])

    def _score(self, curve: Curve) -> tuple[float, float]:
        """Criterion and condition number (dimensionless) of a curve, without smoothing."""
        n_judged = _n_judged(self.objective.gauge.basis, self.objective.model)
        states = curve.at(np.arange(n_judged) * curve.length / n_judged)
        G = self.objective.gram(states, self.objective.model)
        return self.objective.criterion.exact(G), ConditionNumber().exact(G)

    def offer(self, restart: int, x: Float[Array, "n_coordinates n_dof"]) -> None:
        """Keep a candidate if it is the best, judged without smoothing."""
        score, shown = self._score(self.objective.gauge.basis.curve(*self.objective.coefficients(x)))
        with self.lock:
            # Ties and order of arrival must not matter, or threads would make the result random.
            if not self.best or (score, restart) < self.best[0][:2]:
                self.history.append((time.monotonic() - self.began, shown))
            self.best = sorted([*self.best, (score, restart, x)], key=lambda one: one[:2])[:_CANDIDATES]
            if self.progress is not None:
                elapsed = time.monotonic() - self.began
                self.progress(DesignProgress(elapsed, restart, self.n_restarts, self.history[-1][1]))


def design_excitation(
    model: TorqueModel,
    *,
    basis: Basis | None = None,
    repeats: int = 1,
    limits: MotionLimits | None = None,
    path_limits: Sequence[PathLimit] = (),
    final_limits: Sequence[PathLimit] = (),
    criterion: DesignCriterion | None = None,
    start: PerJoint | None = None,
    base: BaseParameters | None = None,
    restarts: int = 8,
    max_iterations: int = 850,
    time_budget: float = np.inf,
    workers: int | None = None,
    seed: int = 0,
    progress: Callable[[DesignProgress], None] | None = None,
    stop: threading.Event | None = None,
) -> Excitation:
    """A trajectory from rest to rest that shows the base parameters as well as can be found, inside every limit.

    L-BFGS on a smoothed criterion in gauge coordinates, with exact gradients, from many random points. The result
    depends on `seed` and, only if the time budget cuts the search, on time. Ctrl-C returns the best so far.

    Args:
        model: robot, and the friction and rotor columns that will be fitted.
        basis: family of curves; a Fourier series of 5 harmonics of 0.1 Hz when None.
        repeats: how often the curve is run.
        limits: of the joints; those of the robot file, efforts with a margin of a tenth, when None.
        path_limits: workspace or self-collision; effort by the nominal model is added where the robot has both.
        final_limits: path limits that are too slow for the search: the motion it finds shrinks until it keeps them.
        criterion: what to make small; the unscaled condition number when None.
        start: pose in rad or m to start and stop at; None is wherever the curve's ramps are.
        base: base parameters of the model, found when None.
        restarts: number of random points to start from.
        max_iterations: of the optimiser, per restart.
        time_budget: seconds after which the best so far is returned.
        workers: threads; as many as there are processors when None.
        seed: of the random points.
        progress: is called whenever a stage of a restart is done, with the best condition number so far.
        stop: ends the search with the best so far once it is set, as Ctrl-C does.

    Raises:
        ExcitationError: the limits contradict each other, leave no pose to hold, or the start pose is outside them.
    """
    began = time.monotonic()
    if min(repeats, restarts, max_iterations, 1 if workers is None else workers) < 1:
        raise ExcitationError("repeats, restarts, iterations and workers are counts of at least 1")
    with finishing_on_interrupt(stop) as asked:
        family = FourierBasis(5, 0.1) if basis is None else basis
        kept = MotionLimits.of(model.robot) if limits is None else limits
        if kept.joint_names != model.robot.joint_names:
            raise ExcitationError(f"limits are for joints {', '.join(kept.joint_names)}, not for those of the model")
        paths, unchecked = with_effort(model.robot, kept, path_limits)
        anchor = safe_pose(kept, (*paths, *final_limits), np.random.default_rng(seed))
        begin = _start_pose(start, kept, paths)
        chosen = base_parameters(model) if base is None else base
        wanted = ConditionNumber() if criterion is None else criterion
        objective = Objective(model, chosen, Gauge(family, kept), wanted, paths, anchor, _n_samples(family, model))
        search = _Search(objective, restarts, max_iterations, began + time_budget, progress, began, asked)
        interrupted = _searched(search, seed, n_threads() if workers is None else workers)
        if not search.best:
            raise KeyboardInterrupt
        latest = min(began + time_budget, time.monotonic()) + _FINISHING
        assembly, curve = search.finished(repeats, begin, unchecked, latest, (*paths, *final_limits))
    late = ExcitationStatus.TIME_BUDGET if search.late else ExcitationStatus.FINISHED
    return Excitation(
        trajectory=assembly.trajectory,
        curve=curve,
        report=assess(model, curve_motion(curve).motion(_n_judged(family, model) / family.length), base=chosen),
        certificate=assembly.certificate,
        limits=kept,
        status=ExcitationStatus.INTERRUPTED if interrupted else late,
        seed=seed,
        n_evaluations=search.n_evaluations,
        history=tuple(search.history),
    )


def _accept(accepted: list[Array], scales: list[float], point: Array) -> None:
    """Keep a point that a line search ended in, and begin there to look for the scale of the next."""
    accepted.append(point.copy())
    scales[0] = scales[1]


def _curve_at(
    basis: Basis,
    anchor: Float[Array, " n_dof"],
    coefficients: Float[Array, "n_free n_dof"],
    centre: Float[Array, " n_dof"],
    scale: float,
) -> Curve:
    """A curve drawn towards a pose (rad or m)."""
    return basis.curve(scale * coefficients, anchor + scale * (centre - anchor))


def curve_motion(curve: Curve) -> Trajectory:
    """Once through a curve at full speed, without ramps: for judging, not for running."""
    return Trajectory(tuple(f"joint{j + 1}" for j in range(curve.n_dof)), (Cruise(curve, 0.0, curve.length, 0.0),))


def _start_pose(
    start: PerJoint | None, limits: MotionLimits, paths: Sequence[PathLimit]
) -> Float[Array, " n_dof"] | None:
    if start is None:
        return None
    pose = limits.check_pose(start, "start pose")
    check_static(paths, pose, "start pose")
    return pose


def _n_judged(basis: Basis, model: TorqueModel) -> int:
    enough = min(_JUDGED, int(_MAX_NUMBERS / (model.n_dof * model.n_params)))
    return max(enough, _n_samples(basis, model))


def _n_samples(basis: Basis, model: TorqueModel) -> int:
    """Number of samples that resolves the curve and gives enough equations."""
    enough = 3 * model.n_params // model.n_dof
    return max(16 * basis.n_free, enough)


def _searched(search: _Search, seed: int, workers: int) -> bool:
    """Run all restarts on threads; whether Ctrl-C ended them."""
    seeds = np.random.SeedSequence(seed).spawn(search.n_restarts)
    interrupted = search.stop.is_set()
    with ThreadPoolExecutor(min(workers, search.n_restarts)) as pool:
        pending: set[Future[None]] = set()
        try:
            pending = {pool.submit(_guarded, search, k, child) for k, child in enumerate(seeds)}
            # A signal that comes just before a thread goes to sleep is heard only when it wakes up again.
            while wait(pending, timeout=_HEARING).not_done:
                pass
        except KeyboardInterrupt:
            interrupted = True
            search.stop.set()
        for future in pending:
            future.result()
    return interrupted or (search.stop.is_set() and not search.late)


def _guarded(search: _Search, restart: int, seed: np.random.SeedSequence) -> None:
    # The first restart always gives a motion: there is nothing else to return.
    if restart == 0 or not search.stop.is_set():
        search.run(restart, seed)
