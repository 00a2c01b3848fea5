"""SimulatorError: how far rollouts of one log are off, beside noise, robot file and constant velocity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float

__all__ = ["SimulatorError"]

NOISE_EXPLAINS = 1.5
"""Error over that of noise alone up to which noise explains it: noise was drawn once more, and two draws differ."""


@dataclass(frozen=True, eq=False)
class SimulatorError:
    """Errors of rollouts of one log, by joint where they are open-loop ones; empty, or nan, where there are none."""

    log: str
    seen: bool
    """Whether the model was fitted to it."""
    unit: str
    """mrad or mm, for people; the numbers are rad or m."""
    seconds: float
    """Length of the open-loop windows, s."""
    own: Float[Array, " n_joints"]
    """RMS error of the model, rad or m."""
    floor: Float[Array, " n_joints"]
    """What the noise of the log alone explains."""
    coasting: Float[Array, " n_joints"]
    """What is left where every joint goes on as fast as at the start of its window."""
    nominal: Float[Array, " n_joints"]
    """Of the robot file; empty where it cannot be simulated."""
    share_percent: float = np.nan
    """Closed loop: error over the real tracking error, all joints together, %."""
    nominal_share_percent: float = np.nan
    """The same of the robot file."""

    @property
    def has_open_loop(self) -> bool:
        """Whether torque was measured, and could drive windows."""
        return len(self.own) > 0

    @property
    def left(self) -> float:
        """What the model leaves of the error of constant velocity, RMS over joints: no joint's size decides alone."""
        if not self.has_open_loop:
            return np.nan
        ratio = np.divide(self.own, self.coasting, out=np.zeros(len(self.own)), where=self.coasting > 0.0)
        return float(np.sqrt(np.mean(np.minimum(ratio, 1e6) ** 2)))

    @property
    def is_noise(self) -> bool:
        """Whether noise of the log explains the error of every joint, so that nothing can be said against the model."""
        return self.has_open_loop and bool(np.all(self.own <= NOISE_EXPLAINS * self.floor))

    @property
    def beaten(self) -> bool:
        """Whether the robot file simulates the log better, open loop or, without torque, closed loop."""
        if self.has_open_loop:
            return len(self.nominal) > 0 and not _all(self.own) <= _all(self.nominal)
        return self.share_percent > self.nominal_share_percent

    def __str__(self) -> str:
        told = []
        if self.has_open_loop:
            beside = [("noise alone", self.floor), ("constant velocity", self.coasting)]
            beside += [("robot file", self.nominal)] if len(self.nominal) else []
            numbers = ", ".join(f"{name} {_milli(_all(values))}" for name, values in beside)
            told.append(f"{_milli(_all(self.own))} {self.unit} in {self.seconds:g} s ({numbers})")
        if np.isfinite(self.share_percent):
            robot = (
                f" (robot file {self.nominal_share_percent:.3g} %)" if np.isfinite(self.nominal_share_percent) else ""
            )
            told.append(f"closed loop {self.share_percent:.3g} % of the tracking error{robot}")
        return "; ".join(told)


def _all(values: Array) -> float:
    """RMS over joints."""
    return float(np.sqrt(np.mean(np.asarray(values) ** 2)))


def _milli(value: float) -> str:
    return f"{1e3 * value:.3g}" if np.isfinite(value) else "ran away"
