"""Every file that dynid reads: good ones to start from, how they are read, and what must hold of what comes out."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.chain import load_robot
from dynid.chain.robot import Robot
from dynid.dynamics import Motion, TorqueModel, base_parameters, friction_models
from dynid.errors import DynidError
from dynid.recording import Recording, read_column_map, read_recording, stream_recording
from dynid.recording.formats.text import write_csv
from dynid.recording.log_settings import LogSettings
from dynid.regression import Compressed, IdentifiedModel, load_model, save_model
from tests.fuzzing import mutators as damage
from tests.fuzzing.mutators import BYTES, TEXT, Mutator
from tests.recording.logs import JOINTS, WRITERS, make_recording

PLANAR = load_robot("planar2r")
FRICTION = TorqueModel(PLANAR, friction_models("viscous+coulomb+offset"))


@dataclass(frozen=True)
class Target:
    """A kind of file."""

    name: str
    """Of the file, with the ending that tells its format."""
    seeds: Callable[[Path], list[bytes]]
    """Good files, made in an empty folder."""
    mutators: tuple[Mutator, ...]
    read: Callable[[Path], Any]
    check: Callable[[Any, Path, random.Random], None]
    """Raises AssertionError where what was read is not valid."""
    cases: int
    """How many the suite tries."""
    prepare: Callable[[Path], None] | None = None
    """Makes the files that this one needs beside it."""


URDF = """<robot name="arm"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/><mass value="2"/>
<inertia ixx="0.10" ixy="0.01" ixz="-0.02" iyy="0.12" iyz="0.015" izz="0.15"/></inertial>
<visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry></visual>
<collision><geometry><cylinder radius="1" length="2"/></geometry></collision></link>
<link name="b"><inertial><mass value="1.5"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
</link><link name="tool"/>
<link name="c"><inertial><origin xyz="0 0.1 0"/><mass value="0.5"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0.1 0 0.2" rpy="0 0.3 0"/>
<axis xyz="0 1 2"/><limit lower="-1" upper="2" velocity="3" effort="40"/>
<dynamics damping="0.1" friction="0.2"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0 0.4 0"/><axis xyz="1 0 1"/>
<limit lower="-1" upper="1" velocity="3" effort="40"/></joint>
<joint name="weld" type="fixed"><parent link="b"/><child link="tool"/><origin xyz="0.1 0 0" rpy="1 0 0"/></joint>
<joint name="j3" type="continuous"><parent link="tool"/><child link="c"/><axis xyz="0 0 -1"/></joint></robot>"""

MJCF = """<mujoco model="arm"><compiler angle="radian" eulerseq="xyz"/><option gravity="0 0 -9.81"/>
<default><joint damping="0.1"/><geom density="500"/><default class="wrist"><joint axis="0 1 0" range="-1 1"/></default>
</default><worldbody><light pos="0 0 1"/>
<body name="a" pos="0 0 1" euler="0.1 0.2 0.3"><joint name="j1" axis="0 1 1" range="-1 2"/>
<inertial pos="0.1 0.2 -0.1" mass="2" diaginertia="0.1 0.12 0.15"/>
<frame pos="0 0.1 0" quat="1 0 0 0.2"><body name="b" pos="1 0 0" axisangle="1 1 0 0.4">
<joint name="j2" type="slide" axis="0 0 1" range="-1 2" ref="0.1"/>
<joint name="j3" class="wrist" pos="0.1 0 0"/><geom type="box" size="0.1 0.2 0.3"/>
<geom type="capsule" fromto="0 0 0 0 0 1" size="0.05" mass="0.3"/>
<body name="c" xyaxes="0 1 0 1 0.3 0.2"><geom type="sphere" size="0.1"/></body></body></frame></body></worldbody>
<actuator><motor joint="j1" gear="2" ctrlrange="-1 1"/><position joint="j2" forcerange="-5 5"/></actuator></mujoco>"""

DENAVIT = """name = "arm"
convention = "modified"
gravity = [0.0, 0.0, -9.81]
mounting = [0.1, 0.0, 0.0]
transmission = [[1.0, 0.0], [0.5, 1.0]]
[[joint]]
name = "shoulder"
a = 0.0
alpha = 1.5707963
d = 0.333
position_limits = [-2.9, 2.9]
velocity_limit = 2.17
effort_limit = 87.0
inertia = {mass = 2.0, com = [0.1, 0.0, 0.2], inertia_com = [0.1, 0.0, 0.0, 0.1, 0.0, 0.1]}
[[joint]]
name = "slide"
type = "prismatic"
a = 0.1
alpha = -0.3
d = 0.2
theta = 0.4
link = "rod"
inertia = {mass = 1.0, com = [0.0, 0.1, 0.0], inertia_com = [0.02, 0.0, 0.0, 0.02, 0.0, 0.02]}
"""

MAPPING = """first = 0
order = ["elbow", "shoulder", "wrist"]
wrench_sign = -1
stamps = "header"
[joints]
elbow = "arm_elbow"
[columns]
t = "stamp"
q = "actual_q_{n}"
dq = "speed of {joint}"
tau.shoulder = "a"
tau.elbow = "b"
tau.wrist = "c"
[units]
t = "ms"
q = "counts:4096"
tau.shoulder = "N·mm"
[signs]
shoulder = -1
elbow.tau = -1
[gear]
shoulder = 101
elbow = 101
wrist = 50.5
[motor_side]
signals = ["q", "tau"]
"""

RETRIEVAL = """triangle = true
margin = 1e-6
total_mass = [1.0, 15.0]
known = {m1 = 2.0}
bounds = {m2 = [0.0, 5.0], c1x = [-1.0, 1.0]}
symmetry = [{link = "link1", plane = "xy"}]
tie = [{parameter = "I1xx", equals = "I1yy", factor = 1.0, offset = 0.0}]
[shape.link1]
type = "box"
lower = [-1.0, -1.0, -1.0]
upper = [1.0, 1.0, 1.0]
[shape.link2]
type = "union"
of = [{type = "sphere", centre = [0.0, 0.0, 0.0], radius = 1.0}, {type = "hull", mesh = "part.stl", scale = 0.001},
{type = "cylinder", start = [0.0, 0.0, 0.0], end = [0.0, 0.0, 1.0], radius = 0.1},
{type = "hull", points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]}]
"""
CONFIG = 'estimator = "feasible"\ntotal-mass = [16, 20]\nforce = true\nlock = ["finger", "thumb"]\nlowpass = 5.0\n'
BOUNDS = "parameter,lower,upper\nm1,0,10\nm2,,5\nc1y,-1.42,0.08\nI2xx,0,1e-1\nfv1,0,\n"
STL = "solid a\n" + "".join(
    f"facet normal 0 0 1\nouter loop\nvertex {x} 0 0\nvertex 0 {x} 0.5\nvertex 0 0 {x}\nendloop\nendfacet\n"
    for x in (1.0, 2.0, -1.0)
) + "endsolid\n"  # fmt: skip
OBJ = "# part\no part\n" + "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 2) for z in (0, 3)) + "f 1 2 3\n"


def _binary_stl() -> bytes:
    facets = np.zeros(12, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")]))
    facets["corners"] = np.random.default_rng(0).normal(size=(12, 3, 3))
    return b"part".ljust(80) + len(facets).to_bytes(4, "little") + facets.tobytes()


def _motion(n_dof: int, rng: random.Random) -> Motion:
    q, dq, ddq = np.random.default_rng(rng.randrange(2**32)).normal(size=(3, 2, n_dof))
    return Motion(np.arange(2.0), q, dq, ddq)


def _same_torque(one: Any, two: Any, scale: float) -> None:
    assert np.all(np.isfinite(one)), "torque is not finite"
    assert np.max(np.abs(one - two), initial=0.0) <= 1e-7 * max(1e-9, scale, float(np.max(np.abs(two), initial=0.0)))


def _scale(model: TorqueModel, motion: Motion) -> float:
    """The size of what is added up: large terms cancel, and a tensor keeps sixteen digits of its largest entry."""
    return float(np.max(np.abs(model.regressor(motion))) * np.max(np.abs(model.nominal())))


def check_robot(robot: Robot, path: Path, rng: random.Random) -> None:
    """The robot is made of finite numbers and rotations, its torque is finite and Pinocchio's, its model reads back."""
    for joint in robot.joints:
        for T in (joint.T_parent_joint, joint.T_joint_link):
            assert T.shape == (4, 4)
            np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-6)
            assert np.linalg.det(T[:3, :3]) > 0.0
        assert abs(np.linalg.norm(joint.axis) - 1.0) < 1e-9
        assert not np.isnan(list(vars(joint.limits).values())).any()
    robot = robot if robot.has_nominal else robot.with_nominal({
        joint.link.name: load_robot("planar2r").joints[0].link.nominal
        for joint in robot.joints if not joint.link.known
    })  # fmt: skip
    import pinocchio as pin

    model = TorqueModel(robot)
    motion = _motion(robot.n_dof, rng)
    with np.errstate(all="raise", under="ignore"):
        tau = model.torque(motion, model.nominal())
    data = robot.pinocchio.createData()
    rows = zip(motion.q, motion.dq, motion.ddq, strict=True)
    expected = np.array([pin.rnea(robot.pinocchio, data, *row) for row in rows])
    scale = _scale(model, motion)
    _same_torque(tau, expected, scale)
    if rng.random() < 0.02:
        base = base_parameters(model)
        known = IdentifiedModel(model, base, "ols", "", base.project(model.nominal()), np.eye(base.n_base))
        save_model(known, path.with_name("again.json"))
        again = load_model(path.with_name("again.json")).model
        np.testing.assert_array_equal(TorqueModel(again.robot).torque(motion, model.nominal()), tau)


