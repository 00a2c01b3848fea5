"""``dynid reverse``: base parameters from a controller's own M(q) and g(q)."""

from __future__ import annotations

from pathlib import Path

import dynid
from dynid.cli.console import tell, warn
from dynid.cli.options import JsonFlag, RobotName, RobotOptions, free_place
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress

__all__ = ["reverse"]


def reverse(
    robot: RobotName,
    samples: Path,
    /,
    *,
    out: Path | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Base parameters from what a controller reports of its own model at still postures.

    Gravity rows that are zero whatever the parameters are found and dropped.

    Example: dynid reverse panda controller_model.csv --out result

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    samples
        CSV (also .gz) with columns q1…qn, M11, M21, M22, …, g1…gn.
    out
        Folder for model.json, report.html and run.json [default: result, or result-2, …].
    """
    with progress("reading") as step:
        result = dynid.reverse(robot, samples, progress=step, **typed(options))
        step("writing")
        saved = dynid.save(result, free_place(out, "result"))
    tell(result, saved, json=json)
    for sentence in result.warnings:
        warn(sentence)
    return 1 if result.model.status else 0
