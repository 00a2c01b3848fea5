"""Links as capsules: distances, gradients, which pairs are watched, and motions that keep clear."""

import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dynid.chain import InertialParameters, Joint, Limits, Link, Robot, load_robot
from dynid.dynamics import TorqueModel, friction_models
from dynid.errors import ExcitationError
from dynid.excitation import (
    Capsules,
    FourierBasis,
    KeepOut,
    MotionLimits,
    States,
    Surroundings,
    capsules_of,
    clearance_limit,
    design_excitation,
)
from dynid.excitation.limits.capsules import capsules_around, enclosing_capsule
from dynid.excitation.limits.outlines import OutlineSolid
from tests.robots import random_robot

ROD = InertialParameters.from_com(1.0, np.array([0.2, 0.0, 0.0]), 0.01 * np.eye(3))
BOX = KeepOut(np.array([0.3, -0.2, 0.1]), np.array([0.7, 0.3, 0.6]))


def at(*poses) -> States:
    return States.at_rest(np.array(poses, dtype=float))


def clear(robot: Robot, **around: Any):
    return clearance_limit(robot, capsules_of(robot), Surroundings(**around), MotionLimits.of(robot))


def bar(length: float = 0.4, *, z: float = 0.5, n_links: int = 3) -> Robot:
    """Bars in a plane at a height, each turning about z at the end of the one before."""
    joints = []
    for k in range(n_links):
        T = np.eye(4)
        T[:3, 3] = (0.0, 0.0, z) if k == 0 else (length, 0.0, 0.0)
        joints.append(Joint(f"j{k}", "revolute", k - 1, T, np.array([0.0, 0.0, 1.0]), Link(f"bar{k}", ROD),
                            limits=Limits(-3.0, 3.0, 2.0)))  # fmt: skip
    return Robot("bars", tuple(joints))


@pytest.mark.parametrize("seed", range(6))
def test_distances_and_gradients_agree_with_dense_points_and_differences(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5)
    found = clear(robot, floor=-0.3, floor_asked=True, keep_out=(BOX,))
    limit = found.limit
    q = rng.uniform(-1.0, 1.0, (20, 5))
    excess = limit.excess(at(*q))
    brute = _by_points(robot, limit, q)
    # Points every 1/400 of an axis are up to a few mm from the nearest ones; nearer than 0.25 m only is exact.
    near = excess > -0.2
    assert near.any()
    np.testing.assert_allclose(excess[near], brute[near], atol=4e-3)
    weight = rng.random(excess.shape) * near
    slope = limit.slope(at(*q), weight)[0]
    for j in range(5):
        step = 1e-6 * np.eye(5)[j]
        sides = [(limit.excess(at(*(q + sign * step))) * weight).sum(axis=1) for sign in (1.0, -1.0)]
        # Nearest points jump where axes are parallel: a few of many poses may sit there.
        assert np.median(np.abs((sides[0] - sides[1]) / 2e-6 - slope[:, j])) < 1e-6


def _by_points(robot, limit, q):
    """Every column by brute force: points along the axes, placed with the robot's own transforms."""
    checks = limit.checks
    t = np.linspace(0.0, 1.0, 401)[:, None]
    out = np.full((len(q), checks.n_columns), -np.inf)
    for n, pose in enumerate(q):
        T: list[np.ndarray] = []
        for joint, position in zip(robot.joints, pose, strict=True):
            above = np.eye(4) if joint.parent < 0 else T[joint.parent]
            T.append(above @ joint.T_parent_link(position))
        lines = []
        for link, (start, stop) in zip(checks.link, checks.ends, strict=True):
            frame = np.eye(4) if link < 0 else T[link]
            lines.append((start + t * (stop - start)) @ frame[:3, :3].T + frame[:3, 3])
        for (k, end), plane, column in zip(checks.wall_point, checks.wall, checks.wall_column, strict=True):
            height = lines[k][-1 if end else 0] @ plane[:3] - plane[3]
            out[n, column] = max(out[n, column], checks.clearance + checks.radius[k] - height)
        for k, box, column in zip(checks.box_capsule, checks.box, checks.box_column, strict=True):
            beyond = np.maximum(box[:3] - lines[k], lines[k] - box[3:])
            outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
            signed = np.where(outside > 0.0, outside, beyond.max(axis=1))
            out[n, column] = max(out[n, column], checks.clearance + checks.radius[k] - signed.min())
        for (i, j), column in zip(checks.pair, checks.pair_column, strict=True):
            gap = np.linalg.norm(lines[i][:, None] - lines[j][None, ::8], axis=2).min()
            out[n, column] = max(out[n, column], checks.clearance + checks.radius[i] + checks.radius[j] - gap)
    return out


