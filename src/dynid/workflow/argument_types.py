"""Arguments of the jobs: what is no number, or no path, where one belongs is refused by name before any work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from typing import ForwardRef, ParamSpec, TypeVar

import numpy as np

from dynid.errors import WrongType

__all__ = ["check_argument_types", "checked_arguments"]

P = ParamSpec("P")
R = TypeVar("R")
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "float": ((Real,), "a number"),
    "int": ((Integral,), "a whole number"),
    "bool": ((bool, np.bool_), "True or False"),
    "path": ((str, PathLike), "a path"),
}
"""What an annotation asks for: types that will do, and how to say it."""
_PATHS = frozenset({"str", "Path", "PathLike[str]", "os.PathLike[str]"})
_TUPLE = re.compile(r"tuple\[float(?:, float)*\]")
"""Annotations of a few numbers."""


def checked_arguments(job: Callable[P, R]) -> Callable[P, R]:
    """The job, which first checks arguments that are numbers, yes or no, or paths.

    Raises:
        WrongType: by the job, naming the argument and what was expected.
    """
    hints = {name: str(parameter.annotation) for name, parameter in signature(job).parameters.items()}

    @wraps(job)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        check_argument_types(hints, {**dict(zip(hints, args, strict=False)), **kwargs})
        return job(*args, **kwargs)

    return checked


def check_argument_types(hints: Mapping[str, object], given: Mapping[str, object]) -> None:
    """Compare arguments with annotations as they are written; those that are not simple are left to the job.

    Raises:
        WrongType: naming the argument and what was expected.
    """
    for name, value in given.items():
        hint = hints.get(name, "")
        _check(name, hint.__forward_arg__ if isinstance(hint, ForwardRef) else str(hint), value)


def _check(name: str, hint: str, value: object) -> None:
    words = hint.split(" | ")
    if "None" in words and value is None:
        return
    kinds = {word for word in words if word != "None"}
    if len(kinds) > 1 and kinds <= _PATHS:
        kinds = {"path"}
    if len(kinds) != 1:
        return
    kind = kinds.pop()
    if kind in _KINDS and not _is(kind, value):
        raise WrongType(name, _KINDS[kind][1], value)
    if _TUPLE.fullmatch(kind):
        n_numbers = kind.count("float")
        good = isinstance(value, tuple | list | np.ndarray) and len(value) == n_numbers
        if not good or not all(_is("float", entry) for entry in value):  # type: ignore[attr-defined]
            raise WrongType(name, f"{n_numbers} numbers", value)


def _is(kind: str, value: object) -> bool:
    return isinstance(value, _KINDS[kind][0]) and (kind == "bool" or not isinstance(value, bool))
