"""One small log, written in every format by the libraries of the formats themselves."""

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

from dynid.recording import Recording

JOINTS = ("shoulder", "elbow", "wrist")
EPOCH_NS = 1_700_000_000_000_000_000
"""Bags have time stamps of this size."""
STEP_NS = 2_000_000

Arrays = Mapping[str, np.ndarray]


def make_recording(rng: np.random.Generator, n_samples: int = 50) -> Recording:
    """Random numbers with time, position, velocity and torque."""
    q, dq, tau = rng.normal(size=(3, n_samples, len(JOINTS)))
    return Recording(JOINTS, np.arange(n_samples) * STEP_NS * 1e-9, q, dq=dq, tau=tau)


def columns_of(recording: Recording) -> dict[str, np.ndarray]:
    """The columns t, q1, … of a recording."""
    found = {"t": recording.t}
    for signal in ("q", "dq", "tau"):
        found |= {f"{signal}{k + 1}": column for k, column in enumerate(getattr(recording, signal).T)}
    return found


def named_columns_of(recording: Recording) -> dict[str, np.ndarray]:
    """The columns q.wrist, …, t: by name, in reverse."""
    found = {"t": recording.t}
    for signal in ("q", "dq", "tau"):
        found |= {f"{signal}.{JOINTS[k]}": column for k, column in enumerate(getattr(recording, signal).T)}
    return dict(reversed(found.items()))


def arrays_of(recording: Recording) -> dict[str, np.ndarray]:
    """The arrays t, q, dq, tau of a recording."""
    return {name: getattr(recording, name) for name in ("t", "q", "dq", "tau")}


def csv_text(columns: Arrays, *, delimiter: str = ",", decimal: str = ".") -> str:
    """Text with a header and one line a sample."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(repr(x).replace(".", decimal) for x in row) for row in rows)]
    return "\n".join(lines) + "\n"


def write_text(path: Path, recording: Recording) -> None:
    path.write_text(csv_text(columns_of(recording)), encoding="utf-8")


def write_text_by_name(path: Path, recording: Recording) -> None:
    path.write_text(csv_text(named_columns_of(recording)), encoding="utf-8")


def write_text_with_semicolons(path: Path, recording: Recording) -> None:
    text = csv_text(columns_of(recording), delimiter=";", decimal=",")
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())


def write_text_with_tabs(path: Path, recording: Recording) -> None:
    path.write_text(csv_text(columns_of(recording), delimiter="\t"), encoding="utf-8")


def write_text_with_comments(path: Path, recording: Recording) -> None:
    lines = csv_text(columns_of(recording)).splitlines()
    lines.insert(20, "# a note, with a comma")
    lines.insert(10, "# " + lines[10])
    path.write_text("\n".join(["# arm 3", "", *lines, "# the end"]) + "\n", encoding="utf-8")


def write_savetxt(path: Path, recording: Recording) -> None:
    columns = columns_of(recording)
    np.savetxt(path, np.column_stack(list(columns.values())), header=" ".join(columns))


def write_gzip(path: Path, recording: Recording) -> None:
    path.write_bytes(gzip.compress(csv_text(columns_of(recording)).encode()))


def write_npz(path: Path, recording: Recording) -> None:
    np.savez(path, **arrays_of(recording), joints=np.array(JOINTS))  # type: ignore[arg-type]


def write_npz_compressed(path: Path, recording: Recording) -> None:
    np.savez_compressed(path, **columns_of(recording))  # type: ignore[arg-type]


def write_npz_transposed(path: Path, recording: Recording) -> None:
    np.savez(path, t=recording.t, q=recording.q.T, dq=np.asfortranarray(recording.dq), tau=recording.tau.T.copy())


def write_parquet(path: Path, recording: Recording) -> None:
    pq.write_table(pa.table(named_columns_of(recording)), path, row_group_size=17)


def write_parquet_lists(path: Path, recording: Recording) -> None:
    fixed = pa.FixedSizeListArray.from_arrays(recording.q.ravel(), 3)
    structs = pa.StructArray.from_arrays(list(recording.tau.T), names=list(JOINTS))
    lists = pa.array(recording.dq.tolist())
    stamps = pa.array((recording.t * 1e9).round().astype("int64"), pa.timestamp("ns"))
    pq.write_table(pa.table({"t": stamps, "q": fixed, "dq": lists, "tau": structs, "note": ["x"] * len(stamps)}), path)


def write_hdf5(path: Path, recording: Recording) -> None:
    with h5py.File(path, "w") as file:
        for name, values in arrays_of(recording).items():
            file[f"run/{name}"] = values
        file["run/comment"] = "no signal"


def write_hdf5_groups(path: Path, recording: Recording) -> None:
    with h5py.File(path, "w") as file:
        for name, values in named_columns_of(recording).items():
            file.create_dataset(name.replace(".", "/"), data=values, compression="gzip", chunks=(16,))


def write_mat(path: Path, recording: Recording) -> None:
    scipy.io.savemat(path, arrays_of(recording), do_compression=True)


def write_mat_struct(path: Path, recording: Recording) -> None:
    scipy.io.savemat(path, {"log": arrays_of(recording) | {"robot": "arm"}})


def write_mat73(path: Path, recording: Recording) -> None:
    """As MATLAB does: a block of text before the HDF5 content, and the axes in reverse."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in arrays_of(recording).items():
            file[name] = values[None] if values.ndim == 1 else values.T
        file.create_group("#refs#")
    with path.open("r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file".ljust(512))


