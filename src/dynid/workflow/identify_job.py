"""Everything `identify` is asked for, as one frozen value that can be sent to a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.recording.column_map import ColumnMap
from dynid.recording.log_settings import LogSettings
from dynid.simulation.joint_controller import JointController
from dynid.workflow.doors import LogSource, RobotLike, RobotOptions, as_gains, as_map
from dynid.workflow.fit_options import FitOptions

__all__ = ["IdentifyJob", "LogOptions"]


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How to read and condition logs, as typed."""

    from_: float | None = None
    """Start of the part to use, s."""
    until: float | None = None
    """End of the part to use, s."""
    columns: Path | ColumnMap | None = None
    """Mapping file, or its content: names, units, signs and gear ratios."""
    gains: str | None = None
    """Drive gains K1,K2,… in N·m/A, for logs of motor current."""
    lowpass: float | None = None
    """Low-pass in Hz; None is ten times the motion's bandwidth."""

    @classmethod
    def of(
        cls,
        from_: float | None,
        until: float | None,
        columns: str | PathLike[str] | ColumnMap | None,
        gains: str | Sequence[float] | Array | None,
        lowpass: float | None,
    ) -> LogOptions:
        """As the jobs take them: a part in s, a map or its file, gains in N·m/A, a low-pass in Hz."""
        return cls(
            from_=from_,
            until=until,
            columns=Path(columns) if isinstance(columns, str | PathLike) else columns,
            gains=gains if gains is None or isinstance(gains, str) else ",".join(map(repr, as_gains(gains) or ())),
            lowpass=lowpass,
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """The mapping file, where there is one."""
        return (self.columns,) if isinstance(self.columns, Path) else ()

    def settings(self, delay: float | None = None) -> LogSettings:
        """What a model remembers of them (SI); `delay` in s."""
        return LogSettings(
            columns=as_map(self.columns), gains=as_gains(self.gains), cutoff_hz=self.lowpass, delay=delay
        )


@dataclass(frozen=True, kw_only=True)
class IdentifyJob:
    """One identification: a robot, its logs and every option; the same job gives the same bytes everywhere."""

    robot: RobotLike
    """Built-in name, file or `Robot`."""
    logs: tuple[LogSource, ...]
    """Training logs."""
    validate_on: tuple[LogSource, ...] = ()
    """Held-out logs."""
    raw: bool = False
    """Whether predictions are compared with the unfiltered torque."""
    force: bool = False
    """Whether to go on although a review of the logs found errors."""
    seed: int = 0
    bootstrap: int = 0
    """Number of bootstrap refits; 0 for none."""
    controller: Path | JointController | None = None
    """Controller that drove logs without torque."""
    reference: LogSource | None = None
    """What it was asked for, where the logs have no columns for it."""
    fit: FitOptions = field(default_factory=FitOptions)
    log: LogOptions = field(default_factory=LogOptions)
    options: RobotOptions = field(default_factory=RobotOptions)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the result depends on."""
        named = [*self.logs, *self.validate_on, self.log.columns, self.fit.bounds, *self.options.files]
        robot = [] if isinstance(self.robot, Robot) or not Path(self.robot).exists() else [Path(self.robot)]
        return (*robot, *(path for path in named if isinstance(path, Path)))
