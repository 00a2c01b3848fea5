"""Whether an HDF5 dataset holds as many bytes as its shape needs: the library itself reads on into foreign memory."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import h5py

__all__ = ["storage_fault"]

PIECE = 1 << 20
"""Bytes that are unpacked at a time."""
CHECKSUM = 4
"""Bytes that Fletcher's checksum adds to a chunk."""
DEFLATE, SHUFFLE, FLETCHER, LZF = 1, 2, 3, 32000
"""Filters whose output can be measured, by their registered numbers."""
DAMAGED = "does not hold as many bytes as its shape needs: the file is damaged; write it again"
FOREIGN = "is packed by a filter other than gzip, lzf and shuffle; store it again with gzip"


def storage_fault(dataset: h5py.Dataset) -> str:
    """What is wrong with the bytes of a dataset, as the rest of a sentence; empty where they are complete."""
    import h5py

    n_bytes = dataset.id.get_type().get_size()
    plan = dataset.id.get_create_plist()
    if plan.get_layout() != h5py.h5d.CHUNKED:
        # Nothing at all is stored where nothing was written: the numbers are the fill value then.
        return "" if dataset.id.get_storage_size() in (0, n_bytes * math.prod(dataset.shape)) else DAMAGED
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    if not {DEFLATE, SHUFFLE, FLETCHER, LZF}.issuperset(filters):
        return FOREIGN
    needed = n_bytes * math.prod(dataset.chunks)
    chunks: list[h5py.h5d.StoreInfo] = []
    dataset.id.chunk_iter(chunks.append)
    for chunk in chunks:
        used = [code for k, code in enumerate(filters) if not chunk.filter_mask >> k & 1]
        if DEFLATE in used or LZF in used:
            length = _length(dataset.id.read_direct_chunk(chunk.chunk_offset)[1], used, needed)
        else:
            length = chunk.size - CHECKSUM * used.count(FLETCHER)
        if length != needed:
            return DAMAGED
    return ""


def _length(packed: bytes, used: list[int], needed: int) -> int:
    """Bytes of a chunk after all its filters; -1 where one of them fails."""
    data, length = packed, len(packed)
    for code in reversed(used):
        if code == FLETCHER:
            length -= CHECKSUM
            data = data[: max(length, 0)]
        elif code == DEFLATE:
            length = _inflated(data, needed + CHECKSUM)
        elif code == LZF:
            length = _unpacked(data)
    return length


def _inflated(data: bytes, most: int) -> int:
    """Length of zlib's output, counted up to a little above `most`; -1 where it is none."""
    worker, length = zlib.decompressobj(), 0
    try:
        while not worker.eof and length <= most:
            piece = worker.decompress(data, PIECE)
            length, data = length + len(piece), worker.unconsumed_tail
            if not piece:
                break
    except zlib.error:
        return -1
    return length if worker.eof or length > most else -1


def _unpacked(data: bytes) -> int:
    """Length of what LZF unpacks to: runs of bytes as they are, and copies of earlier ones."""
    place = length = 0
    while place < len(data):
        control = data[place]
        place += 1
        if control < 32:
            length, place = length + control + 1, place + control + 1
            continue
        copied = control >> 5
        if copied == 7 and place < len(data):
            copied, place = copied + data[place], place + 1
        length, place = length + copied + 2, place + 1
    return length if place == len(data) else -1
