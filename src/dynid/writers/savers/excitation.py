"""The files of an exciting motion: its table, coefficients, picture and ROS message; or poses."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dynid.disk import refuse_replacing
from dynid.excitation.trajectory_files import FORMAT, write_coefficients, write_poses, write_ros, write_trajectory
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
    trajectory = result.trajectory
    files = trajectory_files(path, result.inputs, ros=result.ros, picture=result.picture)
    write_trajectory(path, trajectory, rate_hz=result.rate)
    write_coefficients(files["coefficients"], trajectory)
    if "ros" in files:
        write_ros(files["ros"], trajectory, rate_hz=max(100.0, 4.0 * trajectory.bandwidth_hz))
    if "picture" in files:
        page = trajectory_report(
            trajectory,
            result.model.robot,
            result.limits,
            history=() if result.found is None else result.found.history,
            condition_number=result.report.condition_number,
            n_base=result.base.n_base,
        )
        page.write(files["picture"])
    return Saved(files)


def trajectory_files(path: Path, inputs: Iterable[Path], *, ros: Path | None, picture: bool) -> dict[str, Path]:
    """The files of an exciting motion: its table, and coefficients, picture and ROS message where they are asked for.

    Raises:
        OutputError: one of them is an input, or somebody else's file.
    """
    files = {"trajectory": path, "coefficients": path.with_suffix(".toml")}
    unasked = {files["coefficients"]: FORMAT}
    if ros is not None:
        files["ros"] = ros
    if picture:
        files["picture"] = path.with_suffix(".html")
        unasked[files["picture"]] = "Written by dynid"
    refuse_replacing(inputs, [file for file in files.values() if file not in unasked], unasked=unasked)
    return files


SAVER = Saver(_write, one_file=True)
