"""``dynid export``: a model for simulators, controllers and spreadsheets, checked before the file appears."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

import dynid
from dynid.cli.console import complain, emit_json, say, warn, with_flags
from dynid.cli.options import JsonFlag
from dynid.cli.progress import progress
from dynid.errors import InconsistentModel, LossyExport
from dynid.workflow.doors import locked_joint
from dynid.writers.exported import Exported
from dynid.writers.exporters import EXPORTERS

__all__ = ["export"]

if TYPE_CHECKING:
    Target = str
else:
    Target = Literal[tuple(EXPORTERS)]


def export(
    model: Path,
    /,
    *,
    to: Target,
    out: Path,
    template: Path | None = None,
    fresh: Annotated[bool, Parameter(negative="")] = False,
    lock: tuple[str, ...] = (),
    prefix: str | None = None,
    flange: tuple[float, float, float, float, float, float] | None = None,
    force: Annotated[bool, Parameter(negative="")] = False,
    filter: Literal["load"] | None = None,
    rate: float = 1000.0,
    half_window: float = 0.1,
    max_mass: float = 5.0,
    false_alarms: float = 0.5,
    json: JsonFlag = False,
) -> int:
    """Write a model as URDF, MJCF, C, CSV, JSON or YAML, or a payload as settings of a controller.

    Every file is read back and must re-predict the torque to 1e-6, else it is not written. What the format cannot say
    is named on stderr, or refitted in what it can, with the loss said. A model from a URDF or MJCF file is written into
    a copy of that file, where it has not changed. An MJCF file that simulates far worse in MuJoCo than its model is not
    written (exit 1).

    Example: dynid export result/model.json --to c --out arm.h

    Parameters
    ----------
    model
        A model.json; for franka, franka-desk and ur the file of dynid payload --out.
    to
        urdf, mjcf, c, csv, json, yaml (actuators, as Isaac Lab has them); franka (libfranka's setLoad), franka-desk,
        ur (URScript).
    out
        The file to write.
    template
        A URDF or MJCF file of the robot; only inertias, damping, friction (and armature) change in the copy.
    fresh
        Write a new file even though the robot's own could be edited.
    lock
        Where a joint stood that moves in the template but not in the model, JOINT=VALUE (rad or m).
    prefix
        What names in the C header start with [default: the robot's name].
    flange
        Flange frame in the frame of the load: x y z in m, roll pitch yaw in rad.
    force
        Write parameters that are not physically consistent (the file says so), or a file that simulates far worse.
    """
    locked = dict(locked_joint(item) for item in lock)
    try:
        with progress("writing and reading back"):
            done = dynid.export(
                model,
                to,
                out,
                template=template,
                fresh=fresh,
                lock=locked,
                prefix=prefix,
                flange=flange,
                force=force,
                filter=filter,
                rate=rate,
                half_window=half_window,
                max_mass=max_mass,
                false_alarms=false_alarms,
            )
    except (InconsistentModel, LossyExport) as error:
        # A model that is not good enough to be exported is not a mistake of usage.
        complain(with_flags(str(error)))
        return 1
    _report(done, json=json)
    return 0


def _report(done: Exported, *, json: bool) -> None:
    for sentence in done.left_out:
        warn(f"left out: {sentence}")
    for k, notice in enumerate(done.notices):
        warn(notice if done.consistent or k else f"NOT CONSISTENT, written by `force`: {notice}")
    how = with_flags(done.how)
    if json:
        emit_json(
            {
                "robot": done.subject,
                "to": done.format,
                "error": done.error,
                "n_states": done.n_states,
                "checked_by": done.checked_by,
                "how": how,
                "left_out": list(done.left_out),
                "notices": list(done.notices),
                "possible": done.consistent,
                "files": {done.format: str(done.path)},
            }
        )
        return
    say("model", done.subject)
    if how:
        say("file", how)
    say("read back", done.check)
    say("wrote", str(done.path))
