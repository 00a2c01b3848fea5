"""The checks of a log by the arm's own equations: silent on clean logs, right on spoiled ones; their fixes repair."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.dynamics import BaseParameters, TorqueModel, base_parameters, friction_models
from dynid.recording import Recording, read_column_map, read_recording, write_csv
from dynid.review import Finding, Severity, review_log
from dynid.review.checks.changes import Contact
from dynid.review.checks.columns import MisreadColumns
from dynid.review.checks.delay import DelayedTorque
from dynid.review.checks.gravity import TiltedBase
from dynid.review.checks.table import TORQUE_CHECKS
from dynid.review.equations import expectation
from dynid.simulation.motions import smooth_motion
from dynid.simulation.sensors import Level, SensorModel
from dynid.simulation.synthetic import Synthetic, synthesise
from tests.review.doctor_faults import limited_arm
from tests.review.model_faults import FAULTS, clean_log, varied_log
from tests.review.test_checks_table import assert_complete
from tests.robots import random_robot

SENSORS = SensorModel(
    q_noise=Level(absolute=1e-5), dq_noise=Level(absolute=1e-3), tau_noise=Level(relative=0.01), velocity="measured"
)


def plain_log(name: str, seed: int = 0) -> Synthetic:
    robot = load_robot(name)
    rng = np.random.default_rng(seed)
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    return synthesise(model, smooth_motion(robot, rng, duration=15.0, rate_hz=200.0), rng, sensors=SENSORS)


@pytest.fixture(scope="module")
def logs() -> dict[str, Synthetic]:
    return {name: plain_log(name) for name in ("panda", "wam7")}


def model_findings(robot, recording: Recording) -> tuple[Finding, ...]:
    """What the arm's equations alone show."""
    return review_log(robot, recording, checks=TORQUE_CHECKS)


def codes(robot, recording: Recording) -> list[str]:
    return [finding.code for finding in model_findings(robot, recording)]


@pytest.mark.parametrize("name", ["panda", "wam7"])
def test_a_clean_log_raises_nothing(logs, name):
    assert codes(logs[name].model.robot, logs[name].recording) == []


def test_a_robot_without_inertias_is_judged_by_the_log_alone(logs, rng):
    log = logs["panda"]
    bare = log.model.robot.with_nominal(dict.fromkeys(log.model.robot.link_names))
    assert codes(bare, log.recording) == []
    for fault in ("torque flipped, one joint", "no gravity", "tilted base", "drift"):
        assert set(codes(bare, FAULTS[fault].spoil(log, rng))) & set(FAULTS[fault].codes), fault


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_called_by_its_name(logs, fault, rng):
    log = logs["panda"]
    found = model_findings(log.model.robot, FAULTS[fault].spoil(log, rng))
    named = [finding for finding in found if finding.code in FAULTS[fault].codes]
    assert named, [finding.code for finding in found]
    for finding in named:
        assert re.search(r"\d", finding.evidence)  # the number that shows it
        assert_complete(finding)


def test_a_negated_torque_is_told_by_what_negating_it_again_does(logs, rng):
    log = logs["panda"]
    (finding,) = model_findings(log.model.robot, FAULTS["torque flipped, one joint"].spoil(log, rng))
    assert isinstance(finding.measured, MisreadColumns)
    assert finding.measured.change == "negate"
    assert finding.measured.joints == (finding.joint,)
    assert finding.measured.after < 0.1 * finding.measured.before  # noise of 1 % against a torque of the other sign
    assert finding.evidence.startswith(f"negating tau.{finding.joint} cuts the residual")
    assert finding.mapping == f"signs.{finding.joint}.tau = -1"


def test_base_parameters_that_are_known_are_not_computed_again(logs, monkeypatch):
    log = logs["panda"]
    model = TorqueModel(log.model.robot, friction_models("viscous+coulomb+offset"))
    base = base_parameters(model)
    computed: list[TorqueModel] = []

    def counted(model: TorqueModel) -> BaseParameters:
        computed.append(model)
        return base_parameters(model)

    monkeypatch.setattr(expectation, "base_parameters", counted)
    assert review_log(log.model.robot, log.recording, base=base) == review_log(log.model.robot, log.recording)
    assert len(computed) == 1  # by the second of the two


