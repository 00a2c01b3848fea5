"""The base link under an arm: what a wrench sensor feels of it, and a filter that estimates it with the links."""

import json
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import dynid
from dynid.chain import InertialParameters, load_robot
from dynid.cli import main
from dynid.dynamics import Motion, TorqueModel, base_parameters, random_motion
from dynid.errors import ParameterError, TrackingError, UnknownName
from dynid.recording import Recording, write_csv
from dynid.regression import IdentifiedModel, load_model, save_model
from dynid.tracking import (
    BASE_SYMBOLS,
    Consistent,
    ConstrainedFilter,
    Entry,
    Principal,
    Sample,
    StateBound,
    StateMap,
    TrackingOptions,
    arm_filter,
)

LINK = """<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>
  <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="{xyz}"/><axis xyz="{axis}"/><limit lower="-3" upper="3" effort="200" velocity="3"/></joint>"""
LINKS = (
    ("pedestal", 6.0, "0.03 -0.02 0.1", 0.05),
    ("box", 2.0, "0.1 0.05 0", 0.01),
    ("upper", 4.0, "0.02 0.1 0.01", 0.04),
    ("fore", 2.5, "0.15 0 0.02", 0.03),
    ("hand", 1.0, "0.05 0.01 0", 0.005),
)
JOINTS = (
    ("bolt", "fixed", "pedestal", "box", "0.2 0 0.1", "0 0 1"),
    ("yaw", "revolute", "pedestal", "upper", "0 0 0.3", "0 0 1"),
    ("pitch", "revolute", "upper", "fore", "0 0.2 0", "0 1 0"),
    ("roll", "revolute", "fore", "hand", "0.3 0 0", "1 0 0"),
)
URDF = "\n".join(
    [
        '<robot name="arm">',
        *(LINK.format(name=name, mass=mass, com=com, i=i) for name, mass, com, i in LINKS),
        *(JOINT.format(name=n, kind=k, parent=p, child=c, xyz=xyz, axis=a) for n, k, p, c, xyz, a in JOINTS),
        "</robot>",
    ]
)
MJCF = """<mujoco><worldbody><geom type="box" size="1 1 1" mass="50"/><body name="pedestal" pos="0 0 0">
<inertial mass="6" pos="0.03 -0.02 0.1" diaginertia="0.05 0.05 0.05"/>
<body name="box" pos="0.2 0 0.1"><inertial mass="2" pos="0.1 0.05 0" diaginertia="0.01 0.01 0.01"/></body>
<body name="upper" pos="0 0 0.3"><joint name="yaw" axis="0 0 1"/>
<inertial mass="4" pos="0.02 0.1 0.01" diaginertia="0.04 0.04 0.04"/></body></body></worldbody></mujoco>"""
NOISE = np.array([0.05, 0.05, 0.05, 0.3, 0.3, 0.3, 0.03, 0.03, 0.03])
"""σ of three torques (N·m), forces (N) and moments (N·m)."""


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("robot") / "arm.urdf"
    path.write_text(URDF)
    return load_robot(path)


def known(robot, **fields):
    model = TorqueModel(robot, "viscous")
    theta = model.nominal() + np.where(np.arange(model.n_params) >= model.n_inertial, 0.3, 0.0)
    base = base_parameters(model)
    content = {"theta": theta, "labels": (), **fields}
    return IdentifiedModel(model, base, "feasible", "", base.project(theta), np.eye(base.n_base), **content)


def curve(t):
    """A motion of three joints that shows all that three joints can show."""
    omega = 2.0 * np.pi * np.array([0.31, 0.47, 0.83])
    angle = omega * t[:, None] + np.array([0.3, 1.1, 2.0])
    size = np.array([1.5, 1.2, 1.4])
    return Motion(t, size * np.sin(angle), size * omega * np.cos(angle), -size * omega**2 * np.sin(angle))


def log(robot, *, base=None, seed=0, seconds=12.0, load=None):
    """Torques and wrench under the base with noise; `base` in place of the file's, a load in the hand."""
    truth = known(robot)
    motion = curve(0.01 * np.arange(round(100 * seconds)))
    rng, theta = np.random.default_rng(seed), np.array(truth.theta)
    theta[20:30] += 0.0 if load is None else load
    pi = robot.base.nominal.pi if base is None else base
    tau = truth.model.torque(motion, theta) + NOISE[:3] * rng.standard_normal((motion.n_samples, 3))
    wrench = truth.model.base_wrench(motion, theta, pi) + NOISE[3:] * rng.standard_normal((motion.n_samples, 6))
    return Recording(robot.joint_names, motion.t, motion.q, motion.dq, motion.ddq, tau=tau, base_wrench=wrench)


