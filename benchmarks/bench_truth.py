"""Numbers that are right about themselves: loads and torque bands, with the model class wrong and on measured arms."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

import dynid
from benchmarks import Item, Line, Note, Table
from dynid import IdentifiedModel, InertialParameters, Motion, TorqueModel, load_robot
from dynid.arrays import Array
from dynid.dynamics import friction_models
from dynid.recording import Recording
from dynid.validation import Validation
from tests.regression.logs import exciting_motion

FITTED = "viscous+coulomb+offset"
RATE_HZ, SECONDS = 100.0, 40.0
LOAD = InertialParameters.from_com(2.0, np.array([0.02, -0.01, 0.08]), np.diag([0.01, 0.012, 0.008]))
"""What the simulated arm carries: 2 kg."""
UR10E_GAINS = "11.976,11.976,9.8387,10.763,10.763,10.763"
UR10E_LOGS = ("30s12h", "14h", "20s8h", "collision_free")
UR10E_LOAD = 2.805
"""kg in 14hLoad."""
WIDTHS_BEFORE = {
    "30s12h": (1.190, 0.928, 0.733, 0.162, 0.164, 0.229),
    "14h": (1.202, 0.933, 0.899, 0.157, 0.161, 0.224),
    "20s8h": (1.206, 0.979, 0.772, 0.151, 0.165, 0.219),
    "collision_free": (0.864, 0.850, 0.427, 0.151, 0.165, 0.156),
}
"""Mean σ of the band of each joint, N·m, that commit cbe0ffe gave the left-out log."""


@dataclass(frozen=True)
class Scenario:
    """What differs between the simulated arm and the model that is fitted to it."""

    name: str
    white: float = 0.02
    """σ of white noise over the RMS torque of each joint."""
    slow: float = 0.0
    """σ of an AR(1) process over the RMS torque of each joint."""
    memory: float = 1.0
    """Its time constant, s."""
    unmodelled: bool = False
    """Whether friction has a Stribeck part and grows with load, where viscous and Coulomb friction are fitted."""
    gain_error: float = 0.0
    """Relative σ of the scale of each joint's torque, the same in all logs of a draw; `gain_std` says so."""
    drift: float = 0.0
    """Relative σ of each joint's friction between logs."""


SCENARIOS = (
    Scenario("white noise"),
    Scenario("AR(1) of 0.5 s", white=0.005, slow=0.02, memory=0.5),
    Scenario("AR(1) of 2 s", white=0.005, slow=0.02, memory=2.0),
    Scenario("unmodelled friction", unmodelled=True),
    Scenario("1 % gain error", gain_error=0.01),
    Scenario("2 % gain error", gain_error=0.02),
    Scenario("all together", white=0.01, slow=0.02, memory=2.0, unmodelled=True, gain_error=0.02, drift=0.05),
)


@dataclass(frozen=True, eq=False)
class Arm:
    """A simulated arm and three motions: to fit, to predict, and with a load."""

    model: TorqueModel
    theta: Array
    motions: tuple[Motion, Motion, Motion]
    size: Array
    """RMS torque of each joint in the first motion, N·m; noise is as large in every log."""

    @classmethod
    def of(cls, robot_name: str, *, unmodelled: bool) -> Arm:
        """The built-in robot with friction of a tenth of its torque each."""
        robot = load_robot(robot_name)
        rng = np.random.default_rng(7)
        motions = tuple(exciting_motion(robot, rng, duration=SECONDS, rate_hz=RATE_HZ) for _ in range(3))
        size = np.sqrt(np.mean(TorqueModel(robot).torque(motions[0], robot.nominal.ravel()) ** 2, axis=0))
        size = np.maximum(size, 0.02 * np.max(size))
        model = TorqueModel(robot, friction_models(f"{FITTED}+stribeck" if unmodelled else FITTED))
        theta = model.nominal()
        own = theta[model.n_inertial :].reshape(model.n_dof, -1)
        share = {"fv": 0.1, "fc": 0.1, "fo": 0.02, "fs": 0.03}
        for k, term in enumerate(model.terms):
            own[:, k] = share.get(term.symbol, 0.03) * size
        first, second, third = motions
        return cls(model, theta, (first, second, third), size)

    def log(
        self, which: int, scenario: Scenario, gains: Array, rng: np.random.Generator, *, loaded: bool = False
    ) -> Recording:
        """One log as the scenario has it."""
        motion, theta = self.motions[which], np.array(self.theta)
        own = theta[self.model.n_inertial :].reshape(self.model.n_dof, -1)
        own *= 1.0 + scenario.drift * rng.standard_normal((self.model.n_dof, 1))
        if loaded:
            theta[self.model.n_inertial - 10 : self.model.n_inertial] += LOAD.pi
        tau = self.model.torque(motion, theta)
        noise = scenario.white * rng.standard_normal(tau.shape)
        if scenario.slow:
            decay = np.exp(-1.0 / (scenario.memory * RATE_HZ))
            start = int(10 * scenario.memory * RATE_HZ)
            white = rng.standard_normal((len(tau) + start, tau.shape[1]))
            noise += scenario.slow * np.sqrt(1.0 - decay**2) * lfilter([1.0], [1.0, -decay], white, axis=0)[start:]
        names = self.model.robot.joint_names
        return Recording(
            names, motion.t, motion.q, motion.dq, tau=gains * tau + self.size * noise, source=f"log{which}"
        )


