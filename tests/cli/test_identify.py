import json

import numpy as np
import pytest

from dynid import load_robot
from dynid.cli import main
from dynid.recording import Recording, write_csv
from dynid.regression import load_model
from tests.regression.logs import truth


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Two logs of one planar arm, on different motions."""
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(3)
    case = truth(load_robot("planar2r"), rng, duration=20.0)
    other = truth(load_robot("planar2r"), np.random.default_rng(3), duration=15.0)
    write_csv(case.recording(rng, 0.01), folder / "train.csv")
    write_csv(other.recording(rng, 0.01), folder / "test.csv")
    return folder


def test_identify_writes_everything_and_speaks_the_contract(logs, tmp_path, capsys):
    out = tmp_path / "result"
    code = main(
        [
            "identify",
            "planar2r",
            str(logs / "train.csv"),
            "--out",
            str(out),
            "--validate",
            str(logs / "test.csv"),
            "--json",
        ]
    )
    content = json.loads(capsys.readouterr().out)
    assert code == 0
    assert sorted(path.name for path in out.iterdir()) == ["model.json", "report.html", "robot.urdf", "run.json"]
    assert content["robot"] == "planar2r"
    assert content["n_dof"] == 2
    assert content["estimator"] == "feasible"
    assert content["status"] == "converged"
    assert content["consistent"] is True
    assert content["train"]["relative_error_percent"] < 1.0
    assert content["validation"][0]["relative_error_percent"] < 1.0
    assert len(content["train"]["rmse"]) == 2
    assert {"label", "value", "std", "unit", "trust"} <= set(content["parameters"][0])
    assert {"name", "mass", "com", "inertia_com", "margin"} <= set(content["links"][0])
    model = load_model(out / "model.json")
    assert model.consistent
    assert str(logs / "train.csv") in str(model.provenance["inputs"])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "physically consistent" in page
    assert load_robot(out / "robot.urdf").n_dof == 2


@pytest.mark.parametrize("estimator", ["ols", "wls", "robust"])
def test_other_estimators_give_coefficients_but_no_robot_file(logs, tmp_path, estimator, capsys):
    out = tmp_path / estimator
    assert (
        main(["identify", "planar2r", str(logs / "train.csv"), "--out", str(out), "--estimator", estimator, "--json"])
        == 0
    )
    content = json.loads(capsys.readouterr().out)
    assert content["consistent"] is False
    assert content["links"] == []
    assert not (out / "robot.urdf").exists()


def test_people_see_a_table_with_units(logs, tmp_path, capsys):
    assert (
        main(["identify", "planar2r", str(logs / "train.csv"), str(logs / "test.csv"), "--out", str(tmp_path / "x")])
        == 0
    )
    text = capsys.readouterr().out
    for word in ("robot", "recording", "fit", "kg·m²", "identified", "wrote", "low-pass"):
        assert word in text


def test_validate_compares_models_side_by_side(logs, tmp_path, capsys):
    for name in ("ols", "feasible"):
        assert (
            main(
                [
                    "identify",
                    "planar2r",
                    str(logs / "train.csv"),
                    "--validate",
                    str(logs / "test.csv"),
                    "--out",
                    str(tmp_path / name),
                    "--estimator",
                    name,
                    "--json",
                ]
            )
            == 0
        )
    capsys.readouterr()
    arguments = ["validate", str(tmp_path / "feasible" / "model.json"), str(logs / "test.csv")]
    assert (
        main(
            [
                *arguments,
                "--against",
                str(tmp_path / "ols" / "model.json"),
                "--json",
                "--report",
                str(tmp_path / "v.html"),
            ]
        )
        == 0
    )
    content = json.loads(capsys.readouterr().out)
    assert content["validation"][0]["relative_error_percent"] < 1.0
    assert content["against"][0]["validation"][0]["relative_error_percent"] < 1.0
    assert (tmp_path / "v.html").exists()
    assert main(arguments) == 0
    output = capsys.readouterr()
    assert "RMSE" in output.out
    assert "fitted to" not in output.err, "a held-out log is no training log"
    assert main([arguments[0], arguments[1], str(logs / "train.csv")]) == 0
    assert "fitted to" in capsys.readouterr().err


def test_currents_need_gains(logs, tmp_path, capsys):
    case = truth(load_robot("planar2r"), np.random.default_rng(3), duration=15.0)
    recording = case.recording()
    currents = Recording(
        recording.joint_names, recording.t, recording.q, recording.dq, current=recording.tau / np.array([2.0, 4.0])
    )
    write_csv(currents, tmp_path / "i.csv")
    base = ["identify", "planar2r", str(tmp_path / "i.csv"), "--out", str(tmp_path / "x"), "--json"]
    assert main(base) == 2
    assert "--gains" in capsys.readouterr().err
    assert main([*base, "--gains", "2,4"]) == 0
    assert json.loads(capsys.readouterr().out)["train"]["relative_error_percent"] < 0.5
    assert main([*base, "--gains", "2"]) == 2
    assert "--gains has 1 numbers" in capsys.readouterr().err


def spoiled(logs, tmp_path, change):
    rows = (logs / "train.csv").read_text().splitlines()
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(change(rows)) + "\n")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [rows[0].replace("tau2", "tau1"), *rows[1:]], "tau1"),
        (lambda rows: [rows[0].replace("q2,", "x2,", 1), *rows[1:]], "2 joints"),
        (lambda rows: rows[:1], "bad.csv"),
        (lambda rows: rows[:11], "only 10 samples"),
    ],
    ids=["duplicate", "missing", "empty", "ten samples"],
)
def test_bad_logs_are_one_message_and_leave_nothing(logs, tmp_path, change, message, capsys):
    path = spoiled(logs, tmp_path, change)
    assert main(["identify", "planar2r", str(path), "--out", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert "bad.csv" in error
    assert message in error
    assert "Traceback" not in error
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda rows: [*rows[:100], rows[100].replace(rows[100].split(",")[1], "nan"), *rows[101:]], "not-finite"),
        (lambda rows: [*rows[:100], rows[50], *rows[100:]], "time"),
    ],
    ids=["nan", "backwards"],
)
def test_a_row_that_nobody_measured_is_left_out_and_told(logs, tmp_path, change, code, capsys):
    command = ["identify", "planar2r", str(spoiled(logs, tmp_path, change)), "--out", str(tmp_path / "x"), "--json"]
    assert main(command) == 0
    told = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["severity"] for finding in told} <= {"info", "warning"}
    assert told, code


def test_the_doctor_is_recommended_with_the_robot_as_it_was_given(logs, tmp_path, capsys):
    arm = tmp_path / "my_arm.toml"
    rows = '[[joint]]\nname = "joint{}"\na = 1.0\nalpha = 0.0\nd = 0.0\n'
    arm.write_text('name = "planar"\nconvention = "standard"\n' + rows.format(1) + rows.format(2))
    path = spoiled(logs, tmp_path, lambda r: [*r[:100], r[100].replace(r[100].split(",")[1], "nan"), *r[101:]])
    assert main(["identify", str(arm), str(path), "--out", str(tmp_path / "x")]) == 1
    assert "dynid doctor ROBOT LOG --write-map" in capsys.readouterr().err


def test_a_log_of_another_robot_and_a_still_one_are_told(logs, tmp_path, capsys):
    assert main(["identify", "panda", str(logs / "train.csv"), "--out", str(tmp_path / "x")]) == 2
    assert "7" in capsys.readouterr().err
    case = truth(load_robot("planar2r"), np.random.default_rng(3), duration=10.0)
    recording = case.recording()
    still = Recording(recording.joint_names, recording.t, np.full_like(recording.q, 0.3), tau=np.ones_like(recording.q))
    write_csv(still, tmp_path / "still.csv")
    assert (
        main(["identify", "planar2r", str(tmp_path / "still.csv"), "--out", str(tmp_path / "y"), "--estimator", "ols"])
        == 1
    )
    assert "no joint moves" in capsys.readouterr().err


def test_contradictory_bounds_are_named(logs, tmp_path, capsys):
    bounds = tmp_path / "bounds.csv"
    bounds.write_text("parameter,lower,upper\nm1,3,2\n")
    base = ["identify", "planar2r", str(logs / "train.csv"), "--out", str(tmp_path / "x"), "--bounds", str(bounds)]
    assert main(base) == 2
    assert "m1" in capsys.readouterr().err
    bounds.write_text("parameter,lower,upper\nmass1,1,2\n")
    assert main(base) == 2
    assert "mass1" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_delay_and_threshold_can_be_left_to_the_data(logs, tmp_path, capsys):
    arguments = [
        "identify",
        "planar2r",
        str(logs / "train.csv"),
        "--out",
        str(tmp_path / "x"),
        "--delay",
        "auto",
        "--min-velocity",
        "auto",
        "--json",
    ]
    assert main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    assert any("delay of the torque" in choice or "torque lags by" in choice for choice in map(str, told["chosen"]))
    assert any("masked" in choice for choice in told["conditioning"])
    assert main([*arguments[:4], str(tmp_path / "y"), *arguments[5:], "--friction", "viscous+coulomb"]) == 0
    assert any("torque lags by" in choice for choice in json.loads(capsys.readouterr().out)["conditioning"])


def test_the_same_input_gives_the_same_bytes(logs, tmp_path, capsys):
    for name in ("a", "b"):
        assert main(["identify", "planar2r", str(logs / "train.csv"), "--out", str(tmp_path / name), "--json"]) == 0
    assert (tmp_path / "a" / "model.json").read_bytes() == (tmp_path / "b" / "model.json").read_bytes()
    assert (tmp_path / "a" / "report.html").read_bytes() == (tmp_path / "b" / "report.html").read_bytes()


def test_reverse_writes_a_model(tmp_path, data_dir, capsys):
    arguments = [
        "reverse",
        "panda",
        str(data_dir / "panda" / "controller_model_1010.csv.gz"),
        "--out",
        str(tmp_path / "r"),
    ]
    assert main([*arguments, "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["rank"] == 43
    assert content["condition_number"] == pytest.approx(48.9, abs=0.05)
    assert content["dropped"] == ["g1"]
    assert load_model(tmp_path / "r" / "model.json").estimator == "reverse"
    assert main(arguments) == 0
    assert "rank 43" in capsys.readouterr().out


def test_retrieval_is_an_estimator_too(logs, tmp_path, capsys):
    log = str(logs / "train.csv")
    assert main(["identify", "planar2r", log, "--out", str(tmp_path / "x"), "--estimator", "retrieval", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["estimator"] == "retrieval"
    assert content["consistent"] is True
    assert content["train"]["relative_error_percent"] < 1.0


def test_a_reverse_model_is_validated_behind_a_filter_chosen_from_the_log(tmp_path, data_dir, capsys):
    panda = data_dir / "panda"
    assert main(["reverse", "panda", str(panda / "controller_model_1010.csv.gz"), "--out", str(tmp_path / "r")]) == 0
    capsys.readouterr()
    arguments = ["validate", str(tmp_path / "r" / "model.json"), str(panda / "excitation_log.csv.gz"), "--json"]
    assert main(arguments) == 0
    # No friction in this model: 3.8 % of the torque is missing.
    assert json.loads(capsys.readouterr().out)["validation"][0]["relative_error_percent"] < 6.0


@pytest.mark.parametrize("estimator", ["ols", "wls", "robust", "feasible"])
def test_bounds_that_are_not_there_are_told_whatever_the_estimator(logs, tmp_path, capsys, estimator):
    given = ["--bounds", str(tmp_path / "missing.csv"), "--estimator", estimator]
    assert main(["identify", "planar2r", str(logs / "train.csv"), "--out", str(tmp_path / "out"), *given]) == 2
    assert "missing.csv: cannot be read (no such" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--validate", "--validate"),
        ("--from nan", "--from nan: give a time in s"),
        ("--from 60", "no sample from 60 s until its end; the log covers 0.000000 s to"),
        ("--until -1", "no sample from its start until -1 s; the log covers"),
        ("--min-velocity -2", "--min-velocity -2: give a speed of 0 rad/s or more, or auto"),
        ("--prior-std 0", "--prior-std 0: give a relative spread above 0"),
        ("--total-mass -3 10", "--total-mass -3 10: give the least and the largest mass"),
        ("--bootstrap 1", "--bootstrap 1: give the number of refits, at least 2"),
    ],
)
def test_values_out_of_range_are_refused_before_the_work(logs, tmp_path, option, message, capsys):
    command = ["identify", "planar2r", str(logs / "train.csv"), "--out", str(tmp_path / "x"), *option.split()]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("error  ") == 1
    assert not (tmp_path / "x").exists()
