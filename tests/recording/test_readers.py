"""Every format gives the same recording, at once or as a stream."""

import gc
import subprocess
import sys
import tracemalloc
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as pa_csv
from rosbags.rosbag2 import StoragePlugin

from dynid.errors import RecordingError
from dynid.recording import ColumnMap, Recording, read_recording, stream_recording, write_csv
from tests.processes import finished
from tests.recording.logs import JOINTS, STEP_NS, WRITERS, columns_of, csv_text, make_recording, write_bag

SIGNALS = ("t", "q", "dq", "tau")


def assert_same(found: Recording, expected: Recording) -> None:
    assert found.joint_names == expected.joint_names
    assert found.signals == expected.signals
    # Bags keep time in whole ns; all else comes back bit for bit.
    np.testing.assert_allclose(found.t, expected.t, atol=1e-9, rtol=0.0)
    for name in expected.signals:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_recording_back(tmp_path, rng, kind):
    recording = make_recording(rng)
    name, write = WRITERS[kind]
    write(tmp_path / name, recording)
    found = read_recording(tmp_path / name, JOINTS)
    assert_same(found, recording)
    assert found.source == str(tmp_path / name)
    assert found.n_skipped == (5 if kind in ("ros 1 bag", "ros 2 bag", "db3", "mcap") else 0)


@pytest.mark.parametrize("chunk_samples", [1, 7, 50, 1000])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_stream_equals_reading_at_once(tmp_path, rng, kind, chunk_samples):
    name, write = WRITERS[kind]
    write(tmp_path / name, make_recording(rng))
    chunks = list(stream_recording(tmp_path / name, JOINTS, chunk_samples=chunk_samples))
    assert max(chunk.n_samples for chunk in chunks) <= chunk_samples
    starts = np.cumsum([0, *(chunk.n_samples for chunk in chunks[:-1])])
    assert [chunk.first_sample for chunk in chunks] == starts.tolist()
    whole = read_recording(tmp_path / name, JOINTS)
    assert_same(Recording.concatenated(chunks), whole)
    assert sum(chunk.n_skipped for chunk in chunks) == whole.n_skipped


@pytest.mark.parametrize("kind", WRITERS)
def test_a_stream_may_be_left_early(tmp_path, rng, kind):
    name, write = WRITERS[kind]
    write(tmp_path / name, make_recording(rng))
    stream = stream_recording(tmp_path / name, JOINTS, chunk_samples=5)
    assert len(list(islice(stream, 2))) == 2
    del stream
    gc.collect()


@pytest.mark.parametrize("kind", ["hdf5", "parquet"])
def test_a_file_with_an_unknown_ending_is_known_by_its_first_bytes(tmp_path, rng, kind):
    recording = make_recording(rng)
    WRITERS[kind][1](tmp_path / WRITERS[kind][0], recording)
    (tmp_path / WRITERS[kind][0]).rename(tmp_path / "run.dat")
    assert_same(read_recording(tmp_path / "run.dat", JOINTS), recording)


def test_joints_are_found_by_name_in_any_order(tmp_path, rng):
    recording = make_recording(rng)
    WRITERS["csv by name"][1](tmp_path / "log.csv", recording)
    turned = ("wrist", "shoulder", "elbow")
    found = read_recording(tmp_path / "log.csv", turned)
    np.testing.assert_array_equal(found.tau, recording.tau[:, [2, 0, 1]])


def write_columns(path, recording, rename):
    path.write_text(csv_text({rename(name): column for name, column in columns_of(recording).items()}))


@pytest.mark.parametrize(
    "rename",
    [
        str.upper,
        lambda name: {"t": "Time"}.get(name, name),
        lambda name: name if name == "t" else f"{name[:-1]}_{name[-1]}",
        lambda name: name if name == "t" else f"{name[:-1]}[{name[-1]}]",
        lambda name: name if name == "t" else f"{JOINTS[int(name[-1]) - 1].upper()}_{name[:-1]}",
        lambda name: (
            {"t": "timestamp", "q": "pos", "dq": "vel", "tau": "effort"}[name.rstrip("123")] + name[-1:].strip("t")
        ),
    ],
)
def test_common_spellings_are_understood(tmp_path, rng, rename):
    recording = make_recording(rng)
    write_columns(tmp_path / "log.csv", recording, rename)
    assert_same(read_recording(tmp_path / "log.csv", JOINTS), recording)


