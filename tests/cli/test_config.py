import json

import numpy as np
import pytest

from dynid import load_robot
from dynid.cli import main
from dynid.cli.config import with_config
from dynid.errors import ConfigError
from dynid.recording import write_csv
from tests.regression.logs import truth


def test_options_of_the_file_are_put_in_and_the_command_line_wins(tmp_path):
    path = tmp_path / "fit.toml"
    path.write_text(
        'estimator = "wls"\ntotal-mass = [1, 5.5]\nrotor-inertia = true\njson = false\nlock = ["a", "b=1"]\n'
    )
    tokens = with_config(["identify", "x", "log.csv", "--config", str(path), "--estimator", "ols"], ())
    assert tokens[:5] == ["identify", "x", "log.csv", "--estimator", "ols"]
    assert tokens[5:] == ["--total-mass", "1", "5.5", "--rotor-inertia", "--lock", "a", "--lock", "b=1"]
    assert with_config(["retrieve", "--config", "x"], ("retrieve",)) == ["retrieve", "--config", "x"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("estimator = ", "not valid TOML"),
        ("bounds = {a = 1}", "bounds: expected a number"),
        ("x = [1, 'a']", "x: expected"),
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
