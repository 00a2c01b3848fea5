"""MJCF exports, fresh and in place, read back by MuJoCo's own inverse dynamics."""

import builtins
import re

import mujoco
import numpy as np
import pytest

from dynid import load_robot
from dynid.chain import InertialParameters
from dynid.dynamics import random_motion
from dynid.errors import ExportError
from dynid.writers import mjcf, write_mjcf
from dynid.writers.exported import ExportOptions
from tests.writers.exported import inconsistent, model_of, sliding_arm

ARM = """<mujoco model="arm">
  <compiler angle="degree" eulerseq="zyx"/>
  <!-- kept -->
  <option gravity="0 0.5 -9.7" timestep="0.001"/>
  <default><joint damping="3" armature="0.4"/><default class="wrist"><joint frictionloss="2"/></default></default>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="upper" pos="0 0 0.3" euler="10 20 30">
      <inertial mass="2" pos="0 0.02 0.1" euler="5 0 0" diaginertia="0.02 0.03 0.025"/>
      <joint name="shoulder"   axis="0 0 1" range="-170 170"/>
      <geom type="capsule" size="0.05 0.1"/>
      <body name="fore" pos="0 0.4 0"><joint name="elbow" class="wrist" axis="0 1 0" pos="0 0.01 0" ref="20"/>
        <geom type="box" size="0.05 0.05 0.1" density="500"/>
        <body name="tool" pos="0.1 0 0" quat="0.9 0.1 0 0">
          <inertial mass="0.4" pos="0.01 0 0" fullinertia="0.001 0.002 0.0015 0.0001 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="shoulder" ctrlrange="-40 40"/></actuator>
</mujoco>
"""