@dataclass(frozen=True)
class Draw:
    """What one draw of a scenario gave."""

    mass: float
    std: float
    torques: float
    """Share of the next run's torques inside their band."""
    width: float
    """Mean σ of the band over the RMS residual."""

    @property
    def held(self) -> bool:
        """Whether the 95 % interval holds the mass."""
        return abs(self.mass - LOAD.mass) <= 1.96 * self.std


def drawn(arm: Arm, scenario: Scenario, seed: int) -> Draw:
    """Identify, predict the next run, and weigh the load: the commands of a user on logs of one draw."""
    rng = np.random.default_rng(seed)
    gains = 1.0 + scenario.gain_error * rng.standard_normal(arm.model.n_dof)
    train, test, loaded = (arm.log(k, scenario, gains, rng, loaded=k == 2) for k in range(3))
    found = dynid.identify(
        arm.model.robot, train, validate=test, friction=FITTED, gain_std=scenario.gain_error, force=True
    )
    load = dynid.payload(found.model, loaded).load
    validation = found.validation[0]
    assert validation.band is not None
    ratio = float(np.mean(validation.band.prediction_std) / np.sqrt(np.mean(validation.residual**2)))
    return Draw(load.mass, load.mass_std, float(np.mean(validation.coverage)), ratio)


def simulated(robot: str, n_draws: int) -> Iterator[Item]:
    """Coverage in every scenario."""
    rows = []
    for scenario in SCENARIOS:
        arm = Arm.of(robot, unmodelled=scenario.unmodelled)
        draws = [drawn(arm, scenario, 1000 + k) for k in range(n_draws)]
        held = 100.0 * float(np.mean([draw.held for draw in draws]))
        torques = 100.0 * float(np.mean([draw.torques for draw in draws]))
        spread = float(np.std([draw.mass for draw in draws]))
        rows.append(
            (
                scenario.name,
                f"{held:.0f}",
                f"{torques:.1f}",
                f"{100.0 * np.mean([draw.mass for draw in draws]) / LOAD.mass - 100.0:+.2f}",
                f"{100.0 * spread / LOAD.mass:.2f}",
                f"{100.0 * np.mean([draw.std for draw in draws]) / LOAD.mass:.2f}",
            )
        )
        yield Line(f"{robot}, {scenario.name}: mass of the load held", held, 90.0, "%")
        yield Line(f"{robot}, {scenario.name}: mass of the load held, not always", held, 99.0, "%", "at most")
        yield Line(f"{robot}, {scenario.name}: torques of the next run in their band", torques, 92.0, "%")
        yield Line(f"{robot}, {scenario.name}: torques in their band, not all", torques, 98.0, "%", "at most")
    yield Table(
        f"{robot}, {n_draws} draws of each scenario, one run fitted",
        ("scenario", "mass held / %", "torques in band / %", "bias / %", "spread / %", "stated σ / %"),
        tuple(rows),
    )


