"""What was written, and the files that every model has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dynid.disk import refuse_replacing, write_whole
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import save_model
from dynid.writers.exported import Exported
from dynid.writers.origin import model_sources, write_urdf_like_its_origin
from dynid.writers.report.page import Report

__all__ = ["Saved", "Saver", "folder_files", "marked", "run_text", "with_urdf", "write_model_files"]


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


@dataclass(frozen=True)
class Saver:
    """How one kind of result is written."""

    write: Callable[[Any, Path], Saved]
    """Writes a result into a folder, or as a file."""
    one_file: bool = False
    """Whether a result is one file, perhaps with neighbours, rather than a folder."""


def write_model_files(model: IdentifiedModel, report: Report, folder: Path) -> dict[str, Path]:
    """Write model.json, report.html and run.json."""
    files = {"model": folder / "model.json", "report": folder / "report.html", "run": folder / "run.json"}
    refuse_replacing(model_sources(model), (), unasked=marked(files.values()))
    save_model(model, files["model"])
    report.write(files["report"])
    write_whole(files["run"], run_text(model))
    return files


def with_urdf(model: IdentifiedModel, folder: Path, files: dict[str, Path]) -> Saved:
    """The same with robot.urdf, where every link is physically consistent."""
    if not model.consistent:
        return Saved(files)
    files["urdf"] = folder / "robot.urdf"
    refuse_replacing(model_sources(model), (), unasked=marked([files["urdf"]]))
    done = write_urdf_like_its_origin(model, files["urdf"])
    told = tuple(f"robot.urdf: {sentence}" for sentence in (*done.left_out, *done.notices))
    return Saved(files, done, told)


def folder_files(folder: Path) -> dict[Path, str]:
    """Every file that a result may write into its folder, with a text that all of them hold."""
    return marked(folder / name for name in ("model.json", "report.html", "run.json", "robot.urdf"))


def marked(files: Iterable[Path]) -> dict[Path, str]:
    """Files of a folder that was named, none of which was, with a text that all of dynid's hold.

    A robot file keeps every byte that is not a number of dynid's: it is dynid's where the model beside it is.
    """
    return {file: "" if file.suffix == ".urdf" and _is_result(file.parent) else "dynid" for file in files}


def _is_result(folder: Path) -> bool:
    model = folder / "model.json"
    return model.is_file() and b"dynid" in model.read_bytes()


def run_text(model: IdentifiedModel) -> str:
    """The text of run.json: where a model comes from."""
    return json.dumps(dict(model.provenance), indent=1, default=str) + "\n"