def check_urdf(robot: Robot, path: Path, rng: random.Random) -> None:
    """As `check_robot`, and Pinocchio's own URDF reader finds the same torque where it reads the file."""
    import pinocchio as pin

    check_robot(robot, path, rng)
    if not robot.has_nominal:
        return
    from lxml import etree

    try:
        text = path.read_bytes().decode("utf-8")
        values = [str(v) for element in etree.fromstring(text.encode()).iter("*") for v in element.attrib.values()]
        if any(value != " ".join(value.split()) for value in values):
            return  # its reader takes a vector with a space at its end for zero
        model = pin.buildModelFromXML(text)
    except (ValueError, RuntimeError, IndexError, etree.XMLSyntaxError):
        return
    names = list(model.names)[1:]
    if sorted(names) != sorted(robot.joint_names):
        return
    q_of = pin.neutral(model)
    motion = _motion(robot.n_dof, rng)
    data = model.createData()
    model.gravity.linear = robot.gravity
    k = 0
    dq, ddq = np.zeros(model.nv), np.zeros(model.nv)
    for j, joint in enumerate(robot.joints):
        part = model.joints[model.getJointId(joint.name)]
        position = motion.q[k, j]
        q_of[part.idx_q : part.idx_q + part.nq] = (position,) if part.nq == 1 else (np.cos(position), np.sin(position))
        dq[part.idx_v], ddq[part.idx_v] = motion.dq[k, j], motion.ddq[k, j]
    tau = pin.rnea(model, data, q_of, dq, ddq)
    ordered = np.array([tau[model.joints[model.getJointId(name)].idx_v] for name in robot.joint_names])
    own = TorqueModel(robot)
    scale = _scale(own, motion)
    _same_torque(own.torque(motion, own.nominal())[k], ordered, scale)


