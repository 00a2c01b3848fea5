"""Torque that is stamped later or earlier than the motion."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dynid.dynamics.base_parameters import base_parameters
from dynid.dynamics.friction.table import friction_models
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Conditioning
from dynid.regression.auto_settings import estimated_delay
from dynid.review.checks.torque import SURE, is_read_rightly
from dynid.review.equations.changes import SPAN, lag_at, torque_lag
from dynid.review.equations.hypothesis import Hypothesis, fit_hypothesis
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look

__all__ = ["DelayedTorque", "find_delay"]

DELAYED = 1e-3
"""s: shorter delays change nothing."""
GAIN = 1.03
HARM = 1.3
"""RMS residual without over that with the delay (dimensionless) that is worth telling, and that does harm."""
N_TRIED = 21
"""Delays tried at once over the span, and again around the best: steps of 1 ms."""


@dataclass(frozen=True)
class DelayedTorque:
    """A shift of the torque against the motion."""

    seconds: float = number("s", normal=(-DELAYED, DELAYED))
    """Positive where the torque lags."""
    error: float = number("s")
    """Standard deviation."""
    gain: float = number("1", normal=(0.0, GAIN))
    """RMS residual without over that with the delay."""
    cause = "torque and position are stamped by different devices, or the torque was filtered before it was logged"

    @property
    def evidence(self) -> str:
        way = "lags behind" if self.seconds > 0.0 else "leads"
        return (
            f"torque {way} position by {1e3 * abs(self.seconds):.2f} ± {1e3 * self.error:.2f} ms; undoing it cuts the "
            f"residual {self.gain:.3g} times; below {1e3 * DELAYED:g} ms is normal"
        )

    @property
    def fix(self) -> str:
        return f"set delay = {self.seconds:.5f} s, or have it estimated"


def _of_the_fit(look: Look) -> float:
    """The delay in s that a fit of this log estimates by itself: one estimate, wherever it is told."""
    assert look.log is not None
    model = TorqueModel(look.robot, friction_models(look.friction))
    base = look.base if look.base is not None and look.base.columns == model.columns else base_parameters(model)
    return estimated_delay(model, base, look.log, Conditioning().plan(look.log), span=SPAN, n_tried=N_TRIED)


def find_delay(look: Look) -> Look:
    """A delay of the torque; later checks read the log without it."""
    equations = look.torque
    arm, fitted = equations.arm, equations.fitted
    if not is_read_rightly(look):
        return look
    lag = torque_lag(fitted)
    if abs(lag.seconds) < max(DELAYED, SURE * lag.error) or lag.gain < GAIN:
        return look
    if fitted is equations.searched.plain:
        lag = lag_at(fitted, _of_the_fit(look), lag.error)
        if abs(lag.seconds) < DELAYED or lag.gain < GAIN:
            return look
    severity = Severity.WARNING if lag.gain > HARM else Severity.INFO
    measured = DelayedTorque(lag.seconds, lag.error, lag.gain)
    look = look.found([Finding(code="delay", severity=severity, measured=measured)])
    # The rows are read rightly by now: only gravity is still another than the robot's.
    read = replace(Hypothesis.as_logged(arm.n_dof), gravity=fitted.hypothesis.gravity)
    undone = fit_hypothesis(arm, fitted.rows.shifted(lag.seconds), read)
    return replace(look, equations=replace(equations, fitted=undone))
