"""Robot files as people find them: what others overlook is overlooked, what is decided is said."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from dynid.chain import InertialParameters, Robot, load_robot
from dynid.chain.formats.assembly import read_bodies
from dynid.chain.formats.locks import Lineage, _follow
from dynid.chain.formats.mesh_mass import read_triangles
from dynid.chain.limits import Limits, believable
from dynid.chain.placement import exact_right_angle
from dynid.chain.stand_ins import with_stand_ins
from dynid.dynamics import Motion, TorqueModel, base_parameters, random_motion
from dynid.errors import RobotError, RobotFileError, UnknownName
from tests.chain.test_formats import BODY, INERTIAL, LIMIT, joint, link, mjcf, one_joint, urdf, write


def torque(robot: Robot, rng: np.random.Generator) -> tuple[Motion, np.ndarray]:
    motion = random_motion(robot, 10, rng)
    nominal = [np.zeros(10) if j.link.nominal is None else j.link.nominal.pi for j in robot.joints]
    return motion, TorqueModel(robot).torque(motion, np.concatenate(nominal))


def of_pinocchio(text: str, robot: Robot, motion: Motion) -> np.ndarray:
    model = pin.buildModelFromXML(text)
    model.gravity.linear = robot.gravity.copy()
    states = zip(motion.q, motion.dq, motion.ddq, strict=True)
    return np.array([pin.rnea(model, model.createData(), *state) for state in states])


def arm_of(n_joints: int, *more: str, origin: str = '<origin xyz="0.1 0 0.3" rpy="1.2 0 0"/>') -> str:
    """A chain l0 … ln of joints j1 … jn, and whatever else hangs on it."""
    links = [link(f"l{k}") for k in range(n_joints + 1)]
    joints = [joint(f"j{k}", f"l{k - 1}", f"l{k}", content=origin + LIMIT) for k in range(1, n_joints + 1)]
    return urdf(*links, *joints, *more)


# ---- limits


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", Limits()),
        ('<limit lower="-1" upper="2" velocity="3" effort="40"/>', Limits(-1.0, 2.0, 3.0, 40.0)),
        ('<limit lower="-1" upper="2" velocity="0" effort="0"/>', Limits(-1.0, 2.0)),
        ('<limit lower="-1" upper="2" velocity="1000" effort="1000"/>', Limits(-1.0, 2.0)),
        ('<limit lower="-1" upper="2" velocity="1e6" effort="1e6"/>', Limits(-1.0, 2.0)),
        ('<limit lower="-1" upper="2" velocity="inf" effort="nan"/>', Limits(-1.0, 2.0)),
        ('<limit lower="-1" upper="2" velocity="" effort="${effort}"/>', Limits(-1.0, 2.0)),
        ('<limit lower="-1" upper="2" velocity="-5" effort="9999"/>', Limits(-1.0, 2.0)),
        ('<limit lower="-1" upper="2" velocity="9" effort="7000"/>', Limits(-1.0, 2.0, 9.0, 7000.0)),
        ('<limit lower="2" upper="-1" velocity="3" effort="40"/>', Limits(-1.0, 2.0, 3.0, 40.0)),
        ('<limit lower="0" upper="0" velocity="3" effort="40"/>', Limits(velocity=3.0, effort=40.0)),
        ('<limit lower="-1e16" upper="1e16" velocity="3" effort="40"/>', Limits(velocity=3.0, effort=40.0)),
        ('<limit upper="inf" velocity="3" effort="40"/>', Limits(0.0, math.inf, 3.0, 40.0)),
        ("<limit/>", Limits()),
    ],
)
def test_limits_that_nobody_can_mean_are_unknown(written, meant, tmp_path):
    assert load_robot(write(tmp_path, one_joint(INERTIAL, content=written))).joints[0].limits == meant


def test_believable_limits_stay():
    assert believable(Limits(-2.9, 2.9, 2.175, 87.0, 15.0, 7500.0)) == Limits(-2.9, 2.9, 2.175, 87.0, 15.0, 7500.0)


# ---- odd URDF


def test_what_xacro_gazebo_and_prefixes_leave_behind_is_passed_over(tmp_path):
    text = arm_of(2).replace(
        '<robot name="arm">',
        '<?xml version="1.0" ?>\n<!-- made -- by hand -->\n<robot name="arm" xmlns:xacro="x">'
        '<xacro:property name="a" value="${b}"/><xacro:macro name="m"><link name="l1"/></xacro:macro>'
        '<gazebo reference="l1"><sensor:camera controller:x="1"/></gazebo><transmission name="t"><joint name="j1"/>'
        '</transmission><ros2_control name="r"><joint name="j1"/></ros2_control><material name="m"/>',
    )
    robot = load_robot(write(tmp_path, "\n" + text))
    assert robot.joint_names == ("j1", "j2")
    assert robot.notes == ("leftovers of xacro are passed over: <xacro:property> in line 4 and 1 more",)


@pytest.mark.parametrize(
    "text", ['<robot name="a" xmlns:xacro="x"><xacro:arm/></robot>', "<robot><xacro:arm/></robot>"]
)
def test_a_file_of_macros_is_refused_with_the_command_that_expands_it(text, tmp_path):
    with pytest.raises(RobotFileError, match=r"<xacro:arm> in line 1: unexpanded macro; expand the file first: xacro"):
        load_robot(write(tmp_path, text))


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_a_base_that_can_float_is_held_and_said(kind, tmp_path, rng):
    text = arm_of(2, link("odom", ""), joint("virtual", "odom", "l0", kind, '<origin xyz="1 2 3" rpy="0.3 0 0"/>'))
    robot = load_robot(write(tmp_path, text))
    assert robot.joint_names == ("j1", "j2")
    assert robot.notes == (
        f"joints that no single axis describes are held where the file draws them: virtual ({kind})",
    )
    motion, mine = torque(robot, rng)
    model = pin.buildModelFromXML(text.replace(kind, "fixed"))
    model.gravity.linear = robot.gravity.copy()
    theirs = [
        pin.rnea(model, model.createData(), *state) for state in zip(motion.q, motion.dq, motion.ddq, strict=True)
    ]
    np.testing.assert_allclose(mine, theirs, rtol=0.0, atol=1e-9 * np.abs(theirs).max())


def test_of_several_roots_the_one_with_the_arm_is_taken(tmp_path):
    robot = load_robot(write(tmp_path, arm_of(2).replace("<link", '<link name="table"/><link', 1)))
    assert robot.joint_names == ("j1", "j2")
    assert "l0 is taken for the base, and what hangs on table is left out" in robot.notes[0]


def test_a_part_that_hangs_on_a_link_of_another_file_is_read(tmp_path):
    text = arm_of(2).replace(link("l0"), "")
    robot = load_robot(write(tmp_path, text))
    assert robot.joint_names == ("j1", "j2")
    assert robot.notes == ("links that joints name but the file lacks: l0; taken for empty frames",)


def test_a_joint_that_would_close_a_loop_is_left_out_and_said(tmp_path):
    robot = load_robot(write(tmp_path, arm_of(3, joint("rod", "l0", "l3"))))
    assert robot.joint_names == ("j1", "j2", "j3")
    assert robot.notes == ("joint rod is left out: it would close a loop, since j3 carries l3",)


@pytest.mark.parametrize(
    ("written", "mass"),
    [
        ("<inertial/>", 0.0),
        ('<inertial><mass value="1"/></inertial>', 1.0),
        (INERTIAL.replace("iyz", "iii"), 2.0),
        (INERTIAL.replace('<mass value="2"/>', "<mass/>"), 0.0),
    ],
)
def test_half_an_inertia_is_unknown_and_weighs_what_pinocchio_reads(written, mass, tmp_path):
    text = arm_of(2, link("l3", written), joint("j3", "l2", "l3"))
    robot = load_robot(write(tmp_path, text))
    assert not robot.joints[-1].link.known
    assert robot.joints[-1].link.nominal.mass == mass == pin.buildModelFromXML(text).inertias[3].mass
    assert robot.notes[0] == "inertias without mass, or without all six moments: l3"


def test_the_first_of_two_inertias_counts(tmp_path):
    text = one_joint(INERTIAL + INERTIAL.replace('"2"', '"7"'))
    assert load_robot(write(tmp_path, text)).joints[0].link.nominal.mass == 2.0


def test_a_moving_link_lighter_than_air_is_unknown_a_finger_of_grams_is_not(tmp_path):
    def light(mass: str, size: str) -> Robot:
        tensor = f'<inertia ixx="{size}" ixy="0" ixz="0" iyy="{size}" iyz="0" izz="{size}"/>'
        inertial = f'<inertial><mass value="{mass}"/>{tensor}</inertial>'
        box = '<visual><geometry><box size="0.02 0.02 0.04"/></geometry></visual>'
        heavy = arm_of(2).replace('<mass value="2"/>', '<mass value="90"/>')
        place = '<origin xyz="0 0 0.02"/>' if mass == "0.003" else '<origin xyz="0.3 0 0"/>'
        extra = link("l3", inertial + (box if mass == "0.003" else "")) + joint("j3", "l2", "l3", content=place)
        return load_robot(write(tmp_path, heavy.replace("</robot>", extra + "</robot>")))

    assert [j.link.trusted for j in light("0.003", "1e-6").joints] == [True, True, True]
    placeholder = light("0.001", "1e-5")
    assert [j.link.trusted for j in placeholder.joints] == [True, True, False]
    assert "l3 (0.001 kg; the link spans" in placeholder.notes[0]
    assert "repair" not in placeholder.notes[0]


def test_an_empty_frame_spoils_no_link(tmp_path):
    frame = '<inertial><mass value="1e-6"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
    robot = load_robot(write(tmp_path, arm_of(2, link("tool0", frame), joint("w", "l2", "tool0", "fixed", ""))))
    assert robot.has_nominal
    assert robot.notes == ()


# ---- which joints move


FINGERS = (
    link("left"),
    link("right"),
    joint("f1", "l4", "left", "prismatic"),
    joint("f2", "l4", "right", "prismatic", f'<mimic joint="f1"/>{LIMIT}'),
)
ROD = (link("rod"), joint("piston", "l1", "rod", content=f'<mimic joint="j2" multiplier="-1"/>{LIMIT}'))
LEVEL = (link("l5"), joint("level", "l4", "l5", content=f'<mimic joint="j4" multiplier="-1"/>{LIMIT}'))


def test_a_main_axis_is_never_frozen_for_what_mimics_it(tmp_path):
    for parts, held in ((ROD, "piston"), (LEVEL, "level")):
        robot = load_robot(write(tmp_path, arm_of(4, *parts)))
        assert robot.joint_names == ("j1", "j2", "j3", "j4")
        assert list(robot.held) == [held]
        master = "j2" if held == "piston" else "j4"
        assert robot.notes == (
            f"joints that mimic {master}, which stays free, are held: {held}; the torque that moving them takes is not "
            "modelled",
        )


def test_a_gripper_alone_keeps_the_joint_that_leads(tmp_path):
    text = urdf(link("l4"), *FINGERS)
    assert load_robot(write(tmp_path, text)).joint_names == ("f1",)


def test_joints_that_mimic_one_another_do_not_hang_the_reader(tmp_path):
    ring = FINGERS[2].replace(LIMIT, f'<mimic joint="f2"/>{LIMIT}')
    robot = load_robot(write(tmp_path, arm_of(4, *FINGERS[:2], ring, FINGERS[3])))
    assert robot.joint_names == ("j1", "j2", "j3", "j4")


def test_a_mimic_of_nothing_is_held(tmp_path):
    robot = load_robot(write(tmp_path, arm_of(2).replace(LIMIT, f'{LIMIT}<mimic joint="x" offset="0.2"/>', 1)))
    assert robot.joint_names == ("j2",)
    assert robot.held == {"j1": 0.2}


def test_a_tip_chooses_one_arm_of_a_tree(tmp_path):
    text = arm_of(3, link("s"), link("t"), link("flange", ""), joint("k1", "l1", "s"), joint("k2", "s", "t"),
                  joint("w", "t", "flange", "fixed", ""))  # fmt: skip
    path = write(tmp_path, text)
    assert load_robot(path).joint_names == ("j1", "j2", "j3", "k1", "k2")
    robot = load_robot(path, tip="flange")
    assert robot.joint_names == ("j1", "k1", "k2")
    assert robot.notes == ("joints off the way to flange are held: j2, j3",)
    with pytest.raises(UnknownName, match=r"no link 'flang'.*flange"):
        load_robot(path, tip="flang")
    with pytest.raises(RobotError, match="no joint moves link 'l0'"):
        load_robot(path, tip="l0")


def test_joints_that_a_log_does_not_have_are_held(tmp_path):
    path = write(tmp_path, arm_of(4, *FINGERS))
    robot = load_robot(path, moving=["j1", "j2", "j3", "j4", "f1", "f2"])
    assert robot.joint_names == ("j1", "j2", "j3", "j4", "f1", "f2")
    robot = load_robot(path, moving=["j2", "j3"])
    assert robot.joint_names == ("j2", "j3")
    assert set(robot.held) == {"j1", "j4", "f1", "f2"}


def test_built_in_robots_take_a_tip_as_well():
    assert load_robot("panda", tip="link3").joint_names == ("joint1", "joint2", "joint3")
    with pytest.raises(UnknownName, match="no link 'hand'"):
        load_robot("panda", tip="hand")


# ---- right angles


@pytest.mark.parametrize(
    ("word", "angle"),
    [
        ("3.1416", math.pi), ("-3.1415", -math.pi), ("3.14", math.pi), ("1.57", math.pi / 2), ("1.5708", math.pi / 2),
        ("-1.570796", -math.pi / 2), ("4.71239", 1.5 * math.pi), ("6.2832", 2 * math.pi),
        ("1.58", 1.58), ("1.5", 1.5), ("3", 3.0), ("1.6", 1.6), ("1.5701", 1.5701), ("1.5709", 1.5709), ("0.00", 0.0),
        ("0.785", 0.785), ("1.57e0", 1.57), ("-0.0001", -0.0001),
        # Half of 3.14159265, and what other programs leave of zero and of π/2.
        ("1.570796325", math.pi / 2), ("3.67e-09", 0.0), ("1.57079633e0", math.pi / 2), ("1.570797", 1.570797),
    ],
)  # fmt: skip
def test_only_the_digits_of_a_right_angle_are_a_right_angle(word, angle):
    assert exact_right_angle(word) == angle


def test_rounded_right_angles_make_no_base_parameters_once_they_are_square(tmp_path, rng):
    exact = arm_of(4, origin=f'<origin xyz="0 0 0.3" rpy="{math.pi / 2!r} 0 0"/><axis xyz="0 0 1"/>')
    rounded = exact.replace(repr(math.pi / 2), "1.5708")
    square = load_robot(write(tmp_path, rounded), square=True)
    assert square.notes == ("right angles given with few digits, as 3.1416, are exact at 4 joints",)
    true = load_robot(write(tmp_path, exact, "exact.xml"))
    assert base_parameters(TorqueModel(square)).n_base == base_parameters(TorqueModel(true)).n_base
    # As it stands the file is taken at its word, so that its torque is that of every other program.
    as_written = load_robot(write(tmp_path, rounded))
    for body in read_bodies(write(tmp_path, rounded)).bodies[1:]:
        assert body.joint is not None
        assert body.joint.T_parent_joint[2, 2] == pytest.approx(math.cos(1.5708), rel=1e-9)
    assert as_written.notes == ()
    motion, mine = torque(as_written, rng)
    model = pin.buildModelFromXML(rounded)
    model.gravity.linear = as_written.gravity.copy()
    theirs = [
        pin.rnea(model, model.createData(), *state) for state in zip(motion.q, motion.dq, motion.ddq, strict=True)
    ]
    np.testing.assert_allclose(mine, theirs, rtol=0.0, atol=1e-9 * np.abs(theirs).max())


DH_ARM = """name = "typed by hand"
convention = "standard"
""" + "".join(
    f'[[joint]]\nname = "j{k}"\na = 0.2\nalpha = {alpha}\nd = 0.1\ntheta = {theta}\n'
    for k, (alpha, theta) in enumerate([("1.5708", "0.0"), ("0.0", "1.57"), ("-1.570796325", "0.0"), ("0.0", "0.0")])
)


def test_rounded_right_angles_of_a_table_and_of_a_mounting_make_no_base_parameters(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(
        DH_ARM.replace("1.570796325", "1.5708")
        .replace("1.5708", repr(math.pi / 2))
        .replace("1.57\n", f"{math.pi / 2}\n")
    )
    true = load_robot(path, mounting=(math.pi, 0.0, 0.0))
    path.write_text(DH_ARM)
    square = load_robot(path, mounting=(3.14, 0.0, 0.0), square=True)
    assert [note for note in square.notes if "right angles" in note] == [
        "right angles given with few digits, as 3.1416, are exact at 2 joints",
        "right angles of the mounting 3.14 0 0 rad are exact",
    ]
    assert base_parameters(TorqueModel(square)).labels() == base_parameters(TorqueModel(true)).labels()
    np.testing.assert_allclose(square.gravity, true.gravity, rtol=0.0, atol=1e-12)
    as_written = load_robot(path, mounting=(3.14, 0.0, 0.0))
    assert not any("right angles" in note for note in as_written.notes)
    assert as_written.gravity[1] == pytest.approx(-9.80665 * math.sin(3.14), rel=1e-9)


# ---- MJCF


CHAIN = (
    f'<body name="a"><joint name="j1" axis="0 1 0" armature="0.1"/>{BODY}'
    f'<body name="b" pos="0 0 0.4"><joint name="j2" axis="1 0 0"/>{BODY}</body></body>'
)
CLOSED = (
    f'<body name="hand" pos="0 0 0.2">{BODY}'
    f'<body name="l" pos="0.1 0 0"><joint name="f1"/>{BODY}</body>'
    f'<body name="r" pos="-0.1 0 0"><joint name="f2"/>{BODY}</body></body>'
)


def of_mujoco(path: Path, robot: Robot, motion: Motion) -> np.ndarray:
    model = mujoco.MjModel.from_xml_path(str(path))
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_EQUALITY | off.mjDSBL_LIMIT | off.mjDSBL_CONTACT)
    state = mujoco.MjData(model)
    joints = [model.joint(name) for name in robot.joint_names]
    at, rows = [int(j.qposadr[0]) for j in joints], [int(j.dofadr[0]) for j in joints]
    tau = np.empty_like(motion.q)
    for k in range(motion.n_samples):
        state.qpos[at], state.qvel[rows], state.qacc[rows] = motion.q[k], motion.dq[k], motion.ddq[k]
        mujoco.mj_inverse(model, state)
        tau[k] = state.qfrc_inverse[rows]
    return tau


def agrees(path: Path, robot: Robot, rng: np.random.Generator) -> bool:
    motion, mine = torque(robot, rng)
    mine = mine + np.array([j.rotor_inertia for j in robot.joints]) * motion.ddq
    theirs = of_mujoco(path, robot, motion)
    return bool(np.abs(mine - theirs).max() <= 1e-9 * np.abs(theirs).max())


HELD = "free and ball joints are held where the file draws them:"
LEFT_OUT = "constraints that are not modelled:"
FLOATING = '<body name="a0"><freejoint name="fr"/>' + BODY + CHAIN + "</body>"
FLAT = '<body name="c"><joint name="j3"/><inertial mass="1" pos="0 0 0.1" diaginertia="0.01 0.01 0.05"/></body>'
ON_TENDON = (
    '<tendon><fixed name="t"><joint joint="j1" coef="1"/></fixed></tendon><equality><tendon tendon1="t"/></equality>'
)
COPIES = (
    '<replicate count="3" offset="0 0.2 0" euler="0 0 20" sep="-"><body name="c" pos="0.3 0 0">'
    f'<joint name="k" axis="0 1 0"/>{BODY}</body></replicate>'
)
TWO = ("j1", "j2")

MJCF_AS_FOUND: dict[str, tuple[str, str, str, tuple[str, ...], str | None]] = {
    "free base": (FLOATING, "", "", TWO, f"{HELD} fr of a0"),
    "a cube to grasp": (CHAIN + f'<body name="cube"><freejoint/>{BODY}</body>', "", "", TWO, f"{HELD} joint3 of cube"),
    "closed gripper": (
        CHAIN.replace("</body></body>", f"{CLOSED}</body></body>"),
        "",
        '<equality><connect body1="l" body2="r" anchor="0 0 0.1"/></equality>',
        TWO,
        "joints of closed loops are held: f1, f2",
    ),
    "mocap": (
        CHAIN + '<body name="m" mocap="true"/>',
        "",
        '<equality><weld body1="m" body2="b"/></equality>',
        TWO,
        f"{LEFT_OUT} <weld>",
    ),
    "welded to the world": (CHAIN, "", '<equality><weld name="w" body1="b"/></equality>', TWO, f"{LEFT_OUT} <weld> w"),
    "tendons": (CHAIN, "", ON_TENDON, TWO, f"{LEFT_OUT} <tendon>"),
    "total mass": (CHAIN + f'<body name="s">{BODY}</body>', '<compiler settotalmass="11"/>', "", TWO, None),
    "bounds": (CHAIN, '<compiler boundmass="3" boundinertia="0.2"/>', "", TWO, None),
    "bounds of a link without inertia": (
        CHAIN.replace(
            "</body></body>", '<body name="c" pos="0 0.2 0.1" euler="20 0 30"><joint name="j3"/></body></body></body>'
        ),
        '<compiler boundmass="3" boundinertia="0.2"/>',
        "",
        (*TWO, "j3"),
        None,
    ),
    "orientation of a class": (
        '<body name="a"><joint name="j1" axis="0 1 0"/><geom mass="2"/><geom mass="1" quat="1 1 0 0" pos="0 0.1 0"/>'
        '<body name="b" pos="0 0 0.4"><joint name="j2" axis="1 0 0"/><geom mass="1" zaxis="1 2 0"/></body></body>',
        '<default><geom type="capsule" size="0.05 0.2" euler="30 40 0"/></default>',
        "",
        TWO,
        None,
    ),
    "balanced": (
        CHAIN.replace("</body></body>", f"{FLAT}</body></body>"),
        '<compiler balanceinertia="true"/>',
        "",
        (*TWO, "j3"),
        None,
    ),
    "copies": (CHAIN + COPIES, "", "", (*TWO, "k-0", "k-1", "k-2"), None),
}


@pytest.mark.parametrize("case", MJCF_AS_FOUND)
def test_mjcf_as_found_has_mujocos_torque_and_says_what_is_held(case, tmp_path, rng):
    bodies, before, after, joints, note = MJCF_AS_FOUND[case]
    path = write(tmp_path, mjcf(bodies, before, after))
    robot = load_robot(path)
    assert robot.joint_names == joints
    assert robot.notes == ((note,) if note else ())
    assert agrees(path, robot, rng)


@pytest.mark.parametrize("names", ["abc", "cba", "bca"])
def test_held_joints_follow_those_they_mimic_in_any_order(names, tmp_path):
    first, second, third = names

    def mimicking(name: str, master: str, rule: str) -> str:
        return joint(name, "base", f"l{name}", content=f'{LIMIT}<mimic joint="{master}" {rule}/>')

    parts = [joint(third, "base", f"l{third}"), mimicking(second, third, 'multiplier="-1" offset="0.2"')]
    parts += [mimicking(first, second, 'multiplier="2" offset="0.1"')]
    tree = read_bodies(write(tmp_path, urdf(link("base"), *(link(f"l{name}") for name in names), *parts)))
    joints = {body.joint.name: body.joint for body in tree.bodies if body.joint is not None}
    positions: dict[str, float] = {}
    _follow(joints, positions, "abc")
    assert positions == pytest.approx({third: 0.0, second: 0.2, first: 0.5})
    positions = {third: 0.3}
    _follow(joints, positions, [first, second])
    assert positions == pytest.approx({third: 0.3, second: -0.1, first: -0.1})


def test_a_scene_includes_its_robot_and_the_robot_its_parts(tmp_path, rng):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "defaults.xml").write_text(
        '<mujocoinclude><default><default class="geared"><joint armature="0.3"/></default></default></mujocoinclude>'
    )
    arm = mjcf(CHAIN.replace('armature="0.1"', 'class="geared"'), '<include file="parts/defaults.xml"/>')
    write(tmp_path, arm, "arm.xml")
    scene = mjcf('<geom type="plane" size="1 1 1"/>', '<option gravity="0 0 -5"/><include file="arm.xml"></include>')
    path = write(tmp_path, scene, "scene.xml")
    robot = load_robot(path)
    assert robot.joint_names == ("j1", "j2")
    assert robot.gravity.tolist() == [0.0, 0.0, -5.0]
    assert robot.joints[0].rotor_inertia == 0.3
    assert agrees(path, robot, rng)


def test_a_fault_in_a_file_with_includes_says_that_lines_count_through_them(tmp_path):
    write(tmp_path, mjcf('<body name="a"><joint axis="0 0 nan"/></body>'), "arm.xml")
    path = write(tmp_path, '<mujoco><include file="arm.xml"/></mujoco>', "scene.xml")
    with pytest.raises(RobotFileError, match=r"scene\.xml, line 2 with its includes, .*<joint>: attribute 'axis'"):
        load_robot(path)


@pytest.mark.parametrize("part", ['body="palm" ', ""], ids=["one body", "whole model"])
def test_models_that_are_attached_keep_their_own_settings(part, tmp_path, rng):
    hand = mjcf(
        f'<body name="palm" euler="0 0.3 0"><joint name="k" axis="0 1 0" range="-1 1"/>{BODY}</body>',
        '<compiler angle="radian"/>',
    )
    write(tmp_path, hand, "hand.xml")
    flange = f'<frame pos="0 0 0.3" euler="0 0 40"><attach model="gripper" {part}prefix="left/"/></frame>'
    arm = mjcf(
        CHAIN.replace("</body></body>", f"{flange}</body></body>"),
        '<asset><model name="gripper" file="hand.xml"/></asset>',
    )
    path = write(tmp_path, arm)
    robot = load_robot(path)
    assert robot.joint_names == ("j1", "j2", "left/k")
    assert robot.joints[2].limits.upper == pytest.approx(1.0)
    assert agrees(path, robot, rng)


def test_mass_that_only_meshes_know_is_said_to_be_missing(tmp_path):
    text = mjcf('<body name="a"><joint/><geom type="mesh" mesh="x"/></body>', '<asset><mesh file="x.stl"/></asset>')
    robot = load_robot(write(tmp_path, text))
    assert robot.notes == (
        "mass that only meshes know is missing, since these cannot be read: a",
        "links without inertia in the file, taken for unknown: a",
    )


U_SHAPE = [(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]
U_FACES = [(0, 1, 4), (0, 4, 5), (1, 2, 4), (2, 3, 4), (0, 5, 7), (5, 6, 7)]


def mesh_of_a_u() -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    n = len(U_SHAPE)
    vertices = np.array([(0.1 * x + 0.3 * z, 0.1 * y, z) for z in (0.0, 0.1) for x, y in U_SHAPE])
    faces = [face for a, b, c in U_FACES for face in ((a, c, b), (a + n, b + n, c + n))]
    around = [(i, (i + 1) % n) for i in range(n)]
    return vertices, faces + [face for i, j in around for face in ((i, j, j + n), (i, j + n, i + n))]


@pytest.mark.parametrize("rule", ["", 'inertia="exact"', 'inertia="convex"', 'scale="2 -1 0.5"'])
@pytest.mark.parametrize("kind", ["obj", "stl"])
def test_mass_of_meshes_is_what_mujoco_integrates(rule, kind, tmp_path, rng):
    vertices, faces = mesh_of_a_u()
    (tmp_path / "assets").mkdir()
    mesh = tmp_path / "assets" / f"u.{kind}"
    if kind == "obj":
        lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in vertices]
        mesh.write_text("\n".join(lines + [f"f {a + 1}//1 {b + 1}//1 {c + 1}//1" for a, b, c in faces]))
    else:
        facets = np.zeros(len(faces), [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
        facets["v"] = vertices[np.array(faces)]
        mesh.write_bytes(bytes(80) + len(faces).to_bytes(4, "little") + facets.tobytes())
    shape = '<geom type="mesh" mesh="u" pos="0.1 0 0.2" euler="20 30 0"/>'
    heavy = shape.replace("/>", ' mass="3"/>')
    text = mjcf(
        f'<body name="a"><joint name="j1" axis="0 1 0"/>{shape}<body name="b" pos="0 0 0.4"><joint name="j2"/>'
        f"{heavy}</body></body>",
        f'<compiler meshdir="assets"/><asset><mesh file="u.{kind}" {rule}/></asset>',
    )
    path = write(tmp_path, text)
    robot = load_robot(path)
    assert robot.has_nominal
    motion, mine = torque(robot, rng)
    theirs = of_mujoco(path, robot, motion)
    # MuJoCo keeps the principal axes of a mesh in single precision in between.
    np.testing.assert_allclose(mine, theirs, rtol=0.0, atol=2e-9 * np.abs(theirs).max())


@pytest.mark.parametrize("content", [b"", b"f 1 2 3", b"v 0 0 0\nf 1 1 1", b"v nan 0 0\nf 1 1 1", b"v 0\nf 1 9 9"])
def test_a_broken_mesh_is_no_mass(content, tmp_path):
    (tmp_path / "x.obj").write_bytes(content)
    text = mjcf('<body name="a"><joint/><geom type="mesh" mesh="x"/></body>', '<asset><mesh file="x.obj"/></asset>')
    assert not load_robot(write(tmp_path, text)).has_nominal


@pytest.mark.parametrize("n_bytes", [0, 79, 80, 83, 84, 85, 133, 135, 184])
def test_an_stl_file_of_another_length_than_it_says_is_no_mesh(n_bytes, tmp_path):
    facets = np.zeros(2, [("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    facets["v"] = 1.0 + np.arange(18.0).reshape(2, 3, 3)
    whole = bytes(80) + (1).to_bytes(4, "little") + facets.tobytes()
    mesh = tmp_path / "x.stl"
    mesh.write_bytes(whole[:n_bytes])
    assert read_triangles(mesh) is None
    mesh.write_bytes(whole[:134])
    np.testing.assert_array_equal(read_triangles(mesh), facets["v"][:1])
    mesh.write_bytes(bytes(84))  # no face at all
    assert read_triangles(mesh) is None
    mesh.write_bytes(whole[:96] + np.float32(1e10).tobytes() + whole[100:134])
    assert read_triangles(mesh) is None


def test_faces_of_an_obj_file_count_from_either_end_and_fan_out(tmp_path):
    mesh = tmp_path / "x.OBJ"
    corners = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
    expected = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]], dtype=float)
    for face in ("f 1 2 3 4", "f -4 -3 -2 -1", "f 1/1/1 2/2/1 3//1 4", "# f 9 9 9\nvn 0 0 1\nf 1 2 3\nf 1 3 4"):
        mesh.write_text(corners + face)
        np.testing.assert_array_equal(read_triangles(mesh), expected)
    for face in ("f 0 1 2", "f 1 2 5", "f -5 1 2", "f 1 2", "vt 1 2"):
        mesh.write_text(corners + face)
        assert read_triangles(mesh) is None


# ---- stand-ins


def test_a_robot_without_inertias_gets_rods_that_can_be_simulated(tmp_path):
    robot = load_robot(write(tmp_path, arm_of(3).replace(INERTIAL, "")))
    assert not robot.has_nominal
    full, names = with_stand_ins(robot)
    assert names == ("l1", "l2", "l3")
    assert full.has_nominal
    assert 0.5 < full.nominal[:, 0].sum() < 50.0
    # A solid cylinder of water from its joint to the next one, 0.15 of its length in radius.
    end = robot.joints[1].T_parent_joint[:3, 3]
    length = float(np.linalg.norm(end))
    rod = InertialParameters(full.nominal[0])
    assert rod.mass == pytest.approx(1000.0 * math.pi * (0.15 * length) ** 2 * length)
    np.testing.assert_allclose(rod.com, end / 2.0)
    along, across = rod.mass * (0.15 * length) ** 2 / 2.0, rod.mass * length**2 * (0.15**2 / 4.0 + 1.0 / 12.0)
    np.testing.assert_allclose(np.linalg.eigvalsh(rod.inertia_com), [along, across, across], rtol=1e-9)
    assert end @ rod.inertia_com @ end == pytest.approx(along * length**2)
    same, none = with_stand_ins(load_robot("panda"))
    assert (none, same.name) == ((), "panda")


def test_the_lineage_of_a_file_knows_paths_groups_and_loops(tmp_path):
    from dynid.chain.formats.assembly import read_bodies

    lineage = Lineage(read_bodies(write(tmp_path, arm_of(4, *FINGERS, *ROD))))
    assert lineage.longest == ("j1", "j2", "j3", "j4", "f1")
    assert set(lineage.groups) == {("f1", "f2"), ("j2", "piston")}
    assert lineage.between(("left", "right")) == ("f1", "f2")
    assert lineage.carried_by(["j3"]) == ("j4", "f1", "f2")
