"""`save`: the files of a result, whole or not at all: what the commands write, byte for byte."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from os import PathLike
from pathlib import Path

from dynid.disk import at_once, claimed
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError
from dynid.writers.savers.saved import Saved, Saver

__all__ = ["save"]

SAVERS = {
    "IdentifiedModel": "model",
    "Identification": "identification",
    "ModelRetrieval": "retrieval",
    "ReverseIdentification": "reverse",
    "FrictionRefit": "friction",
    "PayloadIdentification": "payload",
    "GainsIdentification": "payload",
    "ModelTracking": "tracking",
    "LiveSession": "live",
    "Simulation": "simulation",
    "ExcitingTrajectory": "excitation",
    "ExcitingPoses": "excitation",
    "ConvertedLogs": "conversion",
    "ConsistencyCheck": "check",
}
"""By kind of result, the module of `savers` that writes it; only the one that is needed is imported."""


def save(result: object, out: str | PathLike[str]) -> Saved:
    """Write the files of a result, all of them or none; never in the place of a file that the result was made from.

    Args:
        result: what `dynid.identify`, `reverse`, `retrieve`, `friction`, `payload`, `track` or `live` returned, or an
            `IdentifiedModel`; or a motion of `dynid.excite`, or a log of `dynid.simulate`.
        out: the folder, which is made where it is missing; of `payload` its JSON file; of a motion or a log its .csv,
            which the other files go beside.

    Raises:
        OutputError: naming the file and what the system said.
        ConfigError: for a value that has no files.
    """
    if not isinstance(out, str | PathLike):
        raise ConfigError(f"out: expected a path, got {type(out).__name__}")
    kind = type(result).__name__
    if kind not in SAVERS or not type(result).__module__.startswith("dynid."):
        raise ConfigError(f"save: expected a result of dynid.identify and its like, got {kind}")
    place = Path(out)
    saver: Saver = import_module(f"dynid.writers.savers.{SAVERS[kind]}").SAVER
    with one_blas_thread(), nullcontext() if saver.one_file else claimed(place), at_once():
        return saver.write(result, place)
