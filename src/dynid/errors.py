"""Errors of dynid: every message says where, what, and what now."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ConfigError",
    "ContradictoryBounds",
    "DataSetError",
    "DynidError",
    "ExcitationError",
    "ExportError",
    "InconsistentModel",
    "ModelFileError",
    "MotionError",
    "OutputError",
    "ParameterError",
    "RecordingError",
    "RegressionError",
    "RobotError",
    "RobotFileError",
    "TrackingError",
    "UnknownJoint",
    "UnknownName",
    "UnknownRobot",
    "WrongType",
]


class DynidError(Exception):
    """Anything dynid refuses to do; the message is meant for the person at the keyboard."""


class RegressionError(DynidError, ValueError):
    """Data from which nothing can be estimated; the message says which and what to do."""


class RobotError(DynidError, ValueError):
    """A robot that cannot be built or used as asked."""


class RobotFileError(RobotError):
    """A robot file that cannot be read; the message names the file and the element."""


class OutputError(DynidError, OSError):
    """A file that cannot be written; nothing of it was left behind."""


class ParameterError(DynidError, ValueError):
    """Parameters of the wrong shape, not finite, or outside what the operation is defined for."""


class ContradictoryBounds(ParameterError):
    """Constraints that no parameters can meet together; the message names them.

    Attributes:
        clashing: the constraints, as sentences such as ``m1 ≤ 2``.
    """

    def __init__(self, clashing: Iterable[str], *, where: str = "") -> None:
        self.clashing = tuple(clashing)
        super().__init__(
            f"{where + ': ' if where else ''}these cannot hold together: {', '.join(self.clashing)}; widen one of them"
        )


class ExportError(DynidError, ValueError):
    """An export that was refused; nothing was written."""


class InconsistentModel(ExportError):
    """A model that is not exported because its links are not physically consistent, or because it has none."""


class LossyExport(ExportError):
    """A file would simulate far worse than the model it comes from."""


class ModelFileError(DynidError, ValueError):
    """A model file that cannot be read; the message names the file."""


class ConfigError(DynidError, ValueError):
    """A configuration file that cannot be used; the message names file and key."""


class MotionError(DynidError, ValueError):
    """A motion whose shape does not fit the robot or whose values are not finite."""


class RecordingError(DynidError, ValueError):
    """A log or a column map that cannot be read or used; the message names the file and the place in it."""


class DataSetError(DynidError, ValueError):
    """A public data set that cannot be had as asked; nothing of it was left behind."""


class ExcitationError(DynidError, ValueError):
    """A motion that cannot be designed as asked: limits that contradict each other, a pose outside them."""


class TrackingError(DynidError, ValueError):
    """A filter that cannot be set up, a stream that cannot be followed, a checkpoint that does not fit."""


class WrongType(DynidError, TypeError, ValueError):
    """An argument of a type that the function cannot take; the message says what was expected.

    Attributes:
        parameter: name of the argument.
        expected: what it must be, in words.
    """

    def __init__(self, parameter: str, expected: str, given: object) -> None:
        self.parameter = parameter
        self.expected = expected
        shown = "None" if given is None else f"{_short(given)} ({type(given).__name__})"
        super().__init__(f"{parameter} must be {expected}; got {shown}")


def _short(given: object) -> str:
    text = repr(given).splitlines()[0] if repr(given) else ""
    return text if len(text) <= 60 else text[:59] + "…"


class UnknownName(DynidError, ValueError):
    """A name that does not exist; the message offers the nearest and lists those that do.

    Attributes:
        name: what was asked for.
        known: the names that exist.
    """

    def __init__(self, name: str, *, known: Iterable[str], kind: str = "name", where: str = "") -> None:
        self.name = name
        self.known = tuple(known)
        close = difflib.get_close_matches(name, self.known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        listing = ", ".join(self.known) if self.known else "none"
        super().__init__(f"{where + ': ' if where else ''}no {kind} {name!r}; {hint}known: {listing}")


class UnknownKeyword(UnknownName, ConfigError):
    """A keyword that a call does not take."""

    def __init__(self, name: str, *, known: Iterable[str], where: str) -> None:
        super().__init__(name, known=known, kind="keyword", where=where)


class UnknownJoint(UnknownName, RobotError):
    """A joint name that the robot does not have."""

    def __init__(self, name: str, *, known: Iterable[str], where: str = "") -> None:
        super().__init__(name, known=known, kind="joint", where=where)


class UnknownRobot(UnknownName, RobotError):
    """A robot that is neither built in nor a file."""

    def __init__(self, name: str, *, known: Iterable[str]) -> None:
        super().__init__(name, known=known, kind="built-in robot or file")
