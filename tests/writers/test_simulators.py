"""Exports for simulators keep friction, or refit it and say what that lost; what simulates far worse is not written."""

from __future__ import annotations

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest

import dynid
from dynid.arrays import Array
from dynid.cli import main
from dynid.dynamics import FRICTION, Motion, RotorInertia, TorqueModel, friction_models
from dynid.dynamics.friction.mujoco import MUJOCO_RATE
from dynid.errors import LossyExport
from dynid.recording import write_csv
from dynid.regression.recast import LoggedMotion, PassiveRows, recast_friction
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.mujoco_arm import MujocoArm
from dynid.simulation.synthetic import plausible_parameters

ROBOT = "spatial2r"


def waves(seed: int, n_dof: int, n: int = 4000) -> Motion:
    """Every joint on three sines, at 200 Hz."""
    rng = np.random.default_rng(seed)
    t = np.arange(n) / 200.0
    w = 2.0 * np.pi * np.array([0.2, 0.35, 0.6])
    x = w[:, None] * t + rng.uniform(0.0, 6.0, (n_dof, 3, 1))
    a = rng.uniform(0.3, 0.6, (n_dof, 3))
    q, dq, ddq = (
        np.einsum("jk,jkn->nj", size, wave)
        for size, wave in ((a, np.sin(x)), (a * w, np.cos(x)), (a * w**2, -np.sin(x)))
    )
    return Motion(t, q, dq, ddq)


def identified(folder: Path, friction: str) -> str:
    """model.json of an arm with this friction, and its training log beside it."""
    robot = dynid.load_robot(ROBOT)
    model = TorqueModel(robot, (RotorInertia(), *friction_models(friction)))
    theta = plausible_parameters(model, values={"Ia": 0.05})
    motion = waves(3, robot.n_dof)
    rng = np.random.default_rng(1)
    tau = model.torque(motion, theta)
    tau = tau + 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    log = folder / "log.csv"
    write_csv(dynid.Recording(robot.joint_names, motion.t, motion.q, dq=motion.dq, tau=tau), log)
    result = dynid.identify(ROBOT, log, friction=friction, rotor_inertia=True)
    dynid.save(result, folder / "result")
    return str(folder / "result" / "model.json")


@pytest.mark.parametrize("friction", ["viscous+tanh", "viscous+sigmoid", "viscous+coulomb+stribeck", "viscous+mujoco"])
@pytest.mark.whole
def test_an_exported_file_moves_in_mujoco_as_its_model_does_or_is_not_written(friction, tmp_path, capsys):
    model, out = identified(tmp_path, friction), tmp_path / "arm.xml"
    code = main(["export", model, "--to", "mjcf", "--out", str(out), "--json"])
    told = capsys.readouterr()
    if code == 1:
        assert "not written" in told.err
        assert not out.exists()
        return
    assert code == 0
    found = json.loads(told.out)
    if friction != "viscous+mujoco":
        assert any("were refitted over the training log" in text for text in found["notices"])
    assert not found["left_out"] or all("limits" in text for text in found["left_out"])
    result = dynid.rollout(model, tmp_path / "log.csv", in_=f"mujoco:{out}", window=0.5)
    own, file = (entry.open_loop for entry in result.models[:2])
    assert own is not None
    assert file is not None
    assert np.linalg.norm(file.rms(0.5)) <= 1.35 * np.linalg.norm(own.rms(0.5))  # other windows than the export's


def test_a_file_that_simulates_far_worse_is_written_by_force_alone(tmp_path, capsys, monkeypatch):
    model, out = identified(tmp_path, "viscous+tanh"), tmp_path / "arm.xml"
    monkeypatch.setattr("dynid.writers.likeness.FAR", 0.0)
    with pytest.raises(LossyExport, match=r"not written, after 0.5 s open loop.*force"):
        dynid.export(model, "mjcf", out)
    assert main(["export", model, "--to", "mjcf", "--out", str(out)]) == 1
    assert "--force" in capsys.readouterr().err
    assert not out.exists()
    done = dynid.export(model, "mjcf", out, force=True)
    assert any("simulates far worse" in text for text in done.notices)


def test_without_its_log_a_model_is_refitted_over_the_motion_it_keeps(tmp_path):
    model, out = identified(tmp_path, "viscous+tanh"), tmp_path / "arm.xml"
    (tmp_path / "log.csv").unlink()
    done = dynid.export(model, "mjcf", out)
    (said,) = (text for text in done.notices if "the motion that the model keeps" in text)
    assert said.endswith("% of the torque of friction and rotors")  # the model keeps no other torque to compare with
    known = dynid.load_model(model)
    truth = known.parameters[known.model.index("ft1")]
    loss = float(mujoco.MjModel.from_xml_path(str(out)).dof_frictionloss[0])
    np.testing.assert_allclose(loss, truth, rtol=0.05)


def test_a_constant_torque_is_kept_as_a_motor_whose_zero_is_off(tmp_path):
    model, out = identified(tmp_path, "viscous+coulomb+offset"), tmp_path / "arm.xml"
    dynid.export(model, "mjcf", out)
    known = dynid.load_model(model)
    compiled = mujoco.MjModel.from_xml_path(str(out))
    offsets = [known.parameters[known.model.index(f"fo{j}")] for j in (1, 2)]
    # The refit sees the log, the parameters the prior too.
    np.testing.assert_allclose(-compiled.actuator_biasprm[:, 0], offsets, atol=0.02 * np.max(np.abs(offsets)) + 0.01)


