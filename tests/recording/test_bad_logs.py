"""A log that cannot be used is refused with the place, the reason and the remedy."""

import contextlib
import gzip
import os

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io

from dynid.errors import DynidError, RecordingError
from dynid.recording import read_recording, stream_recording
from tests.recording.logs import (
    JOINTS,
    WRITERS,
    arrays_of,
    columns_of,
    csv_text,
    make_recording,
    write_bag,
)

TWO = ("shoulder", "elbow")


def read_text(tmp_path, text, joints=TWO, **options):
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    return read_recording(path, joints, **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"log\.csv: the file is empty"),
        ("\n\n# nothing\n", r"log\.csv: no header line t,q1,…"),
        ("t,q1,q2\n", r"log\.csv: a header but no rows"),
        ("t,q1,q2\n# only this\n\n", r"log\.csv: a header but no rows"),
        ("0,1,2\n1,2,3\n", r"log\.csv: line 1 holds numbers where the header should be; add a first line"),
        ("t,q1,q2\n0,1,2\n1,oops,3\n", r"log\.csv: line 3, column q1: 'oops' is not a number"),
        ("# c\nt,q1,q2\n0,1,2\n# c\n1,3,NIL\n", r"log\.csv: line 5, column q2: 'NIL' is not a number"),
        ("t;q1;q2\n0;1,5;2\n1;1,5,2;3\n", r"log\.csv: line 3, column q1: '1,5,2' is not a number"),
        ("t,q1,q2\n0,1,2\n1,2\n2,3,4\n", r"log\.csv: line 3 has 2 cells, the header 3; correct that line"),
        ("t,q1,q2\n0,1,2\n1,2", r"log\.csv: line 3 has 2 cells, the header 3; the log was cut off while writing"),
        ("t,q1,q2\n0,1,2\n0,1,2,\n", r"log\.csv: line 3 has 4 cells, the header 3"),
        ("t,q1,q2\n0,1,2\n1,,3\n", r"log\.csv: q of joint 'shoulder' is nan at sample 1"),
        ("t,q1,q2\n0,1,2\n1,2,nan\n", r"log\.csv: q of joint 'elbow' is nan at sample 1; delete that sample"),
        ("t,q1,q2\n0,1,-inf\n", r"log\.csv: q of joint 'elbow' is -inf at sample 0"),
        ("t,q1,q2\n0,1,2\n2,1,2\n1,1,2\n", r"log\.csv: time does not increase after sample 1 \(2\.000000 s then 1\.0"),
        ("t,q1,q1\n0,1,2\n", r"log\.csv: duplicated column names: q1; rename or delete"),
        ("t,q1,q3\n0,1,2\n", r"no column q2 or q\.elbow; .*joints shoulder, elbow; the file has t, q1, q3; rename"),
        ("t,q1,q3,dq1,dq2\n0,1,2,3,4\n", r"the file has t, q1, q3, dq1, dq2; rename them or give a column map$"),
        ("t,q1,q2,tau1,dq2\n0,1,2,3,4\n", r"the robot has 2 joints shoulder, elbow, but .* 1 numbered columns of tau"),
        ("t,q.shoulder,q.elbw\n0,1,2\n", r"no column q2 or q\.elbow; .*nearest: q\.elbw"),
        ("q1,q2\n0,1\n", r"no column t \(time in s; for a log without time give rate_hz in a column map\)"),
        ("t,q1,q2,q3\n0,1,2,3\n", r"the robot has 2 joints shoulder, elbow, but the file has 3 numbered columns of q"),
        (
            "t,q1\n0,1\n",
            r"the robot has 2 joints shoulder, elbow, but the file has 1 numbered columns of q \(1 to 1\)",
        ),
        ("t,q0,q1,tau1,tau2\n0,1,2,3,4\n", r"the columns of tau are numbered from 1, not from 0; write first = 1"),
        ("t,q1 [furlong],q2 [rad]\n0,1,2\n", r"column 'q1 \[furlong\]': no unit 'furlong' for q"),
        ("t,q1,q2,q.elbow\n0,1,2,3\n", r"q2, q\.elbow could each be q of joint 'elbow'; say which in a column map"),
        ("Time,TIME,q1,q2\n0,1,2,3\n", r"Time, TIME could each be the time"),
        ("t,a,b\n0,1,2\n", r"no column q1 or q\.shoulder, q2 or q\.elbow; .*rename them or give a column map"),
    ],
)
def test_bad_text_is_refused(tmp_path, text, message):
    with pytest.raises(RecordingError, match=message):
        read_text(tmp_path, text)


