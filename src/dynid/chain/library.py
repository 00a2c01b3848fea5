"""Built-in robots with their published figures, and `load_robot` for these and for files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from dynid.arrays import ArrayLike
from dynid.chain.denavit import read_denavit
from dynid.chain.formats.assembly import InertialsPolicy, read_bodies, robot_of_bodies
from dynid.chain.formats.bodies import BodyTree
from dynid.chain.formats.locks import held_joints
from dynid.chain.placement import WORTH_SAYING, exact_right_angle
from dynid.chain.robot import Robot
from dynid.chain.trust import bodies_of, trusting_only_bodies
from dynid.errors import ParameterError, RobotError, RobotFileError, UnknownName, UnknownRobot, WrongType

__all__ = ["BUILT_IN", "load_robot", "robot_of_tree"]

BUILT_IN = ("panda", "wam7", "planar2r", "spatial2r")
"""Robots that need no file, by name; each is a table in the folder `robots`, as users write them."""
_TABLES = Path(__file__).with_name("robots")


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
        square: make right angles exact that file or `mounting` give with few digits, as 1.5708 or 3.14.

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
    return _standing(robot, inertials, gravity, mounting, square=square)


def robot_of_tree(
    tree: BodyTree,
    *,
    lock: Mapping[str, float] | None = None,
    gravity: ArrayLike | None = None,
    mounting: tuple[float, float, float] = (0.0, 0.0, 0.0),
    inertials: InertialsPolicy = "check",
    tip: str | None = None,
    moving: Collection[str] | None = None,
    square: bool = False,
) -> Robot:
    """The robot of a URDF or MJCF file that was read before; arguments (SI) and errors as `load_robot`."""
    robot = _of_tree(tree, dict(lock or {}), inertials, Selection(tip, moving))
    return _standing(robot, inertials, gravity, mounting, square=square)


def _standing(
    robot: Robot,
    inertials: InertialsPolicy,
    gravity: ArrayLike | None,
    mounting: tuple[float, float, float],
    *,
    square: bool,
) -> Robot:
    if inertials == "ignore":
        robot = robot.with_nominal(dict.fromkeys(robot.link_names))
    if gravity is not None:
        robot = robot.with_gravity(gravity)
    roll, pitch, yaw = (exact_right_angle(repr(float(angle))) if square else angle for angle in mounting)
    if max(abs(exact - angle) for exact, angle in zip((roll, pitch, yaw), mounting, strict=True)) > WORTH_SAYING:
        typed = " ".join(f"{angle:g}" for angle in mounting)
        robot = replace(robot, notes=(*robot.notes, f"right angles of the mounting {typed} rad are exact"))
    return robot.mounted(roll, pitch, yaw)


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
        return selection.chain(replace(read_denavit(_TABLES / f"{name}.toml"), source=name), lock)
    path = Path(name)
    if not path.exists():
        if path.suffix or path.parent != Path():
            raise RobotFileError(f"{path}: no such robot file; built in are {', '.join(BUILT_IN)}")
        raise UnknownRobot(name, known=BUILT_IN)
    if path.is_dir():
        raise RobotFileError(f"{path}: is a folder; give the robot file itself")
    if path.suffix.lower() == ".toml":
        table = read_denavit(path, square=selection.square)
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
