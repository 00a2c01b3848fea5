"""`dynid.reverse`: what the command does, from files or arrays."""

import json

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.errors import RecordingError
from dynid.prose import plain
from dynid.regression import ControllerSamples
from tests.workflow.small_arm import ARM, contents, controller, prints_well, write_controller


def test_the_call_and_the_command_give_the_same_bytes(tmp_path, capsys):
    path = write_controller(controller(), tmp_path / "controller.csv")
    assert main(["reverse", "planar2r", str(path), "--out", str(tmp_path / "command"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    result = dynid.reverse("planar2r", path)
    saved = dynid.save(result, tmp_path / "call")
    assert contents(tmp_path / "call") == contents(tmp_path / "command")
    assert set(saved.files) == set(told.pop("files")) == {"model", "report", "run"}
    assert plain(result.json()) == told
    assert main(["reverse", "planar2r", str(path), "--out", str(tmp_path / "words")]) == 0
    assert capsys.readouterr().out.startswith(str(result))


def test_files_values_and_arrays_give_the_same_base_parameters(tmp_path):
    samples = controller()
    M = np.zeros((len(samples.q), 2, 2))
    M[:, [0, 1, 1], [0, 0, 1]] = samples.M
    M[:, 0, 1] = M[:, 1, 0]
    ways = (
        write_controller(samples, tmp_path / "controller.csv"),
        samples,
        {"q": samples.q, "M": samples.M, "g": samples.g},
        {"q": samples.q, "M": M, "g": samples.g},
    )
    found = [dynid.reverse(ARM, way) for way in ways]
    truth = found[0].model.base.project(found[0].model.model.nominal())
    for result in found:
        np.testing.assert_allclose(result.model.beta, truth, atol=1e-9)
        assert result.warnings == ()
    inputs = found[1].model.provenance["inputs"]
    assert isinstance(inputs, dict)
    assert list(inputs) == ["memory#1"]


def test_it_prints_as_a_page_and_a_line():
    result = dynid.reverse(ARM, controller())
    prints_well(result)
    assert repr(result).startswith("ReverseIdentification('planar2r': ")


def test_too_few_postures_are_a_warning_and_exit_code_1(tmp_path, capsys):
    samples = controller(1)
    assert "not excited" in dynid.reverse(ARM, samples).warnings[0]
    path = write_controller(samples, tmp_path / "controller.csv")
    assert main(["reverse", "planar2r", str(path), "--out", str(tmp_path / "out")]) == 1
    assert "not excited" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ({"q": [[0.0, 0.0]]}, "samples: arrays are called q, M, g; got q"),
        ({"q": [0.0], "M": [0.0], "g": [0.0]}, "expected q and g of shape"),
        ({"q": [[0.0, 0.0]], "M": np.ones((1, 1, 1)), "g": [[0.0, 0.0]]}, "does not fit q"),
        (ControllerSamples(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1))), "1 joints, but planar2r has 2"),
    ],
)
def test_wrong_samples_are_told_what_was_expected(samples, message):
    with pytest.raises(RecordingError, match=message):
        dynid.reverse(ARM, samples)
