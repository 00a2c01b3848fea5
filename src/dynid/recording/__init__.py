"""What was measured on the motion: recordings, and how to read them from log files."""

from typing import TYPE_CHECKING

from dynid.later import later
from dynid.recording.conversion import CONVERTERS, convert, numbers_digest
from dynid.recording.doctor import examine
from dynid.recording.filters import LowPass
from dynid.recording.findings import Finding, Severity
from dynid.recording.mapping import ColumnMap, read_column_map
from dynid.recording.published import DATA_SETS, DataFile, DataSet, SourceFile
from dynid.recording.raw import RawLog
from dynid.recording.readers import SUFFIXES, read_raw, read_recording, stream_recording
from dynid.recording.recording import Intervals, Recording
from dynid.recording.sensors import Level, SensorModel
from dynid.recording.signals import Conditioning, Plan, Samples, Segment
from dynid.recording.text import write_csv

if TYPE_CHECKING:
    from dynid.recording.closed_loop import Controller
    from dynid.recording.commanded import smooth_motion
    from dynid.recording.datasets import Fetched, fetch_data
    from dynid.recording.synthetic import Synthetic, plausible_parameters, simulate

MODULES = (
    "recording",
    "raw",
    "findings",
    "mapping",
    "spelling",
    "columns",
    "text",
    "conversion",
    "published",
    "datasets",
    "matlab",
    "hdf5_storage",
    "containers",
    "parquet",
    "bags",
    "readers",
    "filters",
    "signals",
    "sensors",
    "commanded",
    "closed_loop",
    "synthetic",
    "doctor",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CONVERTERS",
    "DATA_SETS",
    "SUFFIXES",
    "ColumnMap",
    "Conditioning",
    "Controller",
    "DataFile",
    "DataSet",
    "Fetched",
    "Finding",
    "Intervals",
    "Level",
    "LowPass",
    "Plan",
    "RawLog",
    "Recording",
    "Samples",
    "Segment",
    "SensorModel",
    "Severity",
    "SourceFile",
    "Synthetic",
    "convert",
    "examine",
    "fetch_data",
    "numbers_digest",
    "plausible_parameters",
    "read_column_map",
    "read_raw",
    "read_recording",
    "simulate",
    "smooth_motion",
    "stream_recording",
    "write_csv",
]

# Whoever reads a log need not wait for what makes one.
__getattr__ = later(
    __name__,
    {
        "dynid.recording.closed_loop": ("Controller",),
        "dynid.recording.commanded": ("smooth_motion",),
        "dynid.recording.datasets": ("Fetched", "fetch_data"),
        "dynid.recording.synthetic": ("Synthetic", "plausible_parameters", "simulate"),
    },
)
