import json

import numpy as np
import pytest

from dynid.chain import load_robot
from dynid.cli import main
from dynid.dynamics import Column, TorqueModel, friction_models
from dynid.recording.formats.text import write_csv
from dynid.recording.readers import read_recording
from dynid.recording.recording import Recording
from dynid.simulation.motions import smooth_motion
from dynid.simulation.synthetic import plausible_parameters

PLANAR = load_robot("planar2r")


@pytest.fixture
def trajectory(tmp_path):
    motion = smooth_motion(PLANAR, np.random.default_rng(3), duration=5.0, rate_hz=200.0)
    path = tmp_path / "traj.csv"
    write_csv(Recording(PLANAR.joint_names, motion.t, motion.q, dq=motion.dq, ddq=motion.ddq), path)
    return path


EXACT = ("--noise-q", "0", "--noise-dq", "0", "--noise-tau", "0")


def test_the_log_and_the_truth_reproduce_the_torque(tmp_path, trajectory, capsys):
    out = tmp_path / "new" / "log.csv"
    arguments = ["simulate", "planar2r", "--trajectory", str(trajectory), "--out", str(out), *EXACT, "--json"]
    assert main([*arguments, "--friction-values", "fv=0.2,fc1=0.5"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["n_samples"] == 1001
    assert content["closed_loop"] is False
    assert content["files"] == {"log": str(out), "truth": str(tmp_path / "new" / "log.truth.json")}

    log, command = read_recording(out, PLANAR.joint_names), read_recording(trajectory, PLANAR.joint_names)
    np.testing.assert_array_equal(log.q, command.q)
    truth = json.loads((tmp_path / "new" / "log.truth.json").read_text())
    model = TorqueModel(PLANAR, friction_models(truth["friction"]))
    theta = np.zeros(model.n_params)
    for entry in truth["parameters"]:
        theta[model.index(Column(entry["owner"], entry["name"], entry["unit"]))] = entry["value"]
    np.testing.assert_array_equal(
        theta, plausible_parameters(model, values={"fv": 0.2, "fc1": 0.5})
    )  # the file round-trips to the last bit
    assert {entry["symbol"]: entry["value"] for entry in truth["parameters"]}["fc1"] == 0.5
    assert truth["sensors"]["noise_tau"] == "0"
    assert truth["controller"] is None

    from dynid.simulation.motions import motion_of

    np.testing.assert_allclose(model.torque(motion_of(command), theta), log.tau, atol=1e-9)


def test_a_truth_file_gives_another_log_the_same_friction(tmp_path, capsys):
    base = ["simulate", "planar2r", "--duration", "2", "--json"]
    assert main([*base, "--out", str(tmp_path / "a.csv"), "--friction-values", "fc=0.9"]) == 0
    first = tmp_path / "a.truth.json"
    assert main([*base, "--out", str(tmp_path / "b.csv.gz"), "--friction-values", str(first), "--seed", "5"]) == 0
    a, b = (json.loads((tmp_path / name).read_text()) for name in ("a.truth.json", "b.truth.json"))
    assert a["parameters"] == b["parameters"]
    (tmp_path / "values.csv").write_text("parameter,value\nfv1,0.25\nfo2,-0.5\n")
    assert main([*base, "--out", str(tmp_path / "c.csv"), "--friction-values", str(tmp_path / "values.csv")]) == 0
    values = {p["symbol"]: p["value"] for p in json.loads((tmp_path / "c.truth.json").read_text())["parameters"]}
    assert (values["fv1"], values["fo2"]) == (0.25, -0.5)
    capsys.readouterr()


def test_closed_loop_tracks_another_motion_and_says_so(tmp_path, trajectory, capsys):
    out = tmp_path / "log.csv"
    arguments = ["simulate", "planar2r", "--trajectory", str(trajectory), "--out", str(out), *EXACT, "--rate", "500"]
    assert main([*arguments, "--closed-loop", "--wrong", "0.3"]) == 0
    shown = capsys.readouterr().out
    assert "closed loop" in shown
    assert "wrote" in shown
    log, command = read_recording(out, PLANAR.joint_names), read_recording(trajectory, PLANAR.joint_names)
    assert log.rate_hz == pytest.approx(500.0)
    error = np.abs(log.q[::5] - command.q[::2])
    assert 1e-3 < np.max(error) < 0.5
    truth = json.loads((tmp_path / "log.truth.json").read_text())
    assert np.shape(truth["controller"]["nominal"]) == (2, 10)
    assert truth["controller"]["wrong"] == 0.3


def test_without_a_trajectory_the_motion_is_smooth_and_inside_the_limits(tmp_path, capsys):
    out = tmp_path / "log.csv"
    options = ["--rate", "100", "--duration", "4", "--velocity", "none", "--gains", "1,2,3,4,5,6,7"]
    assert main(["simulate", "panda", "--out", str(out), *options]) == 0
    assert capsys.readouterr().err == ""
    log = read_recording(out, load_robot("panda").joint_names)
    assert log.signals == ("q", "current")
    assert log.n_samples == 401


def test_the_same_seed_writes_the_same_bytes(tmp_path, capsys):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        out = tmp_path / f"{name}.csv"
        assert (
            main(["simulate", "planar2r", "--duration", "1", "--out", str(out), "--seed", seed, "--jitter", "2e-4"])
            == 0
        )
    capsys.readouterr()
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_a_motion_beyond_the_limits_is_a_warning(tmp_path, capsys):
    t = np.linspace(0.0, 2.0, 401)
    q = np.stack([4.0 * np.sin(t), 0.0 * t], axis=1)
    write_csv(Recording(PLANAR.joint_names, t, q), tmp_path / "far.csv")
    out = str(tmp_path / "log.csv")
    assert main(["simulate", "planar2r", "--trajectory", str(tmp_path / "far.csv"), "--out", out]) == 0
    assert "joint1 goes beyond its position" in capsys.readouterr().err


def bad_file(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


ROWS = "".join(f"{0.01 * k},{0.1 * k},0\n" for k in range(20))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,q1,q2\n" + ROWS + "0.2,nan,0\n", "q of joint 'joint1' is nan at sample 20"),
        ("t,q1,q2,q3\n" + ROWS.replace("\n", ",0\n"), "the file has 3 numbered columns of q"),
        ("t,q1\n" + ROWS.replace(",0\n", "\n"), "the file has 1 numbered columns of q"),
        ("t,q1,q2\n0,0,0\n0.1,0,0\n", "2 samples are too few"),
        ("t,q1,q2\n" + ROWS + "0.19,0,0\n", "time does not increase"),
    ],
)
def test_a_bad_trajectory_is_one_message_and_no_file(tmp_path, text, message, capsys):
    path = bad_file(tmp_path, "traj.csv", text)
    out = tmp_path / "log.csv"
    assert main(["simulate", "planar2r", "--trajectory", path, "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--noise-tau", "-0.1"), "absolute noise is -0.1; it must be finite and not negative"),
        (("--noise-q=-1%",), "relative noise is -0.01"),
        (("--noise-q", "much"), "--noise-q much: write numbers joined by commas"),
        (("--noise-q", "1,2,3"), "3 values of noise for 2 joints"),
        (("--rate", "1"), "a rate of 1 Hz is too low for this motion"),
        (("--duration", "-3"), "positive duration"),
        (("--jitter", "0.1"), "more than 20% of the 0.002 s between samples"),
        (("--friction", "sticky"), "no friction model 'sticky'"),
        (("--friction-values", "fv7=1"), "no parameter 'fv7'"),
        (("--friction-values", "fv1=much"), "fv1 is 'much', not a number"),
        (("--friction-values", "nowhere.json"), "neither a file nor values"),
        (("--closed-loop", "--wrong", "2"), "below 1"),
        (("--trajectory", "nowhere.csv"), "nowhere.csv"),
        (("--seed", "-1"), "--seed -1"),
        (("--gains", "1,2,3"), "3 drive gains for 2 joints"),
    ],
)
def test_wrong_usage_is_one_message_and_no_file(tmp_path, options, message, capsys):
    out = tmp_path / "log.csv"
    assert main(["simulate", "planar2r", "--out", str(out), *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("v.json", "{", "v.json: cannot be read as JSON"),
        ("v.json", "[1]", "must hold an object"),
        ("v.json", '{"fv1": null}', "fv1 is None, not a number"),
        ("v.csv", "name,number\nfv1,1\n", "needs a header parameter,value"),
    ],
)
def test_a_bad_file_of_friction_values_is_one_message(tmp_path, name, text, message, capsys):
    path = bad_file(tmp_path, name, text)
    assert main(["simulate", "planar2r", "--out", str(tmp_path / "log.csv"), "--friction-values", path]) == 2
    assert message in capsys.readouterr().err


