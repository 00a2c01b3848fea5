"""``dynid export``: a model for simulators, controllers and spreadsheets, checked before the file appears."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from dynid.chain.placement import rotation_rpy, transform
from dynid.cli.console import complain, emit_json, say, warn
from dynid.cli.exporting import Origin, origin_of
from dynid.cli.options import JsonFlag, locked_joint
from dynid.cli.progress import progress
from dynid.errors import ExportError
from dynid.regression import load_model
from dynid.writers import Exported, read_load, write_c_header, write_load_settings, write_mjcf, write_table, write_urdf

__all__ = ["export"]

Target = Literal["urdf", "mjcf", "c", "csv", "json", "franka", "franka-desk", "ur"]
ROOTS = {"urdf": "robot", "mjcf": "mujoco"}


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
    json: JsonFlag = False,
) -> int:
    """Write a model as URDF, MJCF, C, CSV or JSON, or a payload as settings of a controller.

    Every file is read back and must re-predict the torque to 1e-6, else it is not written. What the format cannot say
    is named on stderr. A model from a URDF or MJCF file is written into a copy of that file, where it has not changed.

    Example: dynid export result/model.json --to c --out arm.h

    Parameters
    ----------
    model
        A model.json; for franka, franka-desk and ur the file of dynid payload --out.
    to
        urdf, mjcf, c, csv, json; franka (libfranka's setLoad), franka-desk, ur (URScript).
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
        Write parameters that are not physically possible; the file says so.
    """
    if to in ("franka", "franka-desk", "ur"):
        return _export_load(model, to, out, flange, force, json)
    known = load_model(model)
    if template is not None and to not in ROOTS:
        raise ExportError(f"--template is for urdf and mjcf, not for {to}")
    origin = Origin(template)
    if to in ROOTS and template is None and not fresh:
        origin = origin_of(known, ROOTS[to])
    locked = {**origin.lock, **dict(locked_joint(item) for item in lock)}
    try:
        with progress("writing and reading back"):
            if to == "urdf":
                done = write_urdf(known, out, template=origin.path, lock=locked, force=force)
            elif to == "mjcf":
                done = write_mjcf(known, out, template=origin.path, lock=locked, force=force)
            elif to == "c":
                done = write_c_header(known, out, prefix=prefix, force=force)
            else:
                done = write_table(known, out, kind="csv" if to == "csv" else "json")
    except ExportError as error:
        complain(str(error))
        # A model that is not good enough to be exported is not a mistake of usage.
        return 1 if to not in ("csv", "json") and not force and not known.consistent else 2
    how = ""
    if to in ROOTS:
        how = (
            f"{origin.path} edited in place"
            if origin.path
            else f"a fresh file{': ' * bool(origin.reason)}{origin.reason}"
        )
    _report(done, known.model.robot.name, how, force and not known.consistent and to not in ("csv", "json"), json)
    return 0


def _export_load(
    path: Path,
    to: Literal["franka", "franka-desk", "ur"],
    out: Path,
    flange: tuple[float, float, float, float, float, float] | None,
    force: bool,
    json: bool,
) -> int:
    load = read_load(path)
    if flange is not None:
        if load.frame == "flange":
            raise ExportError(f"{path}: the load is in the flange frame already; leave --flange out")
        load = load.at_flange(transform(rotation_rpy(*flange[3:]), flange[:3]))
    done = write_load_settings(load, out, controller=to, force=force)
    _report(done, "load", "", force and bool(done.notices) and "impossible" in done.notices[0], json)
    return 0


def _report(done: Exported, name: str, how: str, impossible: bool, json: bool) -> None:
    for sentence in done.left_out:
        warn(f"left out: {sentence}")
    for notice in done.notices:
        warn(f"NOT POSSIBLE, written by --force: {notice}" if impossible and notice is done.notices[0] else notice)
    if json:
        emit_json(
            {
                "robot": name,
                "to": done.format,
                "error": done.error,
                "n_states": done.n_states,
                "checked_by": done.checked_by,
                "how": how,
                "left_out": list(done.left_out),
                "notices": list(done.notices),
                "possible": not impossible,
                "files": {done.format: str(done.path)},
            }
        )
        return
    say("model", name)
    if how:
        say("file", how)
    states = f" on {done.n_states} states" if done.n_states else ""
    say("read back", f"{done.checked_by}; largest difference {done.error:.1e}{states}")
    say("wrote", str(done.path))