def test_exact_names_win_over_loose_ones_and_other_columns_are_ignored(tmp_path, rng):
    recording = make_recording(rng)
    extra = {"pos1": recording.t, "speed1": recording.t, "TIME": recording.t, "mx": recording.t, "note 7": recording.t}
    (tmp_path / "log.csv").write_text(csv_text(extra | columns_of(recording)))
    assert_same(read_recording(tmp_path / "log.csv", JOINTS), recording)


def test_a_log_of_motion_alone_is_legal(tmp_path, rng):
    recording = make_recording(rng)
    motion = Recording(JOINTS, recording.t, recording.q)
    write_csv(motion, tmp_path / "log.csv")
    assert read_recording(tmp_path / "log.csv", JOINTS).signals == ("q",)


def test_a_robot_with_one_joint_needs_no_numbers(tmp_path):
    (tmp_path / "log.csv").write_text("t,q,tau\n0,1,2\n1,3,4\n")
    np.savez(tmp_path / "log.npz", t=[0.0, 1.0], q=[[1.0], [3.0]], tau=[2.0, 4.0])
    for name in ("log.csv", "log.npz"):
        found = read_recording(tmp_path / name, ["hinge"])
        np.testing.assert_array_equal(found.q[:, 0], [1.0, 3.0])
        np.testing.assert_array_equal(found.tau[:, 0], [2.0, 4.0])


def test_wrenches_are_read_by_place(tmp_path):
    header = "t,q1,Fx,Fy,Fz,Mx,My,Mz,tool.fx,tool.fy,tool.fz,tool.mx,tool.my,tool.mz"
    (tmp_path / "log.csv").write_text(header + "\n" + ",".join(str(k) for k in range(14)) + "\n")
    found = read_recording(tmp_path / "log.csv", ["hinge"])
    np.testing.assert_array_equal(found.base_wrench, [[2.0, 3.0, 4.0, 5.0, 6.0, 7.0]])
    np.testing.assert_array_equal(found.tool_wrench, [[8.0, 9.0, 10.0, 11.0, 12.0, 13.0]])


@pytest.mark.parametrize("storage", [None, StoragePlugin.MCAP])
@pytest.mark.parametrize("chunk_samples", [8, 1000])
def test_a_wrench_topic_is_interpolated_at_the_joint_states(tmp_path, rng, storage, chunk_samples):
    recording = make_recording(rng)
    path = tmp_path / ("log.bag" if storage is None else "log")
    write_bag(path, recording, storage=storage, wrench=True)
    columns = ColumnMap(wrench_topic="/ft", wrench="tool", wrench_sign=-1)
    found = Recording.concatenated(stream_recording(path, JOINTS, columns=columns, chunk_samples=chunk_samples))
    # The wrench comes half a step after the joint states, so the first of these has none before it.
    assert (found.n_samples, found.n_skipped) == (49, 6)
    np.testing.assert_array_equal(found.q, recording.q[1:])
    np.testing.assert_allclose(found.tool_wrench[:, 0], -(np.arange(49) + 0.5), atol=1e-9)
    np.testing.assert_allclose(found.tool_wrench[:, 1:5], [[0.0, -1.0, -2.0, -3.0]] * 49)


def test_the_topic_is_asked_for_where_there_are_several(tmp_path, rng):
    recording = make_recording(rng)
    write_bag(tmp_path / "log.bag", recording, topics=("/left", "/right"))
    with pytest.raises(RecordingError, match=r"several topics hold .*: /left, /right; .* as in topic = \"/left\""):
        read_recording(tmp_path / "log.bag", JOINTS)
    assert_same(read_recording(tmp_path / "log.bag", JOINTS, columns=ColumnMap(topic="/right")), recording)
    with pytest.raises(RecordingError, match="no sensor_msgs/msg/JointState topic '/rigth'; did you mean '/right'"):
        read_recording(tmp_path / "log.bag", JOINTS, columns=ColumnMap(topic="/rigth"))


def test_a_bag_without_velocities_has_none(tmp_path, rng):
    write_bag(tmp_path / "log.bag", make_recording(rng), velocity=False)
    assert read_recording(tmp_path / "log.bag", JOINTS).signals == ("q", "tau")


