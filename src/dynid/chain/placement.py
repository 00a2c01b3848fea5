"""Where frames stand: homogeneous transforms, and the rotations robot files write."""

from __future__ import annotations

import math
import re

import numpy as np

from dynid.arrays import ArrayLike, Matrix3, Transform, Vector3, skew
from dynid.prose import counted

__all__ = [
    "MAX_LENGTH",
    "WORTH_SAYING",
    "exact_right_angle",
    "is_rigid",
    "rotation_about",
    "rotation_rpy",
    "squared_note",
    "transform",
    "unit",
]

MAX_LENGTH = 1e6
"""m; a placement beyond it is a mistake in the file, and would leave no digits to the torque."""
QUARTER_TURN = math.pi / 2.0
FEWEST_DECIMALS = 2
"""1.57 and 3.14 can only mean a right angle and a straight one; 1.6 or 3 can mean anything."""
WORTH_SAYING = 1e-7
"""rad; what is this close to a multiple of a right angle is one without a word, however its digits came about
(1.570796325 is half of 3.14159265): nobody measures an angle to that."""

_DECIMALS = re.compile(r"[+-]?\d*\.(\d+)")


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


def exact_right_angle(word: str) -> float:
    """The angle (rad) of a text; a multiple of a right angle where the text is that, rounded or cut to its digits.

    ``1.5708``, ``1.5707`` and ``3.14`` become π/2, π/2 and π; ``1.58`` and ``1.5701`` stay what they are.
    """
    value = float(word)
    written = _DECIMALS.fullmatch(word)
    n_quarters = round(value / QUARTER_TURN) if math.isfinite(value) else 0
    exact = n_quarters * QUARTER_TURN
    if abs(value - exact) < WORTH_SAYING:
        return exact
    if written is None or len(written[1]) < FEWEST_DECIMALS or n_quarters == 0:
        return value
    unit_of_last = 10.0 ** -len(written[1])
    # Cut digits only bring an angle towards zero; the margin is for the last bit of the decimal fraction.
    short = abs(exact) - abs(value)
    return exact if -0.5 * unit_of_last <= short * (1.0 - 1e-9) < unit_of_last else value


def squared_note(n_joints: int) -> str:
    """What is said of a file in which right angles (rad) of so many joints had few digits."""
    return f"right angles given with few digits, as 3.1416, are exact at {counted(n_joints, 'joint')}"
