"""What is asked of retrieved parameters: solids, symmetries, ties and any Python function, beside what is convex."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dynid.errors import ParameterError
from dynid.regression.feasible.constraints import Constraints
from dynid.regression.retrieval.parametrisation import Links
from dynid.regression.retrieval.shapes import Region

__all__ = ["Demands", "RetrievalConstraints", "Symmetry", "Tie", "UserFunction", "UserFunctionError"]

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
Plane = Literal["xy", "xz", "yz"]


class UserFunctionError(ParameterError):
    """A user's constraint that raised, or returned what is not a finite number; the message holds what it got."""


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A constraint written in Python, with the name it has in messages."""

    name: str
    function: Callable[[Links], float]
    """Violation in any unit, positive where the links are not wanted; conditions are ordinary code."""

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
class Tie:
    """One parameter as a multiple of another, plus a constant (SI): ``m2 = factor · m3 + offset``."""

    parameter: str
    equals: str
    factor: float = 1.0
    """Ratio of the two, in the units of both."""
    offset: float = 0.0
    """In the unit of `parameter`."""

    def __str__(self) -> str:
        times = "" if self.factor == 1.0 else f"{self.factor:g}·"
        return f"{self.parameter} = {times}{self.equals}" + (f" + {self.offset:g}" if self.offset else "")


@dataclass(frozen=True)
class Symmetry:
    """A link that is its own mirror image in a plane through its frame, or round an axis of it."""

    link: str
    plane: Plane | None = None
    axis: Literal["x", "y", "z"] | None = None

    def __post_init__(self) -> None:
        if (self.plane is None) == (self.axis is None):
            raise ParameterError(
                f"symmetry of {self.link}: give a plane (xy, xz, yz) or an axis (x, y, z), one of them"
            )
        if self.plane not in (None, "xy", "xz", "yz") or self.axis not in (None, "x", "y", "z"):
            raise ParameterError(f"symmetry of {self.link}: planes are xy, xz, yz and axes x, y, z")

    def zeros(self) -> tuple[tuple[str, ...], tuple[str, str] | None]:
        """Which of ``c?`` and ``I??`` vanish, and which two moments of inertia are equal (no unit)."""
        if self.plane is not None:
            normal = next(letter for letter in "xyz" if letter not in self.plane)
            others = [letter for letter in "xyz" if letter != normal]
            return (f"c{normal}", *("I" + "".join(sorted(normal + other)) for other in others)), None
        across = [letter for letter in "xyz" if letter != self.axis]
        return (*(f"c{letter}" for letter in across), "Ixy", "Ixz", "Iyz"), (f"I{across[0] * 2}", f"I{across[1] * 2}")


@dataclass(frozen=True, kw_only=True, eq=False)
class RetrievalConstraints:
    """All that is asked of retrieved parameters; whatever is convex goes into `convex`."""

    convex: Constraints = field(default_factory=Constraints)
    """Consistency, bounds, total mass, known values, boxes and ellipsoids for centres of mass (SI)."""
    shapes: Mapping[str, Region] = field(default_factory=dict)
    """The solid that holds the centre of mass of a link, by the link's name; m."""
    symmetries: tuple[Symmetry, ...] = ()
    ties: tuple[Tie, ...] = ()
    functions: tuple[UserFunction, ...] = ()


Demands = RetrievalConstraints | Constraints
"""What `compile_demands` accepts."""
