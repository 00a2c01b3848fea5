"""Drive gains and their covariance as a file: `payload` with a known mass writes it, logs of current are read by it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TypeGuard

import numpy as np

from dynid.disk import read_json
from dynid.errors import RecordingError

__all__ = ["is_gains_file", "read_gains"]


def is_gains_file(gains: object) -> TypeGuard[str | PathLike[str]]:
    """Whether gains are given as a file rather than as numbers."""
    return isinstance(gains, PathLike) or (isinstance(gains, str) and gains.strip().endswith(".json"))


def read_gains(path: str | PathLike[str]) -> tuple[tuple[float, ...], tuple[tuple[float, ...], ...]]:
    """Gains (N·m/A or N/A) and their relative covariance, from the JSON of `payload` with a known mass.

    Raises:
        RecordingError: naming the file and what is wrong with it.
    """
    if not Path(path).is_file():
        raise RecordingError(f"{path}: no such file of drive gains; payload with `known_mass` writes one")
    content = read_json(Path(path), RecordingError, "file of drive gains")
    entries = content.get("gains") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(entries, list) or not entries:
        raise RecordingError(f"{path}: holds no drive gains; payload with `known_mass` writes them")
    try:
        gains = np.array([float(entry["value"]) for entry in entries])
        std = np.array([float(entry["std"]) for entry in entries])
        matrix = content.get("relative_covariance")
        relative = np.diag((std / gains) ** 2) if matrix is None else np.array(matrix, dtype=float)
    except (TypeError, ValueError, KeyError) as error:
        raise RecordingError(
            f"{path}: drive gains are damaged ({error}); payload with `known_mass` writes them"
        ) from error
    if relative.shape != (len(gains), len(gains)) or not np.all(np.isfinite(relative)):
        raise RecordingError(f"{path}: relative_covariance is no matrix of {len(gains)} drives")
    return tuple(gains.tolist()), tuple(tuple(row) for row in relative.tolist())