def check_mjcf(robot: Robot, path: Path, rng: random.Random) -> None:
    """As `check_robot`, and MuJoCo finds the same torque where it reads the file."""
    import mujoco

    check_robot(robot, path, rng)
    text = path.read_bytes()
    if not robot.has_nominal or any(word in text for word in (b"<tendon", b"<site", b"plugin")):
        return
    try:
        spec = mujoco.MjSpec.from_string(text.decode("utf-8"))
        model = spec.compile()
    except (ValueError, UnicodeDecodeError):
        return
    if model.nq != robot.n_dof or model.neq or model.opt.disableflags or model.body_gravcomp.any():
        return
    names = [model.joint(k).name for k in range(model.njnt)]
    order = [robot.joint_names.index(name) if name in robot.joint_names else -1 for name in names]
    if sorted(order) != list(range(robot.n_dof)):
        order = list(range(robot.n_dof))
    motion = _motion(robot.n_dof, rng)
    data = mujoco.MjData(model)
    model.dof_frictionloss[:] = 0.0
    model.dof_armature[:] = 0.0
    data.qpos[:], data.qvel[:], data.qacc[:] = motion.q[0][order], motion.dq[0][order], motion.ddq[0][order]
    mujoco.mj_inverse(model, data)
    tau = data.qfrc_inverse + data.qfrc_constraint + data.qfrc_passive
    if not np.all(np.isfinite(tau)) or any(warning.number for warning in data.warning):
        return
    own = TorqueModel(robot)
    scale = _scale(own, motion)
    found = own.torque(motion, own.nominal())[0][order]
    # MuJoCo normalises quaternions and tensors in its own way, to about eight digits.
    assert np.max(np.abs(found - tau)) <= 1e-5 * max(scale, 1e-9, float(np.max(np.abs(data.qfrc_passive)))), (
        found,
        tau,
    )


