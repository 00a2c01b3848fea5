"""Everything that is written reads back: models, logs in every format, robots as URDF and as DH tables."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynid.chain import load_robot
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.recording import LogSettings, read_recording, stream_recording, write_csv
from dynid.regression import IdentifiedModel, load_model, save_model
from dynid.writers.urdf import urdf_text
from tests.properties.strategies import logs, motion_of, recording_of, robot_of, robots, seeds
from tests.recording.logs import JOINTS, WRITERS

EXACT = [kind for kind in WRITERS if "bag" not in kind and kind not in ("db3", "mcap", "savetxt", "parquet lists")]
"""Formats that keep every digit; bags and `parquet lists` keep time in ns, and `savetxt` writes 18 digits."""


@given(robots, seeds, st.sampled_from(["none", "viscous+coulomb+offset", "tanh", "asymmetric+load"]))
def test_a_model_file_reads_back_to_the_last_bit(robot, seed, friction):
    robot = robot_of(robot)
    model = TorqueModel(robot, friction_models(friction))
    base = base_parameters(model)
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=model.n_params) * 10.0 ** rng.integers(-9, 9)
    covariance = np.diag(np.where(rng.random(base.n_base) < 0.2, np.inf, rng.random(base.n_base)))
    read = LogSettings(cutoff_hz=7.0)
    known = IdentifiedModel(model, base, "ols", "σ", base.project(theta), covariance, theta=theta, settings=read)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_model(known, path)
        again = load_model(path)
        save_model(again, path.with_name("again.json"))
        assert path.read_bytes() == path.with_name("again.json").read_bytes()
    for name in ("beta", "covariance", "theta"):
        np.testing.assert_array_equal(getattr(again, name), getattr(known, name))
    motion = motion_of(robot, seed)
    np.testing.assert_array_equal(again.model.torque(motion, theta), model.torque(motion, theta))


@pytest.mark.parametrize("kind", EXACT)
@settings(max_examples=8)
@given(logs)
def test_a_log_is_the_same_in_every_format_read_or_streamed(kind, recording):
    recording = recording_of(recording, JOINTS)
    name, write = WRITERS[kind]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / name, recording)
        whole = read_recording(Path(folder) / name, JOINTS)
        pieces = list(stream_recording(Path(folder) / name, JOINTS, chunk_samples=3))
    for signal in ("t", "q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(whole, signal), getattr(recording, signal))
        joined = np.concatenate([getattr(piece, signal) for piece in pieces])
        np.testing.assert_array_equal(joined, getattr(recording, signal))


@given(logs, st.sampled_from(["log.csv", "log.csv.gz"]))
def test_what_we_write_as_text_reads_back_to_the_last_bit(recording, name):
    recording = recording_of(recording, JOINTS)
    with tempfile.TemporaryDirectory() as folder:
        write_csv(recording, Path(folder) / name)
        again = read_recording(Path(folder) / name, JOINTS)
    for signal in ("t", "q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(again, signal), getattr(recording, signal))


@given(robots, seeds)
def test_a_robot_written_as_urdf_needs_the_same_torque(robot, seed):
    robot = robot_of(robot)
    links = tuple(joint.link.nominal for joint in robot.joints)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.urdf"
        path.write_text(urdf_text(robot, links))
        again = load_robot(path, gravity=robot.gravity)
    motion = motion_of(robot, seed)
    assert again.joint_names == robot.joint_names
    one, two = TorqueModel(robot), TorqueModel(again)
    scale = np.max(np.abs(one.regressor(motion))) * np.abs(one.nominal()).max()
    np.testing.assert_allclose(
        two.torque(motion, two.nominal()), one.torque(motion, one.nominal()), rtol=0.0, atol=1e-9 * scale
    )


finite = st.floats(-10.0, 10.0)
kinds = st.sampled_from(["revolute", "prismatic"])


@given(
    st.sampled_from(["standard", "modified"]),
    st.lists(st.tuples(finite, finite, finite, finite, kinds), min_size=1, max_size=6),
)
def test_a_denavit_table_gives_the_transforms_of_its_convention(convention, rows):
    lines = [f'name = "arm"\nconvention = "{convention}"']
    for k, (a, alpha, d, theta, kind) in enumerate(rows):
        lines.append(
            f'[[joint]]\nname = "j{k}"\na = {a!r}\nalpha = {alpha!r}\nd = {d!r}\ntheta = {theta!r}\ntype = "{kind}"'
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "arm.toml").write_text("\n".join(lines))
        robot = load_robot(Path(folder) / "arm.toml")

    def turned(angle, axis):
        c, s = np.cos(angle), np.sin(angle)
        T = np.eye(4)
        i, j = [k for k in range(3) if k != axis]
        T[i, i] = T[j, j] = c
        T[i, j], T[j, i] = (-s, s) if axis != 1 else (s, -s)
        return T

    def shifted(axis, by):
        T = np.eye(4)
        T[axis, 3] = by
        return T

    for joint, (a, alpha, d, theta, kind) in zip(robot.joints, rows, strict=True):
        q = 0.7
        angle, offset = (theta + q, d) if kind == "revolute" else (theta, d + q)
        x, z = shifted(0, a) @ turned(alpha, 0), turned(angle, 2) @ shifted(2, offset)
        np.testing.assert_allclose(joint.T_parent_link(q), x @ z if convention == "modified" else z @ x, atol=1e-9)


@given(st.text(min_size=1, max_size=20).filter(str.isprintable))
def test_a_joint_may_have_any_name_that_can_be_printed(name):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arm.toml"
        text = json.dumps(name, ensure_ascii=True)
        if any(ord(c) > 0xFFFF for c in name):
            text = '"' + "".join(f"\\U{ord(c):08X}" for c in name) + '"'
        path.write_text(f'name = "arm"\nconvention = "modified"\n[[joint]]\nname = {text}\na = 0\nalpha = 0\nd = 0\n')
        robot = load_robot(path)
        assert robot.joint_names == (name,)
        model = TorqueModel(robot)
        base = base_parameters(model)
        known = IdentifiedModel(model, base, "ols", "", np.ones(base.n_base), np.eye(base.n_base))
        save_model(known, Path(folder) / "model.json")
        assert load_model(Path(folder) / "model.json").model.robot.joint_names == (name,)
