"""What leaves the program: reports, model files and exports."""

from dynid.writers.c import write_c_header
from dynid.writers.exports import Exported
from dynid.writers.load_settings import Load, read_load, write_load_settings
from dynid.writers.mjcf import write_mjcf
from dynid.writers.model_file import Compressed, IdentifiedModel, load_model, save_model
from dynid.writers.report import (
    CampaignPage,
    CampaignRow,
    Comparison,
    Criterion,
    Figure,
    Report,
    Section,
    Table,
    Tile,
    campaign_page,
    identification_report,
    judge,
    trajectory_report,
    verdict_json,
)
from dynid.writers.tables import TableRow, parameter_rows, write_table
from dynid.writers.urdf import write_urdf

MODULES = (
    "model_file",
    "exports",
    "joint_terms",
    "in_place",
    "urdf",
    "mjcf_check",
    "mjcf",
    "tables",
    "load_settings",
    "c",
    "report",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CampaignPage",
    "CampaignRow",
    "Comparison",
    "Compressed",
    "Criterion",
    "Exported",
    "Figure",
    "IdentifiedModel",
    "Load",
    "Report",
    "Section",
    "Table",
    "TableRow",
    "Tile",
    "campaign_page",
    "identification_report",
    "judge",
    "load_model",
    "parameter_rows",
    "read_load",
    "save_model",
    "trajectory_report",
    "verdict_json",
    "write_c_header",
    "write_load_settings",
    "write_mjcf",
    "write_table",
    "write_urdf",
]
