"""The overview of a campaign: one page with every run, its errors, and the way to its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from dynid.disk import write_whole
from dynid.writers.report.page import rendered

__all__ = ["CampaignPage", "CampaignRow", "campaign_page"]


@dataclass(frozen=True, kw_only=True)
class CampaignRow:
    """One run, as the overview tells it."""

    name: str
    robot: str
    status: str
    """done, weak (a result that is not good enough) or failed (no result)."""
    reason: str = ""
    estimator: str = ""
    condition_number: float | None = None
    """Of the fit, dimensionless; None where there is no result."""
    train_percent: float | None = None
    """Relative torque error on the logs of the fit, %."""
    worst_percent: float | None = None
    """Largest relative torque error on a log that was not used in the fit, %; None without one."""
    consistent: bool | None = None
    """Whether the parameters are physically consistent."""
    warnings: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """What was written, relative to the page."""

    @property
    def cells(self) -> tuple[str, ...]:
        """Run, robot, status, errors in %, whether it is physically consistent, and why it is not good."""
        return (
            self.name,
            self.robot,
            self.status,
            _number(self.train_percent),
            _number(self.worst_percent),
            "" if self.consistent is None else "yes" if self.consistent else "no",
            self.reason,
        )

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Words and addresses of the files, every odd character of a name escaped."""
        return tuple((kind, quote(path)) for kind, path in self.files.items())

    @property
    def bar(self) -> float:
        """Length of the error bar in % of its cell: full at an error of 20 %."""
        worst = self.train_percent if self.worst_percent is None else self.worst_percent
        return 0.0 if worst is None else min(100.0, 5.0 * max(worst, 0.0))


@dataclass(frozen=True)
class CampaignPage:
    """The page, ready to be written."""

    title: str
    rows: tuple[CampaignRow, ...]

    @property
    def verdict(self) -> str:
        """One sentence for a hurried reader."""
        counts = [(sum(row.status == status for row in self.rows), word) for status, word in _WORDS.items()]
        return f"{len(self.rows)} runs: " + ", ".join(f"{count} {word}" for count, word in counts if count) + "."

    def html(self) -> str:
        """The page as one string, every text escaped, without any address to load from."""
        return rendered("campaign.html", page=self)

    def write(self, path: Path) -> None:
        """Write the page whole or not at all."""
        write_whole(path, self.html())


_WORDS = {"done": "good", "weak": "with a result that is not good enough", "failed": "without a result"}
"""What a status means."""


def campaign_page(title: str, rows: Sequence[CampaignRow]) -> CampaignPage:
    """The overview of some runs (errors in %), in their order."""
    return CampaignPage(title, tuple(rows))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
