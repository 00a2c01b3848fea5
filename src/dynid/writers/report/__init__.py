"""Reports: one HTML file each that opens offline, with pictures to look at and every text escaped."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.writers.report.campaign import CampaignPage as CampaignPage
    from dynid.writers.report.campaign import CampaignRow as CampaignRow
    from dynid.writers.report.campaign import campaign_page as campaign_page
    from dynid.writers.report.identification import identification_report as identification_report
    from dynid.writers.report.page import Figure as Figure
    from dynid.writers.report.page import Report as Report
    from dynid.writers.report.page import Section as Section
    from dynid.writers.report.page import Table as Table
    from dynid.writers.report.page import Tile as Tile
    from dynid.writers.report.trajectory import trajectory_report as trajectory_report

MODULES = (
    "page",
    "drawing",
    "animation",
    "charts",
    "friction_charts",
    "link_charts",
    "tables",
    "rollout",
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

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
