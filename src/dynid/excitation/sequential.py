"""What is known already, what the next run adds, and whether it is enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExcitationError
from dynid.excitation.criteria import DOptimality, check_noise
from dynid.excitation.curves.curve import PerJoint
from dynid.prose import Grid, PrintsAsTable

__all__ = ["Information", "Sufficiency", "sufficiency"]

_NULL = 1e-13
"""Relative: eigenvalues of the scaled information below this are rounding."""
_FOREVER = 1e9
"""Time in s after which a wanted deviation counts as out of reach."""


@dataclass(frozen=True, eq=False)
class Information(PrintsAsTable):
    r"""What measured or planned motions tell about the base parameters: :math:`\sum Y_b^T \Sigma^{-1} Y_b`.

    Its inverse is the covariance of the weighted least-squares estimate, for torque noise that is white.
    """

    labels: tuple[str, ...]
    """The base parameters."""
    matrix: Float[Array, "n_base n_base"]
    """One over the product of the units of two base parameters."""
    seconds: float = 0.0
    """Time of motion that went into it, in s."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        n_base = len(self.labels)
        if self.matrix.shape != (n_base, n_base) or not np.all(np.isfinite(self.matrix)):
            raise ExcitationError(f"information about {n_base} base parameters is a finite {n_base} × {n_base} matrix")

    def __repr__(self) -> str:
        seen = int(np.sum(np.isfinite(self.std)))
        return f"Information({seen} of {len(self.labels)} base parameters, from {self.seconds:.4g} s of motion)"

    def _table(self) -> Grid:
        rows = [(label, f"{std:.3g}") for label, std in zip(self.labels, self.std, strict=True)]
        return Grid(("base parameter", "predicted σ"), rows, (1,))

    @classmethod
    def of(
        cls, model: TorqueModel, motion: Motion, *, noise_std: PerJoint, base: BaseParameters | None = None
    ) -> Information:
        """What one motion tells, if every sample of it is measured.

        Args:
            model: with the columns that will be fitted.
            motion: sampled as it will be (or was) measured.
            noise_std: of every joint's torque, N·m or N.
            base: base parameters of the model, found when None.
        """
        chosen = base_parameters(model) if base is None else base
        weights = 1.0 / check_noise(noise_std, model.n_dof)
        rows = (chosen.reduce(model.regressor(motion)) * weights[:, None]).reshape(-1, chosen.n_base)
        step = float(np.median(np.diff(motion.t))) if motion.n_samples > 1 else 0.0
        return cls(chosen.labels(), rows.T @ rows, motion.n_samples * step)

    def __add__(self, other: Information) -> Information:
        if self.labels != other.labels:
            raise ExcitationError("information about different base parameters cannot be added; use one model for both")
        return Information(self.labels, self.matrix + other.matrix, self.seconds + other.seconds)

    def repeated(self, times: float) -> Information:
        """The same run so many times, a ratio."""
        return Information(self.labels, times * self.matrix, times * self.seconds)

    @property
    def std(self) -> Float[Array, " n_base"]:
        """Predicted standard deviation of every base parameter, in its unit; infinite where it does not show."""
        length = np.sqrt(np.diag(self.matrix))
        unseen = ~(length > 0.0)
        safe = np.where(unseen, 1.0, length)
        lam, Q = np.linalg.eigh(self.matrix / np.outer(safe, safe))
        null = lam < _NULL * max(float(lam[-1]), 1e-300)
        variance = np.sum(Q[:, ~null] ** 2 / lam[~null], axis=1) / safe**2
        blurred = np.sum(Q[:, null] ** 2, axis=1) > 1e-9
        return np.where(unseen | blurred, np.inf, np.sqrt(variance))

    def criterion(self, *, noise_std: PerJoint, n_samples: float) -> DOptimality:
        """The criterion of the next trajectory: what adds most to this.

        Args:
            noise_std: of every joint's torque, N·m or N.
            n_samples: at which the next run will be measured; dimensionless.
        """
        noise = tuple(float(value) for value in np.atleast_1d(np.asarray(noise_std, dtype=float)))
        return DOptimality(noise_std=noise, prior=self.matrix, n_samples=n_samples)


@dataclass(frozen=True, eq=False)
class Sufficiency(PrintsAsTable):
    """Whether what is known, and a run to come, is enough."""

    labels: tuple[str, ...]
    now: Float[Array, " n_base"]
    """Standard deviations with what is known, in the units of the base parameters; infinite where one does not show."""
    after: Float[Array, " n_base"]
    """Standard deviations after the run."""
    wanted: Float[Array, " n_base"]
    """What they should be."""
    seconds: float
    """Time in s of this run's kind of motion until all are reached; 0 where they are, infinite where it never will."""

    def __repr__(self) -> str:
        needed = "enough is known" if self.enough else f"{self.seconds:.4g} s more, limited by {self.limiting}"
        return f"Sufficiency({len(self.labels)} base parameters: {needed})"

    def _table(self) -> Grid:
        columns = (self.labels, self.now, self.after, self.wanted)
        rows = [(label, *(f"{std:.3g}" for std in stds)) for label, *stds in zip(*columns, strict=True)]
        return Grid(("base parameter", "σ now", "after the run", "wanted"), rows, (1, 2, 3))

    @property
    def enough(self) -> bool:
        """Whether every wanted deviation is reached already."""
        return self.seconds == 0.0

    @property
    def limiting(self) -> str:
        """The base parameter that is farthest from what is wanted after the run."""
        return self.labels[int(np.argmax(self.after / self.wanted))]


def sufficiency(known: Information | None, run: Information, wanted_std: PerJoint) -> Sufficiency:
    """Predicted standard deviations, and how long to run to reach wanted ones.

    Args:
        known: what earlier logs told, None when there are none.
        run: what one run of the next trajectory tells; its `seconds` is the unit of the answer.
        wanted_std: of every base parameter, in its unit; one number serves all, infinite where it does not matter.
    """
    before = Information(run.labels, np.zeros_like(run.matrix)) if known is None else known
    wanted = np.broadcast_to(np.asarray(wanted_std, dtype=float), (len(run.labels),)).copy()
    if np.any(~(wanted > 0.0)):
        raise ExcitationError("a wanted standard deviation must be positive")
    if not run.seconds > 0.0:
        raise ExcitationError("the run has no duration; sample it at its real times")

    def reached(seconds: float) -> bool:
        return bool(np.all((before + run.repeated(seconds / run.seconds)).std <= wanted))

    now = before.std
    needed = 0.0
    if not np.all(now <= wanted):
        low, high = 0.0, run.seconds
        while not reached(high) and high < _FOREVER:
            low, high = high, 2.0 * high
        needed = np.inf
        if high < _FOREVER:
            while high - low > 1e-6 * high:
                middle = 0.5 * (low + high)
                low, high = (low, middle) if reached(middle) else (middle, high)
            needed = high
    return Sufficiency(run.labels, now, (before + run).std, wanted, needed)