def check_recording(recording: Recording, path: Path, rng: random.Random) -> None:
    """A log is finite and increasing, the same when streamed, and the same when written and read again."""
    del rng
    assert np.all(np.diff(recording.t) > 0.0)
    for name in ("t", *recording.signals):
        values = getattr(recording, name)
        assert values.shape[0] == recording.n_samples
        assert np.all(np.isfinite(values)), name
    pieces = list(stream_recording(path, JOINTS, chunk_samples=7))
    again = path.with_name("again.csv")
    write_csv(recording, again)
    for other in (Recording.concatenated(pieces), read_recording(again, JOINTS)):
        for name in ("t", *recording.signals):
            np.testing.assert_array_equal(getattr(other, name), getattr(recording, name), err_msg=name)


def _read_log(path: Path) -> Recording:
    return read_recording(path, JOINTS)


def _log_seeds(kind: str) -> Callable[[Path], list[bytes]]:
    def seeds(folder: Path) -> list[bytes]:
        name, write = WRITERS[kind]
        write(folder / name, make_recording(np.random.default_rng(1), 30))
        return [(folder / name).read_bytes()]

    return seeds


def _log(kind: str, mutators: tuple[Mutator, ...], cases: int) -> Target:
    return Target(WRITERS[kind][0], _log_seeds(kind), mutators, _read_log, check_recording, cases)


def _text(*texts: str | bytes) -> Callable[[Path], list[bytes]]:
    return lambda folder: [text.encode() if isinstance(text, str) else text for text in texts]


def _check_bounds(bounds: Any, path: Path, rng: random.Random) -> None:
    del path, rng
    assert all(bound.lower <= bound.upper for bound in bounds.entries)
    assert len({bound.name for bound in bounds.entries}) == len(bounds.entries)


def _check_map(columns: Any, path: Path, rng: random.Random) -> None:
    del rng
    with contextlib.suppress(DynidError):
        columns.check_joints(JOINTS)
        for joint in JOINTS:
            for signal in ("q", "dq", "ddq", "tau", "current"):
                assert np.isfinite(columns.factor(signal, joint))
                assert columns.factor(signal, joint) != 0.0
    # And a log read by it ends well or in our own error.
    with contextlib.suppress(DynidError):
        read_recording(path.with_name("log.csv"), JOINTS, columns=columns)


def _write_log(folder: Path) -> None:
    rng = np.random.default_rng(0)
    names = [
        "stamp",
        *(f"actual_q_{k}" for k in range(3)),
        *(f"speed of {j}" for j in ("shoulder", "arm_elbow", "wrist")),
    ]
    rows = np.column_stack([np.arange(9.0), rng.normal(size=(9, 9))])
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    (folder / "log.csv").write_text(",".join([*names, "a", "b", "c"]) + "\n" + text + "\n")


def _retrieval(path: Path) -> Any:
    from dynid.regression.constraints.files import read_constraints

    return read_constraints(path)


