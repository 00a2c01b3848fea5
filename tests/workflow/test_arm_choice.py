"""The joints of a robot file that a log is about: by name, by number, and never by a slip of the pen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.chain.formats.assembly import read_bodies
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.workflow.arm_choice import choose_arm
from dynid.workflow.doors import RobotOptions
from tests.chain.test_files_as_found import FINGERS, arm_of
from tests.chain.test_formats import joint, link

TWO_ARMS = arm_of(1, *(link(f"{side}{k}") for side in "ab" for k in (1, 2)), *(
    joint(f"{side}_j{k}", "l1" if k == 1 else f"{side}1", f"{side}{k}") for side in "ab" for k in (1, 2)
))  # fmt: skip


def logged(path: Path, names: list[str], **still: float) -> Path:
    """A log with these columns of q and tau; those of `still` stand where it says."""
    rng = np.random.default_rng(0)
    n_samples = 30
    q = {name: np.full(n_samples, still[name]) if name in still else rng.normal(size=n_samples) for name in names}
    mark = "" if names[0].isdigit() else "."
    columns = {"t": np.arange(n_samples) / 100.0}
    columns |= {f"q{mark}{name}": values for name, values in q.items()}
    columns |= {f"tau{mark}{name}": rng.normal(size=n_samples) for name in names}
    table = np.column_stack(list(columns.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="")
    return path


def chosen(tmp_path: Path, text: str, names: list[str], tip: str | None = None, **still: float):
    robot = tmp_path / "arm.urdf"
    robot.write_text(text)
    return choose_arm(read_bodies(robot), logged(tmp_path / "log.csv", names, **still), None, lock={}, tip=tip)


def test_named_columns_choose_an_arm_of_two(tmp_path):
    assert chosen(tmp_path, TWO_ARMS, ["a_j1", "a_j2"]).moving == ("a_j1", "a_j2")
    assert chosen(tmp_path, TWO_ARMS, ["j1", "b_j2", "b_j1"]).moving == ("j1", "b_j1", "b_j2")


def test_fingers_that_stand_still_in_the_log_are_held_where_they_stand(tmp_path):
    arm = [f"j{k}" for k in range(1, 5)]
    choice = chosen(tmp_path, arm_of(4, *FINGERS), [*arm, "f1", "f2"], f1=0.02, f2=0.03)
    assert (choice.moving, choice.lock) == (tuple(arm), {"f1": pytest.approx(0.02), "f2": pytest.approx(0.03)})
    choice = chosen(tmp_path, arm_of(4, *FINGERS), [*arm, "f1", "f2"])
    assert (choice.moving, choice.lock) == ((*arm, "f1", "f2"), {})
    choice = chosen(tmp_path, arm_of(4, *FINGERS), arm)
    assert (choice.moving, choice.lock) == (tuple(arm), {})


def test_a_joint_between_two_that_are_logged_is_not_frozen_in_silence(tmp_path):
    assert chosen(tmp_path, arm_of(4), ["j1", "j2", "j4"]).moving is None
    assert chosen(tmp_path, arm_of(4), ["j1", "j2", "j3", "elbow"]).moving is None
    with pytest.raises(RecordingError, match=r"no column .*j3"):
        dynid.examine(tmp_path / "arm.urdf", logged(tmp_path / "log.csv", ["j1", "j2", "j4"]))


def test_numbered_columns_are_those_that_move_or_all_or_of_one_chain(tmp_path):
    numbers = [str(k) for k in range(1, 7)]
    assert chosen(tmp_path, arm_of(4, *FINGERS), numbers[:4]).columns is None
    through = chosen(tmp_path, arm_of(4, *FINGERS), numbers).columns
    assert through is not None
    assert through.columns.q == {f"j{k}": f"q{k}" for k in range(1, 5)}
    assert through.columns.tau == {f"j{k}": f"tau{k}" for k in range(1, 5)}
    with pytest.raises(RecordingError, match=r"several arms .* have as many joints; say which with `tip`: a2, b2"):
        chosen(tmp_path, TWO_ARMS, numbers[:3])
    assert chosen(tmp_path, TWO_ARMS, numbers[:3], tip="a2").columns is None
    one = TWO_ARMS.replace("</robot>", link("b3") + joint("b_j3", "b2", "b3") + "</robot>")
    assert chosen(tmp_path, one, numbers[:4]).moving == ("j1", "b_j1", "b_j2", "b_j3")


def test_a_coupled_joint_of_the_arm_itself_that_is_numbered_and_moves_is_free(tmp_path):
    before, third, after = arm_of(4).partition('<joint name="j3"')
    text = before + third + after.replace("</joint>", '<mimic joint="j2" multiplier="-1"/></joint>', 1)
    numbers = [str(k) for k in range(1, 5)]
    choice = chosen(tmp_path, text, numbers)
    assert (choice.moving, choice.lock) == (("j1", "j2", "j3", "j4"), {})
    choice = chosen(tmp_path, text, numbers, None, **{"3": 0.2})
    assert (choice.moving, choice.lock) == (("j1", "j2", "j4"), {"j3": pytest.approx(0.2)})
    assert choice.columns is not None
    assert choice.columns.columns.q == {"j1": "q1", "j2": "q2", "j4": "q4"}


def test_a_column_map_with_an_order_of_its_own_is_left_alone(tmp_path):
    (tmp_path / "arm.urdf").write_text(arm_of(2))
    log = logged(tmp_path / "log.csv", ["1", "2"])
    columns = ColumnMap(order=("j2", "j1"))
    assert choose_arm(read_bodies(tmp_path / "arm.urdf"), log, columns, lock={}, tip=None).columns is columns


@pytest.mark.whole
def test_locks_and_tips_live_in_the_model(tmp_path):
    robot, log = tmp_path / "arm.urdf", tmp_path / "log.csv"
    origin = '<origin xyz="0.1 0 0.3" rpy="0.2 0.9 1.1"/>'
    robot.write_text(arm_of(3, *(part.replace("l4", "l3") for part in FINGERS), origin=origin))
    made = dynid.simulate(robot, duration=4.0, rate=100.0)
    assert made.model.robot.joint_names == ("j1", "j2", "j3")
    dynid.save(made, log)
    rows = log.read_text().splitlines()
    # The same log as a controller writes it that numbers its fingers, too.
    head = ["t", *(f"{signal}{k}" for signal in ("q", "dq", "tau") for k in range(1, 6))]
    wide = [",".join(head)]
    for row in rows[1:]:
        t, *values = row.split(",")
        parts = [values[3 * k : 3 * k + 3] for k in range(3)]
        wide.append(",".join([t, *(cell for part in parts for cell in (*part, "0.01", "0.01"))]))
    (tmp_path / "wide.csv").write_text("\n".join(wide))
    result = dynid.identify(robot, tmp_path / "wide.csv", force=True)
    assert any("coupled joints of a gripper are held: f1, f2" in sentence for sentence in result.warnings)
    dynid.save(result, tmp_path / "out")
    model = dynid.load_model(tmp_path / "out" / "model.json")
    assert model.robot.held == {"f1": 0.0, "f2": 0.0}
    again = dynid.validate(model, tmp_path / "wide.csv")
    assert again.json()["validation"][0]["relative_error_percent"] < 10.0
    assert dynid.export(model, "urdf", tmp_path / "new.urdf").how.endswith("edited in place")


def test_a_locked_joint_of_a_built_in_robot_keeps_its_number_in_the_log(tmp_path):
    log = tmp_path / "log.csv"
    dynid.save(dynid.simulate("panda", duration=2.0, rate=100.0), log)
    arm, columns = RobotOptions.of(["joint6=0.5"], None, (0.0, 0.0, 0.0), False).load_for("panda", log, None)
    assert arm.joint_names == ("joint1", "joint2", "joint3", "joint4", "joint5", "joint7")
    assert columns is not None
    assert columns.columns.q["joint7"] == "q7"
