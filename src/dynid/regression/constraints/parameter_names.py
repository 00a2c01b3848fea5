"""Names of parameters in constraints, and where each stands in θ and in p."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from dynid.chain.inertia import INERTIAL_NAMES
from dynid.dynamics.drives import joint_models
from dynid.dynamics.model import TorqueModel
from dynid.errors import UnknownName

__all__ = ["SCALES", "NamedParameter", "find_parameter", "known_parameters", "scale_in_p"]

SCALES: Mapping[str, float] = {"mass": 1.0, "com": 0.1, "inertia": 0.01, "joint": 1.0, "function": 1.0}
"""Sizes (kg, m, kg·m², SI, whatever a function returns) at which violations of different kinds weigh alike."""


@dataclass(frozen=True)
class NamedParameter:
    """What a name in a constraint points at.

    θ are masses, first moments, inertias about link frames and joint terms; p has centres of mass and inertias about
    them in the place of moments. The same parameter of a link has the same index in both.
    """

    kind: Literal["shared", "moment", "com", "inertia"]
    """``shared``: mass or joint term, an entry of θ and of p; ``moment``: first moment or inertia about the link frame,
    only in θ; ``com`` and ``inertia`` (about it): only in p."""
    index: int
    """Entry of θ, of p, or of both."""
    link: int = -1
    """Index of the link; −1 for joint terms."""

    @property
    def linear(self) -> bool:
        """Whether it is an entry of θ."""
        return self.kind in ("shared", "moment")

    @property
    def is_mass(self) -> bool:
        """Whether it is the mass of a link."""
        return self.link >= 0 and self.index % 10 == 0

    @property
    def scale(self) -> float:
        """Its entry of `SCALES` (SI)."""
        return scale_in_p(self.index, self.link < 0)


def scale_in_p(index: int, joint_term: bool) -> float:
    """The entry of `SCALES` (SI) for an entry of p."""
    if joint_term:
        return SCALES["joint"]
    return SCALES["mass" if index % 10 == 0 else "com" if index % 10 < 4 else "inertia"]


@lru_cache(maxsize=16)
def known_parameters(model: TorqueModel) -> Mapping[str, NamedParameter | None]:
    """Every name that constraints may use; None for joint terms this model does not have.

    One bounds file can so serve the rigid model and the one with friction.
    """
    names: dict[str, NamedParameter | None] = {}
    known_terms = [term for joint_model in joint_models().values() for term in joint_model.terms]
    for j, joint in enumerate(model.robot.joint_names):
        for term in known_terms:
            names[f"{term.symbol}{j + 1}"] = names[f"{joint}.{term.name}"] = None
    for i, link in enumerate(model.robot.link_names):
        names[f"{link}.mass"] = NamedParameter("shared", 10 * i, i)
        for axis, letter in enumerate("xyz", start=1):
            names[f"c{i + 1}{letter}"] = names[f"{link}.com.{letter}"] = NamedParameter("com", 10 * i + axis, i)
        for position, name in enumerate(INERTIAL_NAMES[4:], start=4):
            parameter = NamedParameter("inertia", 10 * i + position, i)
            names[f"I{i + 1}{name[1:]}"] = names[f"{link}.inertia.{name[1:]}"] = parameter
    for k, (symbol, column) in enumerate(zip(model.symbols, model.columns, strict=True)):
        owner = k // 10 if k < model.n_inertial else -1
        parameter = NamedParameter("moment" if owner >= 0 and k % 10 else "shared", k, owner)
        names[symbol] = names[f"{column.owner}.{column.name}"] = parameter
    return names


def find_parameter(name: str, model: TorqueModel, *, where: str = "") -> NamedParameter | None:
    """What `name` points at.

    Raises:
        UnknownName: offering the nearest.
    """
    known = known_parameters(model)
    if name not in known:
        raise UnknownName(name, known=known, kind="parameter", where=where)
    return known[name]
