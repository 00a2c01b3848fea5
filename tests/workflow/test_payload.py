"""`dynid.payload`: what the command does, from files, recordings or arrays."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.errors import ParameterError, RecordingError
from dynid.prose import plain
from dynid.recording import write_csv
from tests.workflow.small_arm import FRICTION, arrays, known, prints_well, run

GAINS = (4.0, 2.5)
"""N·m/A"""


def currents(seed: int, *, load: bool = False):
    log = run(seed, load=load)
    return replace(log, tau=None, current=log.tau / np.array(GAINS))


def test_the_call_and_the_command_write_the_same_bytes(tmp_path, capsys):
    dynid.save(known(), tmp_path)
    model, log = tmp_path / "model.json", tmp_path / "load.csv"
    write_csv(run(3, load=True), log)
    typed = ["payload", str(model), str(log), "--flange", "0.05", "0", "0", "0", "0", "0"]
    # Two joints cannot show all ten numbers, which is said.
    assert main([*typed, "--out", str(tmp_path / "command.json"), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told.pop("files") == {"payload": str(tmp_path / "command.json")}
    result = dynid.payload(model, log, flange=(0.05, 0, 0, 0, 0, 0))
    saved = dynid.save(result, tmp_path / "call.json")
    assert saved.files == {"payload": tmp_path / "call.json"}
    assert (tmp_path / "call.json").read_bytes() == (tmp_path / "command.json").read_bytes()
    assert plain(result.json()) == told == json.loads((tmp_path / "call.json").read_text())
    assert result.load.mass == pytest.approx(1.0, rel=0.02)
    assert result.load.com[0] == pytest.approx(0.05, abs=0.02)
    assert "not excited" in result.warnings[0]


def test_recordings_and_arrays_are_taken_with_and_without_an_empty_run():
    log = run(3, load=True)
    masses = [
        dynid.payload(known(), log).load.mass,
        dynid.payload(known(), arrays(log)).load.mass,
        dynid.payload(known(), log, unloaded=run(2)).load.mass,
    ]
    assert masses[0] == masses[1]
    np.testing.assert_allclose(masses, 1.0, rtol=0.02)


def test_a_load_prints_as_a_page_and_a_line():
    result = dynid.payload(known(), run(3, load=True))
    prints_well(result)
    assert repr(result).startswith("PayloadIdentification('planar2r': 1.0")
    assert "centre of gravity" in str(result)


def test_a_known_mass_reveals_the_gains_and_they_are_saved(tmp_path, capsys):
    dynid.save(known(), tmp_path)
    for name, log in (("load", currents(3, load=True)), ("empty", currents(2))):
        write_csv(log, tmp_path / f"{name}.csv")
    result = dynid.payload(
        tmp_path / "model.json",
        tmp_path / "load.csv",
        unloaded=tmp_path / "empty.csv",
        known_mass=1.0,
        friction=FRICTION,
    )
    np.testing.assert_allclose(result.gains, GAINS, rtol=0.02)
    prints_well(result)
    saved = dynid.save(result, tmp_path / "call.json")
    typed = ["payload", str(tmp_path / "model.json"), str(tmp_path / "load.csv"), "--known-mass", "1", "--unloaded"]
    typed += [str(tmp_path / "empty.csv"), "--friction", FRICTION, "--out", str(tmp_path / "command.json")]
    assert main(typed) == 0
    assert "use        --gains " in capsys.readouterr().out
    assert saved.files["gains"].read_bytes() == (tmp_path / "command.json").read_bytes()


def test_what_cannot_be_asked_together_is_refused():
    with pytest.raises(ParameterError, match="give six finite numbers"):
        dynid.payload(known(), run(3, load=True), flange=(0.1, 0.0))
    with pytest.raises(RecordingError, match="leave `gains` out"):
        dynid.payload(known(), currents(3), unloaded=currents(2), known_mass=1.0, gains=GAINS)
    with pytest.raises(RecordingError, match="needs a run without the load"):
        dynid.payload(known(), currents(3), known_mass=1.0)
    with pytest.raises(RecordingError, match="has no motor currents"):
        dynid.payload(known(), run(3), unloaded=run(2), known_mass=1.0)
