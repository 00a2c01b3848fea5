"""What damaged files broke once: one test for each kind."""

import json
import time

import numpy as np
import pytest
import scipy.io

from dynid.chain import load_robot
from dynid.disk import read_toml
from dynid.errors import ModelFileError, RecordingError, RobotFileError, TrackingError
from dynid.recording import read_column_map, read_recording
from dynid.regression import load_model
from dynid.tracking import core
from dynid.tracking.checkpoint import resume, save_checkpoint
from tests.commands import saved
from tests.fuzzing.targets import DENAVIT, MAPPING, URDF, _filter


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 20_000], ids=["an endless number", "endless brackets"])
@pytest.mark.parametrize(("read", "error"), [(load_robot, RobotFileError), (read_column_map, RecordingError)])
def test_toml_that_python_cannot_hold_is_not_valid_toml(tmp_path, value, read, error):
    (tmp_path / "a.toml").write_text(f"x = {value}\n")
    with pytest.raises(error, match=r"a\.toml: not valid TOML"):
        read(tmp_path / "a.toml")


@pytest.mark.parametrize("text", ["KEY = 1", "[KEY]", "[[KEY]]", "a = {KEY = 1}", "a = [\n1.5, {KEY = 1}]"])
@pytest.mark.parametrize("part", ["a", "'a b'", ' "a" '])
def test_a_key_of_endless_parts_is_not_valid_toml(tmp_path, text, part):
    (tmp_path / "a.toml").write_text(text.replace("KEY", ".".join([part] * 100_000)))
    with pytest.raises(RobotFileError, match=r"a\.toml: not valid TOML: a key of more than 64 parts"):
        load_robot(tmp_path / "a.toml")


def test_many_numbers_and_dots_in_toml_are_no_key(tmp_path):
    words = "a.b.c " * 100 + "../" * 100 + "." * 100
    (tmp_path / "a.toml").write_text(f"x = [{'0.1, ' * 1000}]\ny = '{words}'\n# {words}\n")
    assert read_toml(tmp_path / "a.toml", RobotFileError)["x"] == [0.1] * 1000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('xyz="0 1 2"', 'xyz="0 1e200 2"', "beyond any robot"),
        ('value="2"', 'value="1e308"', "beyond any robot"),
        ('xyz="0.1 0 0.2"', 'xyz="0.1 0 1e8"', "placement"),
    ],
)
def test_numbers_without_a_torque_are_refused(tmp_path, old, new, message):
    (tmp_path / "arm.urdf").write_text(URDF.replace(old, new, 1))
    with pytest.raises(RobotFileError, match=rf"arm\.urdf.*{message}"):
        load_robot(tmp_path / "arm.urdf")


def test_an_impossible_inertia_in_a_denavit_table_is_not_trusted(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(DENAVIT.replace("inertia_com = [0.1,", "inertia_com = [-0.1,"))
    found = load_robot(path)
    assert not found.joints[0].link.trusted
    assert any("inertia" in note for note in found.notes)
    assert not load_robot(path, inertials="ignore").has_nominal
    assert load_robot(path, inertials="keep").pinocchio.nv == 2


def test_an_axis_of_any_length_is_a_direction(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF.replace('xyz="0 1 2"', 'xyz="0 1e-200 2e-200"'))
    axis = load_robot(tmp_path / "arm.urdf").joints[0].axis
    np.testing.assert_allclose(axis, np.array([0.0, 1.0, 2.0]) / np.sqrt(5.0))


@pytest.mark.parametrize("name", ["log.mcap", "log.bag"])
def test_a_bag_that_ends_after_its_first_bytes_is_damaged(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x89MCAP0\r\n" if name == "log.mcap" else b"#ROSBAG V2.0\n")
    with pytest.raises(RecordingError, match=rf"{name}: not a readable ROS bag"):
        read_recording(tmp_path / name, ["hinge"])


def test_an_encoder_of_endless_counts_does_not_make_every_position_zero(tmp_path):
    (tmp_path / "map.toml").write_text(MAPPING.replace("counts:4096", f"counts:{'9' * 400}"))
    with pytest.raises(RecordingError, match=r"map\.toml: units\.q: .*no unit"):
        read_column_map(tmp_path / "map.toml")


def test_a_wrong_type_in_a_mat_file_is_refused_before_scipy_looks_it_up(tmp_path):
    scipy.io.savemat(str(tmp_path / "log.mat"), {"t": np.arange(5.0), "q1": np.arange(5.0)})
    data = bytearray((tmp_path / "log.mat").read_bytes())
    first = data.index(b"\x09\x00\x00\x00\x28")  # the tag of forty bytes of doubles
    data[first] = 200
    (tmp_path / "log.mat").write_bytes(data)
    with pytest.raises(RecordingError, match=r"log\.mat: not a readable MAT file \(a block of type 200"):
        read_recording(tmp_path / "log.mat", ["hinge"])


@pytest.mark.parametrize("place", [core.RING, core.NEXT_NOISY])
def test_a_checkpoint_cannot_point_outside_of_the_filter(tmp_path, place):
    tracker = _filter().start()
    tracker.state.counters[place] = 10**9
    save_checkpoint(tracker, tmp_path / "c.npz")
    with pytest.raises(TrackingError, match=r"c\.npz: damaged checkpoint, its numbers are not those of a filter"):
        resume(_filter(), tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beta": [1.0]}, "beta has 1 entries"),
        ({"theta": ["1.0"] * 26}, "expected a number, found str"),
        ({"cutoff_hz": -1.0}, "cutoff_hz is -1"),
        ({"labels": ["identified"]}, "1 labels for 26 parameters"),
        ({"estimator": 3}, "expected a text, found int"),
    ],
)
def test_a_model_file_with_a_wrong_value_is_damaged(tmp_path, change, message):
    path = saved(tmp_path / "model.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(ModelFileError, match=rf"model\.json: damaged model file: {message}"):
        load_model(path)


@pytest.mark.parametrize("bracket", ["[", "("])
def test_a_header_of_opening_brackets_is_read_at_once(tmp_path, bracket):
    (tmp_path / "log.csv").write_text(f"t,{f'a={bracket}' * 20_000}\n0,1\n")
    started = time.process_time()
    with pytest.raises(RecordingError, match=r"log\.csv"):
        read_recording(tmp_path / "log.csv", ("joint1", "joint2"))
    assert time.process_time() - started < 2.0  # s; some ten, where each bracket is followed to the end
