"""What was measured on the motion: recordings, and how to read them from log files."""

from typing import TYPE_CHECKING

from dynid.lazy import lazy_names
from dynid.recording.column_map import ColumnMap, read_column_map
from dynid.recording.column_map_edits import apply_map, column_map_toml, join_maps
from dynid.recording.conditioning import Conditioning, Plan, Samples, Segment
from dynid.recording.filters import LowPass
from dynid.recording.formats.text import write_csv
from dynid.recording.raw import RawLog
from dynid.recording.readers import SUFFIXES, read_raw, read_recording, stream_recording
from dynid.recording.recording import Intervals, Recording

if TYPE_CHECKING:
    from dynid.recording.datasets.conversion import CONVERTERS, convert, numbers_digest
    from dynid.recording.datasets.fetch import Fetched, fetch_data
    from dynid.recording.datasets.published import DATA_SETS, DataFile, DataSet, SourceFile

MODULES = (
    "recording",
    "raw",
    "column_map",
    "column_map_edits",
    "spelling",
    "columns",
    "formats",
    "readers",
    "filters",
    "conditioning",
    "datasets",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CONVERTERS",
    "DATA_SETS",
    "SUFFIXES",
    "ColumnMap",
    "Conditioning",
    "DataFile",
    "DataSet",
    "Fetched",
    "Intervals",
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
    "fetch_data",
    "join_maps",
    "numbers_digest",
    "read_column_map",
    "read_raw",
    "read_recording",
    "stream_recording",
    "write_csv",
]

# Whoever reads a log need not wait for what fetches one.
__getattr__ = lazy_names(
    __name__,
    {
        "dynid.recording.datasets.conversion": ("CONVERTERS", "convert", "numbers_digest"),
        "dynid.recording.datasets.fetch": ("Fetched", "fetch_data"),
        "dynid.recording.datasets.published": ("DATA_SETS", "DataFile", "DataSet", "SourceFile"),
    },
)
