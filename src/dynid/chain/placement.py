"""Where frames stand: homogeneous transforms, and the rotations robot files write."""

from __future__ import annotations

import numpy as np

from dynid.arrays import ArrayLike, Matrix3, Transform, Vector3, skew

__all__ = ["MAX_LENGTH", "is_rigid", "rotation_about", "rotation_rpy", "transform", "unit"]

MAX_LENGTH = 1e6
"""m; a placement beyond it is a mistake in the file, and would leave no digits to the torque."""


def transform(rotation: ArrayLike | None = None, translation: ArrayLike = (0.0, 0.0, 0.0)) -> Transform:
    """The homogeneous transform of a 3×3 rotation (identity when None) and a translation in m."""
    T = np.eye(4)
    if rotation is not None:
        T[:3, :3] = rotation
    T[:3, 3] = translation
    return T


def unit(vector: Vector3) -> Vector3:
    """The direction of a vector that is finite and not zero, however large or small it is (dimensionless)."""
    scaled = vector / np.max(np.abs(vector))
    return scaled / np.linalg.norm(scaled)


def is_rigid(T: Transform) -> bool:
    """Whether a matrix is a rotation and a finite displacement (m)."""
    if T.shape != (4, 4) or not np.all(np.isfinite(T)) or np.max(np.abs(T[:3, 3])) > MAX_LENGTH:
        return False
    R = T[:3, :3]
    turned = np.max(np.abs(R)) < 2.0 and np.allclose(R @ R.T, np.eye(3), rtol=0.0, atol=1e-6)
    return bool(turned and np.linalg.det(R) > 0.0 and np.array_equal(T[3], [0.0, 0.0, 0.0, 1.0]))


def rotation_about(axis: Vector3, angle: float) -> Matrix3:
    """The rotation by `angle` (rad) about a unit `axis` (Rodrigues)."""
    S = skew(axis)
    return np.eye(3) + np.sin(angle) * S + (1.0 - np.cos(angle)) * S @ S


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Matrix3:
    """The rotation of URDF's fixed-axis roll, pitch, yaw in rad: about x, then y, then z."""
    x, y, z = np.eye(3)
    return rotation_about(z, yaw) @ rotation_about(y, pitch) @ rotation_about(x, roll)
