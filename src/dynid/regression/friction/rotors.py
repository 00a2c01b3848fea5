"""Whether the joints have rotor inertias, by what they gain on left-out segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float

__all__ = ["RotorChoice", "rotor_choice"]

ROTOR_GAIN = 0.05
"""Share of the error on left-out segments that rotor inertias must take away. In logs of motor torques they take 7 to
44 %, of joint torque sensors, which do not feel them, 6 % at most, mostly less than 3 %."""


@dataclass(frozen=True)
class RotorChoice:
    """Whether every joint has a rotor inertia, and what that changes."""

    taken: bool
    change_percent: float
    """Error on left-out segments with rotors over that without, less one, %; joints are weighted by their noise."""

    @property
    def reason(self) -> str:
        """The choice as a sentence."""
        said = f"error on left-out segments {self.change_percent:+.1f} %, joints weighted by their noise"
        if self.taken:
            return f"rotor inertia at every joint: {said}"
        return f"no rotor inertia: with one at every joint the {said}"


def rotor_choice(
    without: Float[Array, " n_folds"], rotors: Float[Array, " n_folds"], *, simulated: bool
) -> RotorChoice:
    """The choice by the squared error of each left-out fold without and with rotors, in units of the noise.

    Every drive has a rotor, and a gear that magnifies it; a torque sensor behind the gear does not feel it. So rotors
    must predict torque better by far; but an arm that is to be `simulated` has them unless they surely do worse.
    """
    gain, before = without - rotors, float(without.sum())
    spread = float(np.std(gain, ddof=1)) * np.sqrt(len(gain))
    change = 100.0 * (np.sqrt(float(rotors.sum()) / before) - 1.0) if before > 0.0 else 0.0
    better = gain.sum() > spread and change <= -100.0 * ROTOR_GAIN
    return RotorChoice(bool(better or (simulated and gain.sum() >= -spread)), float(change))
