"""Self-collision through the geometry of a robot file."""

from typing import Any

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.dynamics import TorqueModel, friction_models
from dynid.errors import ExcitationError
from dynid.excitation import FourierBasis, MotionLimits, States, design_excitation, self_collision

LINK = """
  <link name="{name}"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>
    <collision><origin xyz="0.2 0 0"/><geometry>{shape}</geometry></collision></link>"""
JOINT = """
  <joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at} 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-3" upper="3" velocity="2" effort="100"/></joint>"""
BOX = '<box size="0.34 0.06 0.06"/>'


def folding_arm(shape: str = BOX) -> str:
    """Three bars in a plane: the third can fold back onto the first."""
    names = ("one", "two", "three")
    links = "".join(LINK.format(name=name, shape=shape) for name in names)
    joints = JOINT.format(name="a", parent="base", child="one", at=0)
    joints += JOINT.format(name="b", parent="one", child="two", at=0.4)
    joints += JOINT.format(name="c", parent="two", child="three", at=0.4)
    return f'<robot name="arm"><link name="base"/>{links}{joints}</robot>'


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "arm.urdf").write_text(folding_arm(), encoding="utf-8")
    return load_robot(tmp_path / "arm.urdf")


def at(pose) -> States:
    q = np.array([pose], dtype=float)
    return States(q, 0 * q, 0 * q, 0 * q)


def test_folding_onto_itself_is_seen_and_neighbours_may_touch(robot):
    limit = self_collision(robot, np.zeros(3))
    assert limit is not None
    assert limit.labels == ("one_0 – three_0",)
    assert limit.excess(at([0.3, 0.0, 0.0])).max() < -0.3
    # An equilateral triangle closes on itself.
    assert limit.excess(at([0.0, 2.0944, 2.0944])).max() > 0.0


def test_designed_motions_do_not_collide(robot):
    limit = self_collision(robot, np.zeros(3), clearance=0.02)
    assert limit is not None
    model = TorqueModel(robot, friction_models("viscous"))
    options: dict[str, Any] = {
        "basis": FourierBasis(2, 0.2),
        "limits": MotionLimits.of(robot, lower=(-3.0, 1.0, 1.0), upper=(3.0, 2.6, 2.6)),
        "restarts": 1,
        "max_iterations": 4,
    }
    found = design_excitation(model, path_limits=(limit,), **options)
    states = found.trajectory.at(np.linspace(0.0, found.trajectory.duration, 400))
    assert limit.excess(states).max() <= 0.0
    assert found.certificate.holds
    assert any(use.quantity == "self-collision" for use in found.certificate.uses)
    free = design_excitation(model, **options)
    assert limit.excess(free.trajectory.at(np.linspace(0.0, free.trajectory.duration, 400))).max() > 0.0


def test_robots_without_geometry_have_no_such_limit(tmp_path):
    assert self_collision(load_robot("panda"), MotionLimits.of(load_robot("panda")).middle) is None


def test_a_mesh_that_is_not_there_is_named(tmp_path):
    (tmp_path / "arm.urdf").write_text(folding_arm('<mesh filename="package://arm/bar.stl"/>'), encoding="utf-8")
    with pytest.raises(ExcitationError, match=r"collision geometry cannot be read .*bar.stl"):
        self_collision(load_robot(tmp_path / "arm.urdf"), np.zeros(3))


MJCF = """
<mujoco><compiler angle="radian"/><worldbody>
  <body name="one"><joint name="a" type="hinge" axis="0 0 1" range="-3 3"/>
    <geom name="bar1" type="box" size="0.17 0.03 0.03" pos="0.2 0 0" mass="1"/>
    <body name="two" pos="0.4 0 0"><joint name="b" type="hinge" axis="0 0 1" range="-3 3"/>
      <geom name="bar2" type="box" size="0.17 0.03 0.03" pos="0.2 0 0" mass="1"/>
      <body name="three" pos="0.4 0 0"><joint name="c" type="hinge" axis="0 0 1" range="-3 3"/>
        <geom name="bar3" type="box" size="0.17 0.03 0.03" pos="0.2 0 0" mass="1"/></body></body></body>
</worldbody></mujoco>"""


def test_mjcf_geometry_serves_too_and_locked_joints_are_held(tmp_path):
    (tmp_path / "arm.xml").write_text(MJCF, encoding="utf-8")
    limit = self_collision(load_robot(tmp_path / "arm.xml"), np.zeros(3))
    assert limit is not None
    assert limit.excess(at([0.0, 2.0944, 2.0944])).max() > 0.0
    assert limit.excess(at([0.0, 0.5, 0.5])).max() < 0.0
    bent = load_robot(tmp_path / "arm.xml", lock={"c": 2.0944})
    limit = self_collision(bent, np.zeros(2), held={"c": 2.0944})
    assert limit is not None
    assert limit.excess(at([0.0, 2.0944])).max() > 0.0
    with pytest.raises(ExcitationError, match="its geometry does not know joint wrist"):
        self_collision(bent, np.zeros(2), held={"wrist": 0.0})


def test_all_pairs_but_neighbours_are_watched_however_many_there_are(tmp_path):
    names = [f"n{k}" for k in range(7)]
    links = "".join(LINK.format(name=name, shape=BOX) for name in names)
    joints = "".join(
        JOINT.format(name=f"j{k}", parent="base" if k == 0 else names[k - 1], child=name, at=0 if k == 0 else 0.4)
        for k, name in enumerate(names)
    )
    (tmp_path / "arm.urdf").write_text(f'<robot name="arm"><link name="base"/>{links}{joints}</robot>')
    limit = self_collision(load_robot(tmp_path / "arm.urdf"), np.zeros(7))
    assert limit is not None
    wanted = {f"n{i}_0 – n{j}_0" for i in range(7) for j in range(i + 2, 7)}
    assert set(limit.labels) == wanted
    held = self_collision(load_robot(tmp_path / "arm.urdf", lock={"j3": 0.5}), np.zeros(6), held={"j3": 0.5})
    assert held is not None
    # n2 and n3 are one body now; what is beyond the held joint is no neighbour of n1.
    assert set(held.labels) == wanted