def mujoco_torque(text, robot, motion):
    """Inverse dynamics as MuJoCo does it; dry friction as hard as it can be, without limits and contacts."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT)
    model.dof_solimp[:, :2] = 0.9999
    model.dof_solref[:] = (-1.0, -1e9)
    data = mujoco.MjData(model)
    tau = np.empty(motion.q.shape)
    rows = [int(model.joint(name).dofadr[0]) for name in robot.joint_names]
    for k in range(motion.n_samples):
        data.qpos[rows], data.qvel[rows], data.qacc[rows] = motion.q[k], motion.dq[k], motion.ddq[k]
        mujoco.mj_inverse(model, data)
        tau[k] = data.qfrc_inverse[rows]
    return tau


def agree(model, path, rng, n_states=1000):
    robot = model.model.robot
    motion = random_motion(robot, n_states, rng)
    mine = model.model.torque(motion, model.theta)
    theirs = mujoco_torque(path.read_text(), robot, motion)
    np.testing.assert_allclose(theirs, mine, rtol=0.0, atol=1e-6 * np.abs(mine).max())  # the figure of exports


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text(ARM)
    return path


@pytest.mark.parametrize("name", ["panda", "wam7", "spatial2r", "sliding arm"])
def test_a_fresh_mjcf_agrees_with_mujoco_on_a_thousand_random_states(name, rng, tmp_path):
    robot = sliding_arm(rng) if name == "sliding arm" else load_robot(name)
    model = model_of(robot, rng)
    done = write_mjcf(model, tmp_path / "robot.xml")
    assert "MuJoCo" in done.checked_by
    agree(model, tmp_path / "robot.xml", rng)
    again = load_robot(tmp_path / "robot.xml")
    assert again.joint_names == robot.joint_names
    np.testing.assert_allclose(again.gravity, robot.gravity, rtol=1e-15)


@pytest.mark.data
def test_the_mjcf_of_a_ur10e_agrees_with_mujoco(rng, tmp_path, data_dir):
    model = model_of(load_robot(data_dir / "ur10e" / "ur10e.urdf"), rng)
    write_mjcf(model, tmp_path / "robot.xml")
    agree(model, tmp_path / "robot.xml", rng)


def test_in_place_only_inertias_and_passive_terms_change(arm, rng, tmp_path):
    robot = load_robot(arm)
    more = InertialParameters.from_com(1.0, [0.02, 0.0, 0.1], np.diag([0.02, 0.03, 0.025])).pi
    model = model_of(robot, rng, links=robot.nominal + more)
    out = tmp_path / "new.xml"
    write_mjcf(model, out, ExportOptions(template=arm))
    agree(model, out, rng)
    new = out.read_text()
    numbers = r' (mass|pos|diaginertia|fullinertia|armature|damping|frictionloss|solreffriction|solimpfriction)="[^"]*"'
    added = re.compile(r"\n? *<inertial pos=[^>]*fullinertia[^>]*/>(?=<joint)")
    turned = new.replace(re.search(r'<inertial mass="[^"]*" pos="[^"]*"( quat="[^"]*")?', new).group(1) or "", "")
    before = ARM.replace(' euler="5 0 0"', "")
    stripped = re.sub(r'(<inertial[^>]*?) quat="[^"]*"', r"\1", added.sub("", turned))
    assert re.sub(numbers, "", stripped) == re.sub(numbers, "", before)
    assert '<joint damping="3" armature="0.4"/>' in new


def test_a_mesh_without_inertial_no_longer_counts(arm, rng, tmp_path):
    text = ARM.replace("<worldbody>", '<asset><mesh name="m" file="gone.stl"/></asset><worldbody>')
    arm.write_text(
        text.replace("</body>\n      </body>", '<body name="cover"><geom type="mesh" mesh="m"/></body></body>\n</body>')
    )
    done = write_mjcf(model_of(load_robot(arm), rng), tmp_path / "new.xml", ExportOptions(template=arm))
    assert any(notice.startswith("cover: its mesh no longer gives it mass") for notice in done.notices)
    assert any("MuJoCo did not read it back" in notice for notice in done.notices)
    assert '<inertial pos="0 0 0" mass="0" diaginertia="0 0 0"/>' in (tmp_path / "new.xml").read_text()


def test_several_joints_of_one_body_need_a_fresh_file(arm, rng, tmp_path):
    arm.write_text(ARM.replace('<geom type="capsule"', '<joint name="slide" type="slide"/><geom type="capsule"'))
    robot = load_robot(arm)
    model = model_of(robot, rng, links=robot.nominal + InertialParameters.from_com(1.0, [0.0] * 3, 0.01 * np.eye(3)).pi)
    with pytest.raises(ExportError, match="has several joints"):
        write_mjcf(model, tmp_path / "new.xml", ExportOptions(template=arm))
    write_mjcf(model, tmp_path / "new.xml")
    agree(model, tmp_path / "new.xml", rng, 20)


def test_a_file_that_ignores_inertial_elements_is_refused(arm, rng, tmp_path):
    arm.write_text(ARM.replace("<compiler", '<compiler inertiafromgeom="true"'))
    with pytest.raises(ExportError, match="ignores <inertial>"):
        write_mjcf(model_of(load_robot(arm), rng), tmp_path / "new.xml", ExportOptions(template=arm))


def test_gravity_of_the_file_stays_and_another_one_is_named(arm, rng, tmp_path):
    model = model_of(load_robot(arm, gravity=(0.0, 0.0, -3.7)), rng)
    done = write_mjcf(model, tmp_path / "new.xml", ExportOptions(template=arm))
    assert "gravity of the file stays [0, 0.5, -9.7] m/s²; the model was identified under [0, 0, -3.7]" in done.notices


def test_a_spring_that_stays_is_named(arm, rng, tmp_path):
    arm.write_text(ARM.replace('range="-170 170"', 'stiffness="5"'))
    done = write_mjcf(model_of(load_robot(arm), rng), tmp_path / "new.xml", ExportOptions(template=arm))
    assert "shoulder: the spring of the file stays, and is not part of the model" in done.notices


def test_without_mujoco_other_readers_decide(rng, tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **options):
        if name == "mujoco":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    done = write_mjcf(model_of(load_robot("spatial2r"), rng), tmp_path / "robot.xml")
    assert done.checked_by == "Pinocchio"
    assert done.notices == ()


def test_a_file_that_would_predict_another_torque_does_not_appear(rng, tmp_path, monkeypatch):
    real = mjcf.mjcf_text
    monkeypatch.setattr(mjcf, "mjcf_text", lambda *a, **k: real(*a, **k).replace('armature="', 'armature="1'))
    with pytest.raises(ExportError, match="not written, read back its torque"):
        write_mjcf(model_of(load_robot("spatial2r"), rng), tmp_path / "robot.xml")
    assert not (tmp_path / "robot.xml").exists()


def test_a_fresh_file_that_mujoco_refuses_does_not_appear(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(mjcf, "mujoco_torque", lambda *a, **k: "inertia must satisfy A + B >= C")
    with pytest.raises(ExportError, match=r"MuJoCo refuses it: inertia must satisfy"):
        write_mjcf(model_of(load_robot("spatial2r"), rng), tmp_path / "robot.xml")
    assert not (tmp_path / "robot.xml").exists()


def test_an_inconsistent_robot_is_written_only_by_force_and_says_so(rng, tmp_path):
    model = inconsistent(model_of(load_robot("spatial2r"), rng))
    with pytest.raises(ExportError, match="physically consistent"):
        write_mjcf(model, tmp_path / "robot.xml")
    write_mjcf(model, tmp_path / "robot.xml", ExportOptions(force=True))
    assert "NOT PHYSICALLY CONSISTENT" in (tmp_path / "robot.xml").read_text()


def test_what_mjcf_cannot_say_is_named(rng, tmp_path):
    done = write_mjcf(model_of(load_robot("spatial2r"), rng, "viscous+tanh"), tmp_path / "robot.xml")
    assert "MJCF has no place for smoothed Coulomb friction: joint1 Ft" in done.left_out[0]
    assert done.left_out[0] in (tmp_path / "robot.xml").read_text()