def test_neighbours_are_never_watched_and_folding_onto_oneself_is():
    found = clear(bar())
    assert "bar0 – bar2" in found.limit.labels
    assert not {"bar0 – bar1", "bar1 – bar2", "base – bar0"} & set(found.limit.labels)
    folded, open_ = found.limit.excess(at([0.0, 2.0944, 2.0944], [0.0, 0.3, 0.3]))
    column = found.limit.labels.index("bar0 – bar2")
    assert folded[column] > 0.0 > open_[column]


def test_links_that_a_short_one_joins_are_watched_beyond_their_contact():
    joints = list(bar(n_links=3).joints)
    T = np.array(joints[2].T_parent_joint)
    T[:3, 3] = (0.05, 0.0, 0.0)
    joints[2] = replace(joints[2], T_parent_joint=T)
    found = clear(Robot("elbow", tuple(joints)))
    # bar0 and bar2 are 5 cm apart at their joints in every pose; the far end of bar2 can still fold onto bar0.
    assert "bar0 – bar2" in found.limit.labels
    assert found.unchecked == ()


def test_what_lies_in_the_floor_in_every_pose_is_left_out_and_said():
    planar = clear(load_robot("planar2r"))
    assert planar.unchecked == ("floor (all links lie in it in every pose)",)
    assert "above the floor" not in str(planar)
    asked = clear(load_robot("planar2r"), floor=0.0, floor_asked=True)
    assert any(label.startswith("floor") for label in asked.limit.labels)
    off = clear(load_robot("panda"), floor=None, itself=False)
    assert off.limit is None
    assert off.unchecked == ("floor (turned off)", "self-collision (turned off)")


def test_an_arm_without_shapes_is_six_per_cent_of_its_length_thick():
    assert np.all(capsules_of(bar()).radius == pytest.approx(0.06 * 1.2))
    assert np.all(capsules_of(bar(), thickness=0.1).radius == 0.1)
    with pytest.raises(ExcitationError, match="`thickness` -1: it must be a positive radius"):
        capsules_of(bar(), thickness=-1.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_capsule_holds_its_points_and_is_not_much_larger(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(300, 3)) * np.array([0.3, 0.05, 0.05])
    start, stop, radius = enclosing_capsule(points)
    way = stop - start
    share = np.clip((points - start) @ way / (way @ way), 0.0, 1.0)
    away = np.linalg.norm(points - start - share[:, None] * way, axis=1)
    assert away.max() <= radius * (1.0 + 1e-9)
    assert radius < 0.25


def test_an_l_shaped_body_becomes_two_tighter_capsules():
    from scipy.spatial import ConvexHull

    def prism(lower, upper):
        corners = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(3, -1).T
        return corners[ConvexHull(corners).simplices]

    arm, foot = prism((0.0, -0.04, -0.04), (0.5, 0.04, 0.04)), prism((-0.04, -0.04, -0.04), (0.04, 0.04, 0.4))
    triangles = np.concatenate([arm, foot])
    found = capsules_around(OutlineSolid(triangles.reshape(-1, 3), triangles))
    assert len(found) > 1
    assert sum(one.volume for one in found) < 0.7 * enclosing_capsule(triangles.reshape(-1, 3)).volume
    # Points of the surface, corners and inside of faces alike, are inside one of them.
    weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(len(triangles), 30))
    points = np.einsum("fnk,fkd->fnd", weights, triangles).reshape(-1, 3)
    inside = np.zeros(len(points), dtype=bool)
    for start, stop, radius in found:
        way = stop - start
        share = np.clip((points - start) @ way / max(way @ way, 1e-300), 0.0, 1.0)
        inside |= np.linalg.norm(points - start - share[:, None] * way, axis=1) <= radius * (1.0 + 1e-9)
    assert inside.all()


