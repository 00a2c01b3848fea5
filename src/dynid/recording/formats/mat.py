"""Logs as MATLAB files: up to version 7.2 loaded whole, version 7.3 read as the HDF5 file it is."""

from __future__ import annotations

import zlib
from functools import partial
from pathlib import Path

import numpy as np

from dynid.recording.column_map import ColumnMap
from dynid.recording.formats.hdf5 import open_hdf5
from dynid.recording.formats.mat_structure import loadable_variables
from dynid.recording.formats.named_arrays import CELL_ARRAY, NOT_NUMBERS, NamedArray, array_table, sliced
from dynid.recording.log_format import LogFormat, LogTable, starts_with

__all__ = ["MAT"]


def open_mat(path: Path, columns: ColumnMap) -> LogTable:
    """The table of a MATLAB file: variables ``t``, ``q``, … or one level of struct around them.

    Raises:
        RecordingError: naming the file.
    """
    import h5py
    import scipy.io

    if h5py.is_hdf5(path):
        return open_hdf5(path, columns)
    members: dict[str, NamedArray] = {}
    unfit: dict[str, str] = {}
    if scipy.io.matlab.matfile_version(path)[0] == 1:
        fit, others = loadable_variables(path)
        unfit |= dict.fromkeys(others, NOT_NUMBERS)
        loaded = scipy.io.loadmat(path, variable_names=fit)
    else:
        loaded = scipy.io.loadmat(path)
    variables = {name: value for name, value in loaded.items() if not name.startswith("__")}
    for variable, value in variables.items():
        fields = {variable: value}
        names = getattr(getattr(value, "dtype", None), "names", None)
        if names and value.size == 1:
            fields = {f"{variable}.{field}": value[field].flat[0] for field in names}
        for name, content in fields.items():
            if not isinstance(content, np.ndarray) or content.dtype.names:
                unfit[name] = "is no plain matrix (store the numbers themselves)"
            elif content.dtype.kind == "O":
                unfit[name] = CELL_ARRAY
            elif content.dtype.kind not in "fiub":
                unfit[name] = NOT_NUMBERS
            else:
                members[name] = NamedArray(content.shape, partial(sliced, content))
    return array_table(path, members, unfit, columns)


def _errors() -> tuple[type[Exception], ...]:
    from scipy.io.matlab import MatReadError

    scipys = (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, UnboundLocalError)
    return MatReadError, zlib.error, *scipys


MAT = LogFormat(
    kind="MAT file", suffixes=(".mat",), open=open_mat, errors=_errors, sniff=starts_with(b"MATLAB 5.0 MAT-file")
)
"""MATLAB's variables."""
