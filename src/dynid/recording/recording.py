"""A recording: what was measured on a robot, as logged; nothing is filtered yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dynid.arrays import Array, ArrayLike, Bool, Float, readonly
from dynid.errors import RecordingError, WrongType
from dynid.prose import Grid, PrintsAsTable, counted
from dynid.recording.repairs import LogRepair

__all__ = ["JOINT_SIGNALS", "WRENCH_AXES", "WRENCH_SIGNALS", "Intervals", "Recording", "measurable"]

JOINT_SIGNALS = ("q", "dq", "ddq", "tau", "current")
"""Fields of a recording with one column per joint: rad or m, per s, per s², N·m or N, A."""
WRENCH_SIGNALS = ("base_wrench", "tool_wrench")
"""Fields of a recording with one column per axis of `WRENCH_AXES`, in N and N·m."""
WRENCH_AXES = ("fx", "fy", "fz", "mx", "my", "mz")
"""The axes of a wrench: forces in N, then moments in N·m."""
LARGEST = 1e50
"""Numbers beyond this, in any unit, are damage rather than measurements; their squares and products would overflow."""


def measurable(values: Float[Array, "*shape"]) -> Bool[Array, "*shape"]:
    """Which values (any unit) can have been measured: numbers, and none beyond all reason."""
    return np.abs(values) <= LARGEST


class Intervals(NamedTuple):
    """Time between neighbouring samples, in s; nan where there is only one sample."""

    shortest: float
    median: float
    longest: float


@dataclass(frozen=True, eq=False)
class Recording(PrintsAsTable):
    """Joint measurements of one run, as logged: finite numbers at strictly increasing times.

    With `holes`, single values may be missing (nan), as a filter takes them sample by sample.
    """

    joint_names: tuple[str, ...]
    """The joints of the columns, in the robot's order."""
    t: Float[Array, " n_samples"]
    """Time stamps in s on the clock of the log, strictly increasing."""
    q: Float[Array, "n_samples n_dof"]
    """Positions in rad or m."""
    dq: Float[Array, "n_samples n_dof"] | None = None
    """Velocities in rad/s or m/s; None where the log has none."""
    ddq: Float[Array, "n_samples n_dof"] | None = None
    """Accelerations in rad/s² or m/s²; None where the log has none."""
    tau: Float[Array, "n_samples n_dof"] | None = None
    """Efforts at the joint in N·m (revolute) or N (prismatic); None where the log has none."""
    current: Float[Array, "n_samples n_dof"] | None = None
    """Motor currents in A; None where the log has none."""
    base_wrench: Float[Array, "n_samples 6"] | None = None
    """Force in N and moment in N·m under the base, order `WRENCH_AXES`; None where the log has none."""
    tool_wrench: Float[Array, "n_samples 6"] | None = None
    """Force in N and moment in N·m at the tool, order `WRENCH_AXES`; None where the log has none."""
    source: str = "memory"
    """The file the samples come from."""
    first_sample: int = 0
    """Where the first sample here stands in the source, counted from 0."""
    n_skipped: int = 0
    """Messages of a bag left out because they lacked a joint, a signal or the wrench."""
    holes: bool = False
    """Whether values may be missing, as nan: tracking leaves out what needs them, a fit takes `complete`."""
    repairs: tuple[LogRepair, ...] = ()
    """What was wrong with its rows or stamps, and was put right so that it can be followed."""

    def __post_init__(self) -> None:
        if isinstance(self.joint_names, str) or not isinstance(self.joint_names, Iterable):
            raise WrongType("joint_names", "a sequence of names, as robot.joint_names", self.joint_names)
        object.__setattr__(self, "joint_names", tuple(self.joint_names))
        for name in ("t", *self.signals):
            object.__setattr__(self, name, _numbers(name, getattr(self, name)))
        self._check_shapes()
        self._check_finite()
        self._check_increasing()

    def __repr__(self) -> str:
        rate = f" at {self.rate_hz:.4g} Hz" if self.n_samples > 1 else ""
        size = f"{counted(self.n_samples, 'sample')}, {self.duration:.4g} s{rate}"
        return f"Recording({self.source!r}: {size}; {', '.join(self.signals)} of {counted(self.n_dof, 'joint')})"

    def _table(self) -> Grid:
        rows = []
        for name in self.signals:
            owners = self.joint_names if name in JOINT_SIGNALS else WRENCH_AXES
            for owner, values in zip(owners, getattr(self, name).T, strict=True):
                known = values[np.isfinite(values)]
                if not len(known):
                    rows.append((f"{name} {owner}", "", "", "missing"))
                    continue
                rms = np.sqrt(np.mean(known**2))
                rows.append((f"{name} {owner}", f"{known.min():.4g}", f"{known.max():.4g}", f"{rms:.4g}"))
        return Grid(("signal (SI)", "smallest", "largest", "RMS"), rows, (1, 2, 3))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def signals(self) -> tuple[str, ...]:
        """The fields beside `t` that this log has, in the order of the class."""
        return tuple(name for name in (*JOINT_SIGNALS, *WRENCH_SIGNALS) if getattr(self, name) is not None)

    @property
    def duration(self) -> float:
        """Time from the first to the last sample, in s."""
        return float(self.t[-1] - self.t[0])

    @property
    def jitter(self) -> Intervals:
        """Shortest, median and longest time between neighbouring samples, in s."""
        if self.n_samples < 2:
            return Intervals(np.nan, np.nan, np.nan)
        steps = np.diff(self.t)
        return Intervals(float(steps.min()), float(np.median(steps)), float(steps.max()))

    @property
    def rate_hz(self) -> float:
        """Samples per second, from the median interval; nan where there is only one sample."""
        return 1.0 / self.jitter.median

    def part(self, t_from: float | None = None, t_until: float | None = None) -> Recording:
        """The samples with ``t_from <= t < t_until``, in s on the clock of the log; None is its start or its end.

        Raises:
            RecordingError: where no sample is left, saying what the log covers.
        """
        check_part(t_from, t_until)
        start = 0 if t_from is None else int(np.searchsorted(self.t, t_from, side="left"))
        stop = self.n_samples if t_until is None else int(np.searchsorted(self.t, t_until, side="left"))
        if start >= stop:
            raise part_error(self.source, t_from, t_until, float(self.t[0]), float(self.t[-1]))
        cut = {name: getattr(self, name)[start:stop] for name in ("t", *self.signals)}
        return replace(self, **cut, first_sample=self.first_sample + start)

    def complete(self) -> Recording:
        """The samples in which every value was measured (SI), as a recording without holes.

        Raises:
            RecordingError: where there is none.
        """
        if not self.holes:
            return self
        kept = np.full(self.n_samples, True)
        for name in self.signals:
            kept &= np.isfinite(getattr(self, name)).all(axis=1)
        if not np.any(kept):
            raise RecordingError(f"{self.source}: no sample in which every value was measured; check its columns")
        cut = {name: getattr(self, name)[kept] for name in ("t", *self.signals)}
        return replace(self, **cut, holes=False)

    @classmethod
    def concatenated(cls, parts: Iterable[Recording]) -> Recording:
        """One recording of parts that follow one another in time, such as the chunks of a stream.

        Raises:
            RecordingError: where joints or signals differ, or time does not go on.
        """
        pieces = list(parts)
        if not pieces:
            raise RecordingError("nothing to join: give at least one recording")
        first = pieces[0]
        for piece in pieces[1:]:
            if piece.joint_names != first.joint_names or piece.signals != first.signals:
                raise RecordingError(
                    f"{piece.source} does not continue {first.source}: it has {', '.join(piece.signals)} of joints "
                    f"{', '.join(piece.joint_names)}, not {', '.join(first.signals)} of {', '.join(first.joint_names)}"
                )
        if len(pieces) == 1:
            return first
        joined: dict[str, Any] = {"n_skipped": sum(piece.n_skipped for piece in pieces)}
        joined["holes"] = any(piece.holes for piece in pieces)
        for name in ("t", *first.signals):
            joined[name] = np.concatenate([getattr(piece, name) for piece in pieces])
        return replace(first, **joined)

    def _check_shapes(self) -> None:
        if not self.joint_names:
            raise RecordingError(f"{self.source}: a recording needs at least one joint")
        if len(set(self.joint_names)) != len(self.joint_names):
            raise RecordingError(f"{self.source}: a joint is named twice: {', '.join(self.joint_names)}")
        if np.ndim(self.t) != 1:
            raise RecordingError(f"{self.source}: t must have shape (n_samples,), got {np.shape(self.t)}")
        n_samples = len(self.t)
        if n_samples == 0:
            raise RecordingError(f"{self.source}: holds no samples; check that the log was written to its end")
        for name in self.signals:
            n_columns = len(WRENCH_AXES) if name in WRENCH_SIGNALS else len(self.joint_names)
            shape = np.shape(getattr(self, name))
            if shape != (n_samples, n_columns):
                raise RecordingError(
                    f"{self.source}: {name} has shape {shape}, not {(n_samples, n_columns)}: "
                    f"{n_samples} time stamps and the joints {', '.join(self.joint_names)}"
                )

    def _check_finite(self) -> None:
        for name in ("t", *self.signals):
            values = getattr(self, name)
            bad = ~measurable(values)
            if self.holes and name != "t":
                bad &= ~np.isnan(values)
            if not np.any(bad):
                continue
            wrong = np.argwhere(bad)
            k = int(wrong[0][0])
            where = ""
            if name != "t":
                axis = int(wrong[0][1])
                where = f" of joint {self.joint_names[axis]!r}" if name in JOINT_SIGNALS else f" ({WRENCH_AXES[axis]})"
            more = f", the first of {len(wrong)} such values" if len(wrong) > 1 else ""
            raise RecordingError(
                f"{self.source}: {name}{where} is {values[tuple(wrong[0])]} at sample {self.first_sample + k}{more}; "
                "delete that sample, fill it in from its neighbours, or say holes=True (nan where a value is missing)"
            )

    def _check_increasing(self) -> None:
        steps = np.diff(self.t)
        if len(steps) and steps.min() <= 0.0:
            k = int(np.argmax(steps <= 0.0))
            raise time_error(self.source, self.first_sample + k, float(self.t[k]), float(self.t[k + 1]))


