import json

import numpy as np
import pytest

from dynid import load_robot
from dynid.cli import main
from dynid.cli.config import with_config
from dynid.errors import ConfigError
from dynid.recording import write_csv
from dynid.regression import IdentifiedModel, save_model
from tests.cli.test_track import BASE, MODEL, THETA
from tests.cli.test_track import recording as track_log
from tests.regression.logs import truth


def test_options_of_the_file_are_put_in_and_the_command_line_wins(tmp_path):
    path = tmp_path / "fit.toml"
    path.write_text(
        'estimator = "wls"\ntotal-mass = [1, 5.5]\nrotor-inertia = true\njson = false\nlock = ["a", "b=1"]\n'
    )
    tokens = with_config(["identify", "x", "log.csv", "--config", str(path), "--estimator", "ols"], ()).tokens
    assert tokens[:5] == ["identify", "x", "log.csv", "--estimator", "ols"]
    assert tokens[5:] == ["--total-mass", "1", "5.5", "--rotor-inertia", "--lock", "a", "--lock", "b=1"]
    assert with_config(["retrieve", "--config", "x"], ("retrieve",)).tokens == ["retrieve", "--config", "x"]
    assert with_config(["retrieve", "--config=x"], ("retrieve",)).tokens == ["retrieve", "--config=x"]
    joined = with_config(["identify", "x", "log.csv", f"--config={path}", "--estimator", "ols"], ()).tokens
    assert joined == tokens


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("estimator = ", "not valid TOML"),
        ("bounds = {a = 1}", "bounds: expected a number"),
        ("x = [1, 'a']", "x: expected"),
        ("noise = []", "noise: an empty list"),
    ],
)
def test_bad_files_name_the_key(tmp_path, text, message):
    path = tmp_path / "fit.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        with_config(["identify", "--config", str(path)], ())
    with pytest.raises(ConfigError, match="no such configuration file"):
        with_config(["identify", "--config", str(tmp_path / "none.toml")], ())
    with pytest.raises(ConfigError, match="needs a file"):
        with_config(["identify", "--config"], ())


def test_identify_reads_its_configuration(tmp_path, capsys):
    case = truth(load_robot("planar2r"), np.random.default_rng(3), duration=10.0)
    write_csv(case.recording(), tmp_path / "log.csv")
    (tmp_path / "fit.toml").write_text('estimator = "ols"\nfriction = "viscous+coulomb+offset"\n')
    arguments = ["identify", "planar2r", str(tmp_path / "log.csv"), "--out", str(tmp_path / "x"), "--json"]
    assert main([*arguments, "--config", str(tmp_path / "fit.toml")]) == 0
    assert json.loads(capsys.readouterr().out)["estimator"] == "ols"
    (tmp_path / "fit.toml").write_text("estimatr = 'ols'\n")
    assert main([*arguments, "--config", str(tmp_path / "fit.toml")]) == 2
    assert "estimatr" in capsys.readouterr().err


def tracked(tmp_path, capsys, *arguments):
    """Exit code, last object and complaint of a `track` run."""
    if not (tmp_path / "model.json").exists():
        model = IdentifiedModel(
            MODEL, BASE, "feasible", "", BASE.project(THETA), np.eye(BASE.n_base), theta=THETA, labels=()
        )
        save_model(model, tmp_path / "model.json")
        write_csv(track_log(), tmp_path / "log.csv")
        (tmp_path / "bounds.csv").write_text("parameter,lower,upper\nm2,0.1,5\n")
    code = main(["track", str(tmp_path / "model.json"), str(tmp_path / "log.csv"), "--json", *arguments])
    said = capsys.readouterr()
    return code, said.out.splitlines()[-1] if said.out else "", said.err


def test_track_takes_all_of_the_filter_from_a_file_as_from_the_command_line(tmp_path, capsys):
    typed = ["--states", "entries", "--bounds", str(tmp_path / "bounds.csv"), "--process-noise", "1e-4"]
    typed += ["--annealing", "100", "--carry", "state", "--noise", "0.1", "0.2"]
    (tmp_path / "track.toml").write_text(
        f'states = "entries"\nbounds = "{tmp_path / "bounds.csv"}"\nprocess-noise = 1e-4\nannealing = 100\n'
        'carry = "state"\nnoise = [0.1, 0.2]\n'
    )
    config = ["--config", str(tmp_path / "track.toml")]
    plain, by_flags, by_file = (tracked(tmp_path, capsys, *given)[1] for given in ([], typed, config))
    assert by_file == by_flags != plain
    for key in ("bounds", "process-noise", "annealing", "carry", "noise"):  # each of them counts
        lines = (tmp_path / "track.toml").read_text().splitlines()
        (tmp_path / "less.toml").write_text("\n".join(line for line in lines if not line.startswith(key)))
        assert tracked(tmp_path, capsys, "--config", str(tmp_path / "less.toml"))[1] != by_file, key
    over = tracked(tmp_path, capsys, *config, "--carry", "parameters")[1]
    assert over != by_file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("annealing = 'x'", "annealing: Invalid value"),
        ("annealing = -3", "annealing: --annealing -3: give a number of samples above zero"),
        ("process-noise = nan", "process-noise: --process-noise nan"),
        ("process_noise = -1", "process_noise: --process-noise -1"),
        ("noise = [0.1, -1.0]", "noise: --noise: every standard deviation must be above zero"),
        ("noise = 'loud'", "noise: --noise loud: give numbers"),
        ("noise = [1, 2, 3]", "noise: --noise has 3 numbers"),
        ("carry = 'both'", "carry: Invalid value"),
        ("bounds = 'none.csv'", "bounds: none.csv: cannot be read"),
        ("anealing = 3", "anealing: Unknown option"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_file_and_key(tmp_path, capsys, text, message):
    (tmp_path / "track.toml").write_text(text)
    code, _, complaint = tracked(tmp_path, capsys, "--config", str(tmp_path / "track.toml"))
    assert code == 2
    assert f"track.toml: {message}" in complaint