def _check_retrieval(constraints: Any, path: Path, rng: random.Random) -> None:
    from dynid.regression.constraints.regions import outside, span

    del path, rng
    assert not constraints.functions
    for region in constraints.com_regions.values():
        lower, upper = span(region)
        assert np.all(np.isfinite([lower, upper]))
        assert np.all(lower <= upper)
        with np.errstate(all="raise", under="ignore"):
            distance, gradient = outside(region, np.array([0.3, 0.2, 0.1]))
        assert np.isfinite(distance)
        assert np.all(np.isfinite(gradient))


def _write_mesh(folder: Path) -> None:
    (folder / "part.stl").write_text(STL)


def _config(path: Path) -> Any:
    from dynid.cli.config import with_config

    return with_config(["identify", "--config", str(path)], ()).tokens


def _check_tokens(tokens: Any, path: Path, rng: random.Random) -> None:
    del rng
    assert all(isinstance(token, str) for token in tokens)
    assert "--config" not in tokens[1:] or str(path) not in tokens


def _coefficients(path: Path) -> Any:
    from dynid.excitation import read_coefficients

    return read_coefficients(path)


def _coefficient_seeds(folder: Path) -> list[bytes]:
    from dynid.excitation import (
        FourierBasis,
        SplineBasis,
        point_to_point,
        random_fourier,
        sinusoids,
        write_coefficients,
    )

    made = (
        random_fourier(PLANAR, basis=FourierBasis(2, 0.5)),
        random_fourier(PLANAR, basis=SplineBasis(6, 2.0)),
        sinusoids(PLANAR, duration=3.0),
        point_to_point(PLANAR, n_poses=2),
    )
    for k, design in enumerate(made):
        write_coefficients(folder / f"{k}.toml", design.trajectory)
    return [(folder / f"{k}.toml").read_bytes() for k in range(len(made))]


def _check_trajectory(trajectory: Any, path: Path, rng: random.Random) -> None:
    from dynid.excitation import read_coefficients, write_coefficients

    del rng
    assert np.isfinite(trajectory.duration)
    assert trajectory.duration > 0.0
    t = np.linspace(0.0, trajectory.duration, 11)
    with np.errstate(all="raise", under="ignore"):
        values = trajectory.at(t)
    write_coefficients(path.with_name("again.toml"), trajectory)
    for one, two in zip(values, read_coefficients(path.with_name("again.toml")).at(t), strict=True):
        assert np.all(np.isfinite(one))
        assert one.shape == (11, len(trajectory.joint_names))
        np.testing.assert_array_equal(one, two)


def _trajectory_motion(path: Path) -> Any:
    from dynid.simulation.motions import motion_of

    return motion_of(read_recording(path, PLANAR.joint_names), rate_hz=150.0)


def _trajectory_table(folder: Path) -> list[bytes]:
    from dynid.excitation import FourierBasis, random_fourier, write_trajectory

    path = folder / "t.csv"
    write_trajectory(path, random_fourier(PLANAR, basis=FourierBasis(2, 0.5)).trajectory, rate_hz=20.0)
    return [path.read_bytes()]


def _check_motion(motion: Any, path: Path, rng: random.Random) -> None:
    del path, rng
    assert all(np.all(np.isfinite(values)) for values in (motion.t, motion.q, motion.dq, motion.ddq))


def _samples_seed(folder: Path) -> list[bytes]:
    from dynid.dynamics import LagrangianModel

    del folder
    model = TorqueModel(PLANAR)
    base = base_parameters(model)
    lagrangian = LagrangianModel(model, base, base.project(model.nominal()))
    q = np.random.default_rng(0).normal(size=(9, 2))
    M, g = lagrangian.inertia_matrix(q), lagrangian.gravity(q)
    rows = np.column_stack([q, M[:, 0, 0], M[:, 1, 0], M[:, 1, 1], g])
    text = "\n".join(",".join(map(repr, row)) for row in rows.tolist())
    return [("q1,q2,M11,M21,M22,g1,g2\n" + text + "\n").encode()]


def _controller(path: Path) -> Any:
    from dynid.regression.reverse import read_controller_samples

    return read_controller_samples(path, 2)


def _check_controller(samples: Any, path: Path, rng: random.Random) -> None:
    from dynid.regression.reverse import Reverse

    del path
    assert samples.M.shape == (len(samples.q), 3)
    if rng.random() < 0.2:
        model = TorqueModel(PLANAR)
        found = Reverse().fit(model, base_parameters(model), samples)
        assert np.all(np.isfinite(found.estimate.beta))


