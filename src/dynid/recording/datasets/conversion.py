"""Logs in the form their authors published them, as recordings."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

import numpy as np

from dynid.arrays import Array, Float
from dynid.errors import DataSetError
from dynid.recording.recording import Recording

__all__ = ["CONVERTERS", "RowRange", "convert", "numbers_digest"]

RowRange = tuple[int, int] | None
"""First and last row to keep, counted from 1 as the authors' own scripts count; None keeps all."""
UR_COLUMNS = 19
"""Time, six positions, velocities and currents; what follows differs from file to file."""
UR_DECIMALS = 6
"""Of the stamps in s: the controller's clock counts in ms, the rest is rounding of a difference."""
SERIES_HZ = 200.0
"""Rate at which designed series are sampled: far above their highest harmonic."""
WAM_RECORD_COLUMNS = 15
"""Time, seven positions and seven torques."""
WAM_REFERENCE_HZ = 1000.0
"""Rate of the WAM's own control loop, at which its references are written."""


def convert(kind: str, files: Mapping[str, bytes], *, rows: RowRange = None) -> dict[str, Recording]:
    """Recordings (SI units at the joints), by the name of their log, from the bytes of published files.

    Args:
        kind: one of `CONVERTERS`.
        files: contents by file name.
        rows: the part of a log to keep, for the kinds that log more than the motion.

    Raises:
        DataSetError: for files that do not have the form of this kind.
    """
    if kind not in CONVERTERS:
        raise DataSetError(f"no converter {kind!r}; known: {', '.join(CONVERTERS)}")
    if not files:
        raise DataSetError(f"{kind}: no file to convert")
    return CONVERTERS[kind](files, rows)


def numbers_digest(recording: Recording) -> str:
    """The SHA-256 of the numbers of a recording (t, q, dq, tau, current in SI units, as little-endian float64).

    It is the same for a file written with other digits, separators or compression.
    """
    digest = hashlib.sha256()
    for values in (recording.t, recording.q, recording.dq, recording.tau, recording.current):
        if values is not None:
            # Adding zero makes −0 and 0 the same bytes.
            digest.update(np.ascontiguousarray(values + 0.0, dtype="<f8").tobytes())
    return digest.hexdigest()


def _numbers(name: str, content: bytes, separator: str | None = None) -> Float[Array, "n_rows n_columns"]:
    """A text of numbers, a row a line, separated by white space or by `separator`."""
    try:
        lines = [line.split(separator) for line in content.decode("ascii").splitlines() if line.strip()]
        table = np.array([[float(cell) for cell in line] for line in lines])
    except (UnicodeDecodeError, ValueError) as error:
        raise DataSetError(f"{name}: is not a table of numbers: {error}") from error
    if table.ndim != 2 or not len(table) or not np.all(np.isfinite(table)):
        raise DataSetError(f"{name}: has no rows, or numbers that are not finite")
    return table


def _joint_names(n_dof: int) -> tuple[str, ...]:
    return tuple(f"joint{number}" for number in range(1, n_dof + 1))


def _stem(name: str) -> str:
    return PurePosixPath(name).name.removesuffix(".gz").rsplit(".", 1)[0]


PANDA_PARTS = ("time", "positions", "velocity", "torques")
"""Endings of the four texts of a log, as the authors name them."""


def _panda(files: Mapping[str, bytes], rows: RowRange) -> dict[str, Recording]:
    """Four texts of one number a line: time in s, and for each sample seven positions, velocities and torques."""
    found: dict[str, Float[Array, " n_numbers"]] = {}
    for name, content in files.items():
        part = next((part for part in PANDA_PARTS if _stem(name).endswith(part)), None)
        if part is None:
            raise DataSetError(f"{name}: the name must end in one of {', '.join(PANDA_PARTS)}")
        found[part] = _numbers(name, content).ravel()
    missing = [part for part in PANDA_PARTS if part not in found]
    if missing:
        raise DataSetError(f"panda: no file whose name ends in {', '.join(missing)}; give all four texts of the log")
    t = found["time"]
    for part in PANDA_PARTS[1:]:
        if len(found[part]) != 7 * len(t):
            raise DataSetError(f"panda: {len(found[part])} {part} for {len(t)} samples; expected seven for each")
    q, dq, tau = (found[part].reshape(-1, 7) for part in PANDA_PARTS[1:])
    kept = _kept("panda", len(t), rows)
    return {
        "excitation_log": Recording(
            _joint_names(7), t[kept] - t[kept][0], q[kept], dq[kept], tau=tau[kept], source="panda"
        ),
    }


