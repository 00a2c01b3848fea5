"""The base link as states of a filter: a wrench sensor under the base carries it, and cannot tell it from an offset.

At a fixed base only its weight shows: the mass, and the first moments across gravity (`TorqueModel.base_link_rows`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.consistency import consistency
from dynid.chain.inertia import INERTIAL_NAMES, InertialParameters
from dynid.regression.constraints.compiled import bound_sides
from dynid.regression.constraints.constraints import ParameterBound, ParameterBounds
from dynid.regression.model import IdentifiedModel

__all__ = ["BASE_LINK", "BASE_SYMBOLS", "BaseCondition", "base_conditions", "base_spread", "base_start", "of_the_base"]

BASE_LINK = "base"
"""The name of the base link where a link is asked for."""
BASE_SYMBOLS = ("m0", "mc0x", "mc0y", "mc0z", *(f"J0{name[1:]}" for name in INERTIAL_NAMES[4:]))
"""Symbols of the ten numbers of the base link, about the base frame; they follow those of the load."""
GUESSED_RADIUS = 0.1
"""Radius of gyration of a base that no file describes, m."""
ARM_LEVER = 1.0
"""Of the weight of an arm that a sensor was tared with, m."""
LEAST_MASS = 1.0
"""Of such a base, kg; else it is as heavy as a link of the arm."""
_BASE_NAME = re.compile(r"(m|mc[xyz]|c[xyz]|J[xyz]{2}|I[xyz]{2})")
"""Names of the parameters of a link, without its number."""


class BaseCondition(NamedTuple):
    """One linear condition on the base link: weights·π₀ + constant > 0."""

    text: str
    weights: Float[Array, " 10"]
    constant: float


def base_start(
    known: IdentifiedModel, bounds: ParameterBounds | None = None, *, tared: bool = False
) -> Float[Array, " 10"]:
    """Ten inertial parameters (SI) at which the base link starts.

    Those that an earlier run has left, else those of the robot file, else a ball as heavy as a link of the arm; with
    its mass and centre of mass moved into their bounds. Under a sensor that was `tared` with the arm on it they are
    those of an offset, which starts at zero and may be negative.
    """
    if tared:
        return np.zeros(10) if known.base_link is None else np.array(known.base_link.pi)
    nominal = None if known.robot.base is None or not known.robot.base.trusted else known.robot.base.nominal
    if known.base_link is not None:
        found = known.base_link.pi
    elif nominal is not None and consistency(nominal).margin > 0.0:
        found = nominal.pi
    else:
        masses = known.parameters[: known.model.n_inertial : 10]
        mass = max(LEAST_MASS, float(np.mean(np.maximum(masses, 0.0))))
        found = InertialParameters.from_com(mass, np.zeros(3), mass * GUESSED_RADIUS**2 * np.eye(3)).pi
    return _moved_inside(InertialParameters(found), of_the_base(bounds)[0])


def _moved_inside(body: InertialParameters, bounds: ParameterBounds) -> Float[Array, " 10"]:
    """The body with mass and centre of mass (SI) well inside their bounds, if they lie outside; same size and axes."""
    mass, com = body.mass, np.array(body.com)
    for bound in bounds.entries:
        kind = _kind(bound.name)
        if kind == "m":
            mass = _inside(mass, bound, body.mass)
        elif kind.startswith("c"):
            axis = "xyz".index(kind[1])
            com[axis] = _inside(com[axis], bound, GUESSED_RADIUS)
    if mass == body.mass and np.array_equal(com, body.com):
        return np.array(body.pi)
    return InertialParameters.from_com(mass, com, body.inertia_com * mass / body.mass).pi


def _inside(value: float, bound: ParameterBound, size: float) -> float:
    if bound.lower < value < bound.upper:
        return value
    if np.isfinite(bound.lower) and np.isfinite(bound.upper):
        return 0.5 * (bound.lower + bound.upper)
    return bound.lower + size if np.isfinite(bound.lower) else bound.upper - min(size, 0.5 * abs(bound.upper))


def base_spread(
    known: IdentifiedModel, start: Float[Array, " 10"], largest: Float[Array, " 6"], *, anew: bool, tared: bool = False
) -> Float[Array, "10 10"]:
    """Covariance (SI) of the base link at the start: as large as the whole wrench, since the sensor may have an offset.

    Args:
        known: whose base link an earlier run may have left, with its covariance.
        start: where it starts, SI.
        largest: of the measured wrench, N and N·m.
        anew: whether what an earlier run has learnt does not count.
        tared: whether the weight of the arm itself may be missing from the wrench.
    """
    left = None if anew or known.estimator != "track" else known.base_link
    if left is not None and np.all(np.diag(left.covariance) > 0.0):
        return np.array(left.covariance)
    g = max(float(np.linalg.norm(known.robot.gravity)), 1.0)
    mass = max(abs(float(start[0])), float(np.max(largest[:3])) / g)
    if tared:
        mass = max(mass, LEAST_MASS, 2.0 * float(np.sum(np.abs(known.parameters[: known.model.n_inertial : 10]))))
    moment = max(
        mass * (ARM_LEVER if tared else GUESSED_RADIUS),
        float(np.max(np.abs(start[1:4]))),
        float(np.max(largest[3:])) / g,
    )
    inertia = max(mass * GUESSED_RADIUS**2, float(np.max(np.abs(start[4:]))))
    return np.diag(np.array([mass, *[moment] * 3, *[inertia] * 6]) ** 2)


def of_the_base(bounds: ParameterBounds | None) -> tuple[ParameterBounds, ParameterBounds]:
    """Bounds of the base link, and those of the rest (SI)."""
    entries = () if bounds is None else bounds.entries
    own = tuple(bound for bound in entries if _kind(bound.name))
    return ParameterBounds(own), ParameterBounds(tuple(bound for bound in entries if bound not in own))


def base_conditions(bounds: ParameterBounds) -> tuple[tuple[BaseCondition, ...], tuple[str, ...]]:
    """Bounds of the base link (SI) as linear conditions, and the names of those that have none."""
    found: list[BaseCondition] = []
    left_out: list[str] = []
    for bound in bounds.entries:
        sides = list(_sides(bound))
        found += sides
        left_out += [] if sides else [bound.name]
    return tuple(found), tuple(left_out)


def _kind(name: str) -> str:
    """A name such as c0x without its number (cx); empty where it is no parameter of the base link."""
    plain = name.replace("0", "", 1)
    return plain if "0" in name and f"{plain[: _letters(plain)]}0{plain[_letters(plain) :]}" == name else ""


def _letters(plain: str) -> int:
    """Letters before the number of a link: two of a first moment, else one."""
    return 0 if _BASE_NAME.fullmatch(plain) is None else 2 if plain.startswith("mc") else 1


def _sides(bound: ParameterBound) -> Iterator[BaseCondition]:
    kind = _kind(bound.name)
    if bound.lower == bound.upper or kind.startswith("I"):
        return  # an equation, and an inertia about the centre of mass, leave no room for a barrier
    for side in bound_sides(bound.name, bound.lower, bound.upper):
        weights, constant = np.zeros(10), 0.0
        if kind.startswith("c"):  # the centre of mass times the mass
            weights[1 + "xyz".index(kind[1])], weights[0] = side.sign, -side.sign * side.limit
        else:
            weights[BASE_SYMBOLS.index(bound.name)], constant = side.sign, -side.sign * side.limit
        yield BaseCondition(side.text, weights, constant)