def test_the_time_of_arrival_may_stand_in_for_the_header(tmp_path, rng):
    recording = make_recording(rng)
    write_bag(tmp_path / "log.bag", recording, gripper=False)
    found = read_recording(tmp_path / "log.bag", JOINTS, columns=ColumnMap(stamps="received"))
    np.testing.assert_allclose(np.diff(found.t), STEP_NS * 1e-9, atol=1e-12)


def test_a_bag_of_another_robot_names_the_joints_it_has(tmp_path, rng):
    write_bag(tmp_path / "log.bag", make_recording(rng), gripper=False)
    with pytest.raises(RecordingError, match=r"no column q1 or q\.hip.*nearest: q\.wrist|the file has t, dq\.elbow"):
        read_recording(tmp_path / "log.bag", ["hip", "knee"])


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_the_memory_of_a_stream_does_not_grow_with_the_log(tmp_path, suffix):
    n_samples = 300_000
    t = np.arange(n_samples) * 1e-3
    q = np.sin(t[:, None] * np.arange(1.0, 4.0))
    write_csv(Recording(JOINTS, t, q, tau=q), tmp_path / f"log{suffix}")
    peaks = []
    tracemalloc.start()
    try:
        n_read = 0
        for chunk in stream_recording(tmp_path / f"log{suffix}", JOINTS, chunk_samples=10_000):
            n_read += chunk.n_samples
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()
    finally:
        tracemalloc.stop()
    assert n_read == n_samples
    # Text read ahead and pieces in flight take some 12 MB whatever the length; the text alone has 38 MB. How many
    # pieces are in flight depends on what else the machine does: the peaks cannot be compared among themselves.
    assert max(peaks) < 20e6


def test_threads_of_pyarrow_meet_no_open_file_of_python(tmp_path, rng, monkeypatch):
    given = []
    read_csv = pa_csv.read_csv

    def noted(source: object, **how: object) -> object:
        given.append(source)
        return read_csv(source, **how)

    monkeypatch.setattr(pa_csv, "read_csv", noted)
    monkeypatch.delattr(pa_csv, "open_csv")
    write_csv(make_recording(rng), tmp_path / "log.csv.gz")
    read_recording(tmp_path / "log.csv.gz", JOINTS)
    assert given
    assert all(isinstance(source, pa.BufferReader) for source in given)


GIVE_UP = """
from pathlib import Path
from dynid.recording import ColumnMap
from dynid.recording.formats.text import open_text
for _ in range(8):
    table = open_text(Path("log.csv"), ColumnMap())
    next(iter(table.blocks(table.names[:3], 500)))
print("read")
"""


def test_a_process_that_gives_up_a_long_text_half_way_ends(tmp_path):
    cells = ",".join(["0.12345678901234567"] * 20)
    (tmp_path / "log.csv").write_text(",".join(f"x{k}" for k in range(20)) + "\n" + f"{cells}\n" * 30_000)
    command = [sys.executable, "-c", GIVE_UP]
    # Threads that still read when the interpreter ends would keep it from ending, or crash it, in one of five runs.
    together = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in together:
        said, errors = finished(process)
        assert (process.returncode, said.strip()) == (0, "read"), errors


@pytest.mark.data
def test_the_panda_log_is_read_as_published(data_dir):
    names = [f"panda_joint{k}" for k in range(1, 8)]
    recording = read_recording(data_dir / "panda" / "excitation_log.csv.gz", names)
    assert (recording.n_samples, recording.n_dof, recording.signals) == (20544, 7, ("q", "dq", "tau"))
    assert recording.rate_hz == pytest.approx(1000.0, rel=1e-6)
    assert recording.jitter.longest == pytest.approx(8.81e-3, rel=1e-3)
    with pytest.raises(RecordingError, match=r"the robot has 6 joints panda_joint1, .*has 7 numbered columns of q"):
        read_recording(data_dir / "panda" / "excitation_log.csv.gz", names[:6])


@pytest.mark.data
def test_the_ur10e_logs_have_currents_in_place_of_torques(data_dir):
    files = [data_dir / "ur10e" / f"{name}.csv.gz" for name in ("30s12h", "20s8h", "14h", "14hLoad")]
    for path in files:
        recording = read_recording(path, [f"joint_{k}" for k in range(1, 7)])
        assert recording.signals == ("q", "dq", "current")
        assert recording.rate_hz == pytest.approx(100.0, rel=1e-6)
