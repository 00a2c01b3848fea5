"""``dynid friction`` and ``dynid payload`` on simulated logs, and ``identify --friction auto``."""

import json

import numpy as np
import pytest

from dynid.chain import InertialParameters
from dynid.cli import main
from dynid.dynamics import Coulomb, Tanh, Viscous
from dynid.recording import write_csv
from dynid.regression import load_model
from tests.regression.arms import ARM, exciting_motion, frictional, log_of
from tests.regression.test_friction_fit import one_way_log

VALUES = {"Fv": 1.0, "Fc": 2.0, "Ft": 2.0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Logs of one arm: two plain runs, one with smooth friction, one with a load; and the model of the first."""
    rng = np.random.default_rng(7)
    root = tmp_path_factory.mktemp("friction")
    plain, theta = frictional(ARM, (Viscous(), Coulomb()), VALUES)
    smooth, theta_smooth = frictional(ARM, (Viscous(), Tanh(((0.2,),))), VALUES)
    heavy = np.array(theta)
    heavy[10:20] += InertialParameters.from_order([1.0, 0.1, 0.0, 0.0, 0.01, 0, 0, 0.01, 0, 0.01], "urdf").pi
    runs = (("a", plain, theta), ("b", plain, theta), ("smooth", smooth, theta_smooth), ("load", plain, heavy))
    for name, model, values in runs:
        write_csv(log_of(model, values, exciting_motion(ARM, rng), rng, noise=0.01), root / f"{name}.csv")
    write_csv(one_way_log(rng), root / "oneway.csv")
    assert (
        main(["identify", "spatial2r", str(root / "a.csv"), "--friction", "viscous+coulomb", "--out", str(root)]) == 0
    )
    return root


def output(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def test_friction_is_refitted_and_compared(folder, tmp_path, capsys):
    arguments = [str(folder / "model.json"), str(folder / "smooth.csv"), "--friction", "viscous+tanh"]
    assert main(["friction", *arguments, "--out", str(tmp_path), "--json"]) == 0
    found = output(capsys)
    assert found["train"]["relative_error_percent"] < 0.2 * found["without_friction"]["relative_error_percent"]
    first = {entry["name"]: entry["value"] for entry in found["joints"][0]["parameters"]}
    assert first["tanh.velocity"] == pytest.approx(0.2, rel=0.1)
    assert {row["joint"] for row in found["compared"]} == set(ARM.joint_names)
    refitted = load_model(tmp_path / "model.json")
    assert [model.name for model in refitted.model.joint_models] == ["viscous", "tanh"]
    assert "Friction over velocity" in (tmp_path / "report.html").read_text()
    assert main(["validate", str(tmp_path / "model.json"), str(folder / "smooth.csv"), "--json"]) == 0
    error = output(capsys)["validation"][0]["relative_error_percent"]
    assert error == pytest.approx(found["train"]["relative_error_percent"], rel=0.05)


def test_compared_friction_has_units(folder, tmp_path, capsys):
    assert main(["friction", str(folder / "model.json"), str(folder / "b.csv"), "--out", str(tmp_path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[4] for row in rows if row[:2] == [ARM.joint_names[0], "10"]] == ["N·m"]


def test_friction_of_a_joint_that_never_reverses_is_refused_by_name(folder, tmp_path, capsys):
    arguments = [str(folder / "model.json"), str(folder / "oneway.csv"), "--friction", "viscous+coulomb+offset"]
    assert main(["friction", *arguments, "--out", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert f"{ARM.joint_names[0]} never reverses, so Coulomb friction and offset cannot be told apart" in message


def test_identify_warns_of_a_joint_that_never_reverses(folder, tmp_path, capsys):
    main(["identify", "spatial2r", str(folder / "oneway.csv"), "--out", str(tmp_path), "--force"])
    assert f"{ARM.joint_names[0]} never reverses" in capsys.readouterr().err


def test_identify_searches_curves_and_says_how_they_predict(folder, tmp_path, capsys):
    log, other = str(folder / "smooth.csv"), str(folder / "smooth.csv")
    options = ["--friction", "viscous+tanh", "--validate", other, "--out", str(tmp_path), "--json"]
    assert main(["identify", "spatial2r", log, *options]) == 0
    found = output(capsys)
    assert found["train"]["relative_error_percent"] < 0.5
    assert all("left-out segments" in reason for reason in found["friction"])
    copy = load_model(tmp_path / "model.json")
    curve = copy.model.joint_models[1]
    assert isinstance(curve, Tanh)
    assert curve.shape[0] == pytest.approx((0.2, 0.2), rel=0.1)


def test_a_load_is_weighed_against_the_model_and_against_a_run(folder, capsys):
    arguments = ["payload", str(folder / "model.json"), str(folder / "load.csv")]
    for extra in ([], ["--unloaded", str(folder / "b.csv")]):
        # Two joints cannot show all ten numbers, which is said; what they show of this load is right.
        assert main([*arguments, *extra, "--json"]) == 1
        found = output(capsys)["payload"]
        assert set(found["std"]) == {"mass", "com", "inertia_com"}
        assert found["mass"] == pytest.approx(1.0, rel=0.02)
        assert found["com"][0] == pytest.approx(0.1, abs=0.02)
    out = folder / "found.json"
    assert main([*arguments, "--flange", "0.05", "0", "0", "0", "0", "0", "--out", str(out)]) == 1
    written = capsys.readouterr()
    assert json.loads(out.read_text())["payload"]["frame"]["name"] == "flange"
    assert main(["export", str(out), "--to", "ur", "--out", str(folder / "load.script"), "--force"]) == 0
    assert "set_target_payload(" in (folder / "load.script").read_text()
    assert "centre of gravity" in written.out
    assert "not excited" in written.err


def test_the_unloaded_log_given_twice_is_refused(folder, capsys):
    log = str(folder / "load.csv")
    assert main(["payload", str(folder / "model.json"), log, "--unloaded", log]) == 2
    assert "must be two runs of the arm" in capsys.readouterr().err


def test_gains_need_a_run_without_load_and_currents(folder, capsys):
    arguments = ["payload", str(folder / "model.json"), str(folder / "load.csv"), "--known-mass", "1.0"]
    assert main(arguments) == 2
    assert "needs a run without the load" in capsys.readouterr().err
    assert main([*arguments, "--unloaded", str(folder / "a.csv")]) == 2
    assert "has no motor currents" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("header", "extra", "complaint"),
    [
        ("t,q1,q2,i1,i2", [], "holds motor currents and no torques; give the drive gains"),
        (
            "t,q1,q2,tau1,tau2,i1,i2",
            ["--gains", "1,2"],
            "has torques and currents; leave the drive gains (--gains) out",
        ),
    ],
)
def test_currents_without_gains_and_both_signals_are_refused(folder, tmp_path, capsys, header, extra, complaint):
    n_columns = header.count(",") + 1
    t = np.arange(200) / 100.0
    values = np.column_stack([t, *(np.sin(t + k) for k in range(n_columns - 1))])
    file = tmp_path / "log.csv"
    np.savetxt(file, values, delimiter=",", header=header, comments="")
    assert main(["friction", str(folder / "model.json"), str(file), "--out", str(tmp_path), *extra]) == 2
    assert complaint in capsys.readouterr().err
