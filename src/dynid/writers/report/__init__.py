"""Reports: one HTML file each that opens offline, with pictures to look at and every text escaped."""

from typing import TYPE_CHECKING

from dynid.later import later
from dynid.writers.report.identification import Comparison, identification_report
from dynid.writers.report.page import Criterion, Figure, Report, Section, Table, Tile
from dynid.writers.report.verdict import judge, verdict_json

if TYPE_CHECKING:
    from dynid.writers.report.campaign import CampaignPage, CampaignRow, campaign_page
    from dynid.writers.report.trajectory import trajectory_report

MODULES = (
    "page",
    "drawing",
    "charts",
    "friction_charts",
    "link_charts",
    "verdict",
    "tables",
    "identification",
    "trajectory",
    "campaign",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CampaignPage",
    "CampaignRow",
    "Comparison",
    "Criterion",
    "Figure",
    "Report",
    "Section",
    "Table",
    "Tile",
    "campaign_page",
    "identification_report",
    "judge",
    "trajectory_report",
    "verdict_json",
]

# The pages of other commands than `dynid identify`.
__getattr__ = later(
    __name__,
    {
        "dynid.writers.report.campaign": ("CampaignPage", "CampaignRow", "campaign_page"),
        "dynid.writers.report.trajectory": ("trajectory_report",),
    },
)
