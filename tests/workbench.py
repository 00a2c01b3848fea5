"""The table of a reader of the documentation: an arm of three joints, and logs of it under the names that pages use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.chain import InertialParameters, Robot, load_robot
from dynid.dynamics import LagrangianModel, TorqueModel, base_parameters, friction_models
from dynid.recording import write_csv
from dynid.recording.recording import Recording
from dynid.simulation.motions import MotionKind, smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import plausible_parameters, synthesise

ARM = """<?xml version="1.0"?>
<!-- An arm of three joints, as a student might have drawn it. -->
<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.02 0.01 0.15"/><mass value="3.2"/>
      <inertia ixx="0.031" ixy="0.001" ixz="0.002" iyy="0.030" iyz="0.001" izz="0.012"/></inertial>
  </link>
  <link name="fore">
    <inertial><origin xyz="0.16 0.01 0.02"/><mass value="2.1"/>
      <inertia ixx="0.008" ixy="0.001" ixz="0.000" iyy="0.021" iyz="0.001" izz="0.020"/></inertial>
  </link>
  <link name="hand">
    <inertial><origin xyz="0.06 0.02 0.03"/><mass value="0.9"/>
      <inertia ixx="0.002" ixy="0.0002" ixz="0.0001" iyy="0.003" iyz="0.0002" izz="0.0025"/></inertial>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.2"/>
    <axis xyz="0 0 1"/><limit lower="-2.8" upper="2.8" velocity="2.5" effort="60"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0 0.05 0.3"/>
    <axis xyz="0 1 0"/><limit lower="-2.4" upper="2.4" velocity="2.5" effort="60"/></joint>
  <joint name="wrist" type="revolute"><parent link="fore"/><child link="hand"/><origin xyz="0.32 0 0"/>
    <axis xyz="1 0 0.2"/><limit lower="-2.9" upper="2.9" velocity="3.5" effort="20"/></joint>
</robot>
"""
GAINS = (11.9, 9.8, 8.4)
"""N·m/A"""
GEARS = np.array([101.0, 101.0, 50.0])
SENSORS = SensorModel(q_noise=Level(absolute=1e-5), dq_noise=Level(absolute=5e-4), tau_noise=Level(relative=0.01))
LOAD = InertialParameters.from_order([1.5, 0.05, -0.02, 0.06, 0.006, 0.0005, -0.0005, 0.007, 0.0003, 0.005], "urdf")
"""What the arm carries in the logs with a load."""


def make_workbench(folder: Path, rng: np.random.Generator) -> None:
    """Write the arm, its logs, bounds and what a controller told into a folder."""
    (folder / "arm.urdf").write_text(ARM, encoding="utf-8")
    robot = load_robot(folder / "arm.urdf")
    for name in ("run", "run1", "run2", "run3", "log", "without", "sinusoids"):
        kind: MotionKind = "sinusoids" if name == "sinusoids" else "fourier"
        write_csv(_log(robot, rng, SENSORS, kind=kind), folder / f"{name}.csv")
    links = np.array(robot.nominal)
    links[-1] += LOAD.pi
    loaded = robot.with_nominal({robot.link_names[-1]: InertialParameters(links[-1])})
    friction = plausible_parameters(_model(robot))[10 * robot.n_dof :]
    write_csv(_log(loaded, rng, SENSORS, friction), folder / "with_load.csv")
    drives = replace(SENSORS, drive_gains=GAINS)
    write_csv(_log(robot, rng, drives), folder / "currents.csv")
    write_csv(_log(loaded, rng, drives, friction), folder / "currents_loaded.csv")
    _write_vendor(_log(robot, rng, SENSORS), folder / "vendor.csv")
    _write_motor(_log(robot, rng, SENSORS), folder / "motor.csv")
    (folder / "bounds.csv").write_text("parameter,lower,upper\nm1,1,6\nm2,1,4\nm3,0.3,2\nc2x,0,0.3\n", encoding="utf-8")
    _write_controller(robot, rng, folder / "controller_model.csv")
    _write_pick(robot, loaded, rng, folder / "pick.csv")


def _model(robot: Robot) -> TorqueModel:
    return TorqueModel(robot, friction_models("viscous+coulomb+offset"))


def _log(
    robot: Robot,
    rng: np.random.Generator,
    sensors: SensorModel,
    friction: Array | None = None,
    kind: MotionKind = "fourier",
) -> Recording:
    model = _model(robot)
    theta = plausible_parameters(model)
    if friction is not None:
        theta[10 * robot.n_dof :] = friction
    motion = smooth_motion(robot, rng, kind=kind, duration=20.0, rate_hz=200.0)
    return synthesise(model, motion, rng, theta=theta, sensors=sensors).recording


def _write_pick(empty: Robot, loaded: Robot, rng: np.random.Generator, path: Path) -> None:
    """One motion whose load is picked up after 8 s and placed after 16 s."""
    friction = plausible_parameters(_model(empty))[10 * empty.n_dof :]
    motion = smooth_motion(empty, rng, kind="fourier", duration=20.0, rate_hz=200.0)
    seed = int(rng.integers(2**31))
    runs = []
    for robot in (empty, loaded):
        model = _model(robot)
        theta = plausible_parameters(model)
        theta[10 * robot.n_dof :] = friction
        runs.append(synthesise(model, motion, np.random.default_rng(seed), theta=theta, sensors=SENSORS).recording)
    without, carried = runs
    held = ((without.t >= 8.0) & (without.t < 16.0))[:, None]
    write_csv(replace(without, tau=np.where(held, carried.tau, without.tau)), path)


def _write(path: Path, columns: dict[str, Array]) -> None:
    table = np.column_stack(list(columns.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.10g")


def _write_vendor(log: Recording, path: Path) -> None:
    """Milliseconds, degrees, names of its own, and an elbow whose torque is turned round."""
    sign = np.array([1.0, -1.0, 1.0])
    columns = {"stamp": 1e3 * log.t}
    for j in range(3):
        columns[f"position_{j + 1}"] = np.degrees(log.q[:, j])
        columns[f"speed_{j + 1}"] = np.degrees(log.dq[:, j])
        columns[f"effort_{j + 1}"] = sign[j] * log.tau[:, j]
    _write(path, columns)


def _write_motor(log: Recording, path: Path) -> None:
    """Torques before the gears."""
    columns = {"t": log.t}
    for j in range(3):
        columns |= {f"q{j + 1}": log.q[:, j], f"dq{j + 1}": log.dq[:, j]}
        columns[f"motor_torque_{j + 1}"] = log.tau[:, j] / GEARS[j]
    _write(path, columns)


def _write_controller(robot: Robot, rng: np.random.Generator, path: Path) -> None:
    """M(q) and g(q) at 200 still postures."""
    model = TorqueModel(robot)
    base = base_parameters(model)
    q = rng.uniform(-2.0, 2.0, (200, 3))
    lagrangian = LagrangianModel(model, base, base.project(model.nominal()))
    M, g = lagrangian.inertia_matrix(q), lagrangian.gravity(q)
    columns = {f"q{j + 1}": q[:, j] for j in range(3)}
    columns |= {f"M{i + 1}{j + 1}": M[:, i, j] for i in range(3) for j in range(i + 1)}
    columns |= {f"g{j + 1}": g[:, j] for j in range(3)}
    _write(path, columns)
