"""LoadWatch: the load of a known arm and contacts, sample by sample; options, and the watcher that runs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import stats

from dynid.arrays import Array, Float, Transform, freeze_arrays
from dynid.chain.inertia import INERTIAL_UNITS
from dynid.dynamics.kernels.bound import BoundKernel
from dynid.dynamics.model import TorqueModel
from dynid.errors import TrackingError
from dynid.tracking import contact_bands, contact_jumps, decision_state, decisions, load_bank, load_gauss
from dynid.tracking.bundles import WATCH
from dynid.tracking.contact import inertia_matrix
from dynid.tracking.contact_force import TOUCH_FORCE, contact_force, contact_link, contact_torque
from dynid.tracking.decision_rules import Rules
from dynid.tracking.hasty_changes import HastyChanges
from dynid.tracking.health import Health, health_sentences, nis_band
from dynid.tracking.load import KNOCK, EventKind, LoadEstimate, LoadEvent
from dynid.tracking.load_body import typical_bodies
from dynid.tracking.nis_tally import NisTally
from dynid.tracking.noise import TorqueNoise
from dynid.tracking.rows import LOAD_SYMBOLS, MEASUREMENTS, Measurement, RowArrays, row_arrays
from dynid.tracking.samples import Sample, TrackedParameters
from dynid.tracking.terms import links_on_gears, term_arrays
from dynid.tracking.watch_state import contact_state, filter_bank, first_decision, known_mass_std

__all__ = ["LoadWatch", "LoadWatcher"]

KINDS: tuple[EventKind | None, ...] = (None, "initial load", "pick", "place", "change", "contact", "contact over")
"""Events by the codes of `decisions`."""
EMPTY_STD = 0.05
"""σ of the mass of an empty hand, kg: a finger more or less."""
HEAVY_TAILS = 1.5
"""Squared residuals over those of a Gaussian, far out: friction errors are no Gaussian noise."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadWatch:
    """What is watched, and how sure it must be; `start` gives the watcher that runs."""

    model: TorqueModel
    theta: Float[Array, " n_params"]
    """Parameters of the arm without load, SI."""
    noise: TorqueNoise
    """Of the joint torques."""
    wrench_noise: Float[Array, " n_wrench"] = field(default_factory=lambda: np.zeros(0))
    """σ of each row of the base wrench where it is measured, N and N·m."""
    base_link: Float[Array, " 10"] = field(default_factory=lambda: np.zeros(10))
    """Inertial parameters (SI) of the base link, which the base wrench feels beside the arm; zero for a wrench of the
    moving links alone."""
    measure: tuple[Measurement, ...] = ("torque",)
    """torque, or torque and base-wrench."""
    rate_hz: float = 100.0
    """Samples per second, for the rate of false alarms."""
    max_mass: float = 5.0
    """The heaviest load, kg."""
    reach: float = 0.5
    """Radius about the flange within which the whole load lies, m."""
    lever: float = 0.15
    """σ of each coordinate of a load's centre of mass about the flange before anything is known, m."""
    walk: float = 0.01
    """How fast a held load may change without a jump, kg/√s."""
    gain: float = 40.0
    """K of the contact observer, 1/s."""
    false_alarms_per_hour: float = 0.5
    """Contacts called in an hour of free motion, 1/h (dimensionless count over 3600 s)."""
    decide: float = 0.3
    """Shortest time over which the likelihoods of load change, contact and nothing are compared, s."""
    evidence: float = 6.0
    """Lead in log-likelihood that decides (dimensionless, nats)."""
    slow_mass: float = 0.25
    """Change of mass since the last announcement that is announced as a slow change, kg."""
    clear: float = 0.15
    """Time without external torque after which a contact is over, s."""
    carrier: int = -1
    """Index of the link that carries the load."""
    T_carrier_load: Transform = field(default_factory=lambda: np.eye(4))
    """Load frame in that link's frame."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "measure", tuple(m for m in MEASUREMENTS if m in self.measure))
        if "torque" not in self.measure or "tool-wrench" in self.measure:
            raise TrackingError("loads and contacts are told apart by joint torques; measure torque")
        if not min(self.max_mass, self.reach, self.lever) > 0.0:
            raise TrackingError(
                f"a load of up to {self.max_mass:g} kg within {self.reach:g} m; both must be above zero"
            )
        if len(self.wrench_noise) != 6 * (len(self.measure) - 1):
            raise TrackingError(f"{', '.join(self.measure)}: {len(self.wrench_noise)} noise levels of wrenches")

    def __repr__(self) -> str:
        return f"LoadWatch({self.model.robot.name}: up to {self.max_mass:g} kg within {self.reach:g} m)"

    @property
    def n_rows(self) -> int:
        """Rows of one sample."""
        return self.model.n_dof + len(self.wrench_noise)

    @cached_property
    def rows(self) -> RowArrays:
        """The arm with its load, and no joint terms, as arrays of the compiled filter, SI."""
        rigid = TorqueModel(self.model.robot)
        active = np.zeros(rigid.n_params + 10, dtype=bool)
        active[-10:] = True
        carrier = self.carrier % self.model.n_dof
        return row_arrays(
            rigid, self.measure, carrier=carrier, T_carrier_load=self.T_carrier_load, active_columns=active
        )

    @cached_property
    def scale(self) -> Float[Array, " 10"]:
        """Size of a load's parameters per kilogram (SI), from the lever."""
        return np.array([1.0, *[self.lever] * 3, *[self.lever**2] * 6])

    def prior(self, mass: float) -> Float[Array, "10 10"]:
        """Covariance (SI) of a load of a root mean square mass in kg about which nothing else is known."""
        return typical_bodies(mass, self.lever, self.lever)

    @property
    def prior_masses(self) -> tuple[float, ...]:
        """Root mean square mass (kg) of each filter's first load; the second is the hypothesis of an empty hand."""
        return (0.6 * self.max_mass, min(EMPTY_STD, 0.1 * self.max_mass), *[self.max_mass] * 3)

    @cached_property
    def constants(self) -> load_bank.LoadConstants:
        """What the compiled filters take."""
        model, n, noise, wrench = self.model, self.model.n_dof, self.noise, self.wrench_noise
        links, own = np.split(np.array(self.theta), [model.n_inertial])
        gears = links_on_gears(model)
        n_rows = self.n_rows
        doubts = noise.doubts if len(noise.doubts) else np.zeros((0, model.n_params))
        drift = np.zeros((n_rows, load_gauss.N_ERRORS))
        drift[:n, 1:] = np.transpose([noise.offset, noise.friction, noise.gain])
        return load_bank.LoadConstants(
            rows=self.rows,
            terms=term_arrays(model),
            theta=np.concatenate([links, np.zeros(10)]),
            gear=np.zeros(0) if gears is None else np.concatenate([np.array(gears).ravel(), np.zeros(10)]),
            own=np.array(own.reshape(n, len(model.terms))),
            inertia=np.array([float(term.is_inertia) for term in model.terms]),
            limits=np.array([self.max_mass, self.reach]),
            white=np.concatenate([noise.white, wrench]),
            slow=np.concatenate([noise.slow, 0.3 * wrench]),
            memory=np.concatenate([noise.memory, np.full(len(wrench), 0.2)]),
            standstill=np.array(noise.standstill),
            standstill_speed=np.array(noise.standstill_speed),
            drift=drift,
            doubt_links=np.hstack([doubts[:, : model.n_inertial], np.zeros((len(doubts), 10))]),
            # A view in another order would be another type, for which numba compiles the whole watcher anew.
            doubt_own=np.array(doubts[:, model.n_inertial :], order="C").reshape(len(doubts), n, len(model.terms)),
            drift_time=600.0,
            walk=self.walk * self.scale,
            jump=np.linalg.cholesky(self.prior(0.5 * self.max_mass)).T.copy(),
            touch=np.concatenate([contact_torque(self.model.robot), np.full(len(wrench), TOUCH_FORCE)]),
            touch_time=0.15,
            noise_time=2.0,
            gap=0.5,
        )

    @cached_property
    def bands(self) -> contact_bands.BandConstants:
        """What the compiled contact watch takes."""
        model, n, noise = self.model, self.model.n_dof, self.noise
        looks = 3600.0 * self.gain  # one independent look in each time constant of the observer
        share = min(0.5, self.false_alarms_per_hour / looks)
        own = self.constants.own
        rotors = np.array([sum(own[j, k] for k in model.inertia_terms) for j in range(n)], dtype=float)
        C = self.constants.terms.transmission
        errors, period = (noise.white, noise.slow, noise.memory), 1.0 / self.rate_hz
        gaussian = float(stats.chi2.isf(share, 3))
        quick, small = contact_jumps.jump_watches(*errors, period=period, force=TOUCH_FORCE, gaussian=gaussian)
        return contact_bands.BandConstants(
            gain=self.gain,
            white=np.array(noise.white),
            slow=np.array(noise.slow),
            standstill=np.array(noise.standstill),
            standstill_speed=np.array(noise.standstill_speed),
            rotor=np.array(C.T @ np.diag(rotors) @ C),
            threshold=float(HEAVY_TAILS * stats.chi2.isf(share, n)),
            period=period,
            prior=0.5 * self.max_mass * self.scale[:4],
            touch=np.array(contact_torque(model.robot)),
            jumps=quick,
            small=small,
        )

    @cached_property
    def rules(self) -> Rules:
        """What the compiled decision takes."""
        return Rules()._replace(
            decide=self.decide,
            renew=max(0.5, self.decide),
            longest=max(1.0, self.decide),
            evidence=self.evidence,
            slow_mass=self.slow_mass,
            clear=self.clear,
        )

    def start(self) -> LoadWatcher:
        """A running watcher that does not know the load yet."""
        return LoadWatcher(self)


