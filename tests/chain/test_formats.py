"""URDF and MJCF files become the robot that MuJoCo makes of them, or are refused by file and element."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from dynid.chain import load_robot, repair
from dynid.chain.formats.assembly import InertialsPolicy, read_bodies, robot_of_bodies
from dynid.chain.formats.bodies import BodyTree
from dynid.chain.formats.locks import held_joints
from dynid.chain.robot import BASE, Robot
from dynid.dynamics import RotorInertia, TorqueModel
from dynid.errors import RobotError, RobotFileError, UnknownJoint
from dynid.regression import load_model, save_model
from tests.writers.exported import with_terms

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/><mass value="2"/>'
    '<inertia ixx="0.10" ixy="0.01" ixz="-0.02" iyy="0.12" iyz="0.015" izz="0.15"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="40"/>'


def link(name: str, content: str = INERTIAL) -> str:
    return f'<link name="{name}">{content}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", content: str = LIMIT) -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">\n{ends}{content}</joint>\n'


def urdf(*parts: str) -> str:
    return f'<robot name="arm">\n{"".join(parts)}</robot>'


def mjcf(worldbody: str, before: str = "", after: str = "") -> str:
    return f'<mujoco model="arm">{before}\n<worldbody>{worldbody}</worldbody>{after}</mujoco>'


ARM = urdf(
    link("world", ""),
    link("base"),
    link("a"),
    link("b"),
    link("flange"),
    link("tool", ""),
    link("c"),
    link("side"),
    joint("mount", "world", "base", "fixed", '<origin xyz="0 0 0.5" rpy="0.1 0 0"/>'),
    joint("j1", "base", "a", content=f'<origin xyz="0.1 0 0.2" rpy="0 0.3 0"/><axis xyz="0 1 2"/>{LIMIT}'),
    joint("j2", "a", "b", "prismatic", f'<origin xyz="0 0.4 0"/><axis xyz="1 0 1"/>{LIMIT}'),
    joint("weld", "b", "flange", "fixed", '<origin xyz="0.1 0.1 0" rpy="0.2 -0.4 0.7"/>'),
    joint("frame", "flange", "tool", "fixed", '<origin xyz="0 0 0.1"/>'),
    joint("j3", "flange", "c", "continuous", '<origin xyz="0 0 0.3"/><axis xyz="0 0 -1"/>'),
    joint("j4", "a", "side"),
)

BODY = '<inertial pos="0.1 0.2 -0.1" mass="2" diaginertia="0.1 0.12 0.15"/>'

MJCF_FEATURES = {
    "degrees": mjcf(
        f'<body name="a" pos="0 0 1" euler="10 20 30"><joint name="j" axis="0 1 1" range="-90 45"/>{BODY}'
        f'<body name="b" pos="1 0 0"><joint name="k" type="slide" axis="0 0 1" range="-1 2"/>{BODY}</body></body>'
    ),
    "radians": mjcf(
        f'<body name="a" euler="0.1 0.2 0.3"><joint name="j" axis="0 1 1" range="-1 1"/>{BODY}</body>',
        '<compiler angle="radian"/>',
    ),
    "fixed-axis Euler angles": mjcf(
        f'<body name="a" euler="0.1 0.2 0.3"><joint name="j" axis="0 1 1"/>{BODY}</body>',
        '<compiler angle="radian" eulerseq="XZY"/>',
    ),
    "moving-axis Euler angles": mjcf(
        f'<body name="a" euler="10 20 30"><joint name="j" axis="0 1 1"/>{BODY}</body>', '<compiler eulerseq="zyz"/>'
    ),
    "orientations": mjcf(
        f'<body name="a" zaxis="1 1 0"><joint name="j" axis="0 1 0"/>{BODY}'
        f'<body name="b" xyaxes="0 1 0 1 0.3 0.2"><joint name="k" axis="0 1 0"/>{BODY}</body>'
        f'<body name="c" axisangle="1 1 0 40"><joint name="l"/>{BODY}</body>'
        f'<body name="d" quat="2 1 0 -1"><joint name="m" axis="1 0 0"/>{BODY}</body></body>'
    ),
    "half turn by zaxis": mjcf(f'<body name="a" zaxis="0 0 -1"><joint name="j" axis="0 1 1"/>{BODY}</body>'),
    "joint anchor and reference": mjcf(
        f'<body name="a" pos="0 0 1"><joint name="j" axis="0 1 1" pos="0.3 0.1 0" ref="30"/>{BODY}'
        f'<body name="b"><joint name="k" type="slide" axis="1 2 0" pos="0 0.2 0.3" ref="0.4"/>{BODY}</body></body>'
    ),
    "inertia forms": mjcf(
        '<body name="a"><joint name="j" axis="1 1 0"/>'
        '<inertial pos="0.1 0 0" mass="1" fullinertia="0.1 0.12 0.15 0.01 0.02 0.03"/>'
        '<body name="b"><joint name="k" axis="1 0 1"/>'
        '<inertial pos="0 0.1 0" mass="1" euler="10 20 30" diaginertia="0.1 0.12 0.15"/></body></body>'
    ),
    "inertia of shapes": mjcf(
        '<body name="a"><joint name="j" axis="0 1 1"/><geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0" '
        'euler="10 0 9"/><geom type="capsule" fromto="0 0 0.1 0.3 0 1" size="0.1" mass="3"/>'
        '<geom type="cylinder" size="0.1 0.2" density="500"/><geom type="ellipsoid" size="0.1 0.2 0.3"/>'
        '<geom size="0.1" pos="1 0 0"/><geom type="capsule" size="0.05 0.2" euler="0 80 0"/>'
        '<geom type="box" fromto="0 0 0 1 1 0" size="0.05"/></body>'
    ),
    "shape groups": mjcf(
        '<body name="a"><joint name="j" axis="0 1 1"/><geom group="2" type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/>'
        '<geom group="3" type="capsule" fromto="0 0 0 0 0 1" size="0.1"/><geom group="5" size="0.2" pos="0 1 0"/>'
        '<geom group="4" size="0.2" pos="0 0 1"/><geom size="0.2" pos="1 0 0"/></body>',
        '<compiler inertiagrouprange="3 4"/>',
    ),
    "shapes instead of inertial": mjcf(
        f'<body name="a"><joint name="j" axis="0 1 1"/>{BODY}<geom type="box" size="0.1 0.2 0.3"/></body>',
        '<compiler inertiafromgeom="true"/>',
    ),
    "default classes": mjcf(
        f'<body name="a" childclass="c"><joint name="j" range="-1 1"/>{BODY}<geom size="0.06"/>'
        f'<body name="b" pos="1 0 0"><joint name="k" class="d" range="-1 2"/><geom size="0.06"/></body></body>'
        f'<body name="e"><joint name="l" axis="1 0 0"/>{BODY}</body>',
        '<default><geom density="700"/><default class="c"><geom type="capsule" size="0.05 0.2"/>'
        '<joint axis="0 1 0" damping="3"/><default class="d"><joint type="slide"/></default></default></default>',
    ),
    "frames": mjcf(
        f'<frame pos="1 0 0" euler="0 90 0"><body name="a"><frame euler="0 0 30" pos="0 0.1 0"><joint name="j" '
        f'axis="0 1 0" pos="0.2 0 0"/><body name="b"><joint name="k"/>{BODY}</body></frame>{BODY}</body></frame>'
    ),
    "several joints in a body": mjcf(
        f'<body name="a" pos="0 0 1" euler="10 0 0"><joint name="j" axis="0 1 0"/><joint name="k" axis="1 0 0" '
        f'pos="0 0 0.1" ref="20"/><joint name="l" type="slide" axis="1 1 0"/>{BODY}<body name="b" pos="0 1 0">'
        f'<joint name="m"/>{BODY}</body></body>'
    ),
    "welded bodies": mjcf(
        f'<body name="w" pos="0 1 0"><body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>{BODY}'
        f'<body name="f" pos="1 0 0" euler="0 0 45">{BODY}<body name="g"><joint name="k"/>{BODY}</body></body>'
        "</body></body>"
    ),
    "nothing named": mjcf(
        f'<body><joint axis="0 1 0"/>{BODY}<body pos="1 0 0"><joint axis="1 0 0"/>{BODY}</body></body>'
    ),
    "two arms": mjcf(
        f'<body name="z"><joint name="z1" axis="0 1 0"/>{BODY}<body name="y"><joint name="y1"/>{BODY}</body></body>'
        f'<body name="a" pos="0 2 0"><joint name="a1" axis="0 1 0"/>{BODY}</body>'
    ),
    "gravity": mjcf(f'<body name="a"><joint name="j" axis="0 1 0"/>{BODY}</body>', '<option gravity="0 1 -3"/>'),
}


def read_robot_file(path: Path, *, inertials: InertialsPolicy = "keep", lock: dict[str, float] | None = None) -> Robot:
    """The robot of a file, told apart by its root element."""
    tree = read_bodies(path)
    return robot_of_bodies(tree, inertials, held_joints(tree, lock or {}))


def write(folder: Path, text: str, name: str = "arm.xml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def link_placements(robot: Robot, q: np.ndarray) -> list[np.ndarray]:
    placements: list[np.ndarray] = []
    for one, position in zip(robot.joints, q, strict=True):
        base = np.eye(4) if one.parent == BASE else placements[one.parent]
        placements.append(base @ one.T_parent_link(position))
    return placements


def assert_same_as_mujoco(robot: Robot, text: str, rng: np.random.Generator) -> None:
    """Joint order, link frames, mass matrix and gravity-plus-Coriolis forces agree at random states."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    assert model.nv == robot.n_dof
    names = [model.joint(i).name for i in range(model.njnt)]
    assert [name or own for name, own in zip(names, robot.joint_names, strict=True)] == list(robot.joint_names)
    pinocchio_data = robot.pinocchio.createData()
    for _ in range(3):
        q, dq, ddq = rng.normal(size=(3, robot.n_dof))
        data.qpos[:], data.qvel[:], data.qacc[:] = q, dq, ddq
        mujoco.mj_inverse(model, data)
        last_joint = [body for body in range(1, model.nbody) if model.body_jntnum[body]]
        carriers = {model.body_jntadr[body] + model.body_jntnum[body] - 1: body for body in last_joint}
        for index, T in enumerate(link_placements(robot, q)):
            if index in carriers:
                body = carriers[index]
                np.testing.assert_allclose(T[:3, 3], data.xpos[body], atol=1e-12)
                np.testing.assert_allclose(T[:3, :3], data.xmat[body].reshape(3, 3), atol=1e-12)
        tau = pin.rnea(robot.pinocchio, pinocchio_data, q, dq, ddq)
        passive = data.qfrc_passive + data.qfrc_constraint
        # Torques are of the order of 100 N·m; MuJoCo works in principal axes, which costs a few digits.
        np.testing.assert_allclose(tau, data.qfrc_inverse + passive, atol=1e-9)


