"""Checkpoints: the whole state of a filter on disk, from which it goes on exactly."""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError

import numpy as np

from dynid.arrays import Array
from dynid.disk import write_whole
from dynid.dynamics.kernels.bound import run_kernel
from dynid.errors import TrackingError
from dynid.tracking import core
from dynid.tracking.bundles import ARM
from dynid.tracking.factors import scale_factors
from dynid.tracking.filter import ConstrainedFilter, Tracker

__all__ = ["resume", "save_checkpoint"]

CHECKPOINT_FORMAT = "dynid-tracker/1"
"""Name and version of a checkpoint."""
_LOW_PASS = ("past_Y", "past_z")
"""Fields that hold the memory of the low-pass."""
DAMAGED = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,
    LookupError,
    TypeError,
    SyntaxError,
    MemoryError,
    TokenError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What NumPy raises for a damaged archive: it evaluates headers as literals of Python."""


def save_checkpoint(tracker: Tracker, path: Path) -> None:
    """Write the state of a filter whole or not at all, as NPZ without pickled objects."""
    buffer = io.BytesIO()
    fields = {
        "format": np.array(CHECKPOINT_FORMAT),
        "filter": np.array(_fingerprint(tracker.options)),
        "scale": np.array(tracker.options.state.arrays.scale),
        **_fields(tracker),
    }
    np.savez(buffer, allow_pickle=False, **fields)
    write_whole(path, buffer.getvalue())


def resume(options: ConstrainedFilter, path: Path) -> Tracker:
    """A filter that goes on where the checkpoint was written, to the last bit.

    A filter of another log may have other scales of its states and another low-pass; what it knows is carried over.

    Raises:
        TrackingError: the file is no checkpoint, or one of a filter with other options.
    """
    tracker = options.start()
    try:
        with np.load(path, allow_pickle=False) as stored:
            content = {name: stored[name] for name in stored.files}
    except DAMAGED as error:
        raise TrackingError(f"{path}: not a checkpoint that can be read: {error}") from error
    if "format" not in content or str(content["format"]) != CHECKPOINT_FORMAT:
        raise TrackingError(f"{path}: not a checkpoint of this version; known is {CHECKPOINT_FORMAT}")
    if str(content.get("filter")) != _fingerprint(options):
        raise TrackingError(
            f"{path}: the checkpoint belongs to a filter with other states, bounds, measurements or robot; "
            "resume with the options it was started with"
        )
    for name, target in _fields(tracker).items():
        stored_value = content.get(name)
        if name in _LOW_PASS and stored_value is not None and stored_value.shape != target.shape:
            continue  # another low-pass; its memory starts anew
        if stored_value is None or stored_value.shape != target.shape or stored_value.dtype != target.dtype:
            raise TrackingError(f"{path}: damaged checkpoint, {name} is missing or of another shape or type")
        target[...] = stored_value
    state = tracker.state
    counters = state.counters
    _rescaled(tracker, content.get("scale"), path)
    # The compiled filter uses these two as places in arrays, without looking.
    placed = 0 <= counters[core.RING] < len(state.nis) and 0 <= counters[core.NEXT_NOISY] < len(state.x)
    finite = all(np.all(np.isfinite(values)) for values in (state.x, state.U, state.D, state.R, state.pending))
    positive = np.min(counters) >= 0 and np.min(state.R) > 0.0 and np.min(state.D) >= 0.0
    if not placed or not finite or not positive or not np.all(np.abs(tracker.terms.z) <= 1.0):
        raise TrackingError(f"{path}: damaged checkpoint, its numbers are not those of a filter; start anew")
    return tracker


def _rescaled(tracker: Tracker, before: Array | None, path: Path) -> None:
    """State and factors in the scales of this filter."""
    scale = tracker.options.state.arrays.scale
    if before is None or before.shape != scale.shape or not np.all(np.isfinite(before) & (before > 0.0)):
        raise TrackingError(f"{path}: damaged checkpoint, scale is missing or of another shape or type")
    if not np.array_equal(before, scale):
        ratio = before / scale
        tracker.state.x[:] *= ratio
        run_kernel(ARM, scale_factors, tracker.state.U, tracker.state.D, ratio)


def _fields(tracker: Tracker) -> dict[str, Array]:
    """The arrays that the next step depends on, SI; where friction remembers, also how far along the path it is."""
    fields = {name: getattr(tracker.state, name) for name in core.State._fields}
    if tracker.options.model.has_memory:
        fields |= {"path_q": tracker.terms.q, "path_z": tracker.terms.z}
    return fields


def _fingerprint(options: ConstrainedFilter) -> str:
    """A hash of everything that the next step depends on beside the state."""
    digest = hashlib.sha256()
    process_noise = options.process_noise
    text = (
        options.state.symbols,
        options.measure,
        process_noise,
        options.noise_memory,
        options.gap,
        options.carry,
        options.common_noise,
    )
    digest.update(repr(text).encode())
    for array in (*options.rows, *options.state.arrays._replace(scale=np.zeros(0))):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
