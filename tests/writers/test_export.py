"""The one call for every export: over the whole table of formats, and what it says to what it cannot use."""

import inspect
import json

import numpy as np
import pytest

from dynid import load_robot
from dynid.errors import ExportError, InconsistentModel, ModelFileError, UnknownName
from dynid.regression import save_model
from dynid.writers import EXPORTERS, Load, LoadExporter, ModelExporter
from dynid.writers.export import export
from tests.writers.exported import inconsistent, model_of

MODEL_FORMATS = [name for name, entry in EXPORTERS.items() if isinstance(entry, ModelExporter)]
LOAD_FORMATS = [name for name, entry in EXPORTERS.items() if isinstance(entry, LoadExporter)]


def check_round_trip(to, model, folder):
    """A model, and the file it was saved to, become a file that re-predicts the torque."""
    path = folder / f"arm{EXPORTERS[to].suffix}"
    done = export(model, to, path)
    # Friction that URDF and MJCF cannot say is left out, and told.
    assert done.error <= 1e-6
    assert (done.path, done.format, done.subject) == (path, to, model.model.robot.name)
    assert done.n_states == 64
    assert done.consistent
    first = path.read_bytes()
    save_model(model, folder / "model.json")
    path.unlink()
    assert export(str(folder / "model.json"), to, str(path)).error <= 1e-6
    assert path.read_bytes() == first


def check_inconsistent_links(to, rng, folder):
    """Links that are not physically consistent are refused, or written by force with a warning in the file."""
    model, path = inconsistent(model_of(load_robot("spatial2r"), rng)), folder / f"bad{EXPORTERS[to].suffix}"
    entry = EXPORTERS[to]
    assert isinstance(entry, ModelExporter)
    if entry.needs == "parameters":
        assert export(model, to, path).consistent
        return
    with pytest.raises(InconsistentModel, match="not written, not physically consistent"):
        export(model, to, path)
    assert not path.exists()
    done = export(model, to, path, force=True)
    assert not done.consistent
    assert "physically consistent" in done.notices[0]
    assert "NOT PHYSICALLY CONSISTENT" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("to", MODEL_FORMATS)
def test_every_format_of_the_table_re_predicts_the_torque(to, rng, tmp_path):
    check_round_trip(to, model_of(load_robot("spatial2r"), rng, "viscous+coulomb+offset"), tmp_path)


@pytest.mark.parametrize("to", MODEL_FORMATS)
def test_links_that_are_not_consistent_need_force(to, rng, tmp_path):
    check_inconsistent_links(to, rng, tmp_path)


@pytest.fixture
def load():
    return Load(2.0, np.array([0.0, 0.0, 0.1]), np.diag([0.01, 0.01, 0.008]), "link7")


@pytest.mark.parametrize("to", LOAD_FORMATS)
def test_a_load_becomes_settings_once_the_flange_is_known(to, load, tmp_path):
    with pytest.raises(ExportError, match="say where the flange is in it: `flange`"):
        export(load, to, tmp_path / "load")
    done = export(load, to, tmp_path / "load", flange=(0.0, 0.0, 0.1, 0.0, 0.0, 0.0))
    assert (done.subject, done.n_states) == ("load", 0)
    assert "2.0" in (tmp_path / "load").read_text(encoding="utf-8")
    with pytest.raises(ExportError, match="leave `flange` out"):
        export(load.at_flange(np.eye(4)), to, tmp_path / "load", flange=(0.0,) * 6)


def test_wrong_types_and_names_are_told_what_was_expected(load, rng, tmp_path):
    model, call = model_of(load_robot("planar2r"), rng), inspect.unwrap(export)
    with pytest.raises(UnknownName, match=r"no export format 'urdff'; did you mean 'urdf'\? known: urdf, mjcf, c"):
        call(model, "urdff", tmp_path / "x")
    with pytest.raises(ExportError, match="c: expected an IdentifiedModel or its file, got Load"):
        call(load, "c", tmp_path / "x")
    with pytest.raises(ExportError, match="ur: expected a Load or its file, got IdentifiedModel"):
        call(model, "ur", tmp_path / "x")
    with pytest.raises(ExportError, match=r"`lock`: expected positions .* by joint name, got str"):
        call(model, "urdf", tmp_path / "x", lock="finger=0.03")
    with pytest.raises(ExportError, match=r"`flange` .*: give x y z in m and roll pitch yaw in rad"):
        call(load, "ur", tmp_path / "x", flange=(0.0, 0.0))
    with pytest.raises(ExportError, match="`template` is for urdf and mjcf, not for csv"):
        call(model, "csv", tmp_path / "x", template="arm.urdf")
    (tmp_path / "other.json").write_text(json.dumps({"payload": 3}))
    with pytest.raises(ModelFileError, match="holds no payload"):
        call(tmp_path / "other.json", "ur", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_what_was_written_prints_in_a_few_lines(rng, tmp_path):
    done = export(model_of(load_robot("spatial2r"), rng), "urdf", tmp_path / "arm.urdf")
    assert repr(done).startswith(f"Exported('{tmp_path / 'arm.urdf'}', 'urdf': Pinocchio; largest difference")
    lines = str(done).splitlines()
    assert lines[0].startswith("wrote      ")
    assert lines[1] == "file       a fresh file"
    assert any(line.startswith("left out   URDF has no place for rotor inertia") for line in lines)
