"""How the motion of a log with coarse encoders is smoothed: what predicts left-out segments best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.model import TorqueModel
from dynid.errors import RecordingError
from dynid.recording.conditioning import MOST_KNOTS, Plan, Samples
from dynid.recording.encoder import encoder_noise, period_of
from dynid.recording.recording import Recording
from dynid.regression.attenuation import attenuation
from dynid.regression.least_squares import WLS, joint_weights
from dynid.regression.problem import compress
from dynid.regression.rows import SampleRows
from dynid.validation.left_out import left_out_error

__all__ = ["LEAST_GAIN", "attenuation_words", "choose_motion"]

LEAST_GAIN = 0.02
"""Relative: what is taken in the place of the usual must lower the left-out error by more than this."""


def choose_motion(model: TorqueModel, base: BaseParameters, recording: Recording, plan: Plan) -> tuple[Plan, Samples]:
    """A plan for a log with coarse encoders, and its samples (SI): low-pass, smoothing spline or Fourier series.

    Each smooths the positions, is fitted, and predicts the torque of left-out segments; the best is taken.
    """
    samples = plan.apply(recording)
    if not np.isfinite(plan.motion_cutoff_hz):
        return plan, samples
    if not model.inertia_terms:
        # Rotors are where coarse encoders show first; friction and rotors are chosen later.
        model = TorqueModel(model.robot, (RotorInertia(), *model.joint_models))
        base = base_parameters(model)
    found = {"low-pass": (plan, samples, _left_out(model, base, samples))}
    for name, other in _others(recording, plan).items():
        try:
            smoothed = other.apply(recording)
        except RecordingError:
            continue  # too short a log for as many harmonics
        found[name] = (other, smoothed, _left_out(model, base, smoothed))
    errors = {name: error for name, (_, _, error) in found.items()}
    best = min(errors, key=lambda name: errors[name])
    if not errors[best] < (1.0 - LEAST_GAIN) * errors["low-pass"]:
        best = "low-pass"
    told = ", ".join(f"{name} {error:.3g} %" for name, error in errors.items() if np.isfinite(error))
    chosen, smoothed, _ = found[best]
    chosen = replace(chosen, choices=(*chosen.choices, f"motion by {best}: error on left-out segments {told}"))
    return chosen, replace(smoothed, plan=chosen)


def attenuation_words(
    model: TorqueModel, base: BaseParameters, recording: Recording, samples: Samples
) -> tuple[str, str]:
    """What instrumental variables say of noise in the positions, and a warning where it matters; empty without either.

    Looked at where encoders are coarse, or the positions' noise may spoil what passes the low-pass (SI).
    """
    plan = samples.plan
    if recording.dq is not None or not plan.low_pass.active:
        return "", ""
    noise = encoder_noise(recording.q, recording.q, recording.rate_hz)
    if not np.isfinite(plan.motion_cutoff_hz) and not noise.matters(plan.low_pass.cutoff_hz):
        return "", ""
    weights = joint_weights(compress(SampleRows(model, base, (samples,))))[0]
    found = attenuation(model, base, recording, plan, weights)
    if found is None:
        return "", ""
    told = f"noise of the positions takes {found} off inertias, by instrumental variables from every other sample"
    if not found.matters:
        return told, ""
    return told, f"{told}; log positions at a higher rate or resolution, move faster, or log longer"


def _others(recording: Recording, plan: Plan) -> dict[str, Plan]:
    # A spline that leaves samples out averages less noise than a low-pass, which takes them all.
    whole = recording.n_samples < 2 * MOST_KNOTS
    plans = {"smoothing spline": replace(plan, differentiation="spline")} if whole else {}
    noise = encoder_noise(recording.q, recording.q, recording.rate_hz)
    period = period_of(recording.q, noise.std)
    if period is not None:
        base_hz = recording.rate_hz / period
        plans["Fourier series"] = replace(plan, differentiation="fourier", base_frequency_hz=base_hz)
    return plans


def _left_out(model: TorqueModel, base: BaseParameters, samples: Samples) -> float:
    """Error in % on left-out segments; infinite where nothing can be left out."""
    found = left_out_error(compress(SampleRows(model, base, (samples,))), WLS().fit)
    return np.inf if found is None else found.relative_percent
