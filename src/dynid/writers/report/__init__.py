"""Reports: one HTML file each that opens offline, with pictures to look at and every text escaped."""

from typing import TYPE_CHECKING

from dynid.lazy import lazy_names
from dynid.writers.report.identification import identification_report
from dynid.writers.report.page import Figure, Report, Section, Table, Tile

if TYPE_CHECKING:
    from dynid.writers.report.campaign import CampaignPage, CampaignRow, campaign_page
    from dynid.writers.report.trajectory import trajectory_report

MODULES = (
    "page",
    "drawing",
    "charts",
    "friction_charts",
    "link_charts",
    "tables",
    "identification",
    "validation",
    "reverse",
    "retrieval",
    "friction",
    "trajectory",
    "tracking",
    "campaign",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "CampaignPage",
    "CampaignRow",
    "Figure",
    "Report",
    "Section",
    "Table",
    "Tile",
    "campaign_page",
    "identification_report",
    "trajectory_report",
]

# The pages of other jobs than an identification.
__getattr__ = lazy_names(
    __name__,
    {
        "dynid.writers.report.campaign": ("CampaignPage", "CampaignRow", "campaign_page"),
        "dynid.writers.report.trajectory": ("trajectory_report",),
    },
)
