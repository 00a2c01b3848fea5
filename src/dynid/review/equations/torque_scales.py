"""Factors on the torques under which the joints agree about the parameters they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from dynid.arrays import Array, Float
from dynid.regression.triangle import triangular
from dynid.review.equations.joint_fits import FLOOR, RIDGE, OwnFit
from dynid.review.equations.rows import Arm

__all__ = ["AGREED", "Agreement"]

AGREED = 1.6
"""RMS residual of all joints over what they have on their own, below which they agree; 1 where the model is exact."""
OFF = 1.6
"""Factor on a torque below which it is no matter of units."""
ALIKE = 1.35
"""Factor within which the scales of two joints count as the same."""
TRIES = 4
"""Steps from each start; one or two settle it."""
FLAT = 1e-3
"""Smallest factor of a step, relative to the largest: below it a joint shares nothing with the others."""


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well the joints' own fits agree, for any factors on their torques."""

    arm: Arm
    fits: Sequence[OwnFit]
    tau: Float[Array, "n_rows n_dof"]
    """N·m or N, as it was fitted."""

    def ratio(self, scale: Float[Array, " n_dof"] | None = None) -> float:
        """RMS residual over noise if the torque of every joint were multiplied by `scale` (dimensionless)."""
        return self._jointly(np.ones(len(self.fits)) if scale is None else scale)[0]

    def _jointly(self, scale: Float[Array, " n_dof"]) -> tuple[float, Float[Array, "n_dof n_dof"]]:
        """The ratio, and the squares of the residual as a form in further factors on the torques.

        Each joint's friction is its own, so only what its own columns cannot explain has to agree with the others.
        """
        n_dof, n_rows, n_base = len(self.fits), len(self.tau), self.arm.base.n_base
        rms = np.sqrt(np.mean(self.tau**2, axis=0))
        n_stacked = sum(f.n_rigid for f in self.fits)
        stack, left, row = np.zeros((n_stacked + n_base, n_base + n_dof)), np.zeros(n_dof), 0
        for j, f in enumerate(self.fits):
            sigma = max(f.noise(j), FLOOR * rms[j], 1e-300)
            Q, R = f.beside_friction
            here = slice(row, row + f.n_rigid)
            stack[here, self.arm.visible[j]] = R / (sigma * abs(scale[j]))
            stack[here, n_base + j] = np.sign(scale[j]) * (Q.T @ f.along[:, j]) / sigma
            left[j] = f.left[j, j] / sigma**2
            row += f.n_rigid
        length = np.linalg.norm(stack[:n_stacked, :n_base], axis=0)
        length[length == 0.0] = 1.0
        stack[:n_stacked, :n_base] /= length
        stack[n_stacked:, :n_base] = RIDGE * np.eye(n_base)
        factor = triangular(stack)
        rest, along = factor[n_base:, n_base:], factor[:n_base, n_base:]
        pull = RIDGE * solve_triangular(factor[:n_base, :n_base], along)
        form = rest.T @ rest - pull.T @ pull + np.diag(left)
        degrees = max(10, n_rows * n_dof - n_base - sum(len(f.scale) - f.n_rigid for f in self.fits))
        return float(np.sqrt(np.sum(form) / degrees)), form / degrees * n_dof

    def best_scales(
        self, expected: Float[Array, " n_dof"], sign: Float[Array, " n_dof"]
    ) -> tuple[Float[Array, " n_dof"], float]:
        """Factors on the torques (dimensionless) that make the joints agree, as few as do it, and their ratio.

        Args:
            expected: RMS torque (N·m or N) of each joint in the robot file, where to start.
            sign: −1 where the friction of a joint drives its motion, else 0 or 1.
        """
        n_dof = len(self.fits)
        ones = np.ones(n_dof)
        plain = self.ratio(ones)
        by_sign = np.where(sign < 0.0, -1.0, 1.0)
        if plain < AGREED and np.all(by_sign > 0.0):
            return ones, plain
        rms = np.maximum(np.sqrt(np.mean(self.tau**2, axis=0)), 1e-300)
        starts = [ones, by_sign, np.maximum(expected, 1e-9 * np.max(expected)) / rms * by_sign]
        best, reached = ones, plain
        for start in starts:
            scale = np.array(start)
            for _ in range(TRIES):
                ratio, form = self._jointly(scale)
                fewer = np.sum(scale * sign < 0) < np.sum(best * sign < 0)
                if ratio < reached / 1.05 or (ratio < 1.05 * reached and fewer):
                    best, reached = scale, ratio
                if ratio < 0.5 * AGREED:
                    break
                factor = np.linalg.eigh(form)[1][:, 0]
                factor = factor / factor[np.argmax(np.abs(factor))]
                if np.min(np.abs(factor)) < FLAT:
                    break
                scale = scale * factor
        return self._fewest(best, sign)

    def _fewest(
        self, scale: Float[Array, " n_dof"], sign: Float[Array, " n_dof"]
    ) -> tuple[Float[Array, " n_dof"], float]:
        """The same factors relative to what most joints agree on, and one wherever that is as good."""
        size = np.log(np.abs(scale))
        crowd = np.sum(np.abs(size[:, None] - size[None, :]) < np.log(ALIKE), axis=0)
        together = np.abs(size - size[np.argmax(crowd)]) < np.log(ALIKE)
        level = float(np.exp(np.median(size[together])))
        agreeing = np.sum(np.sign(scale) * sign)
        turned = -1.0 if agreeing < 0.0 or (agreeing == 0.0 and np.sum(np.sign(scale)) < 0.0) else 1.0
        scale = scale / level * turned
        exact = self.ratio(scale)
        near = np.abs(np.log(np.abs(scale))) < np.log(OFF)
        snapped = np.where(near, np.sign(scale), scale)
        reached = self.ratio(snapped)
        if reached > max(1.1 * exact, AGREED):
            return scale, exact
        scale = snapped
        for j in np.argsort(-np.abs(np.log(np.abs(scale)))):
            for other in (1.0, -1.0) if sign[j] == 0.0 else (sign[j],):
                if scale[j] == other:
                    break
                tried = np.array(scale)
                tried[j] = other
                ratio = self.ratio(tried)
                if ratio < max(1.1 * reached, 1.0):
                    scale, reached = tried, min(ratio, reached)
                    break
        return scale, self.ratio(scale)
