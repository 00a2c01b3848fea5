"""Loads in the words of controllers."""

import json
import re

import numpy as np
import pytest

from dynid.chain.placement import rotation_rpy, transform
from dynid.errors import ExportError, ModelFileError
from dynid.writers import Load, read_load
from dynid.writers.export import export
from dynid.writers.load_settings import FLANGE, write_franka, write_franka_desk, write_urscript

TENSOR = np.array([[0.011, 0.001, -0.002], [0.001, 0.012, 0.003], [-0.002, 0.003, 0.009]])
COM = np.array([0.01, -0.02, 0.0512345678901])
LOAD = Load(2.805, COM, TENSOR, FLANGE)


def test_setload_takes_the_inertia_column_by_column(tmp_path):
    write_franka(LOAD, tmp_path / "load.json")
    content = json.loads((tmp_path / "load.json").read_text(encoding="utf-8"))
    said = content["setLoad"]
    assert said["load_mass"] == 2.805
    assert said["F_x_Cload"] == COM.tolist()
    np.testing.assert_array_equal(np.array(said["load_inertia"]).reshape(3, 3, order="F"), TENSOR)
    assert content["call"].startswith("robot.setLoad(2.805, {{0.01, -0.02, 0.0512345678901}}, {{0.011, 0.001, -0.002, ")
    assert "about the centre of mass" in content["frame"]


def test_desk_gets_its_four_keys_and_a_reminder(tmp_path):
    done = write_franka_desk(LOAD, tmp_path / "load.json")
    content = json.loads((tmp_path / "load.json").read_text())
    assert set(content) == {"mass", "centerOfMass", "inertia", "transformation"}
    assert content["transformation"] == np.eye(4).ravel().tolist()
    assert "put yours in its place" in done.notices[0]


def test_urscript_orders_moments_before_products(tmp_path):
    write_urscript(LOAD, tmp_path / "load.script")
    line = (tmp_path / "load.script").read_text().splitlines()[-1]
    assert line == (
        "set_target_payload(2.805, [0.01, -0.02, 0.0512345678901], [0.011, 0.012, 0.009, 0.001, -0.002, 0.003])"
    )


def test_small_numbers_have_no_exponent(tmp_path):
    small = Load(1e-3, np.array([1e-7, 0.0, 0.0]), 1e-8 * np.eye(3), FLANGE)
    write_urscript(small, tmp_path / "load.script")
    line = (tmp_path / "load.script").read_text().splitlines()[-1]
    assert re.search(r"\de", line) is None
    assert "0.0000001" in line


@pytest.mark.parametrize("controller", ["franka", "franka-desk", "ur"])
def test_a_load_in_another_frame_is_refused_until_the_flange_is_known(controller, tmp_path):
    load = Load(2.0, COM, TENSOR, "link7")
    with pytest.raises(ExportError, match="in the frame of link7, but controllers mean the flange"):
        export(load, controller, tmp_path / "load.json")
    T = transform(rotation_rpy(0.1, 0.2, 0.3), (0.0, 0.0, 0.107))
    moved = load.at_flange(T)
    np.testing.assert_allclose(moved.inertial.moved(T).pi, load.inertial.pi, atol=1e-15)
    export(moved, controller, tmp_path / "load.json")


def test_what_a_controller_would_refuse_is_not_written(tmp_path):
    huge = Load(500.0, np.zeros(3), 200.0 * np.eye(3), FLANGE)
    with pytest.raises(ExportError, match="UR controller refuses this inertia"):
        write_urscript(huge, tmp_path / "load.script")
    assert not (tmp_path / "load.script").exists()


@pytest.mark.parametrize("controller", ["franka", "franka-desk", "ur"])
def test_an_inconsistent_load_is_written_only_by_force_and_says_so(controller, tmp_path):
    flat = Load(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.5]), FLANGE)
    with pytest.raises(ExportError, match="load not physically consistent"):
        export(flat, controller, tmp_path / "load")
    export(flat, controller, tmp_path / "load", force=True)
    assert "NOT PHYSICALLY CONSISTENT" in (tmp_path / "load").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "holds no payload"),
        ('{"payload": {"mass": 1}}', "damaged payload"),
        ('{"payload": {"mass": NaN, "com": [0,0,0], "inertia_com": [[1,0,0],[0,1,0],[0,0,1]]}}', "expected finite"),
        ('{"payload": {"mass": 1, "com": [0,0], "inertia_com": [[1,0,0],[0,1,0],[0,0,1]]}}', "expected finite"),
        ('{"payload": {"mass": 1, "com": [0,0,0], "inertia_com": [[1,5,0],[0,1,0],[0,0,1]]}}', "not symmetric"),
    ],
)
def test_a_damaged_payload_file_is_named(text, message, tmp_path):
    (tmp_path / "load.json").write_text(text)
    with pytest.raises(ModelFileError, match=rf"load\.json: .*{message}"):
        read_load(tmp_path / "load.json")


def test_numbers_that_the_log_did_not_show_are_named(tmp_path):
    std = {"mass": 0.1, "com": [0.1, None, 0.1], "inertia_com": [[0.1, None, 0.1], [None, 0.1, 0.1], [0.1, 0.1, None]]}
    payload = {"mass": 2.0, "com": COM.tolist(), "inertia_com": TENSOR.tolist(), "frame": {"name": FLANGE}, "std": std}
    (tmp_path / "load.json").write_text(json.dumps({"payload": payload}))
    done = write_urscript(read_load(tmp_path / "load.json"), tmp_path / "ur.script")
    assert done.notices == ("the log did not show centre of mass y, Ixy, Izz of this load: these are guesses",)


def test_a_missing_payload_file_says_who_writes_one(tmp_path):
    with pytest.raises(ModelFileError, match="no such file; save the result of payload first"):
        read_load(tmp_path / "load.json")