def _numbers(name: str, values: ArrayLike) -> Float[Array, "..."]:
    try:
        return readonly(values)
    except (TypeError, ValueError) as error:
        shape = "(n_samples,)" if name == "t" else "(n_samples, 6)" if name in WRENCH_SIGNALS else "(n_samples, n_dof)"
        raise WrongType(name, f"an array of numbers of shape {shape}", values) from error


def check_part(t_from: float | None, t_until: float | None) -> None:
    """Refuse a part of a log (s) that begins or ends at no time.

    Raises:
        RecordingError: for a start or an end that is not a number.
    """
    for name, value in (("from_", t_from), ("until", t_until)):
        if value is not None and np.isnan(value):
            raise RecordingError(f"`{name}` {value:g}: give a time in s on the clock of the log")


def part_error(source: str, t_from: float | None, t_until: float | None, start: float, end: float) -> RecordingError:
    """No sample of a log that covers `start` to `end` (s) lies in the part that was asked for."""
    asked = f"from {'its start' if t_from is None else f'{t_from:g} s'} "
    asked += f"until {'its end' if t_until is None else f'{t_until:g} s'}"
    return RecordingError(f"{source}: no sample {asked}; the log covers {start:.6f} s to {end:.6f} s")


def time_error(source: str, sample: int, before: float, after: float) -> RecordingError:
    """The error for time (s) that stands still or runs backwards after `sample`."""
    return RecordingError(
        f"{source}: time does not increase after sample {sample} ({before:.6f} s then {after:.6f} s); "
        "sort the rows or drop the repeated ones"
    )
