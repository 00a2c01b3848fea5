"""What leaves the program: reports, model files and exports."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.writers.c import write_c_header as write_c_header
    from dynid.writers.exported import Exported as Exported
    from dynid.writers.exported import ExportOptions as ExportOptions
    from dynid.writers.exporters import EXPORTERS as EXPORTERS
    from dynid.writers.exporters import LoadExporter as LoadExporter
    from dynid.writers.exporters import ModelExporter as ModelExporter
    from dynid.writers.live.page import LivePage as LivePage
    from dynid.writers.live.serve import open_live as open_live
    from dynid.writers.load_settings import Load as Load
    from dynid.writers.load_settings import read_load as read_load
    from dynid.writers.mjcf import write_mjcf as write_mjcf
    from dynid.writers.report import Figure as Figure
    from dynid.writers.report import Report as Report
    from dynid.writers.report import Section as Section
    from dynid.writers.report import Table as Table
    from dynid.writers.report import Tile as Tile
    from dynid.writers.report import identification_report as identification_report
    from dynid.writers.report.campaign import CampaignPage as CampaignPage
    from dynid.writers.report.campaign import CampaignRow as CampaignRow
    from dynid.writers.report.campaign import campaign_page as campaign_page
    from dynid.writers.report.trajectory import trajectory_report as trajectory_report
    from dynid.writers.tables import TableRow as TableRow
    from dynid.writers.tables import parameter_rows as parameter_rows
    from dynid.writers.tables import write_csv_table as write_csv_table
    from dynid.writers.tables import write_json_table as write_json_table
    from dynid.writers.urdf import write_urdf as write_urdf

MODULES = (
    "exported",
    "joint_terms",
    "in_place",
    "refitting",
    "robot_file",
    "urdf",
    "mjcf_check",
    "likeness",
    "mjcf",
    "actuators",
    "tables",
    "load_settings",
    "c",
    "exporters",
    "origin",
    "export",
    "report",
    "savers",
    "save",
    "live",
    "campaign",
    "demo",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
