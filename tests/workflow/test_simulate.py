import json
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.errors import OutputError
from dynid.prose import plain

SHORT = ["--duration", "1", "--rate", "100"]


def test_the_call_and_the_command_give_the_same_bytes(tmp_path, capsys):
    result = dynid.simulate(
        "planar2r", duration=1.0, rate=100.0, friction_values={"fc": 0.9}, noise_tau="2%", jitter=1e-4, seed=3
    )
    saved = dynid.save(result, tmp_path / "call.csv")
    arguments = ["--friction-values", "fc=0.9", "--noise-tau", "2%", "--jitter", "1e-4", "--seed", "3", "--json"]
    assert main(["simulate", "planar2r", "--out", str(tmp_path / "command.csv"), *SHORT, *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (tmp_path / "call.csv").read_bytes() == (tmp_path / "command.csv").read_bytes()
    assert saved.files["truth"].read_bytes() == (tmp_path / "command.truth.json").read_bytes()
    del told["files"]
    assert told == plain(result.json())


def test_the_log_goes_on_to_identify_and_the_truth_comes_back():
    result = dynid.simulate("planar2r", duration=10.0, rate=200.0, noise_q=0.0, noise_dq=0.0, noise_tau=[0.0, 0.0])
    assert result.truth["sensors"]["noise_tau"] == "0.0,0.0"
    found = dynid.identify("planar2r", result.recording, estimator="ols", friction="viscous+coulomb+offset", force=True)
    np.testing.assert_allclose(
        found.estimate.beta, found.model.base.project(result.theta), rtol=0.05, atol=0.02
    )  # what the low-pass and differentiation leave


def test_a_trajectory_may_be_arrays_a_recording_or_what_excite_gives():
    motion: Any = dynid.excite("planar2r", kind="sinusoids", rate=200.0)
    result = dynid.simulate("planar2r", trajectory=motion.trajectory, rate=200.0, noise_q=0.0)
    np.testing.assert_array_equal(result.recording.q, motion.trajectory.motion(200.0).q)
    table = {"t": result.recording.t, "q": result.recording.q}
    again = dynid.simulate("planar2r", trajectory=table, noise_q=0.0)
    assert again.truth["trajectory"] == "memory"
    np.testing.assert_allclose(again.recording.q, result.recording.q, atol=1e-12)


def test_a_result_prints_as_a_person_reads():
    result = dynid.simulate("planar2r", duration=1.0, rate=100.0)
    assert repr(result) == "Simulation('planar2r': 1.0 s, 101 samples)"
    assert "RMS torque" in str(result)
    assert "<table>" in result._repr_html_()


def test_a_log_never_replaces_what_it_was_made_from(tmp_path, capsys):
    path = tmp_path / "run.csv"
    dynid.save(dynid.simulate("planar2r", duration=1.0, rate=100.0), path)
    before = path.read_bytes()
    again = dynid.simulate("planar2r", trajectory=path)
    with pytest.raises(OutputError, match=r"run\.csv: is read by this very run"):
        dynid.save(again, path)
    assert main(["simulate", "planar2r", "--trajectory", str(path), "--out", str(path)]) == 2
    assert "run.csv: is read by this very run" in capsys.readouterr().err
    assert path.read_bytes() == before
    (tmp_path / "other.truth.json").write_text("my own notes")
    assert main(["simulate", "planar2r", "--out", str(tmp_path / "other.csv"), *SHORT]) == 2
    assert "other.truth.json: is there already" in capsys.readouterr().err
    assert not (tmp_path / "other.csv").exists()
    assert main(["simulate", "planar2r", "--out", str(path), *SHORT]) == 0  # its own files may be replaced
