"""How often intervals hold the truth: logs drawn again and again under noise of every colour, fitted like any log."""

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy import signal

from dynid import load_robot
from dynid.arrays import Array
from dynid.recording import Conditioning, Recording, Samples
from dynid.regression import Estimate, Regression, SampleRows, compress
from dynid.validation import compare_torque, torque_band
from dynid.validation.band import WITHIN_95
from tests.regression.logs import Truth, exciting_motion, truth

RATE_HZ = 200.0
NOISE = 0.05
"""Standard deviation of the torque noise, relative to the RMS torque of each joint."""
MEMORY = 0.1
"""Time in s after which AR(1) noise is correlated by 1/e."""
COLOUR_HZ = 2.0
"""Cut-off of the low-passed noise, Hz: the motion has its power below 0.5 Hz."""
Q_NOISE, DQ_NOISE = 1e-5, 1e-3
"""Motion noise, rad and rad/s: a good encoder, and a velocity from it."""

Colour = Literal["white", "AR(1)", "low-passed", "Student t3"]
COLOURS: tuple[Colour, ...] = ("white", "AR(1)", "low-passed", "Student t3")


class Estimator(Protocol):
    """Anything that fits."""

    def fit(self, regression: Regression) -> Estimate: ...


@dataclass(frozen=True)
class Coverage:
    """Shares (of 1) of nominal 95 % intervals that hold the truth, averaged over draws."""

    parameters: float
    worst_parameter: float
    """Of the one coefficient that is held least often."""
    torque: float
    """The exact torque of an unseen motion inside the band of the prediction."""
    prediction: float
    """The measured torque of an unseen motion inside the prediction band."""
    as_in_papers: float
    """Coefficients held by intervals that count every row as independent."""


def noise_of(colour: Colour, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    """Noise of unit variance, independent between joints."""
    warm = 1000
    white = rng.normal(size=(shape[0] + warm, shape[1]))
    if colour == "white":
        return white[warm:]
    if colour == "Student t3":
        return rng.standard_t(3, size=shape) / np.sqrt(3.0)
    if colour == "AR(1)":
        rho = np.exp(-1.0 / (RATE_HZ * MEMORY))
        return signal.lfilter([np.sqrt(1.0 - rho**2)], [1.0, -rho], white, axis=0)[warm:]
    b, a = signal.butter(2, COLOUR_HZ, fs=RATE_HZ)
    _, response = signal.freqz(b, a, worN=4096)
    return signal.lfilter(b, a, white, axis=0)[warm:] / np.sqrt(np.mean(np.abs(response) ** 2))


@dataclass(frozen=True)
class Study:
    """A robot on one motion to fit to and another to predict, with exact torques of both."""

    fitted: Truth
    unseen: Truth

    @classmethod
    def of(cls, robot: str, *, seconds: float = 20.0, seed: int = 1) -> "Study":
        rng = np.random.default_rng(seed)
        fitted = truth(load_robot(robot), rng, duration=seconds, rate_hz=RATE_HZ)
        motion = exciting_motion(fitted.model.robot, rng, duration=8.0, rate_hz=RATE_HZ)
        unseen = Truth(fitted.model, fitted.base, fitted.theta, motion, fitted.model.torque(motion, fitted.theta))
        return cls(fitted, unseen)

    @property
    def noise(self) -> Array:
        """Standard deviation of the torque noise in both motions, N·m."""
        return NOISE * np.sqrt(np.mean(self.fitted.tau**2, axis=0))

    def coverage(self, estimator: Estimator, colour: Colour, *, moved: bool, n_draws: int, seed: int = 0) -> Coverage:
        """Fit `n_draws` logs with this torque noise (and motion noise, where `moved`)."""
        base, beta = self.fitted.base, self.fitted.beta
        inside, papers, torque, prediction = [], [], [], []
        for draw in range(n_draws):
            rng = np.random.default_rng((seed, draw))
            samples = drawn(self.fitted, self.noise, colour, moved, rng)
            estimate = estimator.fit(compress(SampleRows(self.fitted.model, base, (samples,))))
            error = np.abs(estimate.beta - beta)
            inside.append(error <= WITHIN_95 * estimate.std)
            papers.append(error <= WITHIN_95 * estimate.uncertainty.white_std)
            unseen = drawn(self.unseen, self.noise, colour, moved, rng, samples.plan.low_pass.cutoff_hz)
            sure = estimate.uncertainty
            band = torque_band(self.fitted.model, base, sure.covariance, unseen, sure.noise)
            predicted = compare_torque(self.fitted.model, base.lift(estimate.beta), unseen)
            exact = compare_torque(self.fitted.model, self.fitted.theta, unseen).predicted
            torque.append(np.mean(np.abs(exact - predicted.predicted) <= WITHIN_95 * band.std))
            prediction.append(np.mean(band.coverage(predicted.residual)))
        held = np.mean(inside, axis=0)
        return Coverage(
            float(held.mean()),
            float(held.min()),
            float(np.mean(torque)),
            float(np.mean(prediction)),
            float(np.mean(papers)),
        )


def drawn(
    case: Truth, size: Array, colour: Colour, moved: bool, rng: np.random.Generator, cutoff_hz: float | None = None
) -> Samples:
    """A log of this motion as it would be measured, conditioned as any log."""
    tau = case.tau + size * noise_of(colour, case.tau.shape, rng)
    shaken = 1.0 if moved else 0.0
    q = case.motion.q + shaken * Q_NOISE * rng.normal(size=tau.shape)
    dq = case.motion.dq + shaken * DQ_NOISE * rng.normal(size=tau.shape)
    recording = Recording(case.model.robot.joint_names, case.motion.t, q, dq, tau=tau)
    return Conditioning(cutoff_hz=cutoff_hz).plan(recording).apply(recording)
