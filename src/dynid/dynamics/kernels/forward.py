"""Forward dynamics: the accelerations that torques cause, by the same compiled recursion as the torques themselves."""

from __future__ import annotations

from typing import no_type_check

import numpy as np

from dynid.arrays import Array, ArrayLike, Float
from dynid.chain.robot import Robot
from dynid.dynamics.kernels.batch import newton_euler
from dynid.dynamics.kernels.chains import chain_arrays, in_chunks
from dynid.dynamics.kernels.stored import njit
from dynid.errors import ParameterError

__all__ = ["accelerations", "cholesky", "cholesky_solve", "mass_and_bias"]


@njit(cache=True, nogil=True)
@no_type_check
def mass_and_bias(chain, q, dq, links, rotor, M, bias):
    r"""Fill M(q) and h(q, dq) of one state by inverse dynamics of n + 2 motions, which the lanes take side by side.

    Motion 0 is (q, dq, 0) and needs h; motion j is (q, 0, e_j) and needs column j of M beside gravity; the last is
    (q, 0, 0) and needs gravity alone. The lower triangle is used: its rows belong to the outer joint, whose gravity
    torque is small, so that little is lost in the difference. `rotor` adds to the diagonal.
    """
    n_dof = q.shape[0]
    positions, speeds = np.empty((n_dof + 2, n_dof)), np.zeros((n_dof + 2, n_dof))
    pushes = np.zeros((n_dof + 2, n_dof))
    tau, wrench = np.empty((n_dof + 2, n_dof)), np.empty((n_dof + 2, n_dof, 6))
    for j in range(n_dof):
        positions[:, j] = q[j]
        speeds[0, j] = dq[j]
        pushes[j + 1, j] = 1.0
    newton_euler(chain, positions, speeds, pushes, links, 0, n_dof + 2, tau, wrench)
    for i in range(n_dof):
        bias[i] = tau[0, i]
        for j in range(i + 1):
            M[i, j] = tau[j + 1, i] - tau[n_dof + 1, i]
            M[j, i] = M[i, j]
        M[i, i] += rotor[i]


@njit(cache=True, nogil=True)
@no_type_check
def cholesky(A):
    """Replace the lower triangle of A by its Cholesky factor; False where A is not positive definite."""
    for j in range(A.shape[0]):
        for i in range(j, A.shape[0]):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            if i > j:
                A[i, j] = total / A[j, j]
            elif total > 0.0:
                A[j, j] = np.sqrt(total)
            else:
                return False
    return True


@njit(cache=True, nogil=True)
@no_type_check
def cholesky_solve(factor, b):
    """Replace b by the solution of A x = b, with the lower Cholesky factor of A."""
    n = b.shape[0]
    for i in range(n):
        for k in range(i):
            b[i] -= factor[i, k] * b[k]
        b[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= factor[k, i] * b[k]
        b[i] /= factor[i, i]


@njit(cache=True, nogil=True)
@no_type_check
def _accelerate(chain, q, dq, tau, links, rotor, start, stop, ddq, definite):
    n_dof = q.shape[1]
    M, bias = np.empty((n_dof, n_dof)), np.empty(n_dof)
    for k in range(start, stop):
        mass_and_bias(chain, q[k], dq[k], links, rotor, M, bias)
        definite[k] = cholesky(M)
        if definite[k]:
            for j in range(n_dof):
                ddq[k, j] = tau[k, j] - bias[j]
            cholesky_solve(M, ddq[k])


def accelerations(
    robot: Robot,
    q: Float[Array, "n_samples n_dof"],
    dq: Float[Array, "n_samples n_dof"],
    tau: Float[Array, "n_samples n_dof"],
    *,
    links: Float[Array, "n_links 10"] | None = None,
    rotor_inertia: ArrayLike | None = None,
) -> Float[Array, "n_samples n_dof"]:
    r"""Joint accelerations (rad/s² or m/s²) of a frictionless arm, :math:`\ddot q = M(q)^{-1} (\tau - h(q, \dot q))`.

    Args:
        robot: whose links move.
        q: positions.
        dq: velocities.
        tau: torques at the joints.
        links: inertial parameters, the nominal ones where None.
        rotor_inertia: kg·m² or kg that each joint has beyond its links, none where None.

    Raises:
        ParameterError: where the mass matrix is not positive definite, so that no such arm exists.
    """
    inertias = np.array(robot.nominal if links is None else links, dtype=float)
    rotor = np.zeros(robot.n_dof) if rotor_inertia is None else np.array(rotor_inertia, dtype=float)
    chain = chain_arrays(robot)
    ddq, definite = np.zeros(q.shape), np.zeros(len(q), dtype=np.bool_)
    in_chunks(lambda start, stop: _accelerate(chain, q, dq, tau, inertias, rotor, start, stop, ddq, definite), len(q))
    if not np.all(definite):
        raise ParameterError(
            f"{robot.name}: the mass matrix is not positive definite at sample {int(np.argmin(definite))}; "
            "these parameters are not physically consistent, see consistency()"
        )
    return ddq
