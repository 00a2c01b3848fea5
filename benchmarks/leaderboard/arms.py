"""The arms of the leaderboard: seven measured ones whose logs are public, and three simulated ones with known truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynid
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import Robot
from dynid.review.findings import repaired_map
from dynid.writers.urdf import urdf_text

UR10E_GAINS = (11.976, 11.976, 9.8387, 10.763, 10.763, 10.763)
"""N·m/A, from the controller's own target torque over target current; see `dynid data list`."""
WRONG = 0.2
"""How far the nominal links of simulated arms are off, relative: mass and size of each link by up to this share."""


@dataclass(frozen=True)
class Sheet:
    """Mass that the maker states, base included, and where."""

    mass: float
    """kg."""
    source: str


@dataclass(frozen=True)
class Arm:
    """A robot, the logs it is fitted on, and the log it is judged by."""

    name: str
    robot: str
    """Built-in name or path of the robot file."""
    train: tuple[Path, ...]
    held_out: Path
    split: float | None = None
    """Time in s at which a single log is cut into what is fitted and what is held out."""
    gains: tuple[float, ...] | None = None
    """N·m/A, where the log holds motor currents."""
    columns: Path | None = None
    """The column map that the doctor wrote."""
    sheet: Sheet | None = None
    rate_note: str = ""
    """What the log is, for the page."""


def measured(data: Path, folder: Path) -> Iterator[Arm]:
    """The arms whose logs are in `data`; maps that a log needs are written into `folder`."""

    def one(arm: str, name: str) -> Path:
        return data / arm / f"{name}.csv.gz"

    panda = Sheet(18.0, "Franka Emika, Panda data sheet: about 18 kg")
    log = one("panda", "excitation_log")
    yield Arm("panda", "panda", (log,), log, 14.0, sheet=panda, rate_note="1 kHz, link-side torque sensors")
    log = one("panda30", "log")
    yield Arm("panda30", "panda", (log,), log, 16.0, sheet=panda, rate_note="30 Hz, through ROS 2")
    yield Arm(
        "ur10e",
        str(data / "ur10e" / "ur10e.urdf"),
        (one("ur10e", "30s12h"),),
        one("ur10e", "20s8h"),
        gains=UR10E_GAINS,
        sheet=Sheet(33.5, "Universal Robots, UR10e technical specifications: 33.5 kg with cable"),
        rate_note="94 Hz, motor currents",
    )
    log = one("ur10", "log")
    sheet = Sheet(28.9, "Universal Robots, UR10 technical specifications: 28.9 kg with cable")
    yield Arm("ur10", str(data / "ur10" / "robot.urdf"), (log,), log, 20.0, sheet=sheet, rate_note="125 Hz")
    yield Arm(
        "lwr4",
        str(data / "lwr4" / "robot.urdf"),
        (one("lwr4", "run2"), one("lwr4", "run3")),
        one("lwr4", "run1"),
        sheet=Sheet(16.0, "KUKA, LWR4+ specification: 16 kg"),
        rate_note="200 Hz, joint torque sensors, filtered before it was stored",
    )
    yield Arm(
        "kr300",
        str(data / "kr300" / "robot.toml"),
        (one("kr300", "runA"), one("kr300", "runB")),
        one("kr300", "runC"),
        sheet=Sheet(1120.0, "KUKA, KR QUANTEC extra data sheet: about 1120 kg"),
        rate_note="250 Hz, motor torque times gear; no nominal inertias",
    )
    yield _med7(data, folder)


def _med7(data: Path, folder: Path) -> Arm:
    """The arm whose controller counts torque the other way round, read with the map that the doctor writes."""
    robot, log = data / "med7" / "robot.urdf", data / "med7" / "log.csv.gz"
    found = dynid.examine(robot, log)
    columns = folder / "med7-map.toml"
    columns.write_text(repaired_map(None, found.findings), encoding="utf-8")
    sheet = Sheet(25.5, "KUKA, LBR Med 7 R800 specification: 25.5 kg")
    note = "100 Hz, positions and torque only; every torque negated"
    return Arm("med7", str(robot), (log,), log, 12.0, columns=columns, sheet=sheet, rate_note=note)


def simulated(folder: Path, *, duration: float = 20.0) -> Iterator[Arm]:
    """Arms with known truth in closed loop, whose robot files are off by up to `WRONG`; logs lie in `folder`."""
    wam, panda = dynid.load_robot("wam7"), dynid.load_robot("panda")
    yield _simulated("sim-wam7", wam, folder, seed=1, duration=duration, rate=200.0, friction="viscous+stribeck+offset")
    coarse = {"encoder_counts": 4096.0, "velocity": "none", "noise_q": 0.0}
    yield _simulated(
        "sim-servo", wam, folder, seed=2, duration=duration, rate=100.0, friction="viscous+coulomb", **coarse
    )
    yield _simulated("sim-panda", panda, folder, seed=3, duration=duration, rate=500.0, friction="viscous+tanh+offset")


def _simulated(
    name: str, truth: Robot, folder: Path, *, seed: int, duration: float, rate: float, friction: str, **sensors: Any
) -> Arm:
    rng = np.random.default_rng(seed)
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    robot = place / "robot.urdf"
    links = [_off(InertialParameters(pi), rng) for pi in truth.nominal]
    robot.write_text(urdf_text(truth, tuple(links)), encoding="utf-8")
    logs = []
    for k, part in enumerate(("train", "held_out")):
        run = dynid.simulate(
            truth, friction=friction, seed=100 * seed + k, duration=duration, rate=rate, closed_loop=True,
            wrong=0.1, noise_tau="2%", **sensors,
        )  # fmt: skip
        file = place / f"{part}.csv"
        dynid.save(run, file)
        logs.append(file)
    mass = float(np.sum(truth.nominal[:, 0]))
    note = f"{rate:g} Hz, {friction}, simulated; robot file up to {100 * WRONG:.0f} % wrong"
    return Arm(name, str(robot), (logs[0],), logs[1], sheet=Sheet(mass, "the truth"), rate_note=note)


def _off(link: InertialParameters, rng: np.random.Generator) -> InertialParameters:
    """The link heavier or lighter, longer or shorter than it is; still a body."""
    mass, size = 1.0 + rng.uniform(-WRONG, WRONG, 2)
    return InertialParameters.from_com(mass * link.mass, size * link.com, mass * size**2 * link.inertia_com)