def _model_seeds(folder: Path) -> list[bytes]:
    base = base_parameters(FRICTION)
    theta = FRICTION.nominal() + np.where(np.arange(FRICTION.n_params) >= 20, 0.1, 0.0)
    beta = base.project(theta)
    n = base.n_base
    labels = ("identified",) * len(theta)
    full = IdentifiedModel(
        FRICTION, base, "feasible", "", beta, 1e-6 * np.eye(n), theta=theta, labels=labels,
        problem=Compressed(2.0 * np.eye(n), 2.0 * beta, 0.1, 100), results={"rank": n},
        settings=LogSettings(cutoff_hz=5.0),
    )  # fmt: skip
    odd = TorqueModel(PLANAR, friction_models("tanh+load"))
    other = base_parameters(odd)
    shaped = IdentifiedModel(odd, other, "ols", "", np.ones(other.n_base), np.eye(other.n_base))
    for k, model in enumerate((full, shaped)):
        save_model(model, folder / f"{k}.json")
    return [(folder / f"{k}.json").read_bytes() for k in range(2)]


def _check_model(found: IdentifiedModel, path: Path, rng: random.Random) -> None:
    check_robot(found.model.robot, path, rng) if rng.random() < 0.1 else None
    n = found.base.n_base
    assert found.beta.shape == (n,)
    assert found.covariance.shape == (n, n)
    assert np.all(np.isfinite(found.beta))
    assert not np.any(np.isnan(found.covariance))
    assert found.theta is None or (found.theta.shape == (found.model.n_params,) and np.all(np.isfinite(found.theta)))
    assert found.cutoff_hz > 0.0
    if found.problem is not None:
        assert found.problem.R.shape == (n, n)
        assert found.problem.rho.shape == (n,)
        assert np.all(np.isfinite(found.problem.R))
        assert np.isfinite(found.problem.rest)
    assert np.all(np.isfinite(found.model.torque(_motion(found.model.n_dof, rng), found.parameters)))
    assert found.links is not None
    save_model(found, path.with_name("again.json"))
    again = load_model(path.with_name("again.json"))
    save_model(again, path.with_name("third.json"))
    assert path.with_name("again.json").read_bytes() == path.with_name("third.json").read_bytes()


def _filter() -> Any:
    from dynid.tracking import ConstrainedFilter, StateBound, StateMap
    from dynid.tracking.state_map import Entry

    model = TorqueModel(PLANAR)
    theta = model.nominal()
    pieces = [Entry(symbol, StateBound(v - 1.0, v + 1.0)) for symbol, v in zip(model.symbols, theta, strict=True)]
    return ConstrainedFilter(model=model, state=StateMap.of(model, theta, pieces), noise=np.full(2, 0.1))


def _mesh(path: Path) -> Any:
    from dynid.regression.constraints.regions import Hull

    return Hull.of_mesh(path)


def _check_hull(hull: Any, path: Path, rng: random.Random) -> None:
    del path, rng
    assert np.all(np.isfinite(hull.points))
    assert np.all(np.isfinite(hull.planes))
    inside = hull.outside(hull.points.mean(axis=0))
    assert inside[0] <= 1e-6 * max(1.0, float(np.max(np.abs(hull.points))))


MESHED = URDF.replace('<box size="1 2 3"/>', '<mesh filename="package://arm/part.stl" scale="1 1 2"/>').replace(
    '<cylinder radius="1" length="2"/>', '<mesh filename="part.stl" scale="1 1 2"/>'
)


def _link_hull(path: Path) -> Any:
    from dynid.regression.constraints.meshes import link_hull

    return link_hull(path, "a")


def _lint(path: Path) -> Any:
    from dynid.chain import lint

    return lint(path)


def _check_lint(findings: Any, path: Path, rng: random.Random) -> None:
    del path, rng
    str(findings)


