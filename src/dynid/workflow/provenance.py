"""Where a result comes from: inputs with their hashes, versions and options."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dynid.recording.raw import RawLog
from dynid.version import VERSION

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from dynid.regression.reverse import ControllerSamples

__all__ = ["Source", "hashed", "provenance", "texts_of"]

Source: TypeAlias = "Path | RawLog | ControllerSamples"
"""What a result is made of: a file, or measurements in memory."""


def hashed(source: Source) -> str:
    """The SHA-256 of a file, in hexadecimal; of every file in it for a folder, of its numbers for what is in memory."""
    digest = hashlib.sha256()
    if not isinstance(source, Path):
        for name in ("t", *source.signals) if isinstance(source, RawLog) else ("q", "M", "g"):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(getattr(source, name)).tobytes())
        return digest.hexdigest()
    for part in sorted(source.rglob("*")) if source.is_dir() else [source]:
        if part.is_file():
            with part.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
    return digest.hexdigest()


def provenance(job: str, inputs: Iterable[Source], options: Mapping[str, object]) -> dict[str, object]:
    """Inputs with hashes, versions and options, for run.json and the model file."""
    return {
        "command": job,
        "dynid": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "inputs": dict(_named(inputs)),
        "options": dict(options),
    }


def _named(inputs: Iterable[Source]) -> Iterable[tuple[str, str]]:
    n_memory = 0
    for source in inputs:
        if not isinstance(source, Path):
            n_memory += 1
            yield f"{source.source}#{n_memory}" if source.source == "memory" else source.source, hashed(source)
        elif source.exists():
            yield str(source), hashed(source)


def texts_of(options: DataclassInstance) -> dict[str, object]:
    """The fields of an options value as JSON holds them: plain values, lists of texts, and texts of all else."""
    plain = (int, float, str, bool, type(None))
    return {
        key: value if isinstance(value, plain) else list(value) if key == "lock" else str(value)
        for key, value in asdict(options).items()
    }
