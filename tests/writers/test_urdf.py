"""URDF exports, fresh and in place, read back by Pinocchio."""

import re
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from dynid import TorqueModel, load_robot
from dynid.chain import InertialParameters, consistency
from dynid.dynamics import random_motion
from dynid.errors import ExportError
from dynid.writers import urdf as urdf_module
from dynid.writers import write_urdf
from dynid.writers.exported import ExportOptions
from tests.writers.exported import inconsistent, model_of

ARM = """<?xml version='1.0' encoding="utf-8"?>
<!-- drawn by hand -->
<robot   name="arm">
\t<link name="base"><inertial><mass value="9"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="upper">
    <!-- from CAD -->
    <inertial>
      <inertia izz="0.02" iyz="0" iyy='0.03' ixz="0" ixy="0.001" ixx="0.025"/>
      <mass   value='2.0' />
      <origin rpy="0.3 -0.2 0.7" xyz="0 0.02 0.1"/>
    </inertial>
    <visual><geometry><mesh filename="package://nowhere/upper.stl"/></geometry></visual>
  </link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.3" rpy="0.4 0 0"/><axis xyz="0 0 1"/>
  </joint>
  <link name="fore"/>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><origin xyz="0 0.4 0" rpy="0 0.5 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="20" velocity="2"/>
    <dynamics damping="0.9"/>
  </joint>
  <joint name="mount" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0.1 0 0" rpy="1 0 0"/></joint>
  <link name="tool">
    <inertial><origin xyz="0.05 0 0"/><mass value="0.5"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial>
  </link>
  <joint name="finger" type="prismatic">
    <parent link="tool"/><child link="pad"/><origin xyz="0.1 0 0"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.04" effort="20" velocity="2"/><dynamics damping="7" friction="3"/>
  </joint>
  <link name="pad">
    <inertial><mass value="0.1"/><inertia ixx="0.0001" ixy="0" ixz="0" iyy="0.0001" iyz="0" izz="0.0001"/></inertial>
  </link>
  <gazebo reference="upper"><mu1>0.2</mu1></gazebo>
</robot>
<!-- end -->
"""
LOCK = {"finger": 0.03}
NUMBERS = re.compile(r"""\s(xyz|value|ixx|ixy|ixz|iyy|iyz|izz|damping|friction)\s*=\s*("[^"]*"|'[^']*')""")