def _ur(files: Mapping[str, bytes], rows: RowRange) -> dict[str, Recording]:
    """Rows without a header: t, q1…q6, dq1…dq6, i1…i6, then targets that are not used."""
    found = {}
    for name, content in files.items():
        table = _numbers(name, content, ",")
        if table.shape[1] < UR_COLUMNS:
            raise DataSetError(
                f"{name}: {table.shape[1]} columns; expected t, six positions, velocities and currents, "
                f"{UR_COLUMNS} at least"
            )
        part = table[_kept(name, len(table), rows)]
        t = np.round(part[:, 0] - part[0, 0], UR_DECIMALS)
        found[_stem(name)] = Recording(
            _joint_names(6), t, part[:, 1:7], part[:, 7:13], current=part[:, 13:19], source=name
        )
    return found


def _wam_record(files: Mapping[str, bytes], rows: RowRange) -> dict[str, Recording]:
    """Rows of t, q1…q7, tau1…tau7 separated by white space, as the robot was recorded."""
    found = {}
    for name, content in files.items():
        table = _numbers(name, content)
        if table.shape[1] != WAM_RECORD_COLUMNS:
            raise DataSetError(f"{name}: {table.shape[1]} columns; expected t, q1…q7, tau1…tau7")
        part = table[_kept(name, len(table), rows)]
        found[_stem(name)] = Recording(
            _joint_names(7), part[:, 0] - part[0, 0], part[:, 1:8], tau=part[:, 8:15], source=name
        )
    return found


def _wam_reference(files: Mapping[str, bytes], rows: RowRange) -> dict[str, Recording]:
    """Rows of q1…q7 at 1 kHz separated by white space, as the robot was commanded."""
    found = {}
    for name, content in files.items():
        table = _numbers(name, content)
        if table.shape[1] != 7:
            raise DataSetError(f"{name}: {table.shape[1]} columns; expected q1…q7")
        part = table[_kept(name, len(table), rows)]
        found[_stem(name)] = Recording(_joint_names(7), np.arange(len(part)) / WAM_REFERENCE_HZ, part, source=name)
    return found


def _wam_series(files: Mapping[str, bytes], rows: RowRange) -> dict[str, Recording]:
    r"""One period of each designed series, sampled at 200 Hz.

    .. math::

        q(t) = q_0 + \sum_l \frac{a_l}{\omega l} \sin \omega l t - \frac{b_l}{\omega l} \cos \omega l t
    """
    if rows is not None:
        raise DataSetError("wam-series: a series has no rows to choose from; leave out `rows`")
    found = {}
    for name, content in files.items():
        try:
            series = json.loads(content)
            for key, entry in series.items():
                a, b, q0 = (np.array(entry[field], dtype=float) for field in ("a", "b", "q0"))
                omega = float(entry["omega_f"]) * np.arange(1, a.shape[1] + 1)
                t = np.arange(round(2.0 * math.pi / omega[0] * SERIES_HZ)) / SERIES_HZ
                sine, cosine = np.sin(np.outer(t, omega)), np.cos(np.outer(t, omega))
                q = q0 + sine @ (a / omega).T - cosine @ (b / omega).T
                found[key] = Recording(
                    _joint_names(len(q0)),
                    t,
                    q,
                    cosine @ a.T + sine @ b.T,
                    cosine @ (b * omega).T - sine @ (a * omega).T,
                    source=key,
                )
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise DataSetError(f"{name}: is no JSON of Fourier series with a, b, q0 and omega_f: {error}") from error
    return found


def _kept(name: str, n_rows: int, rows: RowRange) -> slice:
    if rows is None:
        return slice(None)
    first, last = rows
    if not 1 <= first < last <= n_rows:
        raise DataSetError(f"{name}: has {n_rows} rows; rows {first} to {last} are not among them")
    return slice(first - 1, last)


CONVERTERS: dict[str, Callable[[Mapping[str, bytes], RowRange], dict[str, Recording]]] = {
    "panda": _panda,
    "ur": _ur,
    "wam-record": _wam_record,
    "wam-reference": _wam_reference,
    "wam-series": _wam_series,
}
"""What turns published files into recordings (SI units), by the name of their form."""
