"""Constraints written in Python: called and checked, or imported by name where they run."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dynid.errors import ParameterError
from dynid.regression.constraints.link_parameters import Links

__all__ = ["CodeNotAllowed", "ImportedFunction", "UserFunction", "UserFunctionError"]

_USER_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a function may raise that is a fault of the function; anything else ends the search."""


class CodeNotAllowed(ParameterError):
    """A file that names code to run, where the caller did not allow it."""


class UserFunctionError(ParameterError):
    """A user's constraint that raised, or returned what is not a finite number; the message holds what it got."""


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A constraint written in Python, with the name it has in messages."""

    name: str
    function: Callable[[Links], float]
    """Violation in any unit, positive where the links break the constraint; any Python code."""

    def violation(self, links: Links) -> float:
        """What the function returns (its own unit), checked.

        Raises:
            UserFunctionError: it raised or returned no finite number; with the parameters that it got.
        """
        try:
            value = float(self.function(links))
        except _USER_ERRORS as error:
            raise UserFunctionError(
                f"constraint {self.name!r} raised {type(error).__name__}: {error}; it got {links}"
            ) from error
        if not math.isfinite(value):
            raise UserFunctionError(f"constraint {self.name!r} returned {value}, not a finite number; it got {links}")
        return value


@dataclass(frozen=True)
class ImportedFunction:
    """A constraint ``module:function``, imported where it runs, so that other processes can run it too."""

    reference: str
    folder: Path
    """Where the module may lie beside the installed ones."""

    def load(self) -> Callable[[Links], float]:
        """The function itself (violation in its own unit).

        Raises:
            ParameterError: the module or function does not exist or cannot be imported.
        """
        module, _, name = self.reference.partition(":")
        if not module or not name:
            raise ParameterError(f"functions: {self.reference!r} must be module:function")
        sys.path.insert(0, str(self.folder))
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, SyntaxError, NameError, TypeError, ValueError, OSError) as error:
            raise ParameterError(f"constraint {self.reference!r} cannot be imported: {error}") from error
        finally:
            sys.path.remove(str(self.folder))
        if not callable(found):
            raise ParameterError(f"constraint {self.reference!r} is not a function")
        return found

    def __call__(self, links: Links) -> float:
        """The violation (in the function's own unit)."""
        return self.load()(links)
