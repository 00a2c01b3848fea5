"""What leaves the program: reports, model files and exports."""

from dynid.writers.c_header import write_c_header
from dynid.writers.campaign_page import CampaignPage, CampaignRow, campaign_page
from dynid.writers.exports import Exported
from dynid.writers.identification import Comparison, identification_report
from dynid.writers.load_settings import Load, read_load, write_load_settings
from dynid.writers.mjcf import write_mjcf
from dynid.writers.model_file import Compressed, IdentifiedModel, load_model, save_model
from dynid.writers.report import Criterion, Figure, Report, Section, Table, Tile
from dynid.writers.tables import TableRow, parameter_rows, write_table
from dynid.writers.trajectory import trajectory_report
from dynid.writers.urdf import write_urdf
from dynid.writers.verdict import judge, verdict_json

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
    "c_code",
    "c_dynamics",
    "c_friction",
    "c_blocks",
    "c_check",
    "c_header",
    "report",
    "drawing",
    "charts",
    "charts_friction",
    "charts_links",
    "verdict",
    "report_tables",
    "identification",
    "trajectory",
    "campaign_page",
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
