"""Load changes: pick, place and slow change of what the arm carries, kept apart from contacts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dynid.arrays import Array, Float, Matrix3, Transform, Vector3, freeze_arrays
from dynid.chain.consistency import consistency, nearest_consistent
from dynid.chain.inertia import InertialParameters
from dynid.dynamics.model import TorqueModel
from dynid.errors import TrackingError
from dynid.tracking.contact import ContactObserver
from dynid.tracking.filter import ConstrainedFilter
from dynid.tracking.rows import LOAD_SYMBOLS, Measurement, needs_columns, predict_rows
from dynid.tracking.samples import ProcessNoise, Sample
from dynid.tracking.state_map import Entry, StateBound, StateMap
from dynid.tracking.terms import JointTerms

__all__ = ["LoadEstimate", "LoadEvent", "LoadWatch", "LoadWatcher", "load_filter"]

EventKind = Literal["pick", "place", "change", "contact", "contact over"]
"""What happened: the load became heavier, lighter, or changed slowly; something touched the arm, or let go."""


@dataclass(frozen=True, eq=False)
class LoadEstimate:
    """A load as controllers want it: about the flange (load) frame, SI."""

    mass: float
    """kg; never below zero."""
    mass_std: float
    """kg."""
    com: Vector3
    """Centre of mass in m; zero where the load weighs nothing."""
    inertia_com: Matrix3
    """Inertia about the centre of mass, kg·m²."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, load: Float[Array, " 10"], mass_std: float) -> LoadEstimate:
        """From the ten inertial parameters of a load (SI); below three standard deviations of mass there is none."""
        body = InertialParameters(load)
        if body.mass <= 3.0 * mass_std or body.mass <= 0.0:
            return cls(max(body.mass, 0.0), mass_std, np.zeros(3), np.zeros((3, 3)))
        if not consistency(body).holds:
            # Inertia is the last thing a load shows; a controller refuses one that no body has.
            body = nearest_consistent(body)
        return cls(body.mass, mass_std, body.com, body.inertia_com)

    def __repr__(self) -> str:
        com = ", ".join(f"{value:.3f}" for value in self.com)
        return f"LoadEstimate({self.mass:.3f} ± {self.mass_std:.3f} kg, centre of mass [{com}] m)"

    def settings(self) -> dict[str, str]:
        """The line to type into a controller, by vendor; kg, m (mm for ABB and KUKA) and kg·m²."""
        m, c, I = self.mass, self.com, self.inertia_com  # noqa: E741
        six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        nine = ", ".join(f"{value:.4g}" for value in I.T.ravel())
        com, mm = ", ".join(f"{value:.4f}" for value in c), [f"{1e3 * value:.1f}" for value in c]
        return {
            "Universal Robots": f"set_target_payload({m:.3f}, [{com}], [{', '.join(f'{value:.4g}' for value in six)}])",
            "Franka": f"setLoad({m:.3f}, {{{com}}}, {{{nine}}})",
            "KUKA": f"LOAD_DATA={{M {m:.3f},CM {{X {mm[0]},Y {mm[1]},Z {mm[2]},A 0,B 0,C 0}},"
            f"J {{X {I[0, 0]:.4g},Y {I[1, 1]:.4g},Z {I[2, 2]:.4g}}}}}",
            "ABB": f"[{m:.3f},[{','.join(mm)}],[1,0,0,0],{I[0, 0]:.4g},{I[1, 1]:.4g},{I[2, 2]:.4g}]",
        }