def test_the_log_has_an_ending_it_is_written_in(tmp_path, capsys):
    assert main(["simulate", "planar2r", "--out", str(tmp_path / "log.mat")]) == 2
    assert "written as .csv or .csv.gz" in capsys.readouterr().err


SLIDE = """
name = "crane"
convention = "modified"
[[joint]]
name = "boom"
a = 0.0
alpha = 0.0
d = 0.3
position_limits = [-2.0, 2.0]
velocity_limit = 2.0
[[joint]]
name = "slide"
type = "prismatic"
a = 0.1
alpha = -1.5707963267948966
position_limits = [0.0, 0.4]
velocity_limit = 0.5
"""
BODY = "inertia = { mass = 2.0, com = [0.0, 0.1, 0.0], inertia_com = [0.02, 0.0, 0.0, 0.01, 0.0, 0.02] }"


def test_people_see_the_unit_of_every_number_of_a_joint(tmp_path, capsys):
    arm = tmp_path / "arm.toml"
    arm.write_text(SLIDE.replace("[[joint]]", f"[[joint]]\n{BODY}"))
    assert main(["simulate", str(arm), "--out", str(tmp_path / "log.csv"), "--duration", "5", "--rate", "100"]) == 0
    rows = {line.split()[0]: line.split()[2::2] for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert rows["boom"] == ["rad", "rad/s", "N·m", "rad", "N·m·s/rad", "N·m", "N·m"]
    assert rows["slide"] == ["m", "m/s", "N", "m", "N·s/m", "N", "N"]


def test_a_robot_without_inertias_is_told_what_to_add(tmp_path, capsys):
    arm = tmp_path / "arm.toml"
    arm.write_text(SLIDE)
    assert main(["simulate", str(arm), "--out", str(tmp_path / "log.csv")]) == 2
    error = capsys.readouterr().err
    assert "no nominal inertia for link1, link2; add mass, centre of mass and inertia to the robot file" in error
