"""Which robot file a model came from, and whether an export can edit a copy of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dynid.chain.formats.includes import read_document
from dynid.errors import DynidError, ExportError, RobotError
from dynid.recording.conditioning import Samples
from dynid.regression.model import IdentifiedModel
from dynid.workflow.logs import Log
from dynid.workflow.provenance import hashed
from dynid.writers.exported import Exported, ExportOptions
from dynid.writers.urdf import write_urdf

__all__ = ["RobotOrigin", "model_sources", "robot_origin", "training_log", "write_urdf_like_its_origin"]

MAX_ANCESTORS = 20
"""Models made of models that are followed back: a provenance that names itself must not hang an export."""


@dataclass(frozen=True)
class RobotOrigin:
    """The robot file to edit in place, or why there is none."""

    path: Path | None
    lock: Mapping[str, float] = field(default_factory=dict)
    """Where joints stood that the model does not move, rad or m."""
    reason: str = ""
    """Why a fresh file is written, for a model that came from a file of this kind."""

    @property
    def how(self) -> str:
        """Which file is edited in place, or that a fresh one is written and why."""
        if self.path is not None:
            return f"{self.path} edited in place"
        return f"a fresh file: {self.reason}" if self.reason else "a fresh file"


def model_sources(model: IdentifiedModel) -> tuple[Path, ...]:
    """The files that a model was made from, as it remembers them; some may be gone."""
    named = model.provenance.get("inputs")
    return *map(Path, named if isinstance(named, Mapping) else ()), Path(model.robot.source)


def robot_origin(model: IdentifiedModel, root: str) -> RobotOrigin:
    """The file a model came from, if it is still the same and its root element is `root`."""
    source = Path(model.model.robot.source)
    lock: dict[str, float] = {}
    recorded = None
    for story in _stories(model.provenance):
        inputs = story.get("inputs")
        if isinstance(inputs, Mapping):
            recorded = recorded or inputs.get(str(source))
        lock |= _locked(story)
    if source.suffix.lower() in ("", ".toml"):
        return RobotOrigin(None, lock)
    if not source.is_file():
        return RobotOrigin(None, lock, f"{source} is not here any more; `template` names another copy")
    try:
        tag = read_document(source).root.tag
    except RobotError as error:
        return RobotOrigin(None, lock, f"{source} cannot be edited: {error}")
    if tag != root:
        return RobotOrigin(None, lock)
    if recorded is None:
        return RobotOrigin(None, lock, f"the model does not record its robot file; to edit it: `template` {source}")
    with source.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if recorded != digest:
        return RobotOrigin(None, lock, f"{source} has changed since; to edit it nonetheless: `template` {source}")
    return RobotOrigin(source, lock)


def training_log(model: IdentifiedModel) -> tuple[Samples | None, Samples | None]:
    """The first training log (SI) of a model, conditioned as in its fit, and without the delay of its torque.

    Nothing where the log is gone, has changed, or was never a file; the second only where there was a delay.
    """
    named, inputs = model.provenance.get("logs"), model.provenance.get("inputs")
    options = model.provenance.get("options")
    if not isinstance(named, list) or not named or not isinstance(inputs, Mapping):
        return None, None
    path = Path(str(named[0]))
    if not path.exists() or inputs.get(str(path)) != hashed(path):
        return None, None
    part = options.get("log") if isinstance(options, Mapping) else None
    edges = [part.get(key) if isinstance(part, Mapping) else None for key in ("from_", "until")]
    start, end = (float(edge) if isinstance(edge, int | float) else None for edge in edges)
    try:
        log = Log.of(path, model.robot, model.settings, start, end)
        piece = log.first_piece()
        whole = model.settings.condition(piece)
        if not model.settings.delay:
            return whole, None
        return whole, replace(model.settings, delay=0.0).condition(piece)
    except DynidError:
        # A log that can no longer be read is no reason against an export.
        return None, None


def _stories(provenance: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """A provenance, then that of the model it was made of, and so on."""
    story: object = provenance
    for _ in range(MAX_ANCESTORS):
        if not isinstance(story, Mapping):
            return
        yield story
        story = story.get("of")


def _locked(story: Mapping[str, object]) -> dict[str, float]:
    """Where joints stood (rad or m), as a provenance records it: a list of ``JOINT`` or ``JOINT=VALUE``."""
    options = story.get("options")
    if not isinstance(options, Mapping):
        return {}
    robot = options.get("robot")
    recorded = robot.get("lock") if isinstance(robot, Mapping) else options.get("lock")
    lock: dict[str, float] = {}
    for item in recorded if isinstance(recorded, list) else ():
        name, _, value = str(item).partition("=")
        try:
            lock[name] = float(value or 0.0)
        except ValueError as error:
            raise ExportError(f"the provenance of the model locks {item}: {value!r} is not a number") from error
    return lock


def write_urdf_like_its_origin(model: IdentifiedModel, path: Path) -> Exported:
    """Write robot.urdf (SI) as a copy of the file the model came from, or fresh where that cannot be edited."""
    origin = robot_origin(model, "robot")
    if origin.path is not None:
        try:
            done = write_urdf(model, path, ExportOptions(template=origin.path, lock=origin.lock))
        except ExportError as error:
            origin = replace(origin, path=None, reason=str(error))
        else:
            return replace(done, how=f"{origin.path} with new inertias, damping and friction; nothing else changed")
    return replace(write_urdf(model, path), how=origin.how)
