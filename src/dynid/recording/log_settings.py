"""How logs of one robot are read and conditioned: what a model remembers, and applies to every later log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.drives import Drives
from dynid.errors import RecordingError
from dynid.recording.column_map import ColumnMap
from dynid.recording.conditioning import Conditioning, Plan, Samples
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording

__all__ = ["LogSettings"]

TYPED_GAIN_STD = 0.02
"""Relative σ of drive gains that were typed and of which nothing else is said: those of data sheets and controllers are
off by 1.6 to 3 % (a UR10e with a known load)."""
SENSOR_STD = 0.005
"""Relative σ of the scale of joint torque sensors of which nothing is said: what strain gauges are calibrated to."""
ASSUMED_GAINS = f"{100 * TYPED_GAIN_STD:g} % assumed of drive gains that were given"
ASSUMED_SENSORS = f"{100 * SENSOR_STD:g} % assumed of torque sensors"
LEAST_LEFT = 1.25
"""Length of a log over what a remembered low-pass uses up, at least."""
WIDEST_CUTOFF = 0.4
"""Cut-off of a low-pass over the sampling rate, at most; its stop band begins at 4/3 of it, the Nyquist frequency at
0.5."""


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """Names, units, signs, drive gains, low-pass and delay of the logs of one robot; None where nothing is said."""

    columns: ColumnMap | None = None
    """What the log calls its columns, with units, signs and gear ratios."""
    gains: tuple[float, ...] | None = None
    """Joint torque per motor current, N·m/A (N/A for a prismatic joint), for logs of motor current."""
    cutoff_hz: float | None = None
    """Low-pass on torque and regressor, Hz; None chooses it from the log."""
    delay: float | None = None
    """Time in s by which the torque stamps lag behind the position stamps; None for none."""
    gain_covariance: tuple[tuple[float, ...], ...] | None = None
    """Relative covariance of the gains, or of the scale of torque sensors; a single number is of each joint alone; None
    where nothing is said of it."""
    gain_source: str = ""
    """Where that comes from: typed, identified, or assumed."""
    remembered_gains: bool = False
    """Whether the gains are those of a model rather than asked for: a log with torques then keeps its own."""

    def __post_init__(self) -> None:
        if self.gains is not None and not all(np.isfinite(gain) and gain != 0.0 for gain in self.gains):
            raise RecordingError(f"gains {self.gains}: every gain must be finite and not zero, in N·m/A")

    def over(self, remembered: LogSettings) -> LogSettings:
        """These settings, and what they do not say as `remembered` has it."""
        said = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "remembered_gains"}
        known = {name: value for name, value in said.items() if value is not None and value != ""}
        return replace(remembered, **known, remembered_gains=self.gains is None and remembered.gains is not None)

    def with_torque(self, recording: Recording, robot: Robot) -> Recording:
        """A recording with joint torque (N·m or N): its own, or motor current times drive gain.

        Where joints of `robot` are coupled, currents give torques of motors first. Logged torques are of joints, but
        with gains (1 for torques in N·m) they are those of the motors behind their gears.

        Raises:
            RecordingError: currents without gains, gains without currents, or both torque and current to choose from.
        """
        if self._keeps_torque(recording, robot):
            if recording.tau is None and recording.current is not None:
                raise RecordingError(
                    f"{recording.source}: holds motor currents and no torques; give the drive gains (`gains`, N·m/A)"
                )
            return recording
        return replace(recording, tau=self._torque(recording, robot))

    def with_raw_torque(self, log: RawLog, robot: Robot) -> RawLog:
        """The same for a raw log; without gains it stays as it is."""
        if self._keeps_torque(log, robot):
            return log
        return replace(log, tau=self._torque(log, robot))

    def aligned(self, recording: Recording) -> Recording:
        """A recording whose torque (N·m or N) stands at the motion it belongs to: its delay is undone."""
        if not self.delay or recording.tau is None:
            return recording
        t = recording.t - self.delay
        return replace(
            recording, tau=np.column_stack([np.interp(recording.t, t, column) for column in recording.tau.T])
        )

    def plan(self, recording: Recording, *, min_velocity: float = 0.0) -> Plan:
        """The conditioning of a log; what is not set here is chosen from it.

        Args:
            recording: the log, or the first segment of one that is streamed.
            min_velocity: rows of a joint slower than this (rad/s or m/s) are masked.
        """
        chosen = Conditioning(cutoff_hz=self.cutoff_hz, min_velocity=min_velocity, delay=self.delay or 0.0)
        return chosen.plan(recording)

    def condition(self, recording: Recording) -> Samples:
        """Samples of a recording with torque (N·m or N), conditioned as these settings say.

        The low-pass of a log that was sampled more slowly than these settings were made for is as wide as it can be; a
        log that it would use up is conditioned by itself.
        """
        cutoff = self.cutoff_hz
        if cutoff is not None:
            # No low-pass is what a log without a row to spare got; it says nothing of the next one.
            cutoff = min(cutoff, WIDEST_CUTOFF * recording.rate_hz) if np.isfinite(cutoff) else None
        plan = replace(self, cutoff_hz=cutoff).plan(recording)
        if recording.duration <= LEAST_LEFT * 2.0 * plan.margin:
            plan = replace(self, cutoff_hz=None).plan(recording)
        return plan.apply(recording)

    def stored(self) -> dict[str, object]:
        """The settings as JSON holds them (SI); `restored` reads them back."""
        columns = None if self.columns is None else self.columns.model_dump(mode="json", exclude_defaults=True)
        gains = None if self.gains is None else list(self.gains)
        cutoff = self.cutoff_hz if self.cutoff_hz is None or np.isfinite(self.cutoff_hz) else None
        covariance = None if self.gain_covariance is None else [list(row) for row in self.gain_covariance]
        return {
            "columns": columns,
            "gains": gains,
            "gain_covariance": covariance,
            "gain_source": self.gain_source,
            "cutoff_hz": cutoff,
            "delay": self.delay,
        }

    def scales(self, n_dof: int) -> tuple[Float[Array, "n_dof n_dof"], str]:
        """Relative covariance of the scale of each joint's torque, and where it comes from.

        Raises:
            RecordingError: for a number of joints that it is not of.
        """
        if self.gain_covariance is None:
            std, source = (TYPED_GAIN_STD, ASSUMED_GAINS) if self.gains is not None else (SENSOR_STD, ASSUMED_SENSORS)
            return np.diag(np.full(n_dof, std**2)), source
        known = np.array(self.gain_covariance, dtype=float)
        if known.shape == (1, 1):
            return known[0, 0] * np.eye(n_dof), self.gain_source
        if known.shape != (n_dof, n_dof):
            raise RecordingError(f"`gain_std` has {len(known)} numbers for {n_dof} joints; give one, or one for each")
        return known, self.gain_source

    @classmethod
    def restored(cls, content: Mapping[str, Any]) -> LogSettings:
        """The settings (SI) of what `stored` gave.

        Raises:
            ValueError: naming what is wrong.
        """
        columns, gains = content.get("columns"), content.get("gains")
        try:
            known = None if columns is None else ColumnMap.model_validate(columns)
        except ValidationError as error:
            raise ValueError(f"its column map is damaged: {error.errors()[0]['msg']}") from error
        if known is not None:
            known._source = "column map of the model"
        return cls(
            columns=known,
            gains=None if gains is None else tuple(_number(gain, "gains") for gain in gains),
            gain_covariance=_square(content.get("gain_covariance")),
            gain_source=str(content.get("gain_source") or ""),
            cutoff_hz=_optional(content.get("cutoff_hz"), "cutoff_hz"),
            delay=_optional(content.get("delay"), "delay"),
        )

    def _keeps_torque(self, log: Recording | RawLog, robot: Robot) -> bool:
        """Whether the torque of a log is its own; a model of motor torques (gains of 1) has remembered that."""
        if self.gains is None:
            return True
        of_motors = robot.transmission is not None and log.current is None and set(self.gains) == {1.0}
        return self.remembered_gains and log.tau is not None and not of_motors

    def _torque(self, log: Recording | RawLog, robot: Robot) -> Float[Array, "n_samples n_dof"]:
        assert self.gains is not None
        if len(self.gains) != robot.n_dof:
            raise RecordingError(f"`gains` has {len(self.gains)} numbers, but {robot.name} has {robot.n_dof} joints")
        drives = Drives(np.array(self.gains), transmission=robot.transmission)
        if log.current is None and log.tau is not None and robot.transmission is not None:
            return drives.joint_torque(log.tau)
        if log.current is None:
            raise RecordingError(
                f"{log.source}: drive gains (`gains`) are given but the log has no currents i1…i{robot.n_dof}"
            )
        if log.tau is not None:
            raise RecordingError(
                f"{log.source}: has torques and currents; leave the drive gains (`gains`) out to use the torques, "
                "or map the torque columns away to use the currents"
            )
        return drives.joint_torque(log.current)


def _square(value: object) -> tuple[tuple[float, ...], ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or any(not isinstance(row, list) or len(row) != len(value) for row in value):
        raise ValueError("gain_covariance: expected a square matrix")
    return tuple(tuple(_number(item, "gain_covariance") for item in row) for row in value)


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: expected a number, found {type(value).__name__}")
    return float(value)


def _optional(value: object, name: str) -> float | None:
    return None if value is None else _number(value, name)
