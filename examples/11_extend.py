"""Parts of your own: a friction law and an estimator, each a small frozen class, used by every job.

To keep them, put each in a file of its own folder and name it in one line: see the recipes of the documentation.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import dynid
from dynid.dynamics import Viscous
from dynid.dynamics.formula import DQ, size
from dynid.dynamics.joint_model import JointModel, Term
from dynid.regression import estimate_of, uncertainty
from dynid.simulation import plausible_parameters, smooth_motion, synthesise


@dataclass(frozen=True)
class Drag(JointModel):
    r"""Drag of the water around an arm, :math:`F_q\,\dot q\,|\dot q|`: the formula is written once."""

    name = "drag"
    description = "quadratic drag"
    terms = (Term("Fq", "fq", ("N·m·s²/rad²", "N·s²/m²"), DQ * size(DQ), share=0.2),)


@dataclass(frozen=True, kw_only=True)
class Ridge:
    """Least squares with a price on size, relative to each column of the regressor."""

    strength: float = 1e-6
    name: ClassVar[str] = "ridge"
    label: ClassVar[str] = "ridge regression"
    gives_links: ClassVar[bool] = False
    needs_rows: ClassVar[bool] = False

    def fit(self, regression: dynid.Regression) -> dynid.Estimate:
        """The base parameters with the least error and size together (SI)."""
        stacked = regression.stacked()
        H = stacked.R.T @ stacked.R
        beta = np.linalg.solve(H + self.strength * np.diag(np.diag(H)), stacked.R.T @ stacked.rho)
        return estimate_of(self, regression, beta, sure=uncertainty(regression, stacked.solution()))


robot = dynid.load_robot("planar2r")
wet = dynid.TorqueModel(robot, (Viscous(), Drag()))
theta, rng = plausible_parameters(wet), np.random.default_rng(0)
motion = smooth_motion(robot, rng, kind="fourier", duration=20.0, rate_hz=200.0)
log = synthesise(wet, motion, rng, theta=theta).recording
truth = dict(zip(wet.symbols, theta, strict=True))

dry = dynid.identify(robot, log, friction="viscous", estimator=Ridge(), force=True)
print(f"{dry.model.estimator}, viscous friction only: {dry.train.error.relative_percent:.2f} % torque error")
links = dynid.identify(robot, log, friction="viscous", force=True)
found = dynid.friction(links.model, log, friction=(Viscous(), Drag()))
print(f"with drag, fitted to what the links leave: {found.fit.fit.relative_percent:.2f} %\n")
print(found, "\n")
print("truth:", ", ".join(f"{name} {truth[name]:.3f}" for name in ("fv1", "fv2", "fq1", "fq2")))
