"""Which robot file a model came from, and where its joints were locked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dynid.chain.formats.xml import read_markup
from dynid.cli.console import say, warn
from dynid.cli.options import locked_joint
from dynid.cli.pipeline import hashed
from dynid.errors import ExportError, RobotError
from dynid.regression import IdentifiedModel
from dynid.writers import Exported, write_urdf

__all__ = ["Origin", "origin_of", "say_of_urdf", "urdf_content", "warn_of_urdf", "write_urdf_like_its_origin"]


@dataclass(frozen=True)
class Origin:
    """The robot file to edit in place, or why there is none."""

    path: Path | None
    lock: Mapping[str, float] = field(default_factory=dict)
    """Where joints stood that the model does not move, rad or m."""
    reason: str = ""
    """Why a fresh file is written, for a model that came from a file of this kind."""


def origin_of(model: IdentifiedModel, root: str) -> Origin:
    """The file a model came from, if it is still the same and its root element is `root`."""
    source = Path(model.model.robot.source)
    lock: dict[str, float] = {}
    recorded = None
    for story in _stories(model.provenance):
        inputs, options = story.get("inputs"), story.get("options")
        if isinstance(inputs, Mapping):
            recorded = recorded or inputs.get(str(source))
        if isinstance(options, Mapping):
            robot = options.get("robot")
            named = robot.get("lock") if isinstance(robot, Mapping) else options.get("lock")
            if isinstance(named, list):
                lock |= dict(locked_joint(str(item)) for item in named)
    if source.suffix.lower() in ("", ".toml"):
        return Origin(None, lock)
    if not source.is_file():
        return Origin(None, lock, f"{source} is not here any more; --template names another copy")
    try:
        tag = read_markup(source).root.tag
    except RobotError as error:
        return Origin(None, lock, f"{source} cannot be edited: {error}")
    if tag != root:
        return Origin(None, lock)
    if recorded is None:
        return Origin(None, lock, f"the model does not record its robot file; to edit it: --template {source}")
    if recorded != hashed(source):
        return Origin(None, lock, f"{source} has changed since; to edit it nonetheless: --template {source}")
    return Origin(source, lock)


def _stories(provenance: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """A provenance, then that of the model it was made of, and so on."""
    story: object = provenance
    for _ in range(20):
        if not isinstance(story, Mapping):
            return
        yield story
        story = story.get("of")


def write_urdf_like_its_origin(model: IdentifiedModel, path: Path) -> tuple[Exported, str]:
    """Write robot.urdf (SI) in place of the file the model came from, or fresh; and which, as a sentence."""
    origin = origin_of(model, "robot")
    if origin.path is not None:
        try:
            done = write_urdf(model, path, template=origin.path, lock=origin.lock)
            return done, f"{origin.path} with new inertias, damping and friction; nothing else changed"
        except ExportError as error:
            return write_urdf(model, path), f"a fresh file: {error}"
    return write_urdf(model, path), f"a fresh file{': ' if origin.reason else ''}{origin.reason}"


def urdf_content(done: Exported, how: str) -> dict[str, object]:
    """What scripts should know of a robot.urdf that a command wrote by the way."""
    return {"how": how, "left_out": list(done.left_out), "notices": list(done.notices)}


def warn_of_urdf(content: Mapping[str, object]) -> None:
    """Say on stderr what robot.urdf leaves out; nothing where none was written."""
    told = content.get("urdf")
    if isinstance(told, Mapping):
        for sentence in (*told["left_out"], *told["notices"]):
            warn(f"robot.urdf: {sentence}")


def say_of_urdf(content: Mapping[str, object]) -> None:
    """Say how robot.urdf came about; nothing where none was written."""
    told = content.get("urdf")
    if isinstance(told, Mapping):
        say("robot.urdf", str(told["how"]))