@pytest.mark.parametrize("slip", [1e-3, 0.05])
def test_friction_as_mujoco_applies_it_is_exported_exactly(slip, tmp_path):
    """A fit in MuJoCo's own friction moves in MuJoCo as in dynid, to the order of MuJoCo's steps."""
    robot = dynid.load_robot(ROBOT)
    soft = friction_models("mujoco")[0].reshaped(((slip,),))
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous"), soft))
    theta = plausible_parameters(model, values={"Ia": 0.2})
    base = dynid.base_parameters(model)
    known = dynid.IdentifiedModel(
        model, base, "truth", "", base.project(theta), np.eye(base.n_base), theta=theta,
        labels=("identified",) * len(theta),
    )  # fmt: skip
    out = tmp_path / "arm.xml"
    dynid.export(known, "mjcf", out)
    arm = MujocoArm.of(out, robot)
    arm.compiled.opt.timestep = 1e-4
    assert arm.compiled.dof_solref[0, 0] == pytest.approx(0.02)
    motion = waves(5, robot.n_dof, 200)
    fine = np.repeat(model.torque(motion, theta)[:120], 50, axis=0)
    mine = SimulatedArm.of(model, theta, 3.0).run(motion.q[0], motion.dq[0], fine, 1e-4)
    theirs = arm.run(motion.q[0], motion.dq[0], fine, 1e-4)
    assert np.ptp(mine.q, axis=0).min() > 0.1
    np.testing.assert_allclose(theirs.q, mine.q, atol=1e-3)


def test_a_refit_recovers_friction_that_is_mujoco_s(rng):
    motion = waves(1, 2)
    truth = {"damping": np.array([1.0, 0.5]), "dry": np.array([3.0, 1.0]), "rotor": np.array([0.2, 0.1])}
    slip = np.array([0.01, 0.03])
    curve = np.clip((motion.ddq / MUJOCO_RATE + motion.dq) / slip, -1.0, 1.0)
    tau = truth["damping"] * motion.dq + truth["dry"] * curve + truth["rotor"] * motion.ddq
    found = recast_friction(PassiveRows.of_motion(LoggedMotion(motion.dq, motion.ddq, tau)), "mujoco")
    for name, values in truth.items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=0.02)
    np.testing.assert_array_equal(found.rate, [MUJOCO_RATE] * 2)
    np.testing.assert_allclose(found.slip, slip, rtol=0.2)  # the grid's last step


def test_actuators_hold_what_the_joints_have(tmp_path):
    model, out = identified(tmp_path, "viscous+coulomb+stribeck"), tmp_path / "arm.yaml"
    assert main(["export", model, "--to", "yaml", "--out", str(out)]) == 0
    known = dynid.load_model(model)
    numbers = _yaml(out.read_text(encoding="utf-8"))
    assert set(numbers) == set(known.robot.joint_names)
    for j, name in enumerate(known.robot.joint_names, start=1):
        value = {symbol: known.parameters[known.model.index(f"{symbol}{j}")] for symbol in ("fc", "fs", "fv", "Ia")}
        row = numbers[name]
        assert row["static_friction"] == pytest.approx(value["fc"] + value["fs"], rel=0.05)
        assert row["dynamic_friction"] <= row["static_friction"]
        assert row["dynamic_friction"] == pytest.approx(value["fc"], rel=0.25)
        assert row["armature"] == pytest.approx(value["Ia"], rel=0.3, abs=0.01)


def _yaml(text: str) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("    "):
            key, value = line.split(":")
            found[name][key.strip()] = float(value)
        elif line.startswith("  "):
            name = line.strip(" :")
            found[name] = {}
    return found


TETRAHEDRON = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], dtype=np.float32)


def _stl() -> bytes:
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(np.zeros(3, "<f4").tobytes() + TETRAHEDRON[list(f)].tobytes() + b"\0\0" for f in faces)
    return b"\0" * 80 + np.uint32(len(faces)).tobytes() + body


def test_a_copy_in_another_folder_finds_its_meshes(tmp_path):
    home, away = tmp_path / "robot", tmp_path / "out" / "deep"
    (home / "meshes").mkdir(parents=True)
    away.mkdir(parents=True)
    (home / "meshes" / "part.stl").write_bytes(_stl())
    (home / "arm.xml").write_text(
        '<mujoco><compiler angle="radian" meshdir="meshes"/><asset><mesh name="part" file="part.stl"/></asset>'
        '<worldbody><body name="link"><inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/>'
        '<joint name="j" axis="0 1 0"/><geom type="mesh" mesh="part"/></body></worldbody></mujoco>'
    )
    robot = dynid.load_robot(home / "arm.xml")
    model = TorqueModel(robot, friction_models("viscous"))
    theta: Array = np.append(model.nominal()[:10] * 1.1, 0.5)
    base = dynid.base_parameters(model)
    known = dynid.IdentifiedModel(
        model, base, "truth", "", base.project(theta), np.eye(base.n_base), theta=theta, labels=("identified",) * 11
    )
    done = dynid.export(known, "mjcf", away / "arm.xml", template=home / "arm.xml")
    assert any("looks for them in ../../robot/meshes" in text for text in done.notices)
    assert "MuJoCo" in done.checked_by
    assert mujoco.MjModel.from_xml_path(str(away / "arm.xml")).nmesh == 1


def test_every_friction_model_has_a_place_or_a_refit():
    """The table of models is what the simulators' files are made for; a new one must be simulated or refused."""
    for name in FRICTION:
        model = TorqueModel(dynid.load_robot(ROBOT), friction_models(name))
        assert SimulatedArm.of(model, plausible_parameters(model), 1.0).resistance is not None
