"""The leaderboard counts and tells what its entries hold; a quick run of it works."""

import numpy as np
import pytest

from benchmarks.leaderboard.__main__ import main
from benchmarks.leaderboard.arms import Arm, Sheet, simulated
from benchmarks.leaderboard.board import Board, complaints
from benchmarks.leaderboard.judge import Entry, constant_velocity
from benchmarks.leaderboard.methods import CONSTANT_VELOCITY, DEFAULT, FOR_SIMULATORS, lines_of, methods
from benchmarks.leaderboard.page import text
from benchmarks.leaderboard.peer_models import _upright
from benchmarks.leaderboard.run_one import restored, stored
from benchmarks.logs import through_urdf
from dynid import TorqueModel, load_robot
from dynid.dynamics import random_motion
from dynid.recording.log_settings import LogSettings


def board(tmp_path, *entries: Entry) -> Board:
    names = dict.fromkeys(entry.arm for entry in entries)
    return Board(tuple(Arm(name, "panda", (tmp_path / "a.csv",), tmp_path / "b.csv") for name in names), entries)


def good(arm: str, method: str, unseen: float, rollout: float = 1.0) -> Entry:
    return Entry(arm, method, unseen=unseen, rollout=rollout, consistent="yes", seconds=2.0)


def test_a_default_within_five_percent_of_the_best_is_no_loss(tmp_path):
    near = board(tmp_path, good("a", DEFAULT, 1.04), good("a", "WLS", 1.0))
    assert complaints(near, ["unseen", "rollout"]) == ()
    far = board(tmp_path, good("a", DEFAULT, 1.06), good("a", "WLS", 1.0))
    assert complaints(far, ["unseen"]) == ("a, unseen: 1.06 times that of WLS",)


def test_a_default_without_model_or_without_consistent_links_is_a_loss(tmp_path):
    failed = board(tmp_path, Entry("a", DEFAULT, note="no model: x"), good("a", "WLS", 1.0))
    assert complaints(failed, ["unseen"]) == (
        "a, unseen: nan times that of WLS",
        "a: no physically consistent model",
    )


def test_the_standing_of_a_method_is_its_mean_ratio_and_infinite_after_a_failure(tmp_path):
    two = board(
        tmp_path, good("a", DEFAULT, 1.0), good("a", "WLS", 4.0), good("b", DEFAULT, 1.0), good("b", "WLS", 1.0)
    )
    assert two.standing("WLS", "unseen") == pytest.approx(2.0)
    assert two.standing(DEFAULT, "unseen") == pytest.approx(1.0)
    lost = board(tmp_path, good("a", DEFAULT, 1.0), Entry("a", "WLS", note="no model: y"))
    assert lost.standing("WLS", "unseen") == np.inf


def test_entries_and_arms_come_back_from_their_files(tmp_path):
    entry = Entry("a", "WLS", unseen=1.5, coverage=np.inf, note="x")
    again = Entry.restored(entry.stored())
    assert (again.unseen, again.note) == (1.5, "x")
    assert np.isnan(again.rollout)
    assert again.coverage == np.inf
    arm = Arm("a", "panda", (tmp_path / "x.csv",), tmp_path / "y.csv", 3.0, (1.0, 2.0), None, Sheet(18.0, "maker"), "n")
    assert restored(stored(arm)) == arm


def test_the_page_shows_what_lost_and_what_failed_with_its_message(tmp_path):
    page = text(
        board(
            tmp_path,
            good("a", DEFAULT, 2.0),
            good("a", "WLS", 1.0),
            Entry("a", "FIGAROH", note="no model: it failed: z"),
        )
    )
    assert "- a, unseen: 2.00 times that of WLS" in page
    assert "FIGAROH: no model: it failed: z." in page
    assert f"| {DEFAULT} | — | 2.00 |" in page


def test_what_the_winner_pays_and_where_the_model_for_simulators_loses_is_said(tmp_path):
    stiff = Entry("a", "heavy", unseen=64.7, rollout=1.0, consistent="yes")
    wild = Entry("a", "WLS", unseen=0.5, rollout=9.0, consistent="none")
    found = board(tmp_path, good("a", DEFAULT, 1.0, 3.0), good("a", FOR_SIMULATORS, 1.2, 2.0), stiff, wild)
    assert complaints(found, ["unseen", "rollout"]) == (
        "a, unseen: 2.00 times that of WLS (not physically consistent)",
        "a, rollout: 3.00 times that of heavy (64.7 % of unseen torque error)",
    )
    page = text(found)
    assert "**Where its rollouts lose** (more than 1.05 times the best):\n\n- a, rollout: 2.00 times that of" in page


