"""The main job as a library call: the same bytes as the command, every file read once, kind to wrong input."""

import hashlib
import importlib
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.chain.library import load_robot
from dynid.dynamics import Motion, RotorInertia, TorqueModel, friction_models
from dynid.errors import DynidError, RobotError
from dynid.prose import plain
from dynid.recording import read_recording, write_csv
from dynid.workflow.identified_links import IdentifiedNumber
from tests.workflow.logs import run_json, simulated

FILES = ("model.json", "report.html", "run.json", "robot.urdf")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    for name, seed in (("run1.csv", 1), ("run2.csv", 2), ("run3.csv", 3)):
        write_csv(simulated("planar2r", seed=seed), folder / name)
    return folder


@pytest.fixture(scope="module")
def result(logs):
    return dynid.identify("planar2r", [logs / "run1.csv"], validate=[logs / "run2.csv"])


def test_saving_a_result_writes_byte_for_byte_what_the_command_writes(logs, result, tmp_path):
    command = tmp_path / "command"
    code, content = run_json(
        "identify", "planar2r", logs / "run1.csv", "--validate", logs / "run2.csv", "--out", command
    )
    assert code == 0
    saved = dynid.save(result, tmp_path / "python")
    assert sorted(path.name for path in command.iterdir()) == sorted(FILES)
    for name in FILES:
        assert (tmp_path / "python" / name).read_bytes() == (command / name).read_bytes(), name
    assert {path.name for path in saved.files.values()} == set(FILES)
    told: Any = plain(result.json())
    assert {key: content[key] for key in told} == told


def test_three_lines_are_the_main_job(logs, tmp_path):
    result = dynid.identify("planar2r", logs / "run1.csv")
    dynid.save(result, tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.whole
def test_files_recordings_and_arrays_give_the_same_model(logs, result):
    robot = load_robot("planar2r")
    recording = read_recording(logs / "run1.csv", robot.joint_names)
    arrays = {"t": recording.t, "q": recording.q, "dq": recording.dq, "tau": recording.tau}
    for log in (recording, arrays):
        other = dynid.identify(robot, log)
        np.testing.assert_array_equal(other.model.beta, result.model.beta)
        np.testing.assert_array_equal(other.model.theta, result.model.theta)


@pytest.mark.whole
def test_every_log_is_parsed_once_the_robot_file_once_and_base_parameters_once_a_model(logs, tmp_path, monkeypatch):
    counts: dict[str, int] = {}

    def counting(name, function):
        def counted(*given, **named):
            counts[name] = counts.get(name, 0) + 1
            return function(*given, **named)

        return counted

    import dynid.chain.library
    import dynid.recording.readers

    job = importlib.import_module("dynid.workflow.identify")  # the package has a function of that name

    table = tmp_path / "arm.toml"
    joints = (f'[[joint]]\nname = "joint{k}"\na = {a}\nalpha = 0.0\nd = 0.0\n' for k, a in ((1, 0.0), (2, 1.0)))
    table.write_text(f'name = "arm"\nconvention = "modified"\ngravity = [0.0, -9.81, 0.0]\n{"".join(joints)}')
    monkeypatch.setattr(dynid.recording.readers, "_opened", counting("log", dynid.recording.readers._opened))
    monkeypatch.setattr(dynid.chain.library, "_unlocked", counting("robot", dynid.chain.library._unlocked))
    monkeypatch.setattr(job, "base_parameters", counting("base", job.base_parameters))
    dynid.identify(table, [logs / "run1.csv"], validate=logs / "run2.csv", force=True)
    assert counts == {"log": 2, "robot": 1, "base": 1}


def test_a_result_prints_as_the_terminal_shows_it(result):
    text = str(result)
    assert "planar2r   2 joints" in text
    assert "mass / kg" in text
    assert "verdict" in text
    assert "array(" not in text
    assert len(repr(result)) < 120
    assert "\n" not in repr(result)
    assert result._repr_html_().count("<table>") == 3


def test_a_link_has_its_mass_with_a_source(result):
    link = result.links["link2"]
    assert isinstance(link.mass, IdentifiedNumber)
    assert link.mass == result.model.links[1].mass
    assert link.mass.unit == "kg"
    assert link.mass.origin in {"identified", "data and prior", "prior only", "bound"}
    assert "kg" in str(link.mass)
    assert link.mass.std > 0.0
    assert 0.0 <= link.mass.data_share <= 1.0
    assert link.com_std.shape == (3,)
    assert link.inertia_com_std.shape == (3, 3)


def test_links_are_told_with_their_standard_deviation_and_source(result):
    told: Any = plain(result.json())
    for entry, link in zip(told["links"], result.links.values(), strict=True):
        assert entry["std"]["mass"] == link.mass.std
        assert np.shape(entry["std"]["com"]) == (3,)
        assert np.shape(entry["std"]["inertia_com"]) == (3, 3)
        assert 0.0 <= entry["data_share"] <= 1.0
        assert "range" not in entry
    assert "prior only" in str(result)
    assert " ± " in str(result)


def test_ranges_are_given_when_asked_for(logs):
    found = dynid.identify("planar2r", logs / "run1.csv", friction="viscous+coulomb", ranges=True)
    told: Any = plain(found.json())
    for entry, link in zip(told["links"], found.links.values(), strict=True):
        low, high = entry["range"]["mass"]
        assert low <= link.mass
        assert high is None or link.mass <= high
        assert np.shape(entry["range"]["com"]) == (3, 2)
        assert "fit alike" in str(link.mass)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"logs": {"q": [1.0]}}, "t and q are needed"),
        ({"logs": {"t": [0.0], "q": [[0.0]], "torque": [[0.0]]}}, "arrays of a log are called"),
        ({"logs": []}, "no training log given"),
        ({"friction": "sticky"}, "sticky"),
        ({"delay": "soon"}, "`delay` soon: give a number or auto"),
        ({"gains": "a,b"}, "`gains` a,b"),
        ({"gains": [1.0]}, "`gains` has 1 numbers, but planar2r has 2 joints"),
        ({"seed": -1}, "`seed` -1: give a whole number that is not negative"),
        ({"workers": "many"}, "`workers` many"),
    ],
    ids=str,
)
def test_wrong_values_are_told_what_was_expected(logs, given, complaint):
    asked = {"logs": logs / "run1.csv", **given}
    with pytest.raises(DynidError, match=complaint):
        dynid.identify("planar2r", asked.pop("logs"), **asked)