TARGETS: dict[str, Target] = {
    "urdf": Target("arm.urdf", _text(URDF), (damage.xml,) * 6 + TEXT, load_robot, check_urdf, 3000),
    "mjcf": Target("arm.xml", _text(MJCF), (damage.xml,) * 6 + TEXT, load_robot, check_mjcf, 3000),
    "dh": Target("arm.toml", _text(DENAVIT), (damage.toml_tree,) * 6 + TEXT, load_robot, check_robot, 2000),
    "lint": Target("arm.urdf", _text(URDF, MJCF), (damage.xml,) * 6 + TEXT, _lint, _check_lint, 500),
    "mapping": Target(
        "map.toml", _text(MAPPING), (damage.toml_tree,) * 6 + TEXT, read_column_map, _check_map, 2000, _write_log
    ),
    "retrieval": Target(
        "r.toml", _text(RETRIEVAL), (damage.toml_tree,) * 6 + TEXT, _retrieval, _check_retrieval, 2000, _write_mesh
    ),
    "config": Target("c.toml", _text(CONFIG), (damage.toml_tree,) * 3 + TEXT, _config, _check_tokens, 1500),
    "coefficients": Target(
        "t.toml", _coefficient_seeds, (damage.toml_tree,) * 6 + TEXT, _coefficients, _check_trajectory, 1500
    ),
    "trajectory": Target(
        "t.csv", _trajectory_table, (damage.cells,) * 4 + TEXT, _trajectory_motion, _check_motion, 500
    ),
    "samples": Target("s.csv", _samples_seed, (damage.cells,) * 4 + TEXT, _controller, _check_controller, 1000),
    "model": Target("model.json", _model_seeds, (damage.json_tree,) * 6 + TEXT, load_model, _check_model, 2000),
    "stl": Target("part.stl", _text(STL, _binary_stl()), TEXT + BYTES, _mesh, _check_hull, 1000),
    "obj": Target("part.obj", _text(OBJ), TEXT, _mesh, _check_hull, 500),
    "meshed urdf": Target(
        "arm.urdf", _text(MESHED), (damage.xml,) * 4 + TEXT, _link_hull, _check_hull, 500, _write_mesh
    ),
    "csv": _log("csv", (damage.cells,) * 4 + TEXT, 1000),
    "csv with semicolons": _log("csv with semicolons", TEXT, 300),
    "gzip": _log("gzip", (damage.gz((damage.cells, *TEXT)),), 500),
    "npz": _log("npz", (damage.npz,) * 3 + BYTES, 1000),
    "npz compressed": _log("npz compressed", (damage.npz, *BYTES), 300),
    "parquet": _log("parquet", BYTES, 500),
    "parquet lists": _log("parquet lists", BYTES, 300),
    "hdf5": _log("hdf5", BYTES, 350),
    "hdf5 groups": _log("hdf5 groups", BYTES, 150),
    "mat": _log("mat", BYTES, 500),
    "mat struct": _log("mat struct", BYTES, 300),
    "mat 7.3": _log("mat 7.3", BYTES, 300),
    "ros 1 bag": _log("ros 1 bag", BYTES, 150),
    "db3": _log("db3", BYTES, 100),
    "mcap": _log("mcap", BYTES, 150),
}  # fmt: skip


def _checkpoint_target() -> Target:
    from dynid.tracking import Sample
    from dynid.tracking.checkpoint import resume, save_checkpoint

    options = _filter()

    def seeds(folder: Path) -> list[bytes]:
        tracker = options.start()
        for k in range(5):
            tracker.step(Sample(0.01 * k, *np.random.default_rng(k).normal(size=(4, 2))))
        save_checkpoint(tracker, folder / "c.npz")
        return [(folder / "c.npz").read_bytes()]

    def check(tracker: Any, path: Path, rng: random.Random) -> None:
        del path, rng
        for name, value in tracker.state._asdict().items():
            assert not np.any(np.isinf(value)), name
        tracker.step(Sample(1.0, *np.zeros((4, 2))))

    return Target("c.npz", seeds, (damage.npz,) * 3 + BYTES, lambda path: resume(options, path), check, 500)


def target(name: str) -> Target:
    """A target by name."""
    return _checkpoint_target() if name == "checkpoint" else TARGETS[name]


NAMES = (*TARGETS, "checkpoint")
