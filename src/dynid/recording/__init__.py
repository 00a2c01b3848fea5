"""What was measured on the motion: recordings, and how to read them from log files."""

from typing import TYPE_CHECKING

from dynid.lazy import lazy_names

if TYPE_CHECKING:
    from dynid.recording.column_map import ColumnMap as ColumnMap
    from dynid.recording.column_map import read_column_map as read_column_map
    from dynid.recording.column_map_edits import apply_map as apply_map
    from dynid.recording.column_map_edits import column_map_toml as column_map_toml
    from dynid.recording.column_map_edits import join_maps as join_maps
    from dynid.recording.conditioning import Conditioning as Conditioning
    from dynid.recording.conditioning import Plan as Plan
    from dynid.recording.conditioning import Samples as Samples
    from dynid.recording.conditioning import Segment as Segment
    from dynid.recording.datasets.conversion import CONVERTERS as CONVERTERS
    from dynid.recording.datasets.conversion import convert as convert
    from dynid.recording.datasets.conversion import numbers_digest as numbers_digest
    from dynid.recording.datasets.entries import DataFile as DataFile
    from dynid.recording.datasets.entries import DataSet as DataSet
    from dynid.recording.datasets.entries import SourceFile as SourceFile
    from dynid.recording.datasets.fetch import fetch_data as fetch_data
    from dynid.recording.datasets.fetched import Fetched as Fetched
    from dynid.recording.datasets.fetched import convert_logs as convert_logs
    from dynid.recording.datasets.fetched import data_catalogue as data_catalogue
    from dynid.recording.datasets.published import DATA_SETS as DATA_SETS
    from dynid.recording.filters import LowPass as LowPass
    from dynid.recording.formats.text import write_csv as write_csv
    from dynid.recording.log_format import LogBlock as LogBlock
    from dynid.recording.log_format import LogFormat as LogFormat
    from dynid.recording.log_format import LogTable as LogTable
    from dynid.recording.log_settings import LogSettings as LogSettings
    from dynid.recording.raw import RawLog as RawLog
    from dynid.recording.readers import LOG_FORMATS as LOG_FORMATS
    from dynid.recording.readers import read_raw as read_raw
    from dynid.recording.readers import read_recording as read_recording
    from dynid.recording.readers import stream_raw as stream_raw
    from dynid.recording.readers import stream_recording as stream_recording
    from dynid.recording.recording import Intervals as Intervals
    from dynid.recording.recording import Recording as Recording
    from dynid.recording.repairs import LogRepair as LogRepair
    from dynid.recording.tidying import tidied as tidied

MODULES = (
    "recording",
    "spelling",
    "repairs",
    "raw",
    "clock",
    "wild_cells",
    "held_rows",
    "tidying",
    "column_map",
    "column_map_edits",
    "log_format",
    "joint_match",
    "columns",
    "formats",
    "readers",
    "filters",
    "encoder",
    "splines",
    "conditioning",
    "gains_file",
    "log_settings",
    "datasets",
)
"""The order of this folder: a module imports only those before it."""

# A stage is imported for a few of its modules; the others would only cost time.
_HOMES = {
    "dynid.recording.column_map": ("ColumnMap", "read_column_map"),
    "dynid.recording.column_map_edits": ("apply_map", "column_map_toml", "join_maps"),
    "dynid.recording.conditioning": ("Conditioning", "Plan", "Samples", "Segment"),
    "dynid.recording.datasets.conversion": ("CONVERTERS", "convert", "numbers_digest"),
    "dynid.recording.datasets.fetch": ("fetch_data",),
    "dynid.recording.datasets.fetched": ("Fetched", "convert_logs", "data_catalogue"),
    "dynid.recording.datasets.entries": ("DataFile", "DataSet", "SourceFile"),
    "dynid.recording.datasets.published": ("DATA_SETS",),
    "dynid.recording.filters": ("LowPass",),
    "dynid.recording.formats.text": ("write_csv",),
    "dynid.recording.log_format": ("LogBlock", "LogFormat", "LogTable"),
    "dynid.recording.log_settings": ("LogSettings",),
    "dynid.recording.raw": ("RawLog",),
    "dynid.recording.repairs": ("LogRepair",),
    "dynid.recording.tidying": ("tidied",),
    "dynid.recording.readers": ("LOG_FORMATS", "read_raw", "read_recording", "stream_raw", "stream_recording"),
    "dynid.recording.recording": ("Intervals", "Recording"),
}
__all__ = sorted(name for names in _HOMES.values() for name in names)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__, _HOMES)