def test_a_mistake_deep_in_a_stream_is_numbered_from_the_start_of_the_file(tmp_path):
    rows = [f"{k},1,2" for k in range(100)]
    rows[70] = "70,1,nan"
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["t,q1,q2", *rows]), encoding="utf-8")
    with pytest.raises(RecordingError, match="q of joint 'elbow' is nan at sample 70"):
        list(stream_recording(path, TWO, chunk_samples=8))
    rows[70], rows[72] = "70,1,2", "71,1,2"
    path.write_text("\n".join(["t,q1,q2", *rows]), encoding="utf-8")
    for chunk_samples in (8, 1000):
        with pytest.raises(RecordingError, match="time does not increase after sample 71"):
            list(stream_recording(path, TWO, chunk_samples=chunk_samples))


def test_a_truncated_gzip_is_refused(tmp_path, rng):
    whole = gzip.compress(csv_text(columns_of(make_recording(rng, 5000))).encode())
    for n_bytes in (len(whole) // 2, len(whole) - 4):
        (tmp_path / "log.csv.gz").write_bytes(whole[:n_bytes])
        with pytest.raises(RecordingError, match=r"log\.csv\.gz: the file is cut off or damaged .*copy it again"):
            read_recording(tmp_path / "log.csv.gz", JOINTS)


@pytest.mark.parametrize("kind", [kind for kind in WRITERS if not kind.startswith(("csv", "savetxt", "ros 2 bag"))])
def test_a_truncated_file_is_refused(tmp_path, rng, kind):
    name, write = WRITERS[kind]
    write(tmp_path / name, make_recording(rng))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(RecordingError, match=rf"{name}: (not a readable|the file is cut off|more than the memory)"):
        read_recording(tmp_path / name, JOINTS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITERS)
def test_damaged_files_end_in_our_errors(tmp_path, rng, kind):
    name, write = WRITERS[kind]
    write(tmp_path / name, make_recording(rng))
    path = tmp_path / name
    path = next(path.glob("*.db3")) if path.is_dir() else path
    content = path.read_bytes()
    for _ in range(30):  # tests/fuzzing tries many more
        damaged = bytearray(content)
        for _ in range(rng.integers(1, 6)):
            damaged[rng.integers(len(damaged))] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(1, 3 * len(damaged))])
        # Damage to the middle of a number cannot be seen; everything else must end in an error of ours.
        with contextlib.suppress(DynidError):
            list(stream_recording(tmp_path / name, JOINTS, chunk_samples=20))


