"""Whether M(q) is positive definite over the workspace: the worst pose, searched for and not only drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.lagrangian import LagrangianModel
from dynid.dynamics.model import TorqueModel

__all__ = ["WorstPose", "worst_pose"]

N_DRAWN = 2000
"""Poses drawn all over the workspace."""
N_SEARCHED = 12
"""Of these, the worst from which a search starts."""
_UNLIMITED = 1.0
"""m; half the range of a prismatic joint without limits. Revolute ones turn once."""
_STEP = 1e-5
"""rad or m; of the derivatives of the smallest eigenvalue."""


@dataclass(frozen=True, eq=False)
class WorstPose:
    """Where the mass matrix is nearest to losing its inverse, and how often it has."""

    q: Float[Array, " n_dof"]
    """The pose, rad or m."""
    eigenvalue: float
    """Smallest eigenvalue of M there, each joint scaled by its mean inertia (dimensionless; 1 for a diagonal M)."""
    smallest: float
    """Smallest eigenvalue of M there as it stands (kg·m², kg·m or kg)."""
    share_not_positive: float
    """Share of drawn poses in which M is not positive definite, dimensionless, 0 to 1."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def is_positive(self) -> bool:
        """Whether M is positive definite in the worst pose found, and so in all that were looked at."""
        return self.eigenvalue > 0.0

    def __repr__(self) -> str:
        pose = ", ".join(f"{value:.3g}" for value in self.q)
        return f"WorstPose(smallest scaled eigenvalue of M {self.eigenvalue:.3g} at ({pose}) rad or m)"


def worst_pose(
    model: TorqueModel, base: BaseParameters, beta: Float[Array, " n_base"], rng: np.random.Generator
) -> WorstPose:
    """The pose with the smallest eigenvalue of M(q): drawn, then searched for from the worst of those drawn.

    Args:
        model: whose robot has the limits of the workspace.
        base: the regrouping of β.
        beta: base parameters, in the units of their leading parameters.
        rng: draws the poses.
    """
    from scipy.optimize import minimize

    lower, upper = _workspace(model.robot)
    lagrangian = LagrangianModel(model, base, beta)
    drawn = rng.uniform(lower, upper, (N_DRAWN, model.n_dof))
    M = lagrangian.inertia_matrix(drawn)
    diagonal = np.mean(np.abs(np.diagonal(M, axis1=1, axis2=2)), axis=0)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))

    def smallest(q: Float[Array, "n_poses n_dof"]) -> Float[Array, " n_poses"]:
        return np.linalg.eigvalsh(lagrangian.inertia_matrix(q) * np.outer(scale, scale))[:, 0]

    def with_slope(q: Float[Array, " n_dof"]) -> tuple[float, Float[Array, " n_dof"]]:
        steps = _STEP * np.eye(len(q))
        values = smallest(np.vstack([q[None], q + steps, q - steps]))
        return float(values[0]), (values[1 : len(q) + 1] - values[len(q) + 1 :]) / (2.0 * _STEP)

    values = np.linalg.eigvalsh(M * np.outer(scale, scale))[:, 0]
    order = np.argsort(values)
    best, pose = float(values[order[0]]), drawn[order[0]]
    for start in drawn[order[:N_SEARCHED]]:
        found = minimize(with_slope, start, jac=True, method="L-BFGS-B", bounds=list(zip(lower, upper, strict=True)))
        if float(found.fun) < best:
            best, pose = float(found.fun), np.clip(np.asarray(found.x), lower, upper)
    plain = float(np.linalg.eigvalsh(lagrangian.inertia_matrix(pose[None]))[0, 0])
    return WorstPose(pose, best, plain, float(np.mean(values <= 0.0)))


def _workspace(robot: Robot) -> tuple[Float[Array, " n_dof"], Float[Array, " n_dof"]]:
    """Limits of all joints (rad or m), finite."""
    free = np.array([np.pi if joint.type == "revolute" else _UNLIMITED for joint in robot.joints])
    lower = np.array([joint.limits.lower for joint in robot.joints])
    upper = np.array([joint.limits.upper for joint in robot.joints])
    return np.where(np.isfinite(lower), lower, -free), np.where(np.isfinite(upper), upper, free)
