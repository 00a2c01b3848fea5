"""ModelRollout: models simulated forward beside what the robot did, as a value that prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from dynid.arrays import Array
from dynid.prose import Document, Grid, Line, PrintsAsDocument
from dynid.validation.rollout import ClosedLoop, OpenLoop
from dynid.validation.simulator import SimulatorError

__all__ = ["COASTING", "NOMINAL", "ModelRollout", "ModelRolloutJson", "RolledModel"]

NOMINAL = "robot file"
"""What the nominal model is called."""
COASTING = "constant velocity"
"""What the prediction is called that needs no model: every joint goes on as fast as at the start of its window."""


class WindowJson(TypedDict):
    """Windows of one length: by joint, rad or m."""

    seconds: float
    rms: list[float]
    end: list[float]
    floor: list[float]
    tool_mm: float


class ClosedLoopJson(TypedDict):
    """The whole log under its controller: by joint, rad or m."""

    rms: list[float]
    tracking_error: list[float]
    share_percent: float
    tool_mm: float


class RolledModelJson(TypedDict):
    """One model, simulated."""

    model: str
    windows: list[WindowJson]
    closed_loop: ClosedLoopJson | None
    divergence_s: float


class ModelRolloutJson(TypedDict):
    """All that `rollout` tells; the first keys are of the first model."""

    robot: str
    log: str
    windows: list[WindowJson]
    closed_loop: ClosedLoopJson | None
    divergence_s: float
    models: list[RolledModelJson]
    constant_velocity: list[WindowJson]
    """What is left where every joint goes on as fast as at the start; empty without an open loop."""


@dataclass(frozen=True, eq=False)
class RolledModel:
    """One model, simulated."""

    name: str
    """Its file, or what it is called."""
    open_loop: OpenLoop | None
    """None for a log without torque."""
    closed_loop: ClosedLoop | None
    """None without a controller."""

    def json(self, horizons: Sequence[float]) -> RolledModelJson:
        """What scripts read of it (SI, mm, %)."""
        return {
            "model": self.name,
            "windows": [] if self.open_loop is None else [_window_json(self.open_loop, s) for s in horizons],
            "closed_loop": None if self.closed_loop is None else _closed_json(self.closed_loop),
            "divergence_s": np.nan if self.open_loop is None else self.open_loop.divergence,
        }


@dataclass(frozen=True, eq=False)
class ModelRollout(PrintsAsDocument):
    """The result of `dynid.rollout`: one or more models beside the real motion, and the nominal robot file."""

    log: str
    robot: str
    unit: str
    """mrad, or mm where the joints slide; mrad or mm where there are both."""
    horizons: tuple[float, ...]
    """Lengths of the windows in s."""
    models: tuple[RolledModel, ...]
    """The first model in question first, the robot file last."""
    warnings: tuple[str, ...] = ()
    coasting: OpenLoop | None = None
    """Every joint going on as fast as at the start of its window: what a prediction without any model is worth."""

    @property
    def nominal(self) -> RolledModel | None:
        """The robot file; None where it cannot be simulated."""
        return self.models[-1] if self.models[-1].name == NOMINAL else None

    def error(self, *, seen: bool) -> SimulatorError:
        """What the first model is judged by (rad or m, %); `seen` where it was fitted to this log."""
        first, nominal, none = self.models[0], self.nominal, np.zeros(0)
        opened, other = first.open_loop, None if nominal is None else nominal.open_loop
        loops = [None if model is None else model.closed_loop for model in (first, nominal)]
        own, robot = (np.nan if loop is None else loop.share_percent for loop in loops)
        return SimulatorError(
            self.log, seen, self.unit, self.seconds,
            own=none if opened is None else opened.rms(self.seconds),
            floor=none if opened is None else opened.noise(self.seconds),
            coasting=none if self.coasting is None else self.coasting.rms(self.seconds),
            nominal=none if other is None else other.rms(self.seconds),
            share_percent=own,
            nominal_share_percent=robot,
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        """The horizon in s that is quoted: the second, where there are several."""
        return self.horizons[min(1, len(self.horizons) - 1)]

    def json(self) -> ModelRolloutJson:
        """What scripts read of it (SI, mm, %)."""
        first = self.models[0].json(self.horizons)
        return {
            "robot": self.robot,
            "log": self.log,
            "windows": first["windows"],
            "closed_loop": first["closed_loop"],
            "divergence_s": first["divergence_s"],
            "models": [model.json(self.horizons) for model in self.models],
            "constant_velocity": []
            if self.coasting is None
            else [_window_json(self.coasting, seconds) for seconds in self.horizons],
        }

    def document(self) -> Document:
        """The comparison from top to bottom, as the terminal shows it."""
        parts: list[Line | Grid] = [Line("robot", self.robot), Line("log", self.log)]
        rolled = [(model.name, model.open_loop) for model in self.models if model.open_loop is not None]
        if rolled:
            names = rolled[0][1].joint_names
            told = f"{len(rolled[0][1].starts)} windows from measured states, measured torque; RMS / {self.unit}"
            parts.append(Line("open loop", told))
            rows = []
            beside = [] if self.coasting is None else [(COASTING, self.coasting)]
            for seconds in self.horizons:
                for name, found in (*rolled, *beside):
                    rms, end, tool = found.rms(seconds), found.end(seconds), found.tool_end(seconds)
                    rows.append((f"{seconds:g} s", name, *map(_milli, (_all(rms), _all(end), tool, *rms.tolist()))))
                noise = rolled[0][1].noise(seconds)
                rows.append((f"{seconds:g} s", "noise alone", _milli(_all(noise)), "", "", *(_milli(x) for x in noise)))
            headers = ("window", "model", "rms", "at end", "tool / mm", *names)
            parts.append(Grid(headers, tuple(rows), tuple(range(2, len(headers)))))
            ends = ", ".join(f"{name} {_time(found.divergence)}" for name, found in rolled)
            parts.append(Line("diverges", f"{ends} (a joint off by a tenth of its travel, median)"))
            turns = ", ".join(f"{name} {_turn(found)}" for name, found in rolled)
            parts.append(Line("reversals", f"velocity error after a joint turns, over that elsewhere: {turns}"))
        loops = [(model.name, model.closed_loop) for model in self.models if model.closed_loop is not None]
        if loops:
            parts.append(Line("closed loop", f"whole log, simulated minus measured; RMS / {self.unit}"))
            rows = [
                (name, _milli(_all(loop.rms)), f"{loop.share_percent:.2f}", _milli(loop.tool), *map(_milli, loop.rms))
                for name, loop in loops
            ]
            names = loops[0][1].joint_names
            headers = ("model", "rms", "% of tracking error", "tool / mm", *names)
            parts.append(Grid(headers, tuple(rows), tuple(range(1, len(headers)))))
        return tuple(parts)

    def __repr__(self) -> str:
        first = self.models[0]
        if first.open_loop is not None:
            told = f"{_milli(_all(first.open_loop.rms(self.seconds)))} {self.unit} in {self.seconds:g} s"
        else:
            told = "" if first.closed_loop is None else f"{first.closed_loop.share_percent:.2f} % of the tracking error"
        return f"ModelRollout({self.robot!r}: {first.name} {told})"


def _all(values: Array) -> float:
    """RMS over joints."""
    return float(np.sqrt(np.mean(np.asarray(values) ** 2)))


def _milli(value: float) -> str:
    return f"{1e3 * value:.3g}" if np.isfinite(value) else "ran away"


def _time(seconds: float) -> str:
    return f"after {seconds:.2g} s" if np.isfinite(seconds) else "not within 5 s"


def _turn(found: OpenLoop) -> str:
    near, away = (
        float(np.sqrt(np.nanmean(row**2))) if np.any(np.isfinite(row)) else np.nan for row in found.near_reversal
    )
    return f"×{near / away:.2g}" if away > 0.0 and np.isfinite(near) else "no reversal"


def _window_json(found: OpenLoop, seconds: float) -> WindowJson:
    return {
        "seconds": seconds,
        "rms": found.rms(seconds).tolist(),
        "end": found.end(seconds).tolist(),
        "floor": found.noise(seconds).tolist(),
        "tool_mm": 1e3 * found.tool_end(seconds),
    }


def _closed_json(loop: ClosedLoop) -> ClosedLoopJson:
    return {
        "rms": loop.rms.tolist(),
        "tracking_error": loop.tracking.tolist(),
        "share_percent": loop.share_percent,
        "tool_mm": 1e3 * loop.tool,
    }
