"""What commands tell of the robot.urdf that they write beside the model."""

from __future__ import annotations

from collections.abc import Mapping

from dynid.cli.console import say, warn, with_flags
from dynid.writers.exported import Exported

__all__ = ["say_of_urdf", "urdf_content", "warn_of_urdf"]


def urdf_content(done: Exported) -> dict[str, object]:
    """What scripts should know of a robot.urdf that a command wrote by the way."""
    return {"how": with_flags(done.how), "left_out": list(done.left_out), "notices": list(done.notices)}


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
