"""`dynid.friction`: what the command does, from files, recordings or arrays."""

import json

import numpy as np
import pytest

import dynid
from dynid.chain import load_robot
from dynid.cli import main
from dynid.dynamics import Coulomb, TorqueModel, Viscous, base_parameters
from dynid.errors import ModelFileError, RecordingError
from dynid.prose import plain
from dynid.recording import write_csv
from tests.workflow.small_arm import ARM, FRICTION, arrays, contents, controller, known, prints_well, run


def test_the_call_and_the_command_give_the_same_bytes(tmp_path, capsys):
    dynid.save(known(), tmp_path)
    model, log = tmp_path / "model.json", tmp_path / "b.csv"
    write_csv(run(2), log)
    typed = ["friction", str(model), str(log), "--friction", FRICTION, "--from", "1"]
    assert main([*typed, "--out", str(tmp_path / "command"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    result = dynid.friction(model, log, friction=FRICTION, from_=1.0)
    saved = dynid.save(result, tmp_path / "call")
    assert contents(tmp_path / "call") == contents(tmp_path / "command")
    assert set(saved.files) == set(told.pop("files")) == {"model", "report", "run"}
    assert plain(result.json()) == told
    origin = json.loads((tmp_path / "call" / "run.json").read_text())
    assert set(origin["inputs"]) == {str(model), str(log)}
    assert origin["of"]["command"] == "identify"


def test_recordings_and_arrays_are_taken_and_links_stay():
    model = known()
    found = [dynid.friction(model, log, friction=FRICTION) for log in (run(2), [arrays(run(2))])]
    np.testing.assert_array_equal(found[0].model.parameters, found[1].model.parameters)
    refit = found[0].model
    np.testing.assert_array_equal(refit.parameters[:20], model.parameters[:20])
    np.testing.assert_allclose(refit.parameters[20:], model.parameters[20:], rtol=0.02)
    assert refit.settings == model.settings
    assert refit.noise is not None
    assert dynid.validate(refit, run(3)).validation[0].band is not None
    given = dynid.friction(model, run(2), friction=(Viscous(), Coulomb()))
    np.testing.assert_array_equal(given.model.parameters, refit.parameters)


def test_it_prints_as_a_page_and_a_line():
    result = dynid.friction(known(), run(2), friction=FRICTION)
    prints_well(result)
    assert repr(result).startswith("FrictionRefit('planar2r': ")
    assert [row[4] for row in result.compared().rows[:3]] == ["N·m"] * 3


def test_a_model_without_friction_is_compared_with_nothing():
    rigid = dynid.reverse(ARM, controller()).model
    result = dynid.friction(rigid, run(2), friction=FRICTION)
    assert result.other is None
    assert result.comparisons == ()
    other = dynid.friction(rigid, run(2), friction=FRICTION, against=known())
    assert [c.joint for c in other.comparisons] == [name for name in ARM.joint_names for _ in range(3)]


def test_no_log_and_a_model_of_another_robot_are_refused():
    with pytest.raises(RecordingError, match="no log given"):
        dynid.friction(known(), [])
    model = TorqueModel(load_robot("wam7"))
    base = base_parameters(model)
    other = dynid.IdentifiedModel(model, base, "ols", "", np.zeros(base.n_base), np.eye(base.n_base))
    with pytest.raises(ModelFileError, match="against: is of a robot with other joints than model"):
        dynid.friction(known(), run(2), against=other)