def test_a_load_picked_up_on_the_way_is_not_taken_for_a_joint_turned_round():
    robot, fault = load_robot("wam7"), "load change"
    # One of the few draws in which a torque of the other sign would leave less of the torque as well.
    rng = np.random.default_rng([7777, 41, sum(map(ord, fault)), sum(map(ord, robot.name))])
    found = codes(robot, FAULTS[fault].spoil(clean_log(robot, rng, longest=40.0), rng))
    assert found == ["load-change"]


def repaired(log: Synthetic, spoiled: Recording, finding: Finding, folder) -> Recording:
    """The spoiled log written to a file and read again with the lines of the fix as its column map."""
    assert finding.mapping in finding.fix
    (folder / "map.toml").write_text(finding.mapping, encoding="utf-8")
    write_csv(spoiled, folder / "log.csv")
    return read_recording(folder / "log.csv", log.model.robot.joint_names, columns=read_column_map(folder / "map.toml"))


@pytest.mark.parametrize(
    "fault",
    [
        "torque units, one joint",
        "torque flipped, one joint",
        "torque flipped, all joints",
        "position flipped",
        "joint flipped",
        "torques permuted",
        "joints permuted",
    ],
)
def test_the_lines_of_the_fix_repair_the_log(logs, fault, rng, tmp_path):
    log = logs["panda"]
    spoiled = FAULTS[fault].spoil(log, rng)
    (finding,) = (f for f in model_findings(log.model.robot, spoiled) if f.code in FAULTS[fault].codes)
    assert codes(log.model.robot, repaired(log, spoiled, finding, tmp_path)) == []


def test_two_readings_that_the_log_does_not_tell_apart_are_both_named(rng):
    # One joint without gravity: turning its position round is the same as turning its torque round.
    robot = limited_arm(rng, 1, prismatic=0.0).with_gravity(np.zeros(3))
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    log = synthesise(model, smooth_motion(robot, rng, duration=15.0, rate_hz=200.0), rng, sensors=SENSORS).recording
    (finding,) = model_findings(robot, replace(log, q=-log.q, dq=-log.dq))
    assert FAULTS["position flipped"].named_by(finding), finding
    assert FAULTS["torque flipped, one joint"].named_by(finding), finding
    assert ".tau = -1" in finding.fix
    assert ".q = -1" in finding.fix


def test_a_turned_joint_of_an_arm_with_many_joints_is_named(rng):
    robot = limited_arm(rng, 11)
    motion = smooth_motion(robot, rng, duration=20.0, rate_hz=100.0)
    log = synthesise(TorqueModel(robot), motion, rng, sensors=SENSORS).recording
    assert log.tau is not None
    turned = replace(log, tau=log.tau * np.where(np.arange(11) == 5, -1.0, 1.0))
    assert [(f.code, f.joint) for f in review_log(robot, turned)] == [("flipped-torque", robot.joint_names[5])]


def test_the_delay_of_the_fix_silences_the_delay(logs):
    log = logs["panda"]
    t, tau = log.recording.t, log.recording.tau
    late = replace(log.recording, tau=np.column_stack([np.interp(t - 0.012, t, column) for column in tau.T]))
    (finding,) = model_findings(log.model.robot, late)
    assert finding.code == "delay"
    assert isinstance(finding.measured, DelayedTorque)
    seconds = finding.measured.seconds
    assert f"{seconds:.5f} s" in finding.fix
    assert seconds == pytest.approx(0.012, abs=1e-3)  # five times the error that the evidence prints
    inner = (t > 1.0) & (t < t[-1] - 1.0)
    early = np.column_stack([np.interp(t + seconds, t, column) for column in late.tau.T])
    undone = replace(late, t=t[inner], q=late.q[inner], dq=late.dq[inner], tau=early[inner])
    assert codes(log.model.robot, undone) == []


