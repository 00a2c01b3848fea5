"""What leaves the program: reports, model files and exports."""

from typing import TYPE_CHECKING

from dynid.lazy import lazy_names
from dynid.writers.exported import Exported, ExportOptions
from dynid.writers.report import Figure, Report, Section, Table, Tile, identification_report
from dynid.writers.tables import TableRow, parameter_rows, write_csv_table, write_json_table
from dynid.writers.urdf import write_urdf

if TYPE_CHECKING:
    from dynid.writers.c import write_c_header
    from dynid.writers.exporters import EXPORTERS, LoadExporter, ModelExporter
    from dynid.writers.load_settings import Load, read_load
    from dynid.writers.mjcf import write_mjcf
    from dynid.writers.report.campaign import CampaignPage, CampaignRow, campaign_page
    from dynid.writers.report.trajectory import trajectory_report

MODULES = (
    "exported",
    "joint_terms",
    "in_place",
    "robot_file",
    "urdf",
    "mjcf_check",
    "mjcf",
    "tables",
    "load_settings",
    "c",
    "exporters",
    "origin",
    "export",
    "report",
    "save",
    "campaign",
    "demo",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "EXPORTERS",
    "CampaignPage",
    "CampaignRow",
    "ExportOptions",
    "Exported",
    "Figure",
    "Load",
    "LoadExporter",
    "ModelExporter",
    "Report",
    "Section",
    "Table",
    "TableRow",
    "Tile",
    "campaign_page",
    "identification_report",
    "parameter_rows",
    "read_load",
    "trajectory_report",
    "write_c_header",
    "write_csv_table",
    "write_json_table",
    "write_mjcf",
    "write_urdf",
]

# What an identification does not write.
__getattr__ = lazy_names(
    __name__,
    {
        "dynid.writers.c": ("write_c_header",),
        "dynid.writers.exporters": ("EXPORTERS", "LoadExporter", "ModelExporter"),
        "dynid.writers.load_settings": ("Load", "read_load"),
        "dynid.writers.mjcf": ("write_mjcf",),
        "dynid.writers.report.campaign": ("CampaignPage", "CampaignRow", "campaign_page"),
        "dynid.writers.report.trajectory": ("trajectory_report",),
    },
)
