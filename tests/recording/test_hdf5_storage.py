"""Datasets of HDF5 with fewer bytes than their shape needs are refused: what the library makes of them is chance."""

import zlib
from collections.abc import Mapping
from typing import Any

import h5py
import numpy as np
import pytest

from dynid.errors import RecordingError
from dynid.recording import read_recording
from dynid.recording.formats.hdf5_storage import storage_fault

PACKING: dict[str, Mapping[str, Any]] = {
    "contiguous": {},
    "chunks": {"chunks": (16, 2)},
    "checksum": {"chunks": (16, 2), "fletcher32": True},
    "gzip": {"chunks": (16, 2), "compression": "gzip"},
    "gzip and shuffle": {"chunks": (16, 2), "compression": "gzip", "shuffle": True},
    "gzip and checksum": {"chunks": (16, 2), "compression": "gzip", "shuffle": True, "fletcher32": True},
    "lzf": {"chunks": (16, 2), "compression": "lzf"},
    "lzf and shuffle": {"chunks": (50, 3), "compression": "lzf", "shuffle": True},
}


@pytest.mark.parametrize("kind", PACKING)
@pytest.mark.parametrize("smooth", [True, False], ids=["smooth", "random"])
def test_what_is_complete_is_complete(tmp_path, rng, kind, smooth):
    values = np.repeat(np.arange(50.0), 3).reshape(50, 3) if smooth else rng.normal(size=(50, 3))
    with h5py.File(tmp_path / "log.h5", "w") as file:
        dataset = file.create_dataset("q", data=values, **PACKING[kind])
        assert storage_fault(dataset) == ""
        assert storage_fault(file.create_dataset("empty", (50, 3), dtype=float, **PACKING[kind])) == ""


@pytest.mark.parametrize("kind", ["chunks", "gzip", "gzip and shuffle", "lzf"])
def test_a_chunk_that_is_too_short_is_found(tmp_path, kind):
    short = np.full(3, 7.0).tobytes()
    packed = {"chunks": short, "lzf": bytes([23]) + short}.get(kind, zlib.compress(short))
    with h5py.File(tmp_path / "log.h5", "w") as file:
        dataset = file.create_dataset("q", data=np.arange(150.0).reshape(50, 3), **PACKING[kind])
        dataset.id.write_direct_chunk((16, 0), packed)
        assert "does not hold as many bytes as its shape needs" in storage_fault(dataset)


@pytest.mark.parametrize(
    "data", [b"no stream of zlib", zlib.compress(bytes(10_000))[:-9], zlib.compress(bytes(1 << 24))]
)
def test_a_stream_that_is_none_is_cut_or_does_not_end_is_found(tmp_path, data):
    with h5py.File(tmp_path / "log.h5", "w") as file:
        dataset = file.create_dataset("q", data=np.arange(150.0).reshape(50, 3), **PACKING["gzip"])
        dataset.id.write_direct_chunk((0, 0), data)
        assert storage_fault(dataset)


def test_other_filters_are_refused(tmp_path):
    with h5py.File(tmp_path / "log.h5", "w") as file:
        dataset = file.create_dataset("q", data=np.arange(64), chunks=(16,), scaleoffset=4)
        assert "store it again with gzip" in storage_fault(dataset)


def test_a_dataset_without_its_end_is_named_with_its_file(tmp_path, rng):
    q = rng.normal(size=(30, 2))
    path = tmp_path / "log.h5"
    with h5py.File(path, "w") as file:
        file["run/t"] = 0.01 * np.arange(30.0)
        file["run/q"] = q
        start, n_bytes = file["run/q"].id.get_offset(), q.nbytes
    place = start.to_bytes(8, "little") + n_bytes.to_bytes(8, "little")
    content = path.read_bytes()
    assert content.count(place) == 1  # where the file says how much it has of q
    path.write_bytes(content.replace(place, start.to_bytes(8, "little") + (200).to_bytes(8, "little")))
    with pytest.raises(RecordingError, match=r"log\.h5: /run/q does not hold as many bytes as its shape needs"):
        read_recording(path, ("a", "b"))


def test_of_several_datasets_at_fault_the_first_is_named(tmp_path):
    names = ("t", *(f"{signal}{k}" for signal in ("q", "tau") for k in (1, 2, 3)))
    with h5py.File(tmp_path / "log.h5", "w") as file:
        for name in names:
            file.create_dataset(name, data=np.arange(64), chunks=(16,), scaleoffset=4)
    with pytest.raises(RecordingError, match=r"log\.h5: /t is packed by a filter"):
        read_recording(tmp_path / "log.h5", ("a", "b", "c"))