def ur10e(folder: Path) -> Iterator[Item]:
    """Bands of each log by a model of the others, and the load of 14hLoad by each of these models."""
    rows, held, n_rows, wider = [], [], [], []
    models: list[IdentifiedModel] = []
    for left in UR10E_LOGS:
        others = [folder / f"{name}.csv.gz" for name in UR10E_LOGS if name != left]
        found = dynid.identify(folder / "ur10e.urdf", others, validate=folder / f"{left}.csv.gz", gains=UR10E_GAINS)
        validation = found.validation[0]
        models.append(found.model)
        ratio = float(np.mean(_widths(validation) / np.array(WIDTHS_BEFORE[left])))
        inside = float(np.mean(validation.coverage))
        held.append(inside)
        n_rows.append(len(validation.t))
        wider.append(ratio)
        rows.append(
            (left, f"{100 * inside:.1f}", f"{100 * validation.coverage_at_rest:.1f}", f"{ratio:.2f}", "92–98, ≥ 85")
        )
    yield Table("UR10e, log left out", ("log", "in band / %", "standstill / %", "width ×", "asked"), tuple(rows))
    overall = 100.0 * float(np.average(held, weights=n_rows))
    yield Line("UR10e, left-out torques in their band, all logs", overall, 92.0, "%")
    yield Line("UR10e, left-out torques in their band, not all", overall, 98.0, "%", "at most")
    yield Line("UR10e, left-out torques in their band, worst log", 100.0 * min(held), 92.0, "%")
    yield Line("UR10e, width of the bands over that of commit cbe0ffe", float(np.mean(wider)), 1.7, "×", "at most")
    whole = dynid.identify(folder / "ur10e.urdf", [folder / f"{name}.csv.gz" for name in UR10E_LOGS], gains=UR10E_GAINS)
    named = [(f"without {left}", model) for left, model in zip(UR10E_LOGS, models, strict=True)]
    single = [
        (f"{name} alone", dynid.identify(folder / "ur10e.urdf", folder / f"{name}.csv.gz", gains=UR10E_GAINS).model)
        for name in UR10E_LOGS[:3]
    ]
    for name, model in [("four logs", whole.model), *named, *single]:
        yield from _weighed(name, model, folder)


def _widths(validation: Validation) -> Array:
    assert validation.band is not None
    return np.mean(validation.band.prediction_std, axis=0)


def _weighed(name: str, model: IdentifiedModel, folder: Path) -> Iterator[Item]:
    load = dynid.payload(model, folder / "14hLoad.csv.gz").load
    error = 100.0 * (load.mass / UR10E_LOAD - 1.0)
    yield Line(f"UR10e load by {name}: error", abs(error), 1.0, "%", "at most")
    yield Line(f"UR10e load by {name}: σ", 100.0 * load.mass_std / load.mass, 2.5, "%", "at most")
    yield Line(f"UR10e load by {name}: error over σ", abs(load.mass - UR10E_LOAD) / load.mass_std, 1.96, "", "at most")


def other_arms(data: Path) -> Iterator[Item]:
    """Bands of held-out logs, or of the second part of a log, of the other measured arms."""
    rows = []
    runs = {"lwr4": ("robot.urdf", ("run1", "run2", "run3")), "kr300": ("robot.toml", ("runA", "runB", "runC"))}
    for arm, (robot, logs) in runs.items():
        for left in logs:
            others = [data / arm / f"{name}.csv.gz" for name in logs if name != left]
            found = dynid.identify(data / arm / robot, others, validate=data / arm / f"{left}.csv.gz", force=True)
            rows.append(_row(f"{arm} {left}", found.validation[0]))
    halves = {
        "panda": ("panda", "excitation_log", 14.0),
        "panda30": ("panda", "log", 16.0),
        "ur10": (None, "log", 20.0),
    }
    for arm, (built_in, log, cut) in halves.items():
        path = data / arm / f"{log}.csv.gz"
        model = dynid.identify(built_in or data / arm / "robot.urdf", path, until=cut).model
        rows.append(_row(f"{arm} from {cut:g} s", dynid.validate(model, path, from_=cut).validation[0]))
    yield Table("Other arms, what was left out", ("log", "error / %", "in band / %", "standstill / %"), tuple(rows))


def _row(name: str, validation: Validation) -> tuple[str, ...]:
    inside, rest = 100.0 * float(np.mean(validation.coverage)), 100.0 * validation.coverage_at_rest
    return (name, f"{validation.error.relative_percent:.2f}", f"{inside:.1f}", f"{rest:.1f}")


def run(*, quick: bool = False) -> Iterator[Item]:
    """Simulated scenarios, then measured arms where their data are."""
    yield from simulated("planar2r" if quick else "panda", 2 if quick else 60)
    data = os.environ.get("DYNID_DATA")
    if quick or not data:
        yield Note("measured arms skipped" + ("" if quick else ": DYNID_DATA does not name their folder"))
        return
    yield from ur10e(Path(data) / "ur10e")
    yield from other_arms(Path(data))