def test_the_gravity_of_the_fix_levels_a_tilted_base(logs, rng):
    log = logs["panda"]
    spoiled = FAULTS["tilted base"].spoil(log, rng)
    (finding,) = model_findings(log.model.robot, spoiled)
    assert isinstance(finding.measured, TiltedBase)
    gravity = [float(number) for number in re.search(r"\((\S+), (\S+), (\S+)\) m/s²", finding.fix).groups()]
    assert gravity == pytest.approx(finding.measured.gravity, abs=1e-3)  # digits printed
    assert codes(log.model.robot.with_gravity(gravity), spoiled) == []


def test_gravity_given_as_zero_silences_a_torque_without_gravity(logs, rng):
    log = logs["panda"]
    spoiled = FAULTS["no gravity"].spoil(log, rng)
    assert codes(log.model.robot.with_gravity(np.zeros(3)), spoiled) == []


def test_the_parts_around_a_contact_are_clean(logs, rng):
    log = logs["panda"]
    spoiled = FAULTS["contact"].spoil(log, rng)
    (finding,) = model_findings(log.model.robot, spoiled)
    assert isinstance(finding.measured, Contact)
    until, since = finding.measured.start, finding.measured.stop
    t = spoiled.t
    longer = spoiled.part(t_until=until) if until > t[-1] - since else spoiled.part(t_from=since)
    assert "contact" not in codes(log.model.robot, longer)


def test_a_joint_that_stands_still_leaves_parameters_unexcited(logs):
    robot = load_robot("panda")
    rng = np.random.default_rng(3)
    motion = smooth_motion(robot, rng, duration=15.0, rate_hz=200.0)
    still = np.ones(7)
    still[4] = 0.0
    held = type(motion)(motion.t, motion.q * still, motion.dq * still, motion.ddq * still)
    model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
    exact = synthesise(model, held, rng, sensors=replace(SENSORS, tau_noise=Level(absolute=0.05)))
    (finding,) = (f for f in model_findings(robot, exact.recording) if f.code == "unexcited")
    assert "fv5" in finding.evidence
    assert "joint5" in finding.evidence


def test_a_torque_that_never_changes_is_missing(logs):
    log = logs["panda"]
    tau = np.array(log.recording.tau)
    tau[:, 2] = 0.0
    (finding,) = model_findings(log.model.robot, replace(log.recording, tau=tau))
    assert (finding.code, finding.joint) == ("torque-missing", "joint3")


def test_a_log_too_short_to_judge_raises_nothing(logs):
    log = logs["panda"]
    assert model_findings(log.model.robot, log.recording.part(t_until=0.2)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_clean_logs_of_arms_nobody_has_seen_raise_nothing(seed):
    rng = np.random.default_rng([20261116, seed])
    make = random_robot if seed % 2 else limited_arm
    robot = make(rng, int(rng.integers(2, 8)))
    log = varied_log(robot, rng).recording
    # That a motion leaves a parameter unknown is true of some of them.
    assert [finding.code for finding in review_log(robot, log) if finding.code != "unexcited"] == [], log.source


@pytest.mark.slow
@pytest.mark.data
def test_measured_logs_raise_no_error_and_no_warning(data_dir):
    panda = load_robot("panda")
    arm = load_robot(str(data_dir / "ur10e" / "ur10e.urdf"))
    facts = json.loads((data_dir / "ur10e" / "facts.json").read_text())
    gains = np.array(facts["torque_constants"]["controller_Nm_per_A"])
    measured = [(panda, read_recording(data_dir / "panda" / "excitation_log.csv.gz", panda.joint_names))]
    for name in facts["logs"]:
        log = read_recording(data_dir / "ur10e" / f"{name}.csv.gz", arm.joint_names)
        measured.append((arm, replace(log, tau=log.current * gains, current=None)))
    for robot, log in measured:
        assert [f.code for f in model_findings(robot, log) if f.severity is not Severity.INFO] == [], log.source
