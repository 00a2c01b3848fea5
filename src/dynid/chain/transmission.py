"""Coupled drives of any robot file: which joints each motor turns with, from a file of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from dynid.arrays import Array, ArrayLike, Float
from dynid.chain.robot import Robot
from dynid.disk import read_toml
from dynid.errors import RobotError, RobotFileError, UnknownJoint

__all__ = ["TransmissionLike", "read_transmission", "with_transmission"]

TransmissionLike = str | PathLike[str] | ArrayLike
"""A TOML file, or the matrix C itself: a row for every motor, a column for every joint."""
EXAMPLE = "[motor.wrist_3]\nwrist_2 = -1.0\nwrist_3 = 1.0"
"""The motor of wrist_3 turns with wrist_3, and backwards with wrist_2."""


class _TransmissionFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    motor: Mapping[str, Mapping[str, float]] = {}
    """Turns of a motor, behind its own gear, per turn of each joint; motors by the joint that they are meant for."""
    matrix: tuple[tuple[float, ...], ...] | None = None
    """The whole matrix in place of `motor`."""


def with_transmission(robot: Robot, transmission: TransmissionLike) -> Robot:
    r"""The robot with coupled drives, :math:`\dot q_{motor} = C \dot q` and :math:`\tau = C^T \tau_{motor}`.

    Raises:
        RobotError: for a matrix of another size, or one that no drives have.
        UnknownJoint: for a joint that the robot does not have.
    """
    if isinstance(transmission, str | PathLike):
        return replace(robot, transmission=read_transmission(Path(transmission), robot))
    return replace(robot, transmission=np.asarray(transmission, dtype=float))


def read_transmission(path: Path, robot: Robot) -> Float[Array, "n_dof n_dof"]:
    """The matrix C (dimensionless) of a TOML file, for the joints of this robot.

    A motor that is not named turns with its own joint alone, and so does a named one as far as its own joint is not
    listed.

    Raises:
        RobotFileError: for a file that is no transmission.
        UnknownJoint: listing the joints that exist.
    """
    try:
        content = _TransmissionFile.model_validate(read_toml(path, RobotFileError))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "file"
        raise RobotFileError(f"{path}: {place}: {first['msg']}; a transmission file looks like\n{EXAMPLE}") from error
    if content.matrix is not None and content.motor:
        raise RobotFileError(f"{path}: has motors and a whole matrix; leave one of them out")
    if content.matrix is not None:
        rows = {len(row) for row in content.matrix}
        if rows != {robot.n_dof} or len(content.matrix) != robot.n_dof:
            raise RobotFileError(f"{path}: the matrix must be {robot.n_dof}×{robot.n_dof}, a row for every motor")
        return np.array(content.matrix)
    if not content.motor:
        raise RobotFileError(f"{path}: names no motor; a transmission file looks like\n{EXAMPLE}")
    C = np.eye(robot.n_dof)
    for motor, ratios in content.motor.items():
        for joint, ratio in ratios.items():
            for name in (motor, joint):
                if name in robot.held:
                    raise RobotError(f"{path}: joint {name!r} is held and does not move; leave it out")
                if name not in robot.joint_names:
                    raise UnknownJoint(name, known=robot.joint_names, where=str(path))
            C[robot.index(motor), robot.index(joint)] = ratio
    return C
