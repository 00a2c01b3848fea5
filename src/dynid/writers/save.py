"""`save`: the files of a result, whole or not at all: what the commands write, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import singledispatch
from os import PathLike
from pathlib import Path

from dynid.disk import at_once, claimed, refuse_replacing, write_whole
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, DataSetError, RecordingError
from dynid.excitation.trajectory_files import FORMAT, write_coefficients, write_poses, write_ros, write_trajectory
from dynid.prose import json_text
from dynid.recording.datasets.fetched import ConvertedLogs
from dynid.recording.formats.text import write_csv
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import save_model
from dynid.workflow.exciting import ExcitingPoses, ExcitingTrajectory
from dynid.workflow.friction import FrictionRefit
from dynid.workflow.identification import Identification
from dynid.workflow.payload import GainsIdentification, PayloadIdentification
from dynid.workflow.retrieve import ModelRetrieval
from dynid.workflow.reverse import ReverseIdentification
from dynid.workflow.simulation import Simulation
from dynid.workflow.track import ModelTracking
from dynid.writers.exported import Exported
from dynid.writers.origin import write_urdf_like_its_origin
from dynid.writers.report.friction import friction_report
from dynid.writers.report.identification import identification_report
from dynid.writers.report.page import Report
from dynid.writers.report.retrieval import retrieval_report
from dynid.writers.report.reverse import reverse_report
from dynid.writers.report.tracking import tracking_report

__all__ = ["Saved", "log_files", "save", "trajectory_files"]

IN_ONE_FILE = (
    ConvertedLogs,
    ExcitingPoses,
    ExcitingTrajectory,
    GainsIdentification,
    PayloadIdentification,
    Simulation,
)
"""Results that are one file, some with neighbours, rather than a folder."""


@dataclass(frozen=True)
class Saved:
    """The files of a result, by what they are."""

    files: Mapping[str, Path]
    """Such as model, report, run, urdf."""
    urdf: Exported | None = None
    """The robot file among them, with what it leaves out; None where there is none."""
    warnings: tuple[str, ...] = field(default=())
    """What the files do not say, a sentence each."""

    def json(self) -> dict[str, object]:
        """What scripts read of it."""
        content: dict[str, object] = {"files": {name: str(path) for name, path in self.files.items()}}
        if self.urdf is not None:
            left_out, notices = list(self.urdf.left_out), list(self.urdf.notices)
            content["urdf"] = {"how": self.urdf.how, "left_out": left_out, "notices": notices}
        return content

    def __str__(self) -> str:
        return "\n".join(str(path) for path in self.files.values())


@singledispatch
def _save(result: object, folder: Path) -> Saved:
    raise ConfigError(f"save: expected a result of dynid.identify and its like, got {type(result).__name__}")


@one_blas_thread()
def save(result: object, out: str | PathLike[str]) -> Saved:
    """Write the files of a result, all of them or none; never in the place of a file that the result was made from.

    Args:
        result: what `dynid.identify`, `reverse`, `retrieve`, `friction`, `payload` or `track` returned, or an
            `IdentifiedModel`; or a motion of `dynid.excite`, or a log of `dynid.simulate`.
        out: the folder, which is made where it is missing; of `payload` its JSON file; of a motion or a log its .csv,
            which the other files go beside.

    Raises:
        OutputError: naming the file and what the system said.
        ConfigError: for a value that has no files.
    """
    if not isinstance(out, str | PathLike):
        raise ConfigError(f"out: expected a path, got {type(out).__name__}")
    place = Path(out)
    with nullcontext() if isinstance(result, IN_ONE_FILE) else claimed(place), at_once():
        return _save(result, place)


@_save.register
def _(result: IdentifiedModel, folder: Path) -> Saved:
    save_model(result, folder / "model.json")
    return Saved({"model": folder / "model.json"})


@_save.register
def _(result: Identification, folder: Path) -> Saved:
    return _with_urdf(result.model, folder, _model_files(result.model, identification_report(result), folder))


@_save.register
def _(result: ModelRetrieval, folder: Path) -> Saved:
    return _with_urdf(result.model, folder, _model_files(result.model, retrieval_report(result), folder))


@_save.register
def _(result: ReverseIdentification, folder: Path) -> Saved:
    return Saved(_model_files(result.model, reverse_report(result), folder))


@_save.register
def _(result: FrictionRefit, folder: Path) -> Saved:
    return Saved(_model_files(result.model, friction_report(result), folder))


@_save.register(PayloadIdentification)
@_save.register(GainsIdentification)
def _(result: PayloadIdentification | GainsIdentification, path: Path) -> Saved:
    write_whole(path, json_text(result.json()))
    return Saved({"payload" if isinstance(result, PayloadIdentification) else "gains": path})


def _model_files(model: IdentifiedModel, report: Report, folder: Path) -> dict[str, Path]:
    """Write model.json, report.html and run.json."""
    files = {"model": folder / "model.json", "report": folder / "report.html", "run": folder / "run.json"}
    save_model(model, files["model"])
    report.write(files["report"])
    write_whole(files["run"], run_text(model))
    return files


def _with_urdf(model: IdentifiedModel, folder: Path, files: dict[str, Path]) -> Saved:
    """The same with robot.urdf, where every link is physically consistent."""
    if not model.consistent:
        return Saved(files)
    files["urdf"] = folder / "robot.urdf"
    done = write_urdf_like_its_origin(model, files["urdf"])
    told = tuple(f"robot.urdf: {sentence}" for sentence in (*done.left_out, *done.notices))
    return Saved(files, done, told)


def run_text(model: IdentifiedModel) -> str:
    """The text of run.json: where a model comes from."""
    return json.dumps(dict(model.provenance), indent=1, default=str) + "\n"


@_save.register
def _(result: ModelTracking, folder: Path) -> Saved:
    files = {"model": folder / "model.json", "report": folder / "report.html"}
    save_model(result.model, files["model"])
    tracking_report(result.run).write(files["report"])
    return Saved(files)


@_save.register
def _(result: Simulation, path: Path) -> Saved:
    files = log_files(path, result.inputs)
    write_csv(result.recording, files["log"])
    write_whole(files["truth"], json.dumps(result.truth, ensure_ascii=False, indent=1) + "\n")
    return Saved(files)


def log_files(path: Path, inputs: Iterable[Path]) -> dict[str, Path]:
    """The files of a simulated log: itself, and the truth next to it.

    Raises:
        RecordingError: for an ending that no log is written with.
        OutputError: one of them is an input, or somebody else's file.
    """
    if not path.name.endswith((".csv", ".csv.gz")):
        raise RecordingError(f"`out` {path}: the log is written as .csv or .csv.gz; change the ending")
    truth = path.with_name(path.name.removesuffix(".gz").removesuffix(".csv") + ".truth.json")
    refuse_replacing(inputs, [path], unasked={truth: '"parameters"'})
    return {"log": path, "truth": truth}


@_save.register
def _(result: ExcitingTrajectory, path: Path) -> Saved:
    trajectory = result.trajectory
    files = trajectory_files(path, result.inputs, ros=result.ros, picture=result.picture)
    write_trajectory(path, trajectory, rate_hz=result.rate)
    write_coefficients(files["coefficients"], trajectory)
    if "ros" in files:
        write_ros(files["ros"], trajectory, rate_hz=max(100.0, 4.0 * trajectory.bandwidth_hz))
    if "picture" in files:
        from dynid.writers.report.trajectory import trajectory_report

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


@_save.register
def _(result: ExcitingPoses, path: Path) -> Saved:
    refuse_replacing(result.inputs, [path])
    write_poses(path, result.design)
    return Saved({"poses": path})


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


@_save.register
def _(result: ConvertedLogs, path: Path) -> Saved:
    single = path.name.endswith((".csv", ".csv.gz"))
    if single and len(result.logs) > 1:
        names = ", ".join(result.logs)
        raise DataSetError(f"`out` {path}: the files hold {len(result.logs)} logs, {names}; name a folder instead")
    files = {name: path if single else path / f"{name}.csv.gz" for name in result.logs}
    refuse_replacing(result.inputs, files.values())
    for name, file in files.items():
        write_csv(result.logs[name], file)
    return Saved(files)
