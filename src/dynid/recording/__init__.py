"""What was measured on the motion: recordings, and how to read them from log files."""

from typing import TYPE_CHECKING

from dynid.lazy import lazy_names
from dynid.recording.column_map import ColumnMap, read_column_map
from dynid.recording.column_map_edits import apply_map, column_map_toml, join_maps
from dynid.recording.conditioning import Conditioning, Plan, Samples, Segment
from dynid.recording.filters import LowPass
from dynid.recording.formats.text import write_csv
from dynid.recording.log_format import LogBlock, LogFormat, LogTable
from dynid.recording.log_settings import LogSettings
from dynid.recording.raw import RawLog
from dynid.recording.readers import LOG_FORMATS, read_raw, read_recording, stream_recording
from dynid.recording.recording import Intervals, Recording

if TYPE_CHECKING:
    from dynid.recording.datasets.conversion import CONVERTERS, convert, numbers_digest
    from dynid.recording.datasets.fetch import fetch_data
    from dynid.recording.datasets.fetched import Fetched, convert_logs, data_catalogue
    from dynid.recording.datasets.published import DATA_SETS, DataFile, DataSet, SourceFile

MODULES = (
    "recording",
    "spelling",
    "raw",
    "column_map",
    "column_map_edits",
    "log_format",
    "columns",
    "formats",
    "readers",
    "filters",
    "conditioning",
    "log_settings",
    "datasets",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CONVERTERS",
    "DATA_SETS",
    "LOG_FORMATS",
    "ColumnMap",
    "Conditioning",
    "DataFile",
    "DataSet",
    "Fetched",
    "Intervals",
    "LogBlock",
    "LogFormat",
    "LogSettings",
    "LogTable",
    "LowPass",
    "Plan",
    "RawLog",
    "Recording",
    "Samples",
    "Segment",
    "SourceFile",
    "apply_map",
    "column_map_toml",
    "convert",
    "convert_logs",
    "data_catalogue",
    "fetch_data",
    "join_maps",
    "numbers_digest",
    "read_column_map",
    "read_raw",
    "read_recording",
    "stream_recording",
    "write_csv",
]

# Reading a log does not import what fetches one.
__getattr__ = lazy_names(
    __name__,
    {
        "dynid.recording.datasets.conversion": ("CONVERTERS", "convert", "numbers_digest"),
        "dynid.recording.datasets.fetch": ("fetch_data",),
        "dynid.recording.datasets.fetched": ("Fetched", "convert_logs", "data_catalogue"),
        "dynid.recording.datasets.published": ("DATA_SETS", "DataFile", "DataSet", "SourceFile"),
    },
)
