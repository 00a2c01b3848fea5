"""The files of an exciting motion: its table, coefficients, picture, rehearsal and what controllers read; or poses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from dynid.disk import refuse_replacing
from dynid.excitation.controller_files import CONTROLLERS, write_controller
from dynid.excitation.trajectory_files import FORMAT, write_coefficients, write_poses, write_trajectory
from dynid.workflow.exciting import ExcitingPoses, ExcitingTrajectory
from dynid.writers.report.trajectory import trajectory_report
from dynid.writers.savers.saved import Saved, Saver

__all__ = ["trajectory_files"]


def _write(result: ExcitingTrajectory | ExcitingPoses, path: Path) -> Saved:
    if isinstance(result, ExcitingTrajectory):
        return _write_trajectory(result, path)
    refuse_replacing(result.inputs, [path])
    write_poses(path, result.design)
    return Saved({"poses": path})


def _write_trajectory(result: ExcitingTrajectory, path: Path) -> Saved:
    trajectory, slow = result.trajectory, result.rehearsal
    files = trajectory_files(
        path, result.inputs, controllers=result.controllers, picture=result.picture, rehearsal=slow is not None
    )
    write_trajectory(path, trajectory, rate_hz=result.rate)
    keep_out = () if result.clear is None else result.clear.surroundings.keep_out
    write_coefficients(files["coefficients"], trajectory, floor=result.floor_said, keep_out=keep_out)
    for kind in (kind for kind in CONTROLLERS if kind in files):
        least = 4.0 * trajectory.bandwidth_hz if kind == "ros" else 0.0
        rate = max(CONTROLLERS[kind].rate_hz, least)
        write_controller(files[kind], kind, trajectory, rate_hz=rate)
        if slow is not None:
            write_controller(files[f"{kind} rehearsal"], kind, slow, rate_hz=rate)
    if slow is not None:
        write_trajectory(files["rehearsal"], slow, rate_hz=result.rate)
    if "picture" in files:
        page = trajectory_report(
            trajectory,
            result.model.robot,
            result.limits,
            history=() if result.found is None else result.found.history,
            condition_number=result.report.condition_number,
            n_base=result.base.n_base,
            clear=result.clear,
        )
        page.write(files["picture"])
    return Saved(files)


def trajectory_files(
    path: Path,
    inputs: Iterable[Path],
    *,
    controllers: Mapping[str, Path | None],
    picture: bool,
    rehearsal: bool = False,
) -> dict[str, Path]:
    """The files of an exciting motion: its table, and coefficients, picture, rehearsal and what controllers read.

    Raises:
        OutputError: one of them is an input, or somebody else's file.
    """
    files = {"trajectory": path, "coefficients": path.with_suffix(".toml")}
    unasked = {files["coefficients"]: FORMAT}
    asked = {kind: file for kind, file in controllers.items() if file is not None}
    files |= asked
    if rehearsal:
        files["rehearsal"] = _slow(path)
        files |= {f"{kind} rehearsal": _slow(file) for kind, file in asked.items()}
    if picture:
        files["picture"] = path.with_suffix(".html")
        unasked[files["picture"]] = "Written by dynid"
    refuse_replacing(inputs, [file for file in files.values() if file not in unasked], unasked=unasked)
    return files


def _slow(path: Path) -> Path:
    """Where the rehearsal of a file goes: beside it."""
    return path.with_name(f"{path.stem}-rehearsal{path.suffix}")


SAVER = Saver(_write, one_file=True)