def test_a_loaded_robot_keeps_its_own_options(logs):
    with pytest.raises(RobotError, match="give the first five to load_robot"):
        dynid.identify(load_robot("planar2r"), logs / "run1.csv", gravity=(0.0, 0.0, 0.0))


def test_predictions_carry_a_band(result):
    q = np.array([[0.1, -0.2], [0.5, 0.4]])
    found = dynid.predict(result.model, q, 0.3 * q, q)
    assert found.tau.shape == found.std.shape == (2, 2)
    assert np.all(found.lower < found.tau)
    assert np.all(found.tau < found.upper)
    single = dynid.predict(result.model, q[0], 0.3 * q[0], q[0])
    np.testing.assert_allclose(single.tau[0], found.tau[0])
    assert len(repr(found)) < 80
    with pytest.raises(ValueError, match=r"expected three arrays of shape \(n_samples, 2\)"):
        dynid.predict(result.model, q, q, q[:, :1])


@pytest.mark.whole
def test_all_logs_behind_validate_are_held_out(logs, tmp_path):
    given = ("identify", "planar2r", logs / "run1.csv", "--validate", logs / "run2.csv", logs / "run3.csv")
    code, content = run_json(*given, "--out", tmp_path)
    assert code == 0
    assert [entry["log"] for entry in content["validation"]] == [str(logs / "run2.csv"), str(logs / "run3.csv")]
    assert content["train"]["log"] == str(logs / "run1.csv")


@pytest.mark.whole
def test_run_json_has_the_hash_of_every_input(logs, tmp_path):
    columns = tmp_path / "map.toml"
    columns.write_text('units.q = "rad"\n')
    bounds = tmp_path / "bounds.csv"
    bounds.write_text("parameter,lower,upper\nm2,0,100\n")
    result = dynid.identify("planar2r", logs / "run1.csv", validate=logs / "run2.csv", columns=columns, bounds=bounds)
    recorded: Any = result.model.provenance["inputs"]
    for path in (logs / "run1.csv", logs / "run2.csv", columns, bounds):
        assert recorded[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_report_says_of_least_squares_what_a_programme_decided(result):
    told = [c.name for c in result.comparisons if "least squares" in c.name]
    assert len(told) == 2
    # Noise of 1 % on a log that shows every base parameter: no consistent robot has exactly these, or one has.
    assert all(name.endswith(("(physically consistent)", "(of no physically consistent robot)")) for name in told)
    exact = simulated("planar2r", seed=4, noise=0.0)
    names = [c.name for c in dynid.identify("planar2r", exact, friction="viscous+coulomb+offset").comparisons]
    assert "ordinary least squares (physically consistent)" in names


def test_a_joint_that_only_a_rotor_explains_is_told_of_rotors(rng):
    robot = load_robot("planar2r")
    model = TorqueModel(robot, (RotorInertia(), *friction_models("viscous")))
    theta = np.concatenate([0.001 * robot.nominal.ravel(), [0.5, 0.1, 0.5, 0.1]])
    t = np.arange(0.0, 10.0, 0.01)
    w, phase = 2.0 * np.pi * np.array([0.5, 0.7]), np.array([0.3, 1.1])
    x = w * t[:, None] + phase
    motion = Motion(t, np.sin(x), w * np.cos(x), -(w**2) * np.sin(x))
    tau = model.torque(motion, theta)
    log = {"t": t, "q": motion.q, "dq": motion.dq, "tau": tau + 1e-3 * rng.normal(size=tau.shape)}
    typed = dynid.identify(robot, log, friction="viscous", estimator="ols", force=True)
    told = [text for text in typed.warnings if "`rotor_inertia`" in text]
    assert len(told) == 1
    assert np.max(typed.train.error.relative_percent_joint) > 15.0
    plain = dynid.identify(robot, log, estimator="ols", force=True)
    assert not any("`rotor_inertia`" in text for text in plain.warnings)