LINK = """<link name="{name}"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0"
 izz="0.01"/></inertial><{tag}><origin xyz="0.2 0 0"/><geometry>{shape}</geometry></{tag}></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}l"/><origin xyz="{at}"/>
 <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="2" effort="0"/></joint>"""


def urdf(shape: str, tag: str = "collision") -> str:
    joints = JOINT.format(name="a", parent="base", at="0 0 0.3") + JOINT.format(name="b", parent="al", at="0.4 0 0")
    links = "".join(LINK.format(name=f"{name}l", shape=shape, tag=tag) for name in "ab")
    return f'<robot name="r"><link name="base"/>{links}{joints}</robot>'


def write_stl(path, half) -> None:
    from scipy.spatial import ConvexHull

    corners = np.array(np.meshgrid(*[(-h, h) for h in half])).reshape(3, -1).T
    faces = corners[ConvexHull(corners).simplices]
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *face.ravel(), 0) for face in faces)
    path.write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + rows)


@pytest.mark.parametrize("tag", ["collision", "visual"])
@pytest.mark.parametrize("shape", [
    '<box size="0.4 0.06 0.06"/>', '<mesh filename="package://arm/bar.stl"/>', '<mesh filename="arm/bar.stl"/>',
])  # fmt: skip
def test_shapes_of_the_file_and_its_meshes_become_capsules(tmp_path, shape, tag):
    (tmp_path / "arm.urdf").write_text(urdf(shape, tag))
    (tmp_path / "arm").mkdir()
    write_stl(tmp_path / "arm" / "bar.stl", (0.2, 0.03, 0.03))
    capsules = capsules_of(load_robot(tmp_path / "arm.urdf"))
    assert capsules.told == "from the shapes of the robot file"
    bars = capsules.link >= 0
    np.testing.assert_allclose(capsules.radius[bars], 0.03 * np.sqrt(2.0), rtol=0.06)
    np.testing.assert_allclose(np.sort(capsules.ends[bars][:, :, 0], axis=1).mean(axis=1), 0.2, atol=0.01)


def test_meshes_that_are_missing_or_elsewhere_are_not_opened_and_link_lengths_serve(tmp_path):
    inside = tmp_path / "robot"
    inside.mkdir()
    write_stl(tmp_path / "secret.stl", (0.2, 0.03, 0.03))
    for name in ("../secret.stl", "nowhere.stl", "package://x/../../secret.stl", str(tmp_path / "secret.stl")):
        (inside / "arm.urdf").write_text(urdf(f'<mesh filename="{name}"/>'))
        capsules = capsules_of(load_robot(inside / "arm.urdf"))
        assert capsules.told.startswith("from link lengths, ")
        assert capsules.told.endswith("(their meshes cannot be read)")
    capsules = capsules_of(load_robot(inside / "arm.urdf"), packages=[tmp_path])
    assert "their meshes cannot be read" not in capsules.told


def test_an_effort_limit_of_zero_is_unknown():
    robot = bar()
    joints = tuple(replace(joint, limits=replace(joint.limits, effort=0.0)) for joint in robot.joints)
    assert np.all(np.isinf(MotionLimits.of(replace(robot, joints=joints)).effort))


def dense_excess(limit, trajectory, rate_hz: float = 10_000.0) -> float:
    t = np.arange(int(trajectory.duration * rate_hz) + 1) / rate_hz
    return float(limit.excess(trajectory.at(t)).max())


@pytest.mark.parametrize("seed", range(4))
def test_motions_keep_their_clearance_at_10_khz(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, int(rng.integers(2, 7)))
    found = clear(robot)
    limits = MotionLimits.of(robot, velocity=2.0)
    model = TorqueModel(robot, friction_models("viscous"))
    motion = design_excitation(
        model, basis=FourierBasis(3, 0.2), limits=limits, path_limits=(found.limit,), restarts=1, max_iterations=8
    )
    assert motion.certificate.holds
    assert dense_excess(found.limit, motion.trajectory) <= 0.0