def joint_states(recording: Recording, *, gripper: bool = False):
    """The names and contents of JointState messages, joints in reverse; with a gripper's between them."""
    for k in range(recording.n_samples):
        yield k, JOINTS[::-1], recording.q[k, ::-1], recording.dq[k, ::-1], recording.tau[k, ::-1]
        if gripper and k % 10 == 0:
            yield k, ("finger",), np.ones(1), np.ones(1), np.ones(1)


def write_bag(
    path: Path,
    recording: Recording,
    *,
    storage=None,
    topics=("/joint_states",),
    gripper=True,
    wrench=False,
    velocity=True,
    stamped=lambda k: True,
):
    """A ROS 2 bag (folder) where `storage` is given, else a ROS 1 bag."""
    store = get_typestore(Stores.ROS1_NOETIC if storage is None else Stores.LATEST)
    types = store.types
    stamp_of = types["builtin_interfaces/msg/Time"]

    def header(k: int, late_ns: int = 0):
        stamp = stamp_of(*divmod(EPOCH_NS + k * STEP_NS + late_ns if stamped(k) else 0, 1_000_000_000))
        header_of = types["std_msgs/msg/Header"]
        return header_of(seq=k, stamp=stamp, frame_id="") if storage is None else header_of(stamp=stamp, frame_id="")

    def raw(message, kind: str):
        return store.serialize_ros1(message, kind) if storage is None else store.serialize_cdr(message, kind)

    kind, wrench_kind = "sensor_msgs/msg/JointState", "geometry_msgs/msg/WrenchStamped"
    vector, wrench_of = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Wrench"]
    writer = Writer1(path) if storage is None else Writer2(path, version=9, storage_plugin=storage)
    with writer:
        connections = [writer.add_connection(topic, kind, typestore=store) for topic in topics]
        wrench_connection = writer.add_connection("/ft", wrench_kind, typestore=store) if wrench else None
        for k, names, q, dq, tau in joint_states(recording, gripper=gripper):
            content = raw(
                types[kind](header(k), list(names), q.copy(), dq[: None if velocity else 0].copy(), tau.copy()), kind
            )
            for connection in connections:
                writer.write(connection, EPOCH_NS + k * STEP_NS + 500, content)
        for k in range(recording.n_samples if wrench else 0):
            force = wrench_of(vector(float(k), 0.0, 1.0), vector(2.0, 3.0, -float(k)))
            content = raw(types[wrench_kind](header(k, STEP_NS // 2), force), wrench_kind)
            writer.write(wrench_connection, EPOCH_NS + k * STEP_NS + 600, content)


def write_ros1(path: Path, recording: Recording) -> None:
    write_bag(path, recording)


def write_ros2(path: Path, recording: Recording) -> None:
    write_bag(path, recording, storage=StoragePlugin.SQLITE3)


def write_db3(path: Path, recording: Recording) -> None:
    folder = path.parent / "folder"
    write_bag(folder, recording, storage=StoragePlugin.SQLITE3)
    next(folder.glob("*.db3")).rename(path)


def write_mcap(path: Path, recording: Recording) -> None:
    folder = path.parent / "folder"
    write_bag(folder, recording, storage=StoragePlugin.MCAP)
    next(folder.glob("*.mcap")).rename(path)


WRITERS: dict[str, tuple[str, Callable[[Path, Recording], None]]] = {
    "csv": ("log.csv", write_text),
    "csv by name": ("log.csv", write_text_by_name),
    "csv with semicolons": ("log.csv", write_text_with_semicolons),
    "csv with tabs": ("log.tsv", write_text_with_tabs),
    "csv with comments": ("log.csv", write_text_with_comments),
    "savetxt": ("log.txt", write_savetxt),
    "gzip": ("log.csv.gz", write_gzip),
    "npz": ("log.npz", write_npz),
    "npz compressed": ("log.npz", write_npz_compressed),
    "npz transposed": ("log.npz", write_npz_transposed),
    "parquet": ("log.parquet", write_parquet),
    "parquet lists": ("log.parquet", write_parquet_lists),
    "hdf5": ("log.h5", write_hdf5),
    "hdf5 groups": ("log.hdf5", write_hdf5_groups),
    "mat": ("log.mat", write_mat),
    "mat struct": ("log.mat", write_mat_struct),
    "mat 7.3": ("log.mat", write_mat73),
    "ros 1 bag": ("log.bag", write_ros1),
    "ros 2 bag": ("log", write_ros2),
    "db3": ("log.db3", write_db3),
    "mcap": ("log.mcap", write_mcap),
}
"""Every way a log may be stored: the name of the file, and what writes it."""
