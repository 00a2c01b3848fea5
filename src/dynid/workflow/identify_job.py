"""Everything `identify` is asked for, as one frozen value that can be sent to a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.errors import ConfigError
from dynid.recording.column_map import ColumnMap
from dynid.recording.gains_file import is_gains_file
from dynid.recording.log_settings import LogSettings
from dynid.simulation.joint_controller import JointController
from dynid.workflow.doors import LogSource, RobotLike, RobotOptions, as_gains, as_map
from dynid.workflow.fit_options import FitOptions
from dynid.workflow.logs import Log
from dynid.workflow.torque_scales import GainStd, as_gain_settings

__all__ = ["IdentifyJob", "LogOptions", "picture_notes"]


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
    gain_std: str | None = None
    """Relative σ of gains, or of torque sensors: one number, or one for each joint; None for what is assumed."""

    @classmethod
    def of(
        cls,
        from_: float | None,
        until: float | None,
        columns: str | PathLike[str] | ColumnMap | None,
        gains: str | PathLike[str] | Sequence[float] | Array | None,
        lowpass: float | None,
        gain_std: GainStd | None = None,
    ) -> LogOptions:
        """As the jobs take them: a part in s, a map or its file, gains in N·m/A, a low-pass in Hz, a relative σ."""
        return cls(
            from_=from_,
            until=until,
            columns=Path(columns) if isinstance(columns, str | PathLike) else columns,
            gains=_text(gains),
            lowpass=lowpass,
            gain_std=gain_std if gain_std is None or isinstance(gain_std, str) else _listed(gain_std),
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """The mapping file and that of drive gains, where there are any."""
        gains = (Path(self.gains),) if is_gains_file(self.gains) else ()
        return (self.columns, *gains) if isinstance(self.columns, Path) else gains

    def settings(self, delay: float | None = None) -> LogSettings:
        """What a model remembers of them (SI); `delay` in s."""
        scales = as_gain_settings(self.gains, self.gain_std)
        return replace(scales, columns=as_map(self.columns), cutoff_hz=self.lowpass, delay=delay)


def _text(gains: str | PathLike[str] | Sequence[float] | Array | None) -> str | None:
    if gains is None or isinstance(gains, str):
        return gains
    return str(gains) if isinstance(gains, PathLike) else ",".join(map(repr, as_gains(gains) or ()))


def _listed(gain_std: float | Sequence[float] | Array) -> str:
    return ",".join(repr(float(value)) for value in np.atleast_1d(np.asarray(gain_std, dtype=float)))


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

    def __post_init__(self) -> None:
        if self.bootstrap < 0 or self.bootstrap == 1:
            raise ConfigError(f"`bootstrap` {self.bootstrap}: give the number of refits, at least 2, or 0 for none")

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the result depends on."""
        named = [*self.logs, *self.validate_on, self.log.columns, self.fit.bounds, *self.options.files]
        robot = [] if isinstance(self.robot, Robot) or not Path(self.robot).exists() else [Path(self.robot)]
        return (*robot, *(path for path in named if isinstance(path, Path)))


def picture_notes(job: IdentifyJob, logs: Sequence[Log]) -> tuple[str, ...]:
    """What of the data the pictures show."""
    name = Path(logs[0].name).name
    notes = []
    if logs[0].is_long:
        notes.append(
            f"{name} is long and was streamed: every row of it entered the fit, but the pictures, the table of "
            "joints and the error of the training log are of its first segment."
        )
    if len(logs) > 1:
        notes.append(
            f"{len(logs)} logs were fitted together; the pictures, the table of joints and the error of the training "
            f"log are of the first, {name}."
        )
    if job.raw:
        notes.append("Measured torque is shown unfiltered.")
    return tuple(notes)
