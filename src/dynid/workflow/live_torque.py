"""Torque as a live run shows it: measured, predicted with what the arm carries, and the band about it; and contacts."""

from __future__ import annotations

from collections import deque

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.dynamics.kernels.bound import run_kernel
from dynid.dynamics.motion import Motion
from dynid.regression.model import IdentifiedModel
from dynid.tracking.bundles import MOTION
from dynid.tracking.contact_force import point_jacobian
from dynid.tracking.kinematics import smooth_window
from dynid.validation.band import NextRun
from dynid.workflow.live_view import LiveContact

__all__ = ["LiveTorque", "live_contact"]

ORDER = 5
"""Degree of the polynomial that gives velocity and acceleration, as in `KinematicFilter`."""
KEPT_MOTION = 15
"""Latest motions that friction with a memory sees."""
UNSEEN = 0.05
"""Singular value over the largest below which a direction of a contact force is not seen, and left at zero."""


class LiveTorque:
    """Predicts the torque of the latest samples, half a window back, where the acceleration is known."""

    def __init__(self, known: IdentifiedModel, half_samples: int, period: float) -> None:
        """Predict for an arm from windows of `half_samples` on each side, every `period` s."""
        self._known, self._half, self._period = known, half_samples, period
        self._coming = NextRun.of(known)
        noise = known.sample_noise if known.sample_noise is not None else known.noise
        self._noise = np.zeros(known.model.n_dof) if noise is None else np.asarray(noise)
        self._motion: deque[Float[Array, "3 n_dof"]] = deque(maxlen=KEPT_MOTION)

    @property
    def n_window(self) -> int:
        """Samples that a prediction takes."""
        return 2 * self._half + 1

    def point(
        self,
        rows: Float[Array, "n_samples n_columns"],
        with_dq: bool,
        load: Float[Array, " 10"],
        covariance: Float[Array, "10 10"],
    ) -> tuple[float, Float[Array, " n_lines"]] | None:
        r"""Time (s), and measured, predicted torque and the standard deviation between them of every joint, N·m or N.

        .. math::

            s_j^2 = s_{j,\mathrm{model}}^2 + Y_{L,j} \Sigma_L Y_{L,j}^T

        with the load's part of the regressor and its covariance; None while the window fills, or is broken.

        Args:
            rows: t, q, dq, tau of the latest samples, SI.
            with_dq: whether velocities are measured.
            load: its ten parameters about the frame of the last link, SI.
            covariance: of those.
        """
        n, half = self._known.model.n_dof, self._half
        if len(rows) < self.n_window or not np.all(np.diff(rows[:, 0]) > 0.0):
            return None
        t, q, dq = np.array(rows[:, 0]), np.array(rows[:, 1 : 1 + n]), np.array(rows[:, 1 + n : 1 + 2 * n])
        if not np.all(np.isfinite(q)):
            return None
        lost = np.isnan(dq).sum(axis=0) if with_dq else np.full(n, len(t))
        out = np.zeros((3, n))
        scratch = np.zeros(3), np.zeros((10, 16)), np.zeros((3, self.n_window))
        run_kernel(MOTION, smooth_window, 0, len(t), t, q, dq, lost, ORDER, half, *scratch, out)
        self._motion.append(out)
        path = np.array(self._motion)
        motion = Motion(self._period * np.arange(float(len(path))), path[:, 0], path[:, 1], path[:, 2])
        Y = self._known.model.regressor(motion)[-1]
        theta = np.array(self._known.parameters)
        theta[10 * (n - 1) : 10 * n] += load
        carried = Y[:, 10 * (n - 1) : 10 * n]
        spread = np.sqrt(self._variance(Y, out[1]) + np.sum((carried @ covariance) * carried, axis=1))
        return float(t[half]), np.concatenate([rows[half, 1 + 2 * n :], Y @ theta, spread])

    def _variance(self, Y: Float[Array, "n_dof n_params"], dq: Float[Array, " n_dof"]) -> Float[Array, " n_dof"]:
        """Of a measured sample about the torque of the arm alone, N²·m² or N²."""
        if self._coming is None:
            return self._noise**2
        base = Y[:, self._known.base.independent]
        rows = np.array([self._coming.std(j, base[j : j + 1], dq[j : j + 1])[0] for j in range(len(dq))])
        # The statistics are those of low-passed rows; single samples are noisier.
        return rows**2 + np.maximum(self._noise**2 - self._coming.rows**2, 0.0)


def live_contact(
    robot: Robot, q: Float[Array, " n_dof"], link: str, external: Float[Array, " n_dof"]
) -> LiveContact | None:
    """The force on a link that gives the external torque (N·m or N) at positions `q`; None for a link not its own."""
    if link not in robot.link_names:
        return None
    index = robot.link_names.index(link)
    felt = list(robot.path_to[index])
    J = point_jacobian(robot, q, index)[:, felt]
    force = np.linalg.lstsq(J.T, external[felt], rcond=UNSEEN)[0]
    return LiveContact(index, link, force)