@pytest.fixture
def arm(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def heavier(robot):
    """Another physically consistent robot on the same joints: every link with a body of 3 kg welded to it."""
    more = InertialParameters.from_com(3.0, [0.02, 0.0, 0.1], np.diag([0.02, 0.03, 0.025]))
    return np.array([InertialParameters(row).pi + more.pi for row in robot.nominal])


def pinocchio_torque(path, robot, motion, held=None):
    """What Pinocchio makes of the file, damping and dry friction included."""
    model = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array(robot.gravity)
    data = model.createData()
    tau = np.empty(motion.q.shape)
    for k in range(motion.n_samples):
        q, v, a = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
        for name, value in (held or {}).items():
            q[model.joints[model.getJointId(name)].idx_q] = value
        for j, name in enumerate(robot.joint_names):
            joint = model.joints[model.getJointId(name)]
            x = motion.q[k, j]
            q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else [np.cos(x), np.sin(x)]
            v[joint.idx_v], a[joint.idx_v] = motion.dq[k, j], motion.ddq[k, j]
        all_tau = pin.rnea(model, data, q, v, a) + model.damping * v + model.friction * np.sign(v)
        tau[k] = [all_tau[model.joints[model.getJointId(name)].idx_v] for name in robot.joint_names]
    return tau


def agree(model, path, rng, held=None, n_states=1000):
    robot = model.model.robot
    motion = random_motion(robot, n_states, rng)
    mine = model.model.torque(motion, model.theta)
    theirs = pinocchio_torque(path, robot, motion, held)
    np.testing.assert_allclose(theirs, mine, rtol=0.0, atol=1e-6 * np.abs(mine).max())  # the figure of exports


@pytest.mark.parametrize("name", ["panda", "wam7", "spatial2r"])
def test_a_fresh_urdf_agrees_on_a_thousand_random_states(name, rng, tmp_path):
    model = model_of(load_robot(name), rng, rotors=False)
    done = write_urdf(model, tmp_path / "robot.urdf")
    assert done.left_out == ()
    agree(model, tmp_path / "robot.urdf", rng)


def test_in_place_only_inertias_damping_and_friction_change(arm, rng, tmp_path):
    robot = load_robot(arm, lock=LOCK)
    model = model_of(robot, rng, rotors=False, links=heavier(robot))
    out = tmp_path / "new.urdf"
    done = write_urdf(model, out, ExportOptions(template=arm, lock=LOCK))
    agree(model, out, rng, LOCK)
    assert "tool, pad: kept as in the file; fore has the rest of their sum" in done.notices
    new = out.read_text()
    for kept in (
        "<!-- from CAD -->",
        "\t<link",
        "<robot   name",
        'rpy="0.3 -0.2 0.7"',
        "<mass   value=",
        "<!-- end -->\n",
    ):
        assert kept in new
    # What was inserted goes, changed numbers are blanked, and the rest must be the same to the byte.
    inserted = re.compile(r"\n *<dynamics damping=\"[^\"]*\" friction=\"[^\"]*\"/>(?=<parent)")
    body = re.compile(r"<link name=\"fore\">.*?</link>", re.DOTALL)
    new = body.sub('<link name="fore"/>', inserted.sub("", new))
    assert NUMBERS.sub("", new) == NUMBERS.sub("", ARM)
    # The base, and the locked finger with its damping, are not part of the model.
    assert '<mass value="9"/>' in new
    assert '<dynamics damping="7" friction="3"/>' in new


def test_fixed_parts_are_scaled_down_where_the_link_would_be_inconsistent(arm, rng, tmp_path):
    robot = load_robot(arm, lock=LOCK)
    light = np.array(robot.nominal)
    light[1] = InertialParameters.from_com(0.3, [0.0, 0.1, 0.0], np.diag([0.002, 0.001, 0.0025])).pi
    model = model_of(robot, rng, rotors=False, links=light)
    done = write_urdf(model, tmp_path / "new.urdf", ExportOptions(template=arm, lock=LOCK))
    assert any("tool, pad: masses and inertias scaled by" in notice for notice in done.notices)
    agree(model, tmp_path / "new.urdf", rng, LOCK, 50)
    # The parts are consistent one by one, not only their sum.
    again = load_robot(tmp_path / "new.urdf")
    assert all(consistency(joint.link.nominal).holds for joint in again.joints)


def test_a_joint_that_moves_only_in_the_file_must_be_locked(arm, rng, tmp_path):
    robot = load_robot(arm, lock=LOCK)
    # Models of version 0.1 do not remember what was locked.
    with pytest.raises(ExportError, match=r"finger can move in the file but not in the model.*`lock` finger=VALUE"):
        write_urdf(model_of(replace(robot, held={}), rng), tmp_path / "new.urdf", ExportOptions(template=arm))
    assert not (tmp_path / "new.urdf").exists()
    write_urdf(model_of(robot, rng), tmp_path / "new.urdf", ExportOptions(template=arm))
    assert load_robot(tmp_path / "new.urdf", lock=LOCK).joint_names == robot.joint_names


def test_another_robots_file_is_refused(arm, rng, tmp_path):
    model = model_of(load_robot("panda"), rng)
    with pytest.raises(ExportError, match="this is another robot"):
        write_urdf(model, tmp_path / "new.urdf", ExportOptions(template=arm, lock=LOCK))
    arm.write_text(ARM.replace('<origin xyz="0 0.4 0"', '<origin xyz="0 0.41 0"'))
    model = model_of(load_robot(arm, lock=LOCK), rng)
    arm.write_text(ARM)
    with pytest.raises(ExportError, match="joint 'elbow' sits elsewhere"):
        write_urdf(model, tmp_path / "new.urdf", ExportOptions(template=arm, lock=LOCK))


def test_what_urdf_cannot_say_is_named_with_its_value(rng, tmp_path):
    model = model_of(load_robot("planar2r"), rng, "viscous+coulomb+offset+stribeck+load")
    done = write_urdf(model, tmp_path / "robot.urdf")
    text = " ".join(done.left_out)
    for what in ("constant torque", "Stribeck friction", "load-dependent friction", "rotor inertia", "no gravity"):
        assert what in text
    assert f"joint1 Ia {model.theta[model.model.index('Ia1')]:.4g} kg·m²" in text
    assert "constant torque" in (tmp_path / "robot.urdf").read_text()


def test_friction_of_coupled_motors_is_left_out(rng, tmp_path):
    from dataclasses import replace

    robot = replace(load_robot("spatial2r"), transmission=np.array([[1.0, 0.0], [0.5, 1.0]]))
    done = write_urdf(model_of(robot, rng, rotors=False), tmp_path / "robot.urdf")
    assert "viscous friction of coupled motors" in " ".join(done.left_out)
    alone = replace(robot, transmission=np.diag([1.0, -2.0]))
    model = model_of(alone, rng, rotors=False)
    write_urdf(model, tmp_path / "robot.urdf")
    agree(model, tmp_path / "robot.urdf", rng, n_states=50)


def test_an_inconsistent_robot_is_written_only_by_force_and_says_so(arm, rng, tmp_path):
    model = inconsistent(model_of(load_robot(arm, lock=LOCK), rng))
    with pytest.raises(ExportError, match="physically consistent: upper"):
        write_urdf(model, tmp_path / "new.urdf", ExportOptions(template=arm, lock=LOCK))
    assert not (tmp_path / "new.urdf").exists()
    for template in (arm, None):
        write_urdf(model, tmp_path / "new.urdf", ExportOptions(template=template, lock=LOCK, force=True))
        assert "NOT PHYSICALLY CONSISTENT" in (tmp_path / "new.urdf").read_text()


def test_a_file_that_would_predict_another_torque_does_not_appear(arm, rng, tmp_path, monkeypatch):
    robot = load_robot(arm, lock=LOCK)
    monkeypatch.setattr(urdf_module, "_joint_edits", lambda template, passive: [])
    with pytest.raises(ExportError, match=r"not written, read back its torque is off by"):
        write_urdf(model_of(robot, rng), tmp_path / "new.urdf", ExportOptions(template=arm, lock=LOCK))
    assert not (tmp_path / "new.urdf").exists()


def test_latin_1_files_keep_their_encoding(rng, tmp_path):
    text = ARM.replace('encoding="utf-8"', 'encoding="iso-8859-1"').replace("drawn by hand", "für Übung")
    path = tmp_path / "arm.urdf"
    path.write_bytes(text.encode("latin-1"))
    model = model_of(load_robot(path, lock=LOCK), rng)
    write_urdf(model, tmp_path / "new.urdf", ExportOptions(template=path, lock=LOCK))
    assert "für Übung".encode("latin-1") in (tmp_path / "new.urdf").read_bytes()


@pytest.mark.data
def test_the_urdf_of_a_ur10e_agrees_in_place_and_fresh(rng, tmp_path, data_dir):
    template = data_dir / "ur10e" / "ur10e.urdf"
    robot = load_robot(template)
    model = model_of(robot, rng, rotors=False, links=heavier(robot))
    for source in (template, None):
        write_urdf(model, tmp_path / "new.urdf", ExportOptions(template=source))
        agree(model, tmp_path / "new.urdf", rng)


def test_friction_is_part_of_what_is_compared(rng):
    robot = load_robot("planar2r")
    model = model_of(robot, rng, rotors=False)
    motion = random_motion(robot, 10, rng)
    rigid = TorqueModel(robot).torque(motion, model.theta[:20])
    assert np.abs(model.model.torque(motion, model.theta) - rigid).max() > 1e-3
