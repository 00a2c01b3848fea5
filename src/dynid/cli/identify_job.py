"""Everything `identify` was asked for, as one frozen value that can be sent to a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dynid.cli.fit_options import FitOptions
from dynid.cli.options import RobotOptions
from dynid.cli.pipeline import LogOptions
from dynid.dynamics import TorqueModel
from dynid.recording import Samples
from dynid.regression import Bootstrap, Estimate, IdentifiedModel, Regression
from dynid.review import Finding
from dynid.validation import Validation

__all__ = ["IdentifyJob", "Outcome"]


@dataclass(frozen=True, kw_only=True)
class IdentifyJob:
    """One identification: a robot, its logs and every option; the same job gives the same bytes everywhere."""

    robot: str
    """Built-in name or file."""
    logs: tuple[Path, ...]
    validate_on: tuple[Path, ...] = ()
    raw: bool = False
    force: bool = False
    seed: int = 0
    bootstrap: int = 0
    """Resampled fits; 0 for none."""
    fit: FitOptions = field(default_factory=FitOptions)
    log: LogOptions = field(default_factory=LogOptions)
    options: RobotOptions = field(default_factory=RobotOptions)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that the result depends on."""
        named = [self.log.columns, self.fit.bounds]
        robot = [Path(self.robot)] if Path(self.robot).exists() else []
        return (*robot, *self.logs, *self.validate_on, *(path for path in named if path is not None))


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an identification found, before anybody is told."""

    model: TorqueModel
    regression: Regression
    samples: Samples
    estimate: Estimate
    result: IdentifiedModel
    train: Validation
    held_out: list[Validation]
    resampled: Bootstrap | None
    findings: tuple[Finding, ...]
    """Of the doctor."""
    content: dict[str, object]
    """The JSON contract, with the files written."""
