"""What leaves the program: reports, model files and exports."""

from dynid.writers.campaign_page import CampaignPage, CampaignRow, campaign_page
from dynid.writers.identification import Comparison, identification_report
from dynid.writers.model_file import Compressed, IdentifiedModel, load_model, save_model
from dynid.writers.report import Figure, Report, Section, Table
from dynid.writers.urdf import write_urdf

MODULES = ("model_file", "urdf", "report", "charts", "identification", "campaign_page")
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CampaignPage",
    "CampaignRow",
    "Comparison",
    "Compressed",
    "Figure",
    "IdentifiedModel",
    "Report",
    "Section",
    "Table",
    "campaign_page",
    "identification_report",
    "load_model",
    "save_model",
    "write_urdf",
]
