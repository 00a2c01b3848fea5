"""What leaves the program: reports, model files and exports."""

from dynid.writers.identification import Comparison, identification_report
from dynid.writers.model_file import Compressed, IdentifiedModel, load_model, save_model
from dynid.writers.report import Criterion, Figure, Report, Section, Table, Tile
from dynid.writers.trajectory import trajectory_report
from dynid.writers.urdf import write_urdf
from dynid.writers.verdict import judge, verdict_json

MODULES = (
    "model_file",
    "urdf",
    "report",
    "drawing",
    "charts",
    "charts_friction",
    "charts_links",
    "verdict",
    "report_tables",
    "identification",
    "trajectory",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Comparison",
    "Compressed",
    "Criterion",
    "Figure",
    "IdentifiedModel",
    "Report",
    "Section",
    "Table",
    "Tile",
    "identification_report",
    "judge",
    "load_model",
    "save_model",
    "trajectory_report",
    "verdict_json",
    "write_urdf",
]