def test_constant_velocity_is_a_bar_and_no_contestant(tmp_path):
    found = board(
        tmp_path, good("a", DEFAULT, 1.0, 3.0), good("a", "WLS", 1.0, 5.0), Entry("a", CONSTANT_VELOCITY, rollout=2.0),
        good("b", DEFAULT, 1.0, 3.0), good("b", "WLS", 1.0, 5.0), Entry("b", CONSTANT_VELOCITY, rollout=4.0),
    )  # fmt: skip
    assert complaints(found, ["rollout"]) == ()
    assert CONSTANT_VELOCITY not in found.methods
    page = text(found)
    assert "| a | 2 | 3 | — | 3 | none |" in page
    assert f"| b | 4 | 3 | — | 3 | {DEFAULT} |" in page
    assert "On a no model beats constant velocity" in page


def test_constant_velocity_errs_by_half_the_acceleration_times_time_squared(tmp_path):
    acceleration, t = np.array([0.4, 0.2]), np.arange(0.0, 6.0, 0.01)
    q = 0.5 * acceleration * (t[:, None] - 3.0) ** 2
    columns = np.column_stack([t, q, acceleration * (t[:, None] - 3.0), np.ones_like(q)])
    np.savetxt(tmp_path / "log.csv", columns, delimiter=",", header="t,q1,q2,dq1,dq2,tau1,tau2", comments="")
    arm = Arm("a", "planar2r", (tmp_path / "log.csv",), tmp_path / "log.csv")
    # RMS of a t²/2 over T is a T²/2/√5, geometric mean of the joints; a sum of 51 samples is 2 % off the integral.
    expected = 1e3 * np.sqrt(np.prod(acceleration)) * 0.5**2 / 2.0 / np.sqrt(5.0)
    assert constant_velocity(arm, LogSettings()) == pytest.approx(expected, rel=0.03)


def test_the_page_tells_what_each_choice_gained(tmp_path):
    page = text(board(tmp_path, good("a", "OLS", 2.0, np.inf), good("a", "WLS", 1.0), good("a", DEFAULT, 1.0)))
    assert "| weights by joint | 0.500 (1 of 1 better) | — |" in page


def test_an_arm_that_hangs_stands_upright_for_peers(tmp_path, rng):
    loaded = load_robot("wam7").with_gravity(np.array([0.0, 6.0, 7.5]))
    text_of_urdf, robot = through_urdf(loaded)
    robot = robot.with_gravity(loaded.gravity)
    (tmp_path / "robot.urdf").write_text(_upright(text_of_urdf, robot), encoding="utf-8")
    turned = load_robot(tmp_path / "robot.urdf")
    motion = random_motion(robot, 5, rng)
    size = np.linalg.norm(loaded.gravity) / np.linalg.norm(turned.gravity)
    expected = TorqueModel(robot).regressor(motion)
    found = TorqueModel(turned.with_gravity(size * turned.gravity)).regressor(motion)
    np.testing.assert_allclose(found, expected, atol=1e-9)  # rounding: fifteen digits of an angle


def test_every_peer_counts_the_lines_of_its_script():
    peers = [method for method in methods() if method.peer]
    assert [method.name for method in peers] == ["Pinocchio + lstsq", "FIGAROH", "mujoco.sysid"]
    assert all(method.lines > 15 for method in peers)
    assert lines_of("Pinocchio + lstsq") < lines_of("mujoco.sysid")


def test_simulated_arms_have_robot_files_that_are_wrong_by_at_most_a_fifth(tmp_path):
    arm = next(simulated(tmp_path, duration=2.0))
    truth, file = load_robot("wam7").nominal[:, 0], load_robot(arm.robot).nominal[:, 0]
    ratio = file / truth
    assert np.all(np.abs(ratio - 1.0) <= 0.2 + 1e-9)
    assert np.max(np.abs(ratio - 1.0)) > 0.02


def test_a_quick_run_measures_judges_and_writes_its_page(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("DYNID_DATA", raising=False)
    page = tmp_path / "leaderboard.md"
    assert main(["--quick", "--page", str(page), "--keep", str(tmp_path / "kept")]) in (0, 1)
    told = capsys.readouterr().out
    assert "sim-wam7" in told
    row = next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {DEFAULT} | 0"))
    assert "| yes |" in row
    assert main(["nobody", "--quick", "--keep", str(tmp_path / "kept")]) == 2