def test_a_robot_keeps_what_its_file_says_of_the_base(robot, tmp_path):
    assert (robot.base.name, robot.base.includes) == ("pedestal", ("box",))
    assert robot.base.nominal.mass == 8.0
    np.testing.assert_allclose(robot.base.nominal.first_moment, [6 * 0.03 + 2 * 0.3, -6 * 0.02 + 2 * 0.05, 0.6 + 0.2])
    (tmp_path / "arm.xml").write_text(MJCF)
    scene = load_robot(tmp_path / "arm.xml")  # whose floor is no part of the robot
    np.testing.assert_allclose(scene.base.nominal.pi, robot.base.nominal.pi, atol=1e-12)
    locked = robot.locked({"yaw": 0.0})
    assert locked.base.nominal.mass == 12.0
    assert locked.base.includes == ("box", "upper")
    assert load_robot("planar2r").base is None
    table = """name = "two"\nconvention = "modified"\n
[base]\nmass = 3.0\ncom = [0.0, 0.0, 0.1]\ninertia_com = [0.1, 0, 0, 0.1, 0, 0.1]\n
[[joint]]\nname = "j1"\na = 0.0\nalpha = 0.0\nd = 0.3\n"""
    (tmp_path / "two.toml").write_text(table)
    assert load_robot(tmp_path / "two.toml").base.nominal.mass == 3.0


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (2.0, -3.0, -9.0)])
def test_the_wrench_of_arm_and_base_is_that_of_pinocchio(robot, gravity):
    theirs = pin.buildModelFromXML(URDF, pin.JointModelFreeFlyer())
    theirs.gravity.linear = np.array(gravity)
    data, model = theirs.createData(), TorqueModel(robot.with_gravity(np.array(gravity)))
    motion = random_motion(robot, 30, np.random.default_rng(0))
    stand = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    expected = [
        pin.rnea(theirs, data, np.r_[stand, q], np.r_[np.zeros(6), dq], np.r_[np.zeros(6), ddq])[:6]
        for q, dq, ddq in zip(motion.q, motion.dq, motion.ddq, strict=True)
    ]
    theta, base = robot.nominal.ravel(), robot.base.nominal.pi
    np.testing.assert_allclose(model.base_wrench(motion, theta, base), expected, rtol=1e-10, atol=1e-10)
    rows = model.base_wrench_regressor(motion) @ theta + model.base_link_rows @ base
    np.testing.assert_allclose(rows, expected, rtol=1e-10, atol=1e-10)
    # And the rows of the filter, with their derivatives by the base link.
    entries = [Entry(symbol, StateBound()) for symbol in BASE_SYMBOLS]
    state = StateMap.of(model, theta, entries, base=robot.base.nominal)
    filter_ = ConstrainedFilter(model=model, state=state, noise=np.ones(6), measure=("base-wrench",))
    tracker = filter_.start()
    tracker.step(Sample(0.0, motion.q[0], motion.dq[0], motion.ddq[0], base_wrench=np.array(expected[0])))
    np.testing.assert_allclose(tracker.memory.work.z, expected[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(tracker.memory.work.Y[:, -10:], model.base_link_rows, atol=1e-12)


def test_what_gravity_does_not_show_of_the_base_is_called_unobservable(robot):
    inertias = BASE_SYMBOLS[4:]
    upright = arm_filter(known(robot), NOISE, TrackingOptions(measure="both"))
    assert set(upright.unobservable) & set(BASE_SYMBOLS) == {"mc0z", *inertias}
    tilted = arm_filter(known(robot.mounted(0.3, 0.2, 0.0)), NOISE, TrackingOptions(measure="both"))
    assert set(tilted.unobservable) & set(BASE_SYMBOLS) == set(inertias)
    assert not set(arm_filter(known(robot), NOISE[:3]).state.symbols) & set(BASE_SYMBOLS)


BODY = InertialParameters.from_com(14.0, [0.08, -0.05, 0.15], np.diag([0.4, 0.4, 0.3])).pi
"""A base that is not the file's."""


def held_out(robot, model):
    """Relative errors of torque and of wrench over a motion that no filter has seen."""
    truth, motion = known(robot), random_motion(robot, 300, np.random.default_rng(9), speed=1.5)
    base = np.zeros(10) if model.base_link is None else model.base_link.pi
    pairs = (
        (truth.model.torque(motion, truth.theta), truth.model.torque(motion, model.parameters)),
        (
            truth.model.base_wrench(motion, truth.theta, BODY),
            truth.model.base_wrench(motion, model.parameters, base),
        ),
    )
    return [float(np.linalg.norm(found - true) / np.linalg.norm(true)) for true, found in pairs]


@pytest.mark.parametrize(
    ("states", "measure", "file_knows"),
    [
        ("links", "both", True),
        ("links", "both", False),
        ("links", "base-wrench", False),
        ("entries", "both", False),
        ("entries", "base-wrench", True),
    ],
)
def test_base_and_links_are_found_together(robot, states, measure, file_knows):
    start = known(robot if file_knows else replace(robot, base=None))
    result = dynid.track(start, log(robot, base=BODY), measure=measure, states=states, from_wrong=0.2, seed=3)
    found = result.model
    now = dict(zip(result.run.parameters.symbols, result.run.parameters.values, strict=True))
    std = dict(zip(result.run.parameters.symbols, result.run.parameters.std, strict=True))
    assert tuple(now)[-10:] == BASE_SYMBOLS
    # How the weight splits into base and links is the prior's; together they are as heavy as they are.
    total = sum(now[f"m{i}"] for i in range(4))
    assert total == pytest.approx(BODY[0] + 7.5, abs=0.05)  # the prior's pull; 0.3 N of 2000 samples is 0.001 kg
    for symbol, true in zip(BASE_SYMBOLS[:3], BODY[:3], strict=True):
        assert abs(now[symbol] - true) < 4.0 * std[symbol] + 0.01
    assert now["m0"] > 0.0
    torque, wrench = held_out(robot, found)
    assert wrench < 0.005
    # Friction, which the wrench does not show, stays 20 % wrong and takes a part of the torque.
    assert torque < (0.02 if measure == "both" else 0.12)
    if states == "links":
        assert found.consistent
        assert np.linalg.eigvalsh(InertialParameters(found.base_link.pi).pseudo_inertia)[0] > 0.0


@pytest.mark.parametrize("states", ["links", "entries"])
@pytest.mark.whole
def test_a_sensor_that_was_tared_with_the_arm_on_it_biases_nothing(robot, states):
    data = log(robot, base=BODY)
    truth, rest = known(robot), Motion.at_rest(np.array([[0.4, -0.3, 0.8]]))
    zeroed = replace(data, base_wrench=data.base_wrench - truth.model.base_wrench(rest, truth.theta, BODY))
    found = dynid.track(truth, zeroed, measure="both", states=states, tared=True, from_wrong=0.2, seed=3).model
    torque, _ = held_out(robot, found)
    assert torque < 0.02
    assert found.base_link.pi[0] == pytest.approx(-7.5, abs=1.0)  # the whole weight is gone, so it lacks the links'
    motion = random_motion(robot, 100, np.random.default_rng(4))
    true = truth.model.base_wrench(motion, truth.theta) - truth.model.base_wrench(rest, truth.theta)
    wrench = truth.model.base_wrench(motion, found.parameters, found.base_link.pi)
    assert np.linalg.norm(wrench - true) < 0.01 * np.linalg.norm(true)
    again = dynid.track(found, zeroed, measure="both", states=states).model  # which knows that it was tared
    assert again.base_link.pi[0] < 0.0
    wrong = dynid.track(truth, zeroed, measure="both", states=states, from_wrong=0.2, seed=3)
    assert held_out(robot, wrong.model)[0] > 2.0 * torque
    with pytest.raises(TrackingError, match="`tared` is about the sensor"):
        dynid.track(truth, data, tared=True)


def test_without_the_base_among_the_states_the_links_are_wrong(robot):
    truth, data = known(robot), log(robot, base=BODY)
    motion = Motion(data.t, data.q, data.dq, data.ddq)
    measured = np.hstack([data.tau, data.base_wrench])
    whole = arm_filter(truth, NOISE, TrackingOptions(measure="both"))
    entries = [Entry(s, b) for s, b in zip(whole.state.symbols[:-10], whole.state.bounds[:-10], strict=True)]
    bare = StateMap.of(truth.model, truth.theta, entries)
    errors = []
    for options in (whole, replace(whole, state=bare, cone=None, correlation=None)):
        tracker = options.start()
        tracker.run(motion, measured, every=len(measured))
        errors.append(held_out(robot, replace(truth, theta=tracker.theta))[0])
    assert errors[0] < 0.01
    assert errors[1] > 10.0 * errors[0]


@pytest.mark.whole
def test_a_second_run_and_the_load_watch_use_the_base_of_the_first(robot, tmp_path):
    first = dynid.track(known(robot), log(robot, base=BODY), measure="both").model
    save_model(first, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.base_link.pi, first.base_link.pi)
    np.testing.assert_array_equal(again.base_link.covariance, first.base_link.covariance)
    assert again.robot.base.includes == ("box",)
    short = log(robot, base=BODY, seed=1, seconds=1.0)
    std = [
        dynid.track(model, short, measure="both").model.base_link.covariance[0, 0] for model in (known(robot), again)
    ]
    assert std[1] < 0.9 * std[0]
    load = InertialParameters.from_com(1.5, [0.05, 0.0, 0.05], 0.003 * np.eye(3)).pi
    data = log(robot, base=BODY, seed=2, load=load)
    aware, blind = (
        dynid.track(model, data, payload=True, measure="both") for model in (again, replace(again, base_link=None))
    )
    assert [event.kind for event in aware.events] == ["initial load"]
    assert abs(aware.run.load.mass - 1.5) < 3.0 * aware.run.load.mass_std
    # Without it the weight of the base looks like contacts and loads that come.
    assert len(blind.events) > 1
    assert any("base link" in sentence for sentence in blind.warnings)
    assert not any("base link" in sentence for sentence in aware.warnings)


@pytest.mark.parametrize("states", ["links", "entries"])
def test_bounds_hold_for_the_base(robot, states):
    data = log(robot, base=BODY)
    bounds = {"m0": (9.0, 12.0), "mc0y": (-2.0, 2.0)}  # the file says 8 kg
    found = dynid.track(known(robot), data, measure="both", states=states, bounds=bounds)
    assert 9.0 < found.model.base_link.pi[0] < 12.0
    free = dynid.track(known(robot), data, measure="both", states=states).model
    assert free.base_link.pi[0] > 12.0
    with pytest.raises((UnknownName, ParameterError), match="m0"):
        dynid.track(known(robot), data, states=states, bounds=bounds)  # torques show no base


def test_centres_of_mass_bound_the_base_and_inertias_about_them_are_left_out(robot):
    bounds = {"c0x": (0.0, 0.05), "I0xx": (0.0, 1.0)}
    found = dynid.track(known(robot), log(robot, base=BODY), measure="both", bounds=bounds, from_wrong=0.0)
    com = InertialParameters(found.model.base_link.pi).com
    assert 0.0 < com[0] < 0.05 < BODY[1] / BODY[0]
    assert any("I0xx" in sentence for sentence in found.warnings)


def test_the_base_as_one_piece_of_the_paper(robot):
    truth, data = known(robot), log(robot, base=BODY)
    motion, mass = Motion(data.t, data.q, data.dq, data.ddq), StateBound(0.0, 40.0)
    inertia = (StateBound(0.0, 2.0),) * 3
    # Centres of mass known, as in the paper: then the mass of the base can be told from those of the links.
    start = InertialParameters.from_com(10.0, BODY[1:4] / BODY[0], np.diag([0.4, 0.4, 0.3]))
    piece = Principal("base", mass, inertia)
    state = StateMap.of(truth.model, truth.theta, [piece, Entry("m1", StateBound(0.0, 8.0))], base=start)
    tracker = ConstrainedFilter(model=truth.model, state=state, noise=NOISE[3:], measure=("base-wrench",)).start()
    tracker.run(motion, data.base_wrench, every=len(data.t))
    assert tracker.base_link[0] == pytest.approx(14.0, abs=0.02)
    assert tracker.theta[0] == pytest.approx(4.0, abs=0.02)
    free = StateMap.of(truth.model, truth.theta, [Consistent("base")], base=start)
    tracker = ConstrainedFilter(model=truth.model, state=free, noise=NOISE[3:], measure=("base-wrench",)).start()
    tracker.run(motion, data.base_wrench, every=len(data.t))
    np.testing.assert_allclose(tracker.base_link[:3], BODY[:3], atol=0.02)
    with pytest.raises(UnknownName, match="base"):
        StateMap.of(truth.model, truth.theta, [piece])


def test_the_command_prints_and_saves_the_base(robot, tmp_path, capsys):
    save_model(known(robot), tmp_path / "model.json")
    write_csv(log(robot, base=BODY), tmp_path / "log.csv")
    (tmp_path / "bounds.csv").write_text("parameter,lower,upper\nm0,1,30\n")
    args = ["track", str(tmp_path / "model.json"), str(tmp_path / "log.csv"), "--measure", "both", "--json"]
    args += ["--bounds", str(tmp_path / "bounds.csv"), "--out", str(tmp_path / "out")]
    assert main(args) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    labels = {entry["label"]: entry for entry in told["parameters"]}
    assert labels["m0"]["value"] == pytest.approx(14.0, abs=1.0)
    assert labels["mc0x"]["unit"] == "kg·m"
    assert load_model(tmp_path / "out" / "model.json").base_link is not None
    assert "m0" in (tmp_path / "out" / "report.html").read_text()