def test_pickled_objects_are_never_loaded(tmp_path, rng):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    arrays = arrays_of(make_recording(rng))
    np.savez(tmp_path / "log.npz", t=arrays["t"], q=np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(
        RecordingError, match=r"log\.npz: no column q1.* q holds pickled Python objects, which are never"
    ):
        read_recording(tmp_path / "log.npz", JOINTS)
    assert not (tmp_path / "sprung").exists()


def test_arrays_of_another_length_are_named(tmp_path, rng):
    arrays = arrays_of(make_recording(rng))
    np.savez(tmp_path / "log.npz", t=arrays["t"], q=arrays["q"][:-1])
    with pytest.raises(RecordingError, match=r"q has the shape \(49, 3\), which does not fit 50 samples"):
        read_recording(tmp_path / "log.npz", JOINTS)
    np.savez(tmp_path / "log.npz", t=np.empty(0), q=np.empty((0, 3)))
    with pytest.raises(RecordingError, match="its arrays are empty"):
        read_recording(tmp_path / "log.npz", JOINTS)
    np.savez(tmp_path / "log.npz", t=arrays["t"], q=np.zeros((50, 4)))
    with pytest.raises(RecordingError, match=r"3 joints shoulder, .*has 4 numbered columns of q \(1 to 4\)"):
        read_recording(tmp_path / "log.npz", JOINTS)


def test_links_out_of_an_hdf5_file_are_never_followed(tmp_path, rng):
    arrays = arrays_of(make_recording(rng))
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["q"] = arrays["q"]
    for link in (h5py.ExternalLink("other.h5", "/q"), h5py.SoftLink("/hidden/q")):
        with h5py.File(tmp_path / "log.h5", "w") as file:
            file["t"] = arrays["t"]
            file["q"] = link
        with pytest.raises(RecordingError, match=r"no column q1.* q is a link, which is never followed"):
            read_recording(tmp_path / "log.h5", JOINTS)


def test_groups_that_contain_themselves_end(tmp_path, rng):
    arrays = arrays_of(make_recording(rng))
    with h5py.File(tmp_path / "log.h5", "w") as file:
        for name, values in arrays.items():
            file[name] = values
        file["loop"] = file["/"]
    assert read_recording(tmp_path / "log.h5", JOINTS).n_samples == 50


def test_cell_arrays_are_refused_kindly(tmp_path, rng):
    arrays = arrays_of(make_recording(rng))
    cells = np.empty((1, 3), dtype=object)
    cells[0] = [np.zeros((50, 1))] * 3
    scipy.io.savemat(tmp_path / "log.mat", {"t": arrays["t"], "q": cells})
    with pytest.raises(
        RecordingError, match=r"log\.mat: no column q1.* q is a cell array \(convert it with cell2mat\)"
    ):
        read_recording(tmp_path / "log.mat", JOINTS)


def test_parquet_without_rows_or_with_ragged_lists_is_refused(tmp_path):
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"t": pa.array([], pa.float64()), "q1": pa.array([], pa.float64())}), path)
    with pytest.raises(RecordingError, match="columns but no rows"):
        read_recording(path, ["hinge"])
    pq.write_table(pa.table({"t": [0.0, 1.0], "q": [[1.0, 2.0], [3.0]]}), path)
    with pytest.raises(RecordingError, match=r"q1, q2 is missing in some of the rows 0 to 2: the lists there have"):
        read_recording(path, TWO)
    pq.write_table(pa.table({"t": [0.0, 1.0], "q1": ["a", "b"], "q2": [1.0, None]}), path)
    with pytest.raises(RecordingError, match=r"no column q1.* q1 is of type string, no real numbers"):
        read_recording(path, TWO)
    pq.write_table(pa.table({"t": [0.0, 1.0], "q1": [1, 2], "q2": [1.0, None]}), path)
    with pytest.raises(RecordingError, match="q of joint 'elbow' is nan at sample 1"):
        read_recording(path, TWO)


def test_paths_that_are_no_log_are_explained(tmp_path, rng):
    with pytest.raises(RecordingError, match="a folder, not a log; give a file, or the folder of a ROS 2 bag"):
        read_recording(tmp_path, TWO)
    (tmp_path / "run1.csv").write_text("t,q1,q2\n0,1,2\n", encoding="utf-8")
    with pytest.raises(RecordingError, match=r"runl\.csv: no such file; did you mean run1\.csv\?"):
        read_recording(tmp_path / "runl.csv", TWO)
    (tmp_path / "run.docx").write_text("x", encoding="utf-8")
    with pytest.raises(RecordingError, match=r"no format of logs ends in '\.docx'; known: \.csv, "):
        read_recording(tmp_path / "run.docx", TWO)
    with pytest.raises(RecordingError, match="chunk_samples is 0; it must be at least 1"):
        next(stream_recording(tmp_path / "run1.csv", TWO, chunk_samples=0))


def test_a_file_without_permission_is_explained(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    path.write_text("t,q1,q2\n0,1,2\n", encoding="utf-8")
    path.chmod(0)
    if os.access(path, os.R_OK):  # as root, whom nothing is forbidden

        def forbidden(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.open", forbidden)
    with pytest.raises(RecordingError, match=r"log\.csv: permission denied; make the file readable"):
        read_recording(path, TWO)


def test_a_bag_without_joint_states_is_explained(tmp_path, rng):
    recording = make_recording(rng)
    write_bag(tmp_path / "none.bag", recording, topics=(), wrench=True)
    with pytest.raises(
        RecordingError, match=r"no topic with sensor_msgs/msg/JointState messages; topics of the bag: /ft"
    ):
        read_recording(tmp_path / "none.bag", JOINTS)
    write_bag(tmp_path / "log.bag", recording)
    with pytest.raises(
        RecordingError, match=r"no samples, because none of 55 messages has all of t, q\.shoulder, q\.fin"
    ):
        read_recording(tmp_path / "log.bag", ("shoulder", "finger"))