@pytest.mark.whole
def test_the_panda_stays_above_its_table_and_out_of_a_box_and_is_still_excited():
    robot = load_robot("panda")
    box = KeepOut(np.array([0.35, -0.3, 0.0]), np.array([0.9, 0.3, 0.5]))
    found = clear(robot, keep_out=(box,))
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    options: dict[str, Any] = {"basis": FourierBasis(5, 0.075), "restarts": 1, "max_iterations": 120}
    motion = design_excitation(model, path_limits=(found.limit,), **options)
    assert dense_excess(found.limit, motion.trajectory) <= 0.0
    assert motion.condition_number < 100.0
    free = design_excitation(model, **options)
    assert dense_excess(found.limit, free.trajectory) > 0.1


def test_capsules_print_as_what_they_are():
    capsules = capsules_of(load_robot("panda"))
    assert isinstance(capsules, Capsules)
    assert repr(capsules) == "Capsules(8 capsules on 8 bodies, from link lengths, 60 mm in radius)"
    told = str(clear(load_robot("panda")))
    assert told.startswith("20 mm, above the floor z = 0 m, out of itself; links are capsules from link lengths")


ELBOW = """<robot name="elbow"><link name="base"/>{links}{joints}</robot>"""


def elbow(tmp_path, thickness: float) -> Robot:
    """Two flat plates that a short body joins: as capsules they always touch, as they are they do not."""
    shape = '<collision><origin xyz="{at} {y} 0"/><geometry><box size="{size}"/></geometry></collision>'
    body = '<link name="{name}">' + shape + "</link>"
    size = f"0.3 {thickness} 0.3"
    links = body.format(name="one", at=0.15, y=0.0, size=size)
    links += body.format(name="two", at=0.0, y=0.04, size="0.04 0.04 0.04")
    links += body.format(name="three", at=0.15, y=0.0, size=size)
    joint = (
        '<joint name="{n}" type="revolute"><parent link="{p}"/><child link="{c}"/><origin xyz="{at}"/>'
        '<axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="2" effort="0"/></joint>'
    )
    joints = joint.format(n="a", p="base", c="one", at="0 0 1") + joint.format(n="b", p="one", c="two", at="0.3 0 0")
    joints += joint.format(n="c", p="two", c="three", at="0 0.08 0")
    (tmp_path / "elbow.urdf").write_text(ELBOW.format(links=links, joints=joints))
    return load_robot(tmp_path / "elbow.urdf")


def test_what_capsules_cannot_tell_is_checked_as_convex_hulls(tmp_path):
    robot = elbow(tmp_path, 0.02)
    found = clear(robot)
    assert found.hulls is not None
    assert "one – three apart as convex hulls" in str(found)
    assert found.unchecked == ()
    # Plates of 20 mm, 80 mm apart: at least 60 mm of air in every pose.
    poses = np.random.default_rng(0).uniform(-2.0, 2.0, (50, 3))
    assert found.hulls.excess(at(*poses)).max() == pytest.approx(-0.06, abs=1e-6)
    thick = clear(elbow(tmp_path, 0.5))
    assert thick.hulls is None
    assert thick.unchecked == ("one – three (they always touch)",)


def test_the_final_check_shrinks_what_breaks_it():
    robot = bar()

    class Gate:
        """A limit that the search does not know: the second joint stays within half a radian."""

        name, labels, rate_hz = "gate", ("j1",), 200.0

        def excess(self, states):
            return np.abs(states.q[:, 1:2]) - 0.5

    options: dict[str, Any] = {"basis": FourierBasis(2, 0.2), "restarts": 1, "max_iterations": 4}
    model = TorqueModel(robot, friction_models("viscous"))
    motion = design_excitation(model, final_limits=(Gate(),), **options)
    assert motion.certificate.holds
    assert np.abs(motion.trajectory.at(np.linspace(0.0, motion.trajectory.duration, 500)).q[:, 1]).max() <= 0.5
