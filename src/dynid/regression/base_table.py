"""Base parameters from a table: as dynid exports them, or as papers print them."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.disk import read_text
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.drives import joint_models
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError

__all__ = ["coefficient_vector", "read_base_table", "torque_model_of"]

NAME_COLUMNS = ("symbol", "parameter", "leading", "name", "label")
"""Headers of the column with the names, in the order they are looked for."""
_PAPERS = re.compile(r"^([A-Za-z]+)_?(\d+)_?([xyz]{0,2})$")
"""J2xx, mc3x, fv1, and L_2xx, l_3y, m_4, fv_1 as in [Sousa2013]_."""
_KINDS = {"L": "J", "l": "mc"}


def read_base_table(path: Path) -> dict[str, float]:
    """Values (SI) by name from a CSV file with a column of names and one called value.

    Names are those of the leading parameters, ``J2xx, mc3x, fv1, Ia4``, or ``L_2xx, l_3x, fv_1`` as in [Sousa2013]_.
    A column ``kind``, as in exported tables, picks the rows that say base.

    Raises:
        ParameterError: naming file, line and what is wrong with it.
    """
    try:
        rows = list(csv.reader(read_text(path, ParameterError).splitlines()))
    except csv.Error as error:
        raise ParameterError(f"{path}: not a CSV file: {error}") from error
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    name_column = next((header.index(name) for name in NAME_COLUMNS if name in header), None)
    if name_column is None or "value" not in header:
        raise ParameterError(
            f"{path}: the first line must name a column of parameters ({', '.join(NAME_COLUMNS)}) and one called value"
        )
    value_column, kind = header.index("value"), header.index("kind") if "kind" in header else None
    found: dict[str, float] = {}
    for number, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells) or (
            kind is not None and kind < len(cells) and cells[kind] != "base"
        ):
            continue
        if len(cells) <= max(name_column, value_column):
            raise ParameterError(f"{path}, line {number}: {len(cells)} cells where {len(header)} belong")
        name = _plain_name(cells[name_column])
        try:
            value = float(cells[value_column])
        except ValueError as error:
            raise ParameterError(f"{path}, line {number}: {cells[value_column]!r} of {name} is no number") from error
        if not math.isfinite(value):
            raise ParameterError(f"{path}, line {number}: {name} is not finite")
        if name in found:
            raise ParameterError(f"{path}, line {number}: {name} stands there twice")
        found[name] = value
    if not found:
        raise ParameterError(f"{path}: no parameter in it")
    return found


def torque_model_of(robot: Robot, names: Mapping[str, float]) -> TorqueModel:
    """The torque model whose joint terms the names (of values in SI) are about.

    Raises:
        ParameterError: joint terms that no friction or drive of dynid has.
    """
    kinds = {_PAPERS.sub(r"\1", name) for name in names} - {"J", "mc", "m"}
    chosen: list[JointModel] = []
    for joint_model in joint_models().values():
        own = {term.symbol for term in joint_model.terms}
        if own and own <= kinds and not (joint_model.shapes or joint_model.needs_load):
            chosen.append(joint_model)
            kinds -= own
    if kinds:
        raise ParameterError(
            f"no joint model has terms called {', '.join(sorted(kinds))}; known are Ia, fv, fc, fo and those that "
            "`dynid info` prints"
        )
    # As everywhere, rotors stand before friction: that decides which parameters lead.
    return TorqueModel(robot, tuple(sorted(chosen, key=lambda joint_model: joint_model.is_friction)))


def coefficient_vector(base: BaseParameters, values: Mapping[str, float], source: str) -> Float[Array, " n_base"]:
    """β in the order of the base parameters (in the units of their leading parameters).

    Raises:
        ParameterError: names that are missing, or that do not lead a base parameter of this robot.
    """
    plain = {_plain_name(name): value for name, value in values.items()}
    missing = [name for name in base.leading if name not in plain]
    unknown = [name for name in plain if name not in base.leading]
    if missing or unknown:
        told = [f"{len(missing)} are missing: {_few(missing)}"] if missing else []
        told += [f"{len(unknown)} do not lead a base parameter: {_few(unknown)}"] if unknown else []
        raise ParameterError(
            f"{source}: {base.n_base} base parameters belong to this robot; {'; '.join(told)}. Their names are those "
            "that `dynid info` prints first"
        )
    return np.array([plain[name] for name in base.leading])


def _plain_name(text: str) -> str:
    """A name as dynid spells it; other texts as they are."""
    word = text.strip().lstrip("'")
    found = _PAPERS.match(word)
    return word if found is None else _KINDS.get(found[1], found[1]) + found[2] + found[3]


def _few(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
