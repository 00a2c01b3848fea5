"""The command ``retrieve``: files, JSON, messages, exit codes."""

import json
import re

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.cli import main
from dynid.regression import Compressed, IdentifiedModel, load_model, save_model
from tests.cluster import cluster
from tests.processes import finished, started

BOUNDS = "parameter,lower,upper\nm1,0,10\nm2,0,5\nc1y,-1.42,0.08\nc2x,-0.8,0\n"


@pytest.fixture
def model_file(tmp_path):
    model = TorqueModel(load_robot("spatial2r"))
    base = base_parameters(model)
    beta = base.project(model.nominal())
    problem = Compressed(2.0 * np.eye(base.n_base), 2.0 * beta, 0.1, 100)
    given = IdentifiedModel(model, base, "ols", "", beta, 1e-6 * np.eye(base.n_base), problem=problem)
    save_model(given, tmp_path / "model.json")
    (tmp_path / "bounds.csv").write_text(BOUNDS)
    return tmp_path / "model.json"


def arguments(model_file, *more):
    folder = model_file.parent
    return ["retrieve", str(model_file), "--bounds", str(folder / "bounds.csv"), "--total-mass", "1", "15", *more]


@pytest.mark.parametrize("extra", [(), ("--objective", "one-step"), ("--weighted",)])
def test_json_holds_objective_gap_and_runs(model_file, capsys, extra):
    out = model_file.parent / "full"
    assert main(arguments(model_file, "--out", str(out), "--runs", "2", "--json", *extra)) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["estimator"] == "retrieval"
    assert content["consistent"] is True
    assert content["met"] is True
    assert content["convex"] is True
    assert abs(content["gap"]) < 1e-3
    assert content["objective"] < 1e-8
    assert [run["index"] for run in content["runs"]] == [0, 1]
    assert all(entry["holds"] for entry in content["constraints"])
    assert {"m1", "c1x", "I2zz"} <= {entry["name"] for entry in content["spread"]}
    assert 1.0 <= sum(link["mass"] for link in content["links"]) <= 15.0
    assert set(content["files"]) == {"model", "report", "run", "urdf"}
    saved = load_model(out / "model.json")
    assert saved.consistent
    assert saved.estimator == "retrieval"
    np.testing.assert_allclose(saved.beta, load_model(model_file).beta, atol=1e-5)
    assert load_robot(out / "robot.urdf").n_dof == 2
    report = (out / "report.html").read_text()
    assert "Forces in the joints" in report
    assert "What the runs agree on" in report


def test_same_seed_same_parameters_whatever_the_workers(model_file, capsys):
    masses = []
    for workers, seed in (("1", "5"), ("2", "5"), ("1", "6")):
        out = model_file.parent / f"full{workers}{seed}"
        assert main(arguments(model_file, "--out", str(out), "--workers", workers, "--seed", seed, "--json")) == 0
        masses.append([link["mass"] for link in json.loads(capsys.readouterr().out)["links"]])
    assert masses[0] == masses[1]
    assert masses[0] != masses[2]


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_parameters(model_file, tmp_path):
    command = arguments(model_file, "--runs", "3", "--seed", "5")
    assert main([*command, "--out", str(tmp_path / "here")]) == 0
    with cluster() as local:
        process = started([*command, "--out", str(tmp_path / "there"), "--workers", local.address])
        _, errors = finished(process)
    assert process.returncode == 0, errors
    assert (tmp_path / "here" / "model.json").read_bytes() == (tmp_path / "there" / "model.json").read_bytes()


def test_annealing_prints_links_constraints_and_gap(model_file, capsys):
    out = model_file.parent / "full"
    command = ("--out", str(out), "--engine", "annealing", "--runs", "1", "--steps", "2")
    assert main(arguments(model_file, *command)) == 0
    text = capsys.readouterr().out
    assert "annealing, coefficients" in text
    assert "above the optimum" in text
    assert "all constraints met" in text
    assert "triangle inequality of link1" in text


def test_code_runs_only_where_it_is_allowed(model_file, capsys):
    folder = model_file.parent
    (folder / "rules_of_a_test.py").write_text("def light(links):\n    return links[0].mass - 4.0\n")
    (folder / "retrieval.toml").write_text('functions = ["rules_of_a_test:light"]\n')
    command = arguments(model_file, "--out", str(folder / "full"), "--config", str(folder / "retrieval.toml"), "--json")
    assert main(command) == 2
    assert re.search("allow[-_]code", capsys.readouterr().err)
    assert main([*command, "--allow-code"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["links"][0]["mass"] <= 4.0 + 1e-6
    assert content["left_out"] == ["rules_of_a_test:light"]
    assert content["convex"] is False


@pytest.mark.parametrize(
    ("bounds", "more", "message"),
    [
        ("m1,2,1\n", (), "m1 ≥ 2, m1 ≤ 1"),
        ("link1.mas,0,1\n", (), "bounds.csv:2: no parameter 'link1.mas'; did you mean 'link1.mass'?"),
        ("m1,0,0.2\nm2,0,0.3\n", (), "total mass ≥ 1"),
        ("m1,0,9\n", ("--objective", "one-step", "--weighted"), "--weighted goes with the --objective coefficients"),
        ("m1,0,9\n", ("--runs", "0"), "at least one run"),
        ("m1,0,9\n", ("--config", "none.toml"), "none.toml: cannot be read"),
    ],
)
def test_bad_input_is_refused_and_nothing_written(model_file, capsys, bounds, more, message):
    (model_file.parent / "bounds.csv").write_text("parameter,lower,upper\n" + bounds)
    out = model_file.parent / "full"
    assert main(arguments(model_file, "--out", str(out), *more)) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_model_without_its_log_allows_no_one_step(tmp_path, model_file, capsys):
    given = load_model(model_file)
    bare = IdentifiedModel(given.model, given.base, "ols", "", given.beta, given.covariance)
    save_model(bare, tmp_path / "bare.json")
    assert main(["retrieve", str(tmp_path / "bare.json"), "--objective", "one-step", "--out", str(tmp_path / "x")]) == 2
    assert "holds no log" in capsys.readouterr().err


def test_time_budget_ends_the_search(model_file, capsys):
    out = model_file.parent / "full"
    command = arguments(model_file, "--out", str(out), "--runs", "5000", "--time-budget", "0.5", "--json")
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "of 5000 runs; this is the best so far" in captured.err
    assert 1 <= len(json.loads(captured.out)["runs"]) < 5000
