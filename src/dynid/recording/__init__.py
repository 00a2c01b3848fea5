"""What was measured on the motion: recordings, and how to read them from log files."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

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
    "repairs",
    "recording",
    "spelling",
    "raw",
    "clock",
    "wild_cells",
    "held_rows",
    "tidying",
    "followed",
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

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
