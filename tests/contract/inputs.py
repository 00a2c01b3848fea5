"""The files that the runs of the contract read: robots, logs, faulty logs, and settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.contract.arm import ELBOW, LOAD_MASS, SHOULDER, Arm, Motion

TRAIN = Motion((0.31, 0.47))
TEST = Motion((0.39, 0.28), duration=8.0, phase=0.7)
SLOW = Motion((0.02, 0.03), duration=8.0, size=0.05)
NOISE = 0.02
"""Standard deviation of the torques, N·m."""
GAINS = np.array([8.0, 5.0])
"""Of the drives, N·m/A."""
HEADER = "t,q1,q2,dq1,dq2,tau1,tau2"
MANIFEST = """[defaults]
estimator = "ols"
friction = "viscous+coulomb+offset"
delay = 0
lowpass = 12

[[run]]
name = "good"
robot = "arm.urdf"
logs = "train.csv"
validate = ["test.csv"]
estimator = "feasible"

[[run]]
name = "missing"
robot = "arm.urdf"
logs = ["no-such-log.csv"]
"""
CONFIG = """estimator = "ols"
friction = "viscous+coulomb+offset"
delay = 0
lowpass = 12.0
validate = ["test.csv"]
json = true
"""
BOUNDS = "parameter,lower,upper\nm1,1,8\nm2,0.5,4\nc1x,0,0.4\n"
DEMANDS = """total_mass = [5.0, 7.0]

[bounds]
c2x = [0.0, 0.4]

[shape.shoulder_link]
type = "cylinder"
start = [-0.1, 0.0, 0.0]
end = [0.5, 0.0, 0.0]
radius = 0.1
"""
TABLE = """name = "table arm"
convention = "modified"
gravity = [0.0, -9.81, 0.0]
[[joint]]
name = "shoulder"
a = 0.0
alpha = 0.0
d = 0.0
position_limits = [-2.9, 2.9]
velocity_limit = 2.17
effort_limit = 87.0
[[joint]]
name = "elbow"
a = 0.4
alpha = 0.0
d = 0.0
"""
COLUMNS = """[columns]
t = "stamp"
q = "position_{n}"
dq = "speed_{n}"
tau = "effort_{n}"

[units]
t = "ms"
q = "deg"
dq = "deg/s"

[signs]
elbow.tau = -1
"""


def write_inputs(folder: Path) -> None:
    """Write every file that a run of the contract names; the same bytes each time."""
    arm = Arm()
    (folder / "arm.urdf").write_text(arm.urdf(), encoding="utf-8")
    impossible = Arm((replace(SHOULDER, inertia=(0.02, 0.07, 0.5)), ELBOW))
    (folder / "impossible.urdf").write_text(impossible.urdf(), encoding="utf-8")
    texts = {
        "table.toml": TABLE,
        "arms.toml": MANIFEST,
        "options.toml": CONFIG,
        "bounds.csv": BOUNDS,
        "heavy.csv": "parameter,lower,upper\nm1,8,9\n",
        "demands.toml": DEMANDS,
        "vendor.toml": COLUMNS,
        "broken.urdf": "<robot",
        "broken.json": "{",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    train, test = rows(arm, TRAIN, 1), rows(arm, TEST, 2)
    loaded, half = rows(arm.loaded(), TEST, 3), len(train) // 2
    save(folder / "train.csv", train)
    save(folder / "test.csv", test)
    save(folder / "loaded.csv", loaded)
    save(folder / "pick.csv", np.vstack([train[:half], rows(arm.loaded(), TRAIN, 1)[half:]]))
    save(folder / "slow.csv", rows(arm, SLOW, 4))
    for name, log in (("currents", train), ("currents-loaded", rows(arm.loaded(), TRAIN, 5))):
        save(folder / f"{name}.csv", np.column_stack([log[:, :5], log[:, 5:] / GAINS]), HEADER.replace("tau", "i"))
    np.savez(folder / "test.npz", t=test[:, 0], q=test[:, 1:3], dq=test[:, 3:5], tau=test[:, 5:])
    save(folder / "test.csv.gz", test)
    vendor = np.column_stack([1e3 * test[:, 0], np.rad2deg(test[:, 1:5]), test[:, 5], -test[:, 6]])
    save(folder / "vendor.csv", vendor, "stamp,position_1,position_2,speed_1,speed_2,effort_1,effort_2")
    t, q, dq, ddq = TRAIN.columns
    save(folder / "motion.csv", np.column_stack([t, q, dq, ddq]), "t,q1,q2,dq1,dq2,ddq1,ddq2")
    postures = np.random.default_rng(6).uniform(-1.5, 1.5, (40, 2))
    save(folder / "controller.csv", arm.controller(postures), "q1,q2,M11,M21,M22,g1,g2")
    save(folder / "ur-rows.csv", np.column_stack([0.01 * np.arange(300), np.ones((300, 30))]), "")
    _write_faults(folder, train)


def _write_faults(folder: Path, train) -> None:
    """Copies of the training log with one fault each."""
    flipped, degrees, swapped, holed = (train.copy() for _ in range(4))
    flipped[:, 6] *= -1.0
    degrees[:, 1:5] = np.rad2deg(degrees[:, 1:5])
    swapped[:, 5:] = swapped[:, [6, 5]]
    holed[100, 1] = np.nan
    for name, log in (("flipped", flipped), ("degrees", degrees), ("swapped", swapped), ("nan", holed)):
        save(folder / f"{name}.csv", log)
    save(folder / "backwards.csv", np.vstack([train[:200], train[100:]]))
    save(folder / "ten-rows.csv", train[:10])
    save(folder / "no-torque.csv", train[:, :5], HEADER.split(",tau1")[0])
    still = train.copy()
    still[:, 1:] = still[0, 1:]
    save(folder / "still.csv", still)
    (folder / "empty.csv").write_text("", encoding="utf-8")


def rows(arm: Arm, motion: Motion, seed: int):
    """A log: t, q, dq, tau."""
    t, q, dq, ddq = motion.columns
    rng = np.random.default_rng(seed)
    return np.column_stack([t, q, dq, arm.torque(q, dq, ddq) + NOISE * rng.standard_normal(q.shape)])


def save(path: Path, table, header: str = HEADER) -> None:
    """Write a table with enough digits that nothing is lost which a figure would show."""
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.10g")


GAINS_TEXT = ",".join(f"{gain:g}" for gain in GAINS)
MASS_TEXT = f"{LOAD_MASS:g}"