@dataclass(frozen=True, eq=False)
class LoadEvent:
    """Something happened to the load, or something touched the arm."""

    kind: EventKind
    t: float
    """When it was noticed, s."""
    mass: float
    """Mass of the load in kg as the filter had it then."""
    torque: Float[Array, " n_dof"]
    """External joint torque at that time, N·m or N."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __repr__(self) -> str:
        return f"LoadEvent({self.kind} at {self.t:.3f} s, load {self.mass:.3f} kg)"


def load_filter(
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    *,
    noise: Float[Array, " n_rows"],
    max_mass: float,
    reach: float = 0.3,
    inertia: bool = True,
    process_noise: float = 3e-4,
    measure: tuple[Measurement, ...] = ("torque",),
    noise_memory: float = 0.0,
    carrier: int = -1,
    T_carrier_load: Transform | None = None,
) -> ConstrainedFilter:
    """A filter of the load alone on a known arm.

    Args:
        model: the arm.
        theta: its parameters without load, SI.
        noise: standard deviation of the measured rows, N·m or N.
        max_mass: the heaviest load, kg.
        reach: how far its centre of mass may lie from the load frame, m.
        inertia: estimate the six inertias too; they move only once the motion shows them.
        process_noise: k of every state, dimensionless, per sample.
        measure: what is measured.
        noise_memory: samples over which the noise is estimated; 0 keeps it.
        carrier: index of the link that carries the load.
        T_carrier_load: load frame in that link's frame.
    """
    if not (max_mass > 0.0 and reach > 0.0):
        raise TrackingError(f"a load of up to {max_mass:g} kg within {reach:g} m; both must be above zero")
    # An empty hand lies inside the bounds, not on their edge, from where a sigmoid hardly returns.
    bounds = [StateBound(-0.25 * max_mass, 1.25 * max_mass)]
    bounds += [StateBound(-max_mass * reach, max_mass * reach)] * 3
    bounds += [StateBound(-max_mass * reach**2, max_mass * reach**2)] * 6
    wanted = LOAD_SYMBOLS if inertia else LOAD_SYMBOLS[:4]
    pieces = [Entry(symbol, bound) for symbol, bound in zip(wanted, bounds, strict=False)]
    return ConstrainedFilter(
        model=model,
        state=StateMap.of(model, theta, pieces),
        noise=noise,
        measure=measure,
        process_noise=ProcessNoise.constant(process_noise),
        carry="state",
        noise_memory=noise_memory,
        initial_std=0.3,
        carrier=carrier,
        T_carrier_load=np.eye(4) if T_carrier_load is None else T_carrier_load,
    )


SURE = 3.0
"""Standard deviations beyond which a change of mass is none of the noise's."""
SMALL_MASS = 0.2
"""Mass in kg below which the lever of an apparent load says nothing: the first moment is then mostly noise."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadWatch:
    """Options of `LoadWatcher`."""

    filter: ConstrainedFilter
    """Of the load, measuring torques at least; see `load_filter`."""
    observer: ContactObserver
    decide: float = 0.012
    """Time in s of external torque after which it is called a load or a contact."""
    settle: float = 0.15
    """Time in s after a load change in which the filter converges and nothing else is announced."""
    clear: float = 0.1
    """Time in s without external torque after which a contact is over."""
    slow_mass: float = 0.25
    """Change of mass (kg) since the last announcement that is announced as a slow change, once the mass is known to
    that much and the change is beyond its uncertainty: what the filter learns at the start is no change."""
    hold: float = 0.5
    """Time in s for which the mass must have changed by that much before it is announced."""
    misfit: float = 3.0
    """Residual over noise (dimensionless) that a load must explain the external torque to."""
    reach: float = 0.5
    """Distance (m) of the centre of mass beyond which an apparent load is a contact."""

    def __post_init__(self) -> None:
        if self.filter.measure[0] != "torque":
            raise TrackingError("loads and contacts are told apart by joint torques; measure torque")

    def start(self) -> LoadWatcher:
        """A running watcher."""
        return LoadWatcher(self)


@dataclass
class _Suspicion:
    """Samples since the external torque went beyond its threshold, held back until it is known what it is."""

    since: float
    held: list[Sample] = field(default_factory=list)
    rows: list[Array] = field(default_factory=list)
    residuals: list[Array] = field(default_factory=list)


class LoadWatcher:
    """Filter of the load and momentum observer side by side; a contact never gets into the load."""

    def __init__(self, options: LoadWatch) -> None:
        self.options = options
        self.tracker = options.filter.start()
        n_params = options.filter.model.n_params
        self.observer = options.observer.start(self.tracker.theta, self.tracker.load)
        self._load_columns = slice(n_params, n_params + 10)
        self._terms = JointTerms(options.filter.model)
        self._terms_now: Float[Array, "n_dof n_terms"] | None = None
        self._suspicion: _Suspicion | None = None
        self._touched_until = -np.inf
        self._in_contact = False
        self._settled_at = -np.inf
        self._announced = self.tracker.load[0]
        self._mass_before = self._announced
        self._pending_load = False
        self._away_since = np.inf

    @property
    def in_contact(self) -> bool:
        """Whether something touches the arm."""
        return self._in_contact

    @property
    def estimate(self) -> LoadEstimate:
        """The load now."""
        return LoadEstimate.of(self.tracker.load, float(self.tracker.parameters.std[0]))

    def step(self, sample: Sample) -> tuple[LoadEvent, ...]:
        """Take one sample with dq, ddq and torque (SI); say what happened."""
        reading = self.observer.step(sample)
        self._terms_now = self._terms_of(sample)
        settling = sample.t < self._settled_at
        events: tuple[LoadEvent, ...] = ()
        if self._in_contact:
            if reading.collision:
                self._touched_until = sample.t + self.options.clear
            elif sample.t > self._touched_until:
                self._in_contact = False
                events = (self._event("contact over", sample.t),)
            return events
        if self._suspicion is None and reading.collision and not settling:
            self._suspicion = _Suspicion(sample.t)
        if self._suspicion is not None:
            return self._suspect(self._suspicion, sample)
        self._absorb(sample)
        if self._pending_load and not settling:
            self._pending_load = False
            mass = float(self.tracker.load[0])
            kind: EventKind = "pick" if mass > self._mass_before else "place"
            self._announced = mass
            return (self._event(kind, sample.t),)
        return self._slow_change(sample.t) if not settling else ()

    def _terms_of(self, sample: Sample) -> Float[Array, "n_dof n_terms"] | None:
        """Columns (SI) of friction that the compiled core does not know, at a sample that may be held back."""
        if not needs_columns(self.tracker.constants.rows) or sample.dq is None or sample.ddq is None:
            return None
        return self._terms.at(np.array(sample.q), np.array(sample.dq), np.array(sample.ddq))

    def _slow_change(self, t: float) -> tuple[LoadEvent, ...]:
        mass = float(self.tracker.load[0])
        change = abs(mass - self._announced)
        if change <= self.options.slow_mass or not self._surely(change):
            self._away_since = np.inf
            return ()
        self._away_since = min(self._away_since, t)
        if t - self._away_since < self.options.hold:
            return ()
        self._announced, self._away_since = mass, np.inf
        return (self._event("change", t),)

    def _surely(self, change: float) -> bool:
        """Whether a change of mass (kg) is beyond its uncertainty, which is larger where innovations are."""
        recent = self.tracker.state.nis[np.isfinite(self.tracker.state.nis)]
        excess = np.sqrt(max(1.0, float(np.mean(recent)) / self.tracker.options.n_rows)) if len(recent) else 1.0
        std = excess * float(self.tracker.parameters.std[0])
        return bool(std < self.options.slow_mass and change > SURE * std)

    def _absorb(self, sample: Sample) -> None:
        self.tracker.step(sample)
        self.observer.retune(self.tracker.columns, sample)

    def _suspect(self, suspicion: _Suspicion, sample: Sample) -> tuple[LoadEvent, ...]:
        suspicion.held.append(sample)
        self._note(suspicion, sample)
        if sample.t - suspicion.since < self.options.decide or len(suspicion.held) < 3:
            return ()
        self._suspicion = None
        if self._explained(suspicion):
            self._mass_before, self._pending_load = float(self.tracker.load[0]), True
            self._settled_at = sample.t + self.options.settle
            self.tracker.widen(np.ones(self.tracker.options.state.n_state, dtype=bool), 1.0)
            for held in suspicion.held:
                self.tracker.step(held)
            self.observer = self.options.observer.restarted(self.observer, self.tracker.columns)
            return ()
        self._in_contact, self._touched_until = True, sample.t + self.options.clear
        return (self._event("contact", sample.t),)

    def _note(self, suspicion: _Suspicion, sample: Sample) -> None:
        if sample.dq is None or sample.ddq is None or sample.tau is None:
            raise TrackingError("the load needs dq, ddq and torque; run samples through KinematicFilter first")
        memory, filter_ = self.tracker.memory, self.tracker.options
        theta = self.tracker.columns
        q, dq, ddq = np.array(sample.q), np.array(sample.dq), np.array(sample.ddq)
        if self._terms_now is not None:
            memory.work.terms[:] = self._terms_now
        predict_rows(filter_.rows, q, dq, ddq, theta, memory.work)
        n_dof = filter_.model.n_dof
        suspicion.rows.append(memory.work.Y[:n_dof, self._load_columns].copy())
        suspicion.residuals.append(sample.tau - memory.work.z[:n_dof])

    def _explained(self, suspicion: _Suspicion) -> bool:
        """Whether another mass with its first moment, and nothing else, gives this external torque."""
        noise = self.tracker.noise[: self.options.filter.model.n_dof]
        late = len(suspicion.rows) // 3  # the change itself may fall into the first samples
        rows = np.array([Y[:, :4] / noise[:, None] for Y in suspicion.rows[late:]])
        residuals = np.array([e / noise for e in suspicion.residuals[late:]])
        good = np.all(np.isfinite(residuals), axis=1)
        if not np.any(good):
            return False
        # Averaging over the short window: the motion hardly changes in it, the noise does.
        Y, e = rows[good].mean(axis=0), residuals[good].mean(axis=0)
        change = np.linalg.lstsq(Y, e, rcond=1e-3)[0]
        rest = float(np.sqrt(np.mean((e - Y @ change) ** 2) * np.count_nonzero(good)))
        total = self.tracker.load[:4] + change
        mass = float(total[0])
        lever = float(np.linalg.norm(total[1:4])) / max(abs(mass), 1e-9)
        bounds = self.options.filter.state.bounds[0]
        plausible = bounds.lower < mass < bounds.upper and (lever < self.options.reach or abs(mass) < SMALL_MASS)
        return rest < self.options.misfit and plausible

    def __repr__(self) -> str:
        touched = ", in contact" if self._in_contact else ""
        return f"LoadWatcher({self.estimate!r}{touched})"

    def _event(self, kind: EventKind, t: float) -> LoadEvent:
        return LoadEvent(kind, t, float(self.tracker.load[0]), self.observer.torque)