def without_limits(text: str) -> str:
    """MuJoCo would push joints back into their range; at random states that is not what is compared."""
    return text.replace("\n<worldbody>", '<option><flag constraint="disable"/></option>\n<worldbody>')


@pytest.mark.parametrize("feature", MJCF_FEATURES)
def test_mjcf_moves_and_weighs_as_in_mujoco(feature, tmp_path, rng):
    text = MJCF_FEATURES[feature]
    assert_same_as_mujoco(read_robot_file(write(tmp_path, text)), without_limits(text), rng)


def test_urdf_moves_and_weighs_as_in_mujoco(tmp_path, rng):
    robot = read_robot_file(write(tmp_path, ARM)).with_gravity([0.0, 0.0, -9.81])
    assert robot.joint_names == ("j1", "j2", "j3", "j4")
    # URDF has no switch for MuJoCo's limits, so it gets none.
    assert_same_as_mujoco(robot, ARM.replace(LIMIT, '<limit velocity="1" effort="1"/>'), rng)


def test_urdf_equals_pinocchios_own_reading(tmp_path, rng):
    text = ARM.replace("continuous", "revolute").replace('<axis xyz="0 0 -1"/>', f'<axis xyz="0 0 -1"/>{LIMIT}')
    robot, model = read_robot_file(write(tmp_path, text)), pin.buildModelFromXML(text)
    assert tuple(model.names)[1:] == robot.joint_names
    q, dq, ddq = rng.normal(size=(3, 4))
    expected = pin.rnea(model, model.createData(), q, dq, ddq)
    own = robot.with_gravity(model.gravity.linear).pinocchio
    np.testing.assert_allclose(pin.rnea(own, own.createData(), q, dq, ddq), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_random_urdf_trees_move_and_weigh_as_in_mujoco(seed, tmp_path):
    rng = np.random.default_rng(seed)
    parts = [link("l0")]
    moving = 0
    for index in range(1, 8):
        kind = rng.choice(["continuous", "prismatic", "fixed"], p=[0.5, 0.25, 0.25]) if index > 1 else "continuous"
        moving += kind != "fixed"
        numbers = [" ".join(map(repr, rng.normal(size=3).tolist())) for _ in range(5)]
        tensor = rng.normal(size=(3, 3))
        tensor = 0.01 * (np.trace(tensor @ tensor.T) * np.eye(3) - tensor @ tensor.T) + 0.001 * np.eye(3)
        cells = {f"i{a}{b}": tensor["xyz".index(a), "xyz".index(b)] for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")}
        attributes = " ".join(f'{name}="{cell:.17g}"' for name, cell in cells.items())
        body = (
            f'<inertial><origin xyz="{numbers[0]}" rpy="{numbers[1]}"/><mass value="{rng.uniform(0.1, 5):.17g}"/>'
            f"<inertia {attributes}/></inertial>"
        )
        limit = "" if kind == "continuous" else '<limit velocity="1" effort="1"/>'
        parts.append(link(f"l{index}", body))
        content = f'<origin xyz="{numbers[2]}" rpy="{numbers[3]}"/><axis xyz="{numbers[4]}"/>{limit}'
        parts.append(joint(f"j{index}", f"l{rng.integers(index)}", f"l{index}", kind, content))
    robot = read_robot_file(write(tmp_path, urdf(*parts))).with_gravity([0.0, 0.0, -9.81])
    assert robot.n_dof == moving
    assert_same_as_mujoco(robot, urdf(*parts), rng)


@pytest.mark.data
def test_the_ur10e_moves_and_weighs_as_in_mujoco(data_dir, rng):
    path = data_dir / "ur10e" / "ur10e.urdf"
    # MuJoCo wants meshes and enforces limits; neither is compared.
    text = re.sub(r"<(visual|collision)>.*?</\1>", "", path.read_text(), flags=re.DOTALL)
    text = re.sub(r'lower="[^"]*" upper="[^"]*"', "", text)
    assert_same_as_mujoco(read_robot_file(path).with_gravity([0.0, 0.0, -9.81]), text, rng)


def test_fixed_links_are_lumped_and_their_names_survive(tmp_path):
    robot = read_robot_file(write(tmp_path, ARM))
    assert robot.link_names == ("a", "b", "c", "side")
    assert robot.joints[1].link.includes == ("flange", "tool")
    assert robot.joints[2].parent == 1
    assert robot.nominal[:, 0] == pytest.approx([2.0, 4.0, 2.0, 2.0])


def test_urdf_limits_survive(tmp_path):
    limit = '<limit lower="-1" upper="2" velocity="3" effort="40" acceleration="5" jerk="60"/>'
    text = urdf(
        *(link(name) for name in "abcd"),
        joint("j1", "a", "b", content=limit),
        joint("j2", "b", "c", "continuous", limit),
        joint("j3", "c", "d", content='<limit velocity="3" effort="40"/>'),
    )
    first, turning, unbounded = (one.limits for one in read_robot_file(write(tmp_path, text)).joints)
    assert (first.lower, first.upper, first.velocity, first.effort) == (-1.0, 2.0, 3.0, 40.0)
    assert (first.acceleration, first.jerk) == (5.0, 60.0)
    assert (turning.lower, turning.upper, turning.velocity) == (-np.inf, np.inf, 3.0)
    assert (unbounded.lower, unbounded.upper, unbounded.effort) == (-np.inf, np.inf, 40.0)


def test_mjcf_limits_survive(tmp_path):
    text = mjcf(
        f'<body><joint name="a" range="-90 180" actuatorfrcrange="-20 20"/>{BODY}<body><joint name="b" type="slide" '
        f'range="-1 2"/>{BODY}<body><joint name="c" range="-1 1" limited="false"/>{BODY}<body><joint name="d"/>{BODY}'
        "</body></body></body></body>",
        '<default><general forcerange="-5 5"/></default>',
        '<actuator><position joint="a"/><general joint="b" gear="3"/><motor joint="d" ctrlrange="-1 1" gear="7" '
        'forcelimited="false"/></actuator>',
    )
    a, b, c, d = (one.limits for one in read_robot_file(write(tmp_path, text)).joints)
    assert (a.lower, a.upper) == pytest.approx((-np.pi / 2, np.pi))
    assert (b.lower, b.upper) == (-1.0, 2.0)
    assert (c.lower, c.upper) == (-np.inf, np.inf)
    assert (a.effort, b.effort, c.effort, d.effort) == (5.0, 15.0, np.inf, 7.0)


@pytest.mark.parametrize(
    ("actuators", "effort"),
    [
        ('<motor joint="a" ctrlrange="-2 3" gear="10"/>', 30.0),
        ('<motor joint="a" ctrlrange="-2 1" gear="-4"/>', 8.0),
        ('<motor joint="a" ctrlrange="-2 3" ctrllimited="false"/>', np.inf),
        ('<motor joint="a" ctrlrange="-2 3" forcerange="-1 0.5"/>', 1.0),
        ('<motor joint="a" ctrlrange="-2 3"/><motor joint="a" ctrlrange="-1 1" gear="2"/>', 5.0),
        ('<motor joint="a" ctrlrange="-2 3"/><motor joint="a"/>', np.inf),
        ('<motor joint="b" ctrlrange="-2 3"/><motor ctrlrange="-9 9" tendon="t"/>', np.inf),
        ('<general joint="a" ctrlrange="-2 3"/>', 3.0),
        ('<general joint="a" ctrlrange="-2 3" biasprm="1 0 0"/>', 3.0),
        ('<general joint="a" ctrlrange="-2 3" biasprm="0 -1 0"/>', np.inf),
        ('<general joint="a" ctrlrange="-2 3" gainprm="5"/>', np.inf),
        ('<general joint="a" ctrlrange="-2 3" gaintype="affine"/>', np.inf),
        ('<general joint="a" ctrlrange="-2 3" gaintype="fixed" dyntype="none"/>', 3.0),
        ('<general joint="a" ctrlrange="-2 3" dyntype="integrator"/>', np.inf),
        ('<position joint="a" ctrlrange="-2 3"/>', np.inf),
        ('<position joint="a" ctrlrange="-2 3" forcerange="-7 6"/>', 7.0),
        ('<velocity joint="a" ctrlrange="-2 3"/>', np.inf),
    ],
)
def test_the_effort_of_a_joint_is_what_its_actuators_can_give(actuators, effort, tmp_path):
    text = mjcf(
        f'<body><joint name="a"/>{BODY}<body><joint name="b"/>{BODY}</body></body>',
        f"<actuator>{actuators}</actuator>",
    )
    assert read_robot_file(write(tmp_path, text)).joints[0].limits.effort == effort


@pytest.mark.parametrize(
    ("shape", "half"),
    [
        ('<box size="0.2 0.4 0.6"/>', (0.1, 0.2, 0.3)),
        ('<sphere radius="0.3"/>', (0.3, 0.3, 0.3)),
        ('<cylinder radius="0.1" length="0.8"/>', (0.1, 0.1, 0.4)),
        ('<capsule radius="0.1" length="0.8"/>', (0.1, 0.1, 0.5)),
    ],
)
def test_the_box_around_a_shape_is_as_large_as_the_shape(shape, half, tmp_path):
    place = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    content = f"<collision>{place}<geometry>{shape}</geometry></collision>"
    corners = read_bodies(write(tmp_path, one_joint(content))).bodies[-1].corners
    x, y, z = half
    np.testing.assert_allclose(corners.min(axis=0), [1.0 - y, 2.0 - x, 3.0 - z], atol=1e-12)
    np.testing.assert_allclose(corners.max(axis=0), [1.0 + y, 2.0 + x, 3.0 + z], atol=1e-12)


def test_bodies_are_blamed_by_their_place_in_the_file_or_by_name(tmp_path):
    path = write(tmp_path, ARM)
    tree = read_bodies(path)
    element = tree.bodies[-1].element
    assert tree.describe(element, "other") == f'{path}, line {element.sourceline}, <link name="{tree.bodies[-1].name}">'
    assert tree.describe(None, "elbow") == f"{path}: elbow"
    assert BodyTree("arm", "arm.toml", ()).describe(element, "elbow") == "arm.toml: elbow"
    assert str(tree.fault(tree.bodies[-1], "too heavy")) == f"{tree.describe(element, '')}: too heavy"


def test_a_moving_link_without_inertial_is_unknown_and_a_fixed_frame_weighs_nothing(tmp_path):
    text = urdf(
        *(link(name, "") for name in ("base", "a", "dummy", "tool")),
        link("b"),
        joint("j1", "base", "a"),
        joint("j2", "a", "dummy"),
        joint("weld", "dummy", "b", "fixed", ""),
        joint("frame", "b", "tool", "fixed", ""),
    )
    a, dummy = (one.link for one in read_robot_file(write(tmp_path, text)).joints)
    assert a.nominal is None
    assert dummy.nominal is not None
    assert dummy.nominal.mass == 2.0


def test_a_mesh_leaves_the_inertia_unknown(tmp_path):
    text = mjcf(
        '<body name="a"><joint/><geom type="mesh" mesh="x"/></body><body name="b"><joint/><geom size="0.1"/>'
        '<geom type="mesh" mesh="x" mass="0"/></body>',
        '<asset><mesh name="x" file="missing.stl"/></asset>',
    )
    a, b = (one.link for one in read_robot_file(write(tmp_path, text)).joints)
    assert a.nominal is None
    assert b.nominal is not None
    assert b.nominal.mass == pytest.approx(1000 * 4 / 3 * np.pi * 0.1**3)


GRIPPER = urdf(
    *(link(name) for name in ("base", "hand", "left", "right", "third")),
    joint("wrist", "base", "hand"),
    joint("finger1", "hand", "left", "prismatic"),
    joint("finger2", "hand", "right", "prismatic", f'<mimic joint="finger1" multiplier="-2" offset="0.1"/>{LIMIT}'),
    joint("finger3", "hand", "third", "prismatic", f'<mimic joint="finger2"/>{LIMIT}'),
)


def test_joints_that_mimic_a_locked_one_freeze_where_it_puts_them(tmp_path):
    robot = read_robot_file(write(tmp_path, GRIPPER), lock={"finger1": 0.3})
    assert robot.joint_names == ("wrist",)
    assert set(robot.joints[0].link.includes) == {"left", "right", "third"}
    # Four equal bodies side by side along x: the hand at 0, fingers at 0.3, 0.1 − 2·0.3 and the same again.
    positions = np.array([0.0, 0.3, -0.5, -0.5])
    nominal = robot.joints[0].link.nominal
    assert nominal is not None
    assert nominal.first_moment[0] == pytest.approx(2.0 * (0.1 + positions).sum())


def test_coupled_fingers_that_an_arm_carries_are_held_and_said(tmp_path):
    robot = read_robot_file(write(tmp_path, GRIPPER))
    assert robot.joint_names == ("wrist",)
    assert robot.held == {"finger1": 0.0, "finger2": 0.1, "finger3": 0.1}
    assert robot.notes == ("coupled joints of a gripper are held: finger1, finger2 at 0.1, finger3 at 0.1",)


def test_a_mimic_joint_can_be_locked_itself(tmp_path):
    robot = read_robot_file(write(tmp_path, GRIPPER), lock={"finger2": 0.05})
    assert robot.joint_names == ("wrist",)
    assert robot.held == {"finger1": 0.0, "finger2": 0.05, "finger3": 0.05}


COUPLED = mjcf(
    f'<body name="hand"><joint name="wrist"/>{BODY}'
    f'<body name="l"><joint name="f1" type="slide" axis="1 0 0" ref="0.1"/>{BODY}</body>'
    f'<body name="r"><joint name="f2" type="slide" axis="1 0 0" ref="0.2"/>{BODY}</body></body>',
    after='<equality><joint joint1="f1" joint2="f2" polycoef="0.01 -1 0.5 0 0"/></equality>',
)


def test_an_mjcf_coupling_freezes_where_mujocos_equation_puts_it(tmp_path):
    robot = read_robot_file(write(tmp_path, COUPLED), lock={"f2": 0.5})
    # y − y0 = a0 + a1 (x − x0) + a2 (x − x0)², and a slide at its reference has not moved.
    moved = 0.01 - 0.3 + 0.5 * 0.3**2
    nominal = robot.joints[0].link.nominal
    assert nominal is not None
    assert nominal.first_moment[0] == pytest.approx(2.0 * (3 * 0.1 + 0.3 + moved))
    # Left alone, fingers stay where the file draws them.
    assert read_robot_file(write(tmp_path, COUPLED)).held == pytest.approx({"f1": 0.11, "f2": 0.2})


@pytest.mark.parametrize(
    ("coupling", "moved"),
    [
        ('joint1="f1" joint2="f2"', 0.3),  # the same way as the other, by default
        ('joint1="f1" polycoef="0.07 5 5 5 5"', 0.07),  # held where it is; the slopes say nothing
        ('joint1="f1"', 0.0),
    ],
)
def test_an_mjcf_coupling_has_mujocos_defaults(coupling, moved, tmp_path):
    text = COUPLED.replace('joint1="f1" joint2="f2" polycoef="0.01 -1 0.5 0 0"', coupling)
    robot = read_robot_file(write(tmp_path, text), lock={"f2": 0.5})
    nominal = robot.joints[0].link.nominal
    assert nominal is not None
    assert nominal.first_moment[0] == pytest.approx(2.0 * (3 * 0.1 + 0.3 + moved))


def test_an_unknown_joint_to_lock_lists_the_joints(tmp_path):
    with pytest.raises(UnknownJoint, match=r"no joint 'finger'; .*known: wrist, finger1, finger2, finger3"):
        read_robot_file(write(tmp_path, GRIPPER), lock={"finger1": 0.0, "finger": 0.0})


def test_files_are_told_apart_by_their_root(tmp_path):
    assert read_robot_file(write(tmp_path, ARM)).n_dof == 4
    assert read_robot_file(write(tmp_path, MJCF_FEATURES["gravity"])).gravity.tolist() == [0.0, 1.0, -3.0]
    with pytest.raises(RobotFileError, match=r"arm\.xml, line 1, <sdf>: a robot file starts with <robot> \(URDF\) or"):
        read_robot_file(write(tmp_path, "<sdf/>"))


def one_joint(inertial: str, *, kind: str = "revolute", content: str = LIMIT) -> str:
    return urdf(link("base", ""), link("arm", f"\n{inertial}"), joint("elbow", "base", "arm", kind, content))


BAD_URDF = {
    "no links": (urdf(), r'arm\.xml, line 1, <robot name="arm">: there is no <link>'),
    "unnamed link": (urdf("<link/>"), r"line 2, <link>: attribute 'name' is missing"),
    "link twice": (urdf(link("a"), "\n", link("a")), r'line 3, <link name="a">: link name \'a\' is used twice'),
    "joint twice": (
        urdf(link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("j", "b", "c")),
        r"<joint name=\"j\">: joint name 'j' is used twice",
    ),
    "unknown link": (
        urdf(link("a"), joint("j", "a", "b")),
        r"no movable joint.*joint j is left out: its link b is not",
    ),
    "no child": (
        urdf(link("a"), '<joint name="j" type="fixed"><parent link="a"/></joint>'),
        r'"j">: <child> is missing',
    ),
    "two roots": (
        urdf(link("a"), link("b")),
        r"arm\.xml: .*no movable joint.*several links have no parent: a is taken",
    ),
    "loop": (
        urdf(link("r"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
        r"arm\.xml: link 'a' is part of a loop",
    ),
    "floating": (one_joint(INERTIAL, kind="floating"), r"no movable joint.* are held where .*: elbow \(floating\)"),
    "planar": (one_joint(INERTIAL, kind="planar"), r"no movable joint.* are held where .*: elbow \(planar\)"),
    "typo": (one_joint(INERTIAL, kind="revolut"), r"joint type 'revolut' is not supported, only revolute"),
    "zero axis": (one_joint(INERTIAL, content='<axis xyz="0 0 0"/>'), r"<axis>: the axis of joint 'elbow' is zero"),
    "NaN origin": (one_joint(INERTIAL, content='<origin xyz="0 nan 0"/>'), r"<origin>: attribute 'xyz' is not finite"),
    "short origin": (one_joint(INERTIAL, content='<origin xyz="0 0"/>'), r"<origin>: attribute 'xyz' needs 3 number"),
    "NaN mass": (
        one_joint(INERTIAL.replace('"2"', '"NaN"')),
        r"line 3, <link name=.arm.> <mass>: attribute 'value' is not finite \(NaN\)",
    ),
    "quaternion": (
        one_joint(INERTIAL, content='<origin quat_xyzw="0 0 0 1"/>'),
        r"<origin>: quat_xyzw is not supported",
    ),
    "include": (urdf('<include filename="x"/>'), r"line 2, <include>: URDF has no includes"),
    "only fixed": (one_joint(INERTIAL, kind="fixed"), r"no movable joint"),
}


@pytest.mark.parametrize("case", BAD_URDF)
def test_a_bad_urdf_is_refused_by_file_and_element(case, tmp_path):
    text, message = BAD_URDF[case]
    with pytest.raises(ValueError, match=message) as caught:
        read_robot_file(write(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "arm.xml"))


BAD_MJCF = {
    "no world": ("<mujoco/>", r"line 1, <mujoco>: there is no <worldbody>"),
    "include": (mjcf('<include file="x.xml"/>'), r"line 2, <include>: 'x\.xml' is not there"),
    "include elsewhere": (mjcf('<include file="../x.xml"/>'), r"line 2, <include>: '\.\./x\.xml' lies outside"),
    "include of itself": (mjcf('<include file="arm.xml"/>'), r"line 2, <include>: arm\.xml includes itself"),
    "free": (
        mjcf(f'<body name="a"><freejoint name="f"/>{BODY}</body>'),
        r"no movable joint.*free and ball joints are held where .*: f of a",
    ),
    "ball": (mjcf(f'<body name="a"><joint name="f" type="ball"/>{BODY}</body>'), r"no movable joint.*ball .*: f of a"),
    "copies": (mjcf('<replicate count="1e7"><body/></replicate>'), r"<replicate>: more than 10000 elements"),
    "unknown model": (mjcf('<attach model="m"/>'), r"<attach>: attaches the model 'm', which no <asset> names"),
    "body twice": (mjcf('<body name="a"/><body name="a"/>'), r'<body name="a">: body name \'a\' is used twice'),
    "unknown class": (
        mjcf('<body><joint class="x"/></body>'),
        r"<joint>: default class 'x' does not exist; known: main",
    ),
    "nameless class": (mjcf("", "<default><default/></default>"), r"<default>: a nested <default> needs"),
    "renamed main class": (mjcf("", '<default class="x"/>'), r"<default>: the outermost class is called 'main'"),
    "two inertias": (
        mjcf('<body><joint/><inertial mass="1" diaginertia="1 1 1" fullinertia="1 1 1 0 0 0"/></body>'),
        r"<inertial>: needs either",
    ),
    "zero quat": (mjcf('<body name="a" quat="0 0 0 0"/>'), r'<body name="a">: attribute \'quat\' is zero'),
    "two ways": (mjcf('<body quat="1 0 0 0" euler="0 0 0"/>'), r"<body>: orientation given twice: quat and euler"),
    "shape": (mjcf('<body><joint/><geom type="box" size="1 1"/></body>'), r"<geom>: a box needs 3 positive number"),
    "NaN": (mjcf(BODY.join(['<body><joint pos="0 0 nan"/>', "</body>"])), r"<joint>: attribute 'pos' is not finite"),
}


@pytest.mark.parametrize("case", BAD_MJCF)
def test_a_bad_mjcf_is_refused_by_file_and_element(case, tmp_path):
    text, message = BAD_MJCF[case]
    with pytest.raises(ValueError, match=message) as caught:
        read_robot_file(write(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "arm.xml"))


def inertial(mass: str, diagonal: tuple[float, float, float]) -> str:
    ixx, iyy, izz = diagonal
    tensor = f'<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/>'
    return f'<inertial><mass value="{mass}"/>{tensor}</inertial>'


IMPOSSIBLE = {
    "negative mass": (inertial("-1", (1, 1, 1)), r"mass is -1 kg"),
    "zero mass": (inertial("0", (1, 1, 1)), r"mass is 0 kg"),
    "zero inertia": (inertial("1", (0, 0, 0)), r"all moments of inertia are 0 kg·m² with a mass of 1 kg"),
    "negative inertia": (inertial("1", (1, 1, -0.5)), r"smallest principal moment is -0\.5 kg·m²"),
    "thin rod": (inertial("1", (1, 1, 0)), r"smallest principal moment is 0 kg·m²"),
    "triangle": (inertial("1", (0.01, 0.01, 0.05)), r"largest principal moment 0\.05 kg·m²"),
}


@pytest.mark.parametrize("fixed", [False, True], ids=["moving", "fixed"])
@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_inertia_is_unknown_and_said_once(case, fixed, tmp_path):
    text, message = IMPOSSIBLE[case]
    robot = one_joint(text)
    if fixed:
        light = inertial("0.5", (0.1, 0.1, 0.1))
        parts = (link("base", ""), link("a", light), link("arm", text))
        robot = urdf(*parts, joint("j", "base", "a"), joint("w", "a", "arm", "fixed", ""))
    path = write(tmp_path, robot)
    loaded = load_robot(path)
    # What weighs nothing beside the link that it is fixed to spoils no knowledge of that link.
    slight = fixed and case == "zero mass"
    assert loaded.has_nominal is slight
    assert loaded.joints[-1].link.trusted is slight
    notes = [note for note in loaded.notes if "taken for unknown" in note]
    assert [re.search(rf"arm \(.*{message}", note) is not None for note in notes] == ([] if slight else [True])
    # What the file says stays, for who wants it.
    assert loaded.joints[-1].link.nominal is not None
    assert not load_robot(path, inertials="ignore").joints[-1].link.nominal
    assert load_robot(path, inertials="keep").has_nominal
    repaired = tmp_path / "repaired.urdf"
    repair(path, repaired)
    assert load_robot(repaired).notes == ()


def test_keep_keeps_what_the_file_says(tmp_path):
    nominal = read_robot_file(write(tmp_path, one_joint(inertial("-1", (1, 2, -3)))), inertials="keep").nominal
    np.testing.assert_array_equal(nominal, [[-1, 0, 0, 0, 1, 0, 2, 0, 0, -3]])


def test_not_a_number_is_refused_under_every_policy(tmp_path):
    path = write(tmp_path, one_joint(inertial("nan", (1, 1, 1))))
    for policy in ("check", "ignore", "keep"):
        with pytest.raises(RobotFileError, match="not finite"):
            read_robot_file(path, inertials=policy)


def test_what_torque_never_sees_or_only_the_triangle_forbids_loads(tmp_path):
    frame = inertial("0", (0, 0, 0))
    flat = inertial("1", (1, 1, 5))
    text = urdf(
        link("base", inertial("-1", (1, 1, 1))),
        link("arm", flat),
        link("tool", frame),
        joint("j", "base", "arm"),
        joint("w", "arm", "tool", "fixed", ""),
    )
    assert read_robot_file(write(tmp_path, text)).nominal[0, 9] == 5.0


def test_a_chain_of_a_hundred_links_is_read(tmp_path):
    n_joints = 100
    links = [link(f"l{i}") for i in range(n_joints + 1)]
    # The file lists children before their parents.
    joints = [joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in reversed(range(n_joints))]
    robot = read_robot_file(write(tmp_path, urdf(*joints, *reversed(links))))
    assert robot.joint_names == tuple(f"j{i}" for i in range(n_joints))
    assert len({path[-1] for path in robot.path_to}) == n_joints


def test_armature_is_the_nominal_rotor_inertia_and_survives_a_model_file(tmp_path, rng):
    text = mjcf(
        '<body name="a"><inertial mass="1" pos="0 0 0.1" diaginertia="0.1 0.1 0.1"/><joint name="j" class="geared"/>'
        '<body name="b"><inertial mass="1" pos="0 0 0.1" diaginertia="0.1 0.1 0.1"/><joint name="k" axis="0 1 0"/>'
        "</body></body>",
        before='<default><default class="geared"><joint armature="0.3"/></default></default>',
    )
    robot = read_robot_file(write(tmp_path, text))
    assert [joint.rotor_inertia for joint in robot.joints] == [0.3, 0.0]
    model = TorqueModel(robot, (RotorInertia(),))
    assert model.nominal()[-2:].tolist() == [0.3, 0.0]
    save_model(with_terms(model, rng), tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").model.robot.joints[0].rotor_inertia == 0.3
    with pytest.raises(RobotError, match="rotor inertia -1 is not a positive number"):
        read_robot_file(write(tmp_path, text.replace("0.3", "-1")))
