"""Checkpoints: the whole state of a filter on disk, from which it goes on exactly."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np

from dynid.disk import write_whole
from dynid.errors import TrackingError
from dynid.tracking import core
from dynid.tracking.filter import ConstrainedFilter, Tracker

__all__ = ["resume", "save_checkpoint"]

FORMAT = "dynid-tracker/1"


def save_checkpoint(tracker: Tracker, path: Path) -> None:
    """Write the state of a filter whole or not at all, as NPZ without pickled objects."""
    buffer = io.BytesIO()
    fields = {name: getattr(tracker.state, name) for name in core.State._fields}
    np.savez(buffer, format=np.array(FORMAT), filter=np.array(_fingerprint(tracker.options)), **fields)
    write_whole(path, buffer.getvalue())


def resume(options: ConstrainedFilter, path: Path) -> Tracker:
    """A filter that goes on where the checkpoint was written, to the last bit.

    Raises:
        TrackingError: the file is no checkpoint, or one of a filter with other options.
    """
    tracker = options.start()
    try:
        with np.load(path, allow_pickle=False) as stored:
            content = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise TrackingError(f"{path}: not a checkpoint that can be read: {error}") from error
    if "format" not in content or str(content["format"]) != FORMAT:
        raise TrackingError(f"{path}: not a checkpoint of this version; known is {FORMAT}")
    if str(content.get("filter")) != _fingerprint(options):
        raise TrackingError(
            f"{path}: the checkpoint belongs to a filter with other states, bounds, measurements or robot; "
            "resume with the options it was started with"
        )
    for name in core.State._fields:
        target = getattr(tracker.state, name)
        if name not in content or content[name].shape != target.shape:
            raise TrackingError(f"{path}: damaged checkpoint, {name} is missing or of another shape")
        target[...] = content[name]
    return tracker


def _fingerprint(options: ConstrainedFilter) -> str:
    """A hash of everything that the next step depends on beside the state."""
    digest = hashlib.sha256()
    annealing = options.annealing
    text = (options.state.symbols, options.measure, annealing, options.noise_memory, options.gap, options.carry)
    digest.update(repr(text).encode())
    for array in (*options.rows, *options.state.arrays):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
