"""`dynid.retrieve`: what the command does, from files or values."""

import json

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.errors import ConfigError, ParameterError
from dynid.prose import plain
from tests.workflow.small_arm import ARM, contents, controller, prints_well

BOUNDS = {"m1": (0.0, 10.0), "m2": (0.0, 5.0)}


@pytest.fixture(scope="module")
def given():
    return dynid.reverse(ARM, controller()).model


def test_the_call_and_the_command_give_the_same_bytes(given, tmp_path, capsys):
    dynid.save(given, tmp_path)
    model, bounds = tmp_path / "model.json", tmp_path / "bounds.csv"
    bounds.write_text("parameter,lower,upper\nm1,0,10\nm2,0,5\n")
    typed = ["retrieve", str(model), "--bounds", str(bounds), "--total-mass", "1", "15", "--runs", "2", "--seed", "3"]
    assert main([*typed, "--out", str(tmp_path / "command"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    result = dynid.retrieve(model, bounds=bounds, total_mass=(1.0, 15.0), runs=2, seed=3)
    saved = dynid.save(result, tmp_path / "call")
    assert contents(tmp_path / "call") == contents(tmp_path / "command")
    assert set(saved.files) == set(told.pop("files")) == {"model", "report", "run", "urdf"}
    told.pop("urdf")
    mine = plain(result.json())
    assert isinstance(mine, dict)
    for content in (mine, told, *mine["runs"], *told["runs"]):
        del content["seconds"]
    assert mine == told
    assert result.met
    assert result.warnings == ()


def test_bounds_may_be_a_value_and_the_log_settings_of_the_model_stay(given):
    result = dynid.retrieve(given, bounds=BOUNDS, total_mass=(1.0, 15.0), runs=1)
    assert all(0.0 <= link.mass <= 10.0 for link in result.model.links)
    assert result.model.settings == given.settings
    assert result.model.consistent
    np.testing.assert_allclose(result.model.beta, given.beta, atol=1e-4)
    of = result.model.provenance["of"]
    assert isinstance(of, dict)
    assert of["command"] == "reverse"
    prints_well(result)
    assert repr(result).startswith("ModelRetrieval('planar2r': multistart, objective ")


def test_what_cannot_be_asked_together_is_refused(given):
    with pytest.raises(ParameterError, match="`weighted` goes with the `objective` coefficients"):
        dynid.retrieve(given, objective="one-step", weighted=True)
    with pytest.raises(ConfigError, match="`seed` -1"):
        dynid.retrieve(given, seed=-1)
