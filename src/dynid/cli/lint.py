"""``dynid lint``: inertias that cannot be, or hardly, and the smallest repair."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import emit_json, say, show
from dynid.cli.options import JsonFlag, RobotName
from dynid.disk import refuse_replacing

__all__ = ["lint"]


def lint(
    robot: RobotName,
    *,
    repair_to: Annotated[Path | None, Parameter(name="--repair")] = None,
    json: JsonFlag = False,
) -> int:
    """Physically inconsistent or suspicious inertias, and the smallest repair.

    Exit code 1 when an inertia is not physically consistent (and was not repaired).

    Example: dynid lint arm.urdf --repair arm-repaired.urdf

    Parameters
    ----------
    robot
        Built-in name, or a URDF, MJCF or TOML file.
    repair_to
        Write a copy in which only impossible numbers change, by as little as possible.
    """
    if repair_to is not None:
        refuse_replacing([Path(robot)], [repair_to])
        done = dynid.repair(robot, repair_to)
        if json:
            emit_json({**done.json(), "files": {"repaired": str(done.path)}})
        else:
            show(done.document())
        return 0
    result = dynid.lint(robot)
    if json:
        emit_json({**result.json(), "files": {}})
    else:
        show(result.document())
        if not result.consistent:
            say("next", f"dynid lint {robot} --repair repaired{Path(robot).suffix}")
    return 0 if result.consistent else 1
