"""What leaves the program: reports, model files and exports."""

from dynid.writers.identification import Comparison, identification_report
from dynid.writers.model_file import Compressed, IdentifiedModel, load_model, save_model
from dynid.writers.report import Figure, Report, Section, Table
from dynid.writers.urdf import write_urdf

MODULES = ("model_file", "urdf", "report", "charts", "identification")
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Comparison",
    "Compressed",
    "Figure",
    "IdentifiedModel",
    "Report",
    "Section",
    "Table",
    "identification_report",
    "load_model",
    "save_model",
    "write_urdf",
]