class LoadWatcher:
    """Filters of the load and contact watch side by side; a contact never gets into the load.

    `step` takes samples with accelerations, which come late where they are computed from positions. `hear` takes the
    same samples as they are measured, so that a contact is called without that delay; where it is not used, `step`
    does both.
    """

    def __init__(self, options: LoadWatch) -> None:
        self.options = options
        self.constants, self.bands, self.rules = options.constants, options.bands, options.rules
        self.state, self.memory = filter_bank(self.constants, [options.prior(mass) for mass in options.prior_masses])
        self.contact = contact_state(self.constants, self.bands)
        self.decision = first_decision()
        n = options.model.n_dof
        self._q, self._dq, self._ddq = np.zeros(n), np.zeros(n), np.zeros(n)
        self._tau = np.full(options.n_rows, np.nan)
        self._weight = options.model.base_link_rows @ options.base_link
        parts = self.constants, self.state, self.memory, self.decision, self.rules
        self._hear = BoundKernel(
            WATCH, decisions.hear, self.bands, self.contact, *parts, np.nan, self._q, self._dq, self._tau
        )
        self._step = BoundKernel(WATCH, decisions.watch_sample, *parts, np.nan, self._q, self._dq, self._ddq, self._tau)
        self._heard = False
        self.n_absorbed = 0
        """Samples in the estimate."""
        self.n_skipped = 0
        """Samples left out: a motion that is not finite, or time that does not go on."""
        self._changes, self._tally = HastyChanges(), NisTally(self.band)

    def __repr__(self) -> str:
        touched = ", in contact" if self.in_contact else ""
        return f"LoadWatcher({self.estimate!r}{touched})"

    def without_velocities(self) -> None:
        """Expect velocities (rad/s or m/s) from positions from now on: too smooth to call a contact at once."""
        self.decision.numbers[decision_state.SMOOTH] = 1.0

    @property
    def in_contact(self) -> bool:
        """Whether something touches the arm."""
        return bool(self.decision.numbers[decision_state.CALLED] == 1.0)

    @property
    def known(self) -> bool:
        """Whether the first load has been announced."""
        return bool(self.decision.numbers[decision_state.PHASE] != decision_state.UNKNOWN)

    @property
    def _best(self) -> int:
        """The filter to read the load from: before the first load is known, the likelier one."""
        score = self.state.likelihood[:3] - self.decision.distance
        empty = not self.known and score[load_bank.PICKED] > score[load_bank.NOTHING]
        return load_bank.PICKED if empty else load_bank.NOTHING

    @property
    def load(self) -> Float[Array, " 10"]:
        """The ten parameters of the load about its frame (SI); physically consistent at every sample."""
        return self.state.pi[self._best].copy()

    @property
    def covariance(self) -> Float[Array, "10 10"]:
        """Of the ten parameters (SI), with the uncertainty of drive gains and friction."""
        b = self._best
        half = (np.triu(self.state.U[b].T, 1) + np.eye(load_gauss.LOAD_SIZE)) * np.sqrt(self.state.D[b])
        return half @ half.T

    @property
    def estimate(self) -> LoadEstimate:
        """The load now."""
        return LoadEstimate.of(self.load, known_mass_std(self.state, self._best))

    @property
    def parameters(self) -> TrackedParameters:
        """The ten parameters with their standard deviations, SI."""
        values, std = self.load, np.sqrt(np.diag(self.covariance))
        lower = values - 2.0 * std
        lower[0] = max(0.0, lower[0])
        return TrackedParameters(LOAD_SYMBOLS, INERTIAL_UNITS, values, std, lower, values + 2.0 * std)

    @property
    def nis(self) -> float:
        """Normalised innovation squared of the latest sample, dimensionless."""
        return float(self.state.t[2])

    @property
    def band(self) -> tuple[float, float]:
        """Two-sided 95 % band of the NIS, dimensionless."""
        rows = self.options.n_rows
        return float(stats.chi2.ppf(0.025, rows)), float(stats.chi2.ppf(0.975, rows))

    @property
    def external_torque(self) -> Float[Array, " n_dof"]:
        """External torque now, N·m or N."""
        return self.contact.r.copy()

    @property
    def health(self) -> Health:
        """How far the filters can be believed: NIS of the run, but for changes as they came, against its band."""
        n, rows = self._tally.n, self.options.n_rows
        found = Health(
            n_absorbed=self.n_absorbed,
            n_not_finite=self.n_skipped,
            n_backwards=0,
            n_jumps=0,
            nis_mean=self._tally.mean,
            nis_band=nis_band(n, rows),
            nis_share=self._tally.share,
            at_bound=(),
            starved=(),
            unobservable=(),
            sentences=(),
        )
        said = health_sentences(found, n, rows)
        if self.n_absorbed and not self.known:
            said = (*said, "the motion has not shown the load yet; move joints against gravity")
        return replace(found, sentences=(*said, *self._changes.sentences))

    def hear(self, sample: Sample) -> tuple[LoadEvent, ...]:
        """Take one sample as it is measured (q, dq and torque, SI), for contacts; say what happened."""
        self._heard = True
        if sample.dq is None or sample.tau is None:
            raise TrackingError("contacts need velocities and torques; log dq and tau")
        self._q[:], self._dq[:] = sample.q, sample.dq
        self._tau[: len(self._q)] = sample.tau
        self._hear.set_float(7, sample.t)
        self._hear()
        return self._events(float(sample.t))

    def step(self, sample: Sample) -> tuple[LoadEvent, ...]:
        """Take one sample with dq, ddq and torque (SI); say what happened."""
        if sample.dq is None or sample.ddq is None or sample.tau is None:
            raise TrackingError("the load needs dq, ddq and torque; run samples through KinematicFilter first")
        heard: tuple[LoadEvent, ...] = ()
        if not self._heard:
            heard = self.hear(sample)
            self._heard = False
        self._q[:], self._dq[:], self._ddq[:] = sample.q, sample.dq, sample.ddq
        n = len(self._q)
        self._tau[:n] = sample.tau
        if len(self._tau) > n:
            self._tau[n:] = np.nan if sample.base_wrench is None else sample.base_wrench - self._weight
        self._step.set_float(5, sample.t)
        if not self._step():
            self.n_skipped += 1
            return heard
        self.n_absorbed += 1
        phase, onset = self.decision.numbers[[decision_state.PHASE, decision_state.ONSET]]
        if phase <= decision_state.KNOWN and np.isnan(onset):
            self._tally.add(float(sample.t), float(self.state.t[2]))
        return (*heard, *self._events(float(sample.t)))

    def _events(self, t: float) -> tuple[LoadEvent, ...]:
        codes = self.decision.events
        if codes[0] == decision_state.NO_EVENT:
            return ()
        # Accelerations see a change as early as half the window that they are computed from: by as much they come late.
        early = max(0.0, float(self.contact.numbers[0] - self.state.t[0]))
        found = tuple(self._event(KINDS[int(code)], t) for code in codes if code != decision_state.NO_EVENT)
        for event in found:
            if event.kind not in ("initial load", "contact over"):
                self._changes.hear(t)
            if event.kind in ("pick", "place", "contact"):
                self._tally.take_back(float(self.decision.numbers[decision_state.BEGAN]) - early)
        return found

    def _event(self, kind: EventKind | None, t: float) -> LoadEvent:
        assert kind is not None
        n = self.decision.numbers
        std = known_mass_std(self.state, self._best)
        mass, torque = float(self.load[0]), self.external_torque
        if kind in ("initial load", "change"):
            began = n[decision_state.STARTED] if kind == "initial load" else np.nan
            return LoadEvent(kind, t, mass, torque, std, t - began)
        if kind in ("pick", "place"):
            return LoadEvent(kind, t, mass, torque, std, t - float(n[decision_state.BEGAN]))
        # While it comes, what is seen now; once it is over, what was seen where it was strongest.
        now = kind == "contact" and n[decision_state.AT_ONCE] > 0.0
        jumps = self.contact.small if n[decision_state.SUDDEN] == decision_state.SMALL else self.contact.jumps
        seen = jumps.value if n[decision_state.SUDDEN] > 0.0 else np.array([torque, self.contact.band])
        torque, band = seen.copy() if now else self.contact.peak.copy()
        robot = self.options.model.robot
        M = self.bands.rotor + inertia_matrix(self.constants.rows, self._q, self.contact.theta, self.memory.work)
        link = contact_link(robot, M, self._q, torque, band)
        nature: Literal["knock", "push"] = "knock" if n[decision_state.RISE] < KNOCK else "push"
        delay = t - float(n[decision_state.BEGAN]) if kind == "contact" else np.nan
        force = contact_force(robot, self._q, link, torque, band)
        return LoadEvent(kind, t, mass, torque, std, delay, robot.link_names[link], force, nature)
