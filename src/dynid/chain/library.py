"""Built-in robots with their published figures, and `load_robot` for these and for files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from dynid.arrays import ArrayLike
from dynid.chain.denavit import DenavitJoint, DenavitLink, DenavitTable, read_denavit
from dynid.chain.formats.assembly import InertialsPolicy, read_bodies, robot_of_bodies
from dynid.chain.formats.bodies import BodyTree
from dynid.chain.formats.locks import held_joints
from dynid.chain.robot import Robot
from dynid.chain.trust import bodies_of, trusting_only_bodies
from dynid.errors import ParameterError, RobotError, RobotFileError, UnknownName, UnknownRobot, WrongType

__all__ = ["BUILT_IN", "load_robot", "robot_of_tree"]

_HALF_PI = np.pi / 2.0
_Six = tuple[float, float, float, float, float, float]
_Three = tuple[float, float, float]


def _panda() -> Robot:
    """Franka Emika Panda: modified DH and retrieved parameters of [Gaz2019]_, limits of the vendor's data sheet.

    The paper's z of link 1's centre of mass (never visible in the torque) is not legible in our copy: the middle of
    its published bounds stands in.
    """
    rows: tuple[tuple[float, float, float], ...] = (
        (0.0, 0.0, 0.333),
        (0.0, -_HALF_PI, 0.0),
        (0.0, _HALF_PI, 0.316),
        (0.0825, _HALF_PI, 0.0),
        (-0.0825, -_HALF_PI, 0.384),
        (0.0, _HALF_PI, 0.0),
        (0.088, _HALF_PI, 0.0),
    )
    limits = (
        (-2.8973, 2.8973, 2.175, 87.0, 15.0, 7500.0),
        (-1.7628, 1.7628, 2.175, 87.0, 7.5, 3750.0),
        (-2.8973, 2.8973, 2.175, 87.0, 10.0, 5000.0),
        (-3.0718, -0.0698, 2.175, 87.0, 12.5, 6250.0),
        (-2.8973, 2.8973, 2.61, 12.0, 15.0, 7500.0),
        (-0.0175, 3.7525, 2.61, 12.0, 20.0, 10000.0),
        (-2.8973, 2.8973, 2.61, 12.0, 20.0, 10000.0),
    )
    inertias: tuple[tuple[float, _Three, _Six], ...] = (
        (4.970684, (0.003875, 0.002081, -0.175), (0.70337, -0.000139, 0.006772, 0.70661, 0.019169, 0.009117)),
        (0.646926, (-0.003141, -0.02872, 0.003495), (0.007962, -0.003925, 0.010254, 0.02811, 0.000704, 0.025995)),
        (3.228604, (0.027518, 0.039252, -0.066502), (0.037242, -0.004761, -0.011396, 0.036155, -0.012805, 0.01083)),
        (3.587895, (-0.05317, 0.104419, 0.027454), (0.025853, 0.007796, -0.001332, 0.019552, 0.008641, 0.028323)),
        (1.225946, (-0.011953, 0.041065, -0.038437), (0.035549, -0.002117, -0.004037, 0.029474, 0.000229, 0.008627)),
        (1.666555, (0.060149, -0.014117, -0.010517), (0.001964, 0.000109, -0.001158, 0.004354, 0.000341, 0.005433)),
        (0.735522, (0.010517, -0.004252, 0.061597), (0.012516, -0.000428, -0.001196, 0.010027, -0.000741, 0.004815)),
    )
    joints = tuple(
        DenavitJoint(
            name=f"joint{i + 1}",
            a=a,
            alpha=alpha,
            d=d,
            position_limits=limit[:2],
            velocity_limit=limit[2],
            effort_limit=limit[3],
            acceleration_limit=limit[4],
            jerk_limit=limit[5],
            inertia=DenavitLink(mass=mass, com=com, inertia_com=inertia),
        )
        for i, ((a, alpha, d), limit, (mass, com, inertia)) in enumerate(zip(rows, limits, inertias, strict=True))
    )
    return DenavitTable(name="panda", convention="modified", joint=joints).robot("panda")


def _wam7() -> Robot:
    """Barrett WAM with seven joints: standard DH and CAD parameters of [Sousa2013]_, ranges of the vendor."""
    rows: tuple[tuple[float, float, float], ...] = (
        (0.0, -_HALF_PI, 0.0),
        (0.0, _HALF_PI, 0.0),
        (0.045, -_HALF_PI, 0.55),
        (-0.045, _HALF_PI, 0.0),
        (0.0, -_HALF_PI, 0.3),
        (0.0, _HALF_PI, 0.0),
        (0.0, 0.0, 0.06),
    )
    ranges = ((-2.6, 2.6), (-2.0, 2.0), (-2.8, 2.8), (-0.9, 3.1), (-4.76, 1.24), (-1.6, 1.6), (-3.0, 3.0))
    inertias: tuple[tuple[float, _Three, _Six], ...] = (
        (
            10.76768767,
            (-0.00443422, 0.12189039, -0.00066489),
            (0.13488033, 0.00213041, 0.00012485, 0.11328369, -0.00068555, 0.0904633),
        ),
        (
            3.87493756,
            (-0.00236983, 0.03105614, 0.01542114),
            (0.02140958, -0.00027172, -2.461e-05, 0.01377875, 0.0018192, 0.01558906),
        ),
        (
            1.80228141,
            (-0.03825858, 0.2075077, 3.309e-05),
            (0.05911077, 0.00249612, -7.38e-06, 0.0032455, 1.767e-05, 0.05927043),
        ),
        (
            2.40016804,
            (0.00498512, -0.00022942, 0.13271662),
            (0.01491672, -1.741e-05, 0.00150604, 0.01482922, 2.109e-05, 0.00294463),
        ),
        (0.12376019, (8.921e-05, 0.00511217, 0.00435824), (5.029e-05, -2e-07, 5e-08, 7.582e-05, 3.59e-06, 6.27e-05)),
        (
            0.41797364,
            (-0.00012262, -0.01703194, 0.02468336),
            (0.00055516, -6.1e-07, 7.4e-07, 0.00024367, 4.59e-05, 0.00045358),
        ),
        (0.06864753, (-7.974e-05, 0.00016313, -0.00323552), (3.773e-05, 1.9e-07, 0.0, 3.806e-05, 0.0, 7.408e-05)),
    )
    joints = tuple(
        DenavitJoint(
            name=f"joint{i + 1}",
            a=a,
            alpha=alpha,
            d=d,
            position_limits=limit,
            inertia=DenavitLink(mass=mass, com=com, inertia_com=inertia),
        )
        for i, ((a, alpha, d), limit, (mass, com, inertia)) in enumerate(zip(rows, ranges, inertias, strict=True))
    )
    return DenavitTable(name="wam7", convention="standard", joint=joints, gravity=(0.0, 0.0, -9.81)).robot("wam7")


def _planar2r() -> Robot:
    """Two slender rods of 1 kg (0.5 m) and 0.8 kg (0.4 m) swinging in a vertical plane; a textbook robot."""
    lengths, masses = (0.5, 0.4), (1.0, 0.8)
    joints = tuple(
        DenavitJoint(
            name=f"joint{i + 1}",
            a=0.0 if i == 0 else lengths[0],
            alpha=0.0,
            d=0.0,
            position_limits=(-np.pi, np.pi),
            velocity_limit=4.0,
            effort_limit=20.0,
            acceleration_limit=30.0,
            inertia=DenavitLink(
                mass=mass,
                com=(length / 2, 0.0, 0.0),
                inertia_com=(mass * 0.01**2, 0.0, 0.0, mass * length**2 / 12, 0.0, mass * length**2 / 12),
            ),
        )
        for i, (length, mass) in enumerate(zip(lengths, masses, strict=True))
    )
    return DenavitTable(name="planar2r", convention="modified", joint=joints, gravity=(0.0, -9.81, 0.0)).robot(
        "planar2r"
    )


def _spatial2r() -> Robot:
    """The two-link spatial arm with which [Gaz2019]_ shows nonlinear constraints: its DH table and true parameters."""
    joints = (
        DenavitJoint(
            name="joint1",
            a=0.0,
            alpha=_HALF_PI,
            d=1.5,
            position_limits=(-np.pi, np.pi),
            velocity_limit=4.0,
            acceleration_limit=20.0,
            inertia=DenavitLink(mass=8.0, com=(0.01, -0.75, -0.02), inertia_com=(0.03, 0.0, 0.0, 0.03, 0.0, 0.01)),
        ),
        DenavitJoint(
            name="joint2",
            a=0.8,
            alpha=0.0,
            d=0.0,
            position_limits=(-np.pi, np.pi),
            velocity_limit=4.0,
            acceleration_limit=20.0,
            inertia=DenavitLink(mass=3.0, com=(-0.1, 0.0, 0.0), inertia_com=(0.01, 0.0, 0.0, 0.04, 0.0, 0.04)),
        ),
    )
    return DenavitTable(name="spatial2r", convention="standard", joint=joints).robot("spatial2r")


BUILT_IN: Mapping[str, Callable[[], Robot]] = {
    "panda": _panda,
    "wam7": _wam7,
    "planar2r": _planar2r,
    "spatial2r": _spatial2r,
}
"""Robots that need no file, by name."""


def load_robot(
    name_or_path: str | Path,
    *,
    lock: Mapping[str, float] | None = None,
    gravity: ArrayLike | None = None,
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0),
    inertials: InertialsPolicy = "check",
    tip: str | None = None,
    moving: Collection[str] | None = None,
    square: bool = False,
) -> Robot:
    """A built-in robot, or the one of a URDF, MJCF or TOML (DH table) file; meshes are never needed.

    What the reader decides by itself stands in `Robot.notes`: joints that it holds (coupled fingers, closed loops, a
    free base), inertias that it does not trust. Nothing is dropped in silence.

    Args:
        name_or_path: a name of `BUILT_IN` or a path.
        lock: joints to freeze, with their positions in rad or m (fingers, say).
        gravity: in world axes, m/s²; what the robot file says (or standard gravity along −z) when None.
        mounting: roll, pitch, yaw of the base in the world, rad.
        inertials: ``check`` does not trust inertias that no body has (`Link.trusted`), ``ignore`` drops them all,
            ``keep`` trusts them as they are.
        tip: the last link of the arm that is meant; joints off the way to it are held.
        moving: the joints that a log has; all others are held. None: all joints move but grippers.
        square: make right angles exact that the file gives with few digits, as 1.5708 or 3.14.

    Raises:
        UnknownRobot: neither built in nor a file.
        RobotFileError: the file cannot be read; the message names file and element.
    """
    if not isinstance(name_or_path, str | Path):
        raise WrongType("name_or_path", f"the path of a robot file, or one of {', '.join(BUILT_IN)}", name_or_path)
    if lock is not None and not isinstance(lock, Mapping):
        raise WrongType("lock", "a mapping from joint names to positions, as {'finger': 0.0}", lock)
    if inertials not in get_args(InertialsPolicy):
        raise UnknownName(str(inertials), known=get_args(InertialsPolicy), kind="policy for inertials")
    robot = _unlocked(str(name_or_path), dict(lock or {}), inertials, Selection(tip, moving, square))
    return _standing(robot, inertials, gravity, mounting)


def robot_of_tree(
    tree: BodyTree,
    *,
    lock: Mapping[str, float] | None = None,
    gravity: ArrayLike | None = None,
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0),
    inertials: InertialsPolicy = "check",
    tip: str | None = None,
    moving: Collection[str] | None = None,
) -> Robot:
    """The robot of a URDF or MJCF file that was read before; arguments (SI) and errors as `load_robot`."""
    robot = _of_tree(tree, dict(lock or {}), inertials, Selection(tip, moving))
    return _standing(robot, inertials, gravity, mounting)


def _standing(
    robot: Robot, inertials: InertialsPolicy, gravity: ArrayLike | None, mounting: tuple[float, float, float]
) -> Robot:
    if inertials == "ignore":
        robot = robot.with_nominal(dict.fromkeys(robot.link_names))
    if gravity is not None:
        robot = robot.with_gravity(gravity)
    return robot.mounted(*mounting)


@dataclass(frozen=True)
class Selection:
    """Which part of a file is meant, and whether rounded right angles are exact; see `load_robot`."""

    tip: str | None = None
    moving: Collection[str] | None = None
    square: bool = False

    def chain(self, robot: Robot, lock: Mapping[str, float]) -> Robot:
        """The part of a robot that does not come from XML."""
        locked = dict(lock)
        if self.tip is not None:
            if self.tip not in robot.link_names:
                raise UnknownName(self.tip, known=robot.link_names, kind="link", where=robot.source)
            way = robot.path_to[robot.link_names.index(self.tip)]
            locked = {name: 0.0 for k, name in enumerate(robot.joint_names) if k not in way} | locked
        if self.moving is not None:
            locked = {name: 0.0 for name in robot.joint_names if name not in self.moving} | locked
        return robot.locked(locked)


def _unlocked(name: str, lock: Mapping[str, float], inertials: InertialsPolicy, selection: Selection) -> Robot:
    if name in BUILT_IN:
        return selection.chain(BUILT_IN[name](), lock)
    path = Path(name)
    if not path.exists():
        if path.suffix or path.parent != Path():
            raise RobotFileError(f"{path}: no such robot file; built in are {', '.join(BUILT_IN)}")
        raise UnknownRobot(name, known=BUILT_IN)
    if path.is_dir():
        raise RobotFileError(f"{path}: is a folder; give the robot file itself")
    if path.suffix.lower() == ".toml":
        table = read_denavit(path)
        checked = trusting_only_bodies(table, bodies_of(table)) if inertials == "check" else table
        return selection.chain(checked, lock)
    return _of_tree(read_bodies(path, square=selection.square), lock, inertials, selection)


def _of_tree(tree: BodyTree, lock: Mapping[str, float], inertials: InertialsPolicy, selection: Selection) -> Robot:
    try:
        held = held_joints(tree, lock, tip=selection.tip, moving=selection.moving)
        robot = robot_of_bodies(tree, inertials, held)
        return trusting_only_bodies(robot, tree) if inertials == "check" else robot
    except RobotFileError:
        raise
    except (RobotError, ParameterError) as error:
        message = str(error) if str(error).startswith(tree.source) else f"{tree.source}: {error}"
        raise RobotFileError(message) from error
