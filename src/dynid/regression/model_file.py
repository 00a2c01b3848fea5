"""The identified model as a JSON file: versioned, with the hashes of its inputs; it round-trips exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.chain.limits import Limits
from dynid.chain.robot import Joint, Link, Robot
from dynid.disk import read_json, write_whole
from dynid.dynamics.base_parameters import base_parameters
from dynid.dynamics.drives import joint_models
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import random_motion
from dynid.errors import ModelFileError, WrongType
from dynid.recording.log_settings import LogSettings
from dynid.regression.feasible.link_ranges import LinkRange
from dynid.regression.feasible.link_spread import LinkSpreads
from dynid.regression.model import BaseLink, Compressed, IdentifiedModel, Json
from dynid.regression.recast import LoggedMotion
from dynid.regression.residuals import ResidualStatistics

__all__ = ["FORMAT", "load_model", "save_model"]

FORMAT = "dynid-model/1"
"""Name and version of the file format; a reader refuses what it does not know."""
GIVE_A_MODEL = "give the model.json that an identification wrote"
"""What to do about a file that is no model."""

N_STATES = 16
"""States on which a file must predict the torque of its model before it appears."""
TOLERANCE = 1e-9
"""Largest difference over the largest torque, dimensionless; numbers are written to their last digit."""
UNREADABLE = (TypeError, ValueError, LookupError, ArithmeticError, RecursionError)
"""What the content of a damaged file runs into."""


def save_model(model: IdentifiedModel, path: Path | str) -> None:
    """Write a model (SI) whole or not at all, once what was written has been read back and predicts the same torque.

    Raises:
        ModelFileError: the file would not give this model again: a joint model that the format does not know.
    """
    text = json.dumps(_encoded(model), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        read = _decoded(json.loads(text))
    except UNREADABLE as error:
        raise ModelFileError(f"{path}: not written, since it could not be read again: {error}") from error
    motion = random_motion(model.model.robot, N_STATES, np.random.default_rng(0))
    before, after = (m.model.torque(motion, m.parameters) for m in (model, read))
    if not np.max(np.abs(after - before)) <= TOLERANCE * np.max(np.abs(before)):
        raise ModelFileError(f"{path}: not written, since read again it predicts another torque")
    write_whole(Path(path), text)


def load_model(path: Path | str) -> IdentifiedModel:
    """Read a model file (SI).

    Raises:
        ModelFileError: naming the file and what is wrong with it.
    """
    if not isinstance(path, str | PathLike):
        raise WrongType("path", "the path of a model.json", path)
    path = Path(path)
    if not path.exists():
        raise ModelFileError(f"{path}: no such model file; an identification writes model.json into its folder")
    if path.is_dir():
        raise ModelFileError(f"{path}: is a folder; the model in it is {path / 'model.json'}")
    try:
        content = read_json(path, ModelFileError, "model file")
    except ModelFileError as error:
        raise ModelFileError(f"{error}; {GIVE_A_MODEL}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise ModelFileError(
            f"{path}: not a model file of this version: format {found!r}, known is {FORMAT!r}; {GIVE_A_MODEL}"
        )
    try:
        return _decoded(content)
    except KeyError as error:
        raise ModelFileError(f"{path}: damaged model file: {error} is missing; identify again") from error
    except UNREADABLE as error:
        raise ModelFileError(f"{path}: damaged model file: {error}; identify again") from error


def _encoded(model: IdentifiedModel) -> dict[str, object]:
    problem = model.problem
    return {
        "format": FORMAT,
        "robot": _robot_out(model.model.robot),
        "joint_models": [joint_model_out(joint_model) for joint_model in model.model.joint_models],
        "estimator": model.estimator,
        "status": model.status,
        "columns": list(model.model.symbols),
        "independent": list(model.base.leading),
        "labels_base": list(model.base.labels()),
        "beta": model.beta.tolist(),
        "covariance": _finite(model.covariance),
        "theta": None if model.theta is None else model.theta.tolist(),
        "labels": list(model.labels),
        "rule": model.rule,
        "problem": None
        if problem is None
        else {"R": problem.R.tolist(), "rho": problem.rho.tolist(), "rest": problem.rest, "n_rows": problem.n_rows},
        "cutoff_hz": _number(model.cutoff_hz),
        "log_settings": model.settings.stored(),
        "noise": None if model.noise is None else [_number(value) for value in model.noise],
        "sample_noise": None if model.sample_noise is None else [_number(value) for value in model.sample_noise],
        "noise_memory": None if model.noise_memory is None else [_number(value) for value in model.noise_memory],
        "spreads": None if model.spreads is None else model.spreads.stored(),
        "ranges": None if model.ranges is None else [entry.stored() for entry in model.ranges],
        "residuals": None if model.residuals is None else model.residuals.stored(),
        "motion": None if model.motion is None else model.motion.stored(),
        **({} if model.base_link is None else {"base_link": model.base_link.stored()}),
        "results": _plain(model.results),
        "provenance": _plain(model.provenance),
    }


def _decoded(content: dict[str, object]) -> IdentifiedModel:
    def items(key: str) -> list[object]:
        value = content[key]
        if not isinstance(value, list):
            raise TypeError(f"{key} is not a list")
        return value

    robot = _robot_in(_mapping(content["robot"]))
    model = TorqueModel(robot, tuple(joint_model_in(entry) for entry in items("joint_models")))
    if list(model.symbols) != items("columns"):
        raise ValueError("columns do not match the robot and its friction")
    base = base_parameters(model)
    if list(base.leading) != items("independent"):
        raise ValueError("base parameters do not match the robot")
    problem = None if content["problem"] is None else _mapping(content["problem"])
    theta = content["theta"]
    n_base = (base.n_base,)
    covariance = [[np.inf if v is None else v for v in _row(row)] for row in items("covariance")]
    labels = tuple(_text(label) for label in items("labels"))
    if len(labels) not in (0, model.n_params):
        raise ValueError(f"{len(labels)} labels for {model.n_params} parameters")
    cutoff_hz = None if content["cutoff_hz"] is None else _scalar(content["cutoff_hz"])
    if cutoff_hz is not None and not cutoff_hz > 0.0:
        raise ValueError(f"cutoff_hz is {cutoff_hz:g}")
    # Files of version 0.1 say nothing but the cut-off; their noise and training error stand among the results.
    settings = LogSettings.restored({"cutoff_hz": cutoff_hz, **_mapping(content.get("log_settings", {}))})
    results = _mapping(content["results"])
    n_dof = (model.n_dof,)
    residuals, motion = content.get("residuals"), content.get("motion")
    n_terms = model.n_params - model.n_inertial
    return IdentifiedModel(
        model=model,
        base=base,
        estimator=_text(content["estimator"]),
        status=_text(content["status"]),
        beta=_numbers(content["beta"], n_base, "beta"),
        covariance=_numbers(covariance, 2 * n_base, "covariance", finite=False),
        theta=None if theta is None else _numbers(theta, (model.n_params,), "theta"),
        labels=labels,
        rule=_text(content["rule"]),
        problem=None
        if problem is None
        else Compressed(
            _numbers(problem["R"], 2 * n_base, "R"),
            _numbers(problem["rho"], n_base, "rho"),
            _scalar(problem["rest"]),
            _integer(problem["n_rows"]),
        ),
        settings=settings,
        noise=_optional(content.get("noise", results.get("noise")), n_dof, "noise"),
        sample_noise=_optional(content.get("sample_noise", _train_rmse(results)), n_dof, "sample_noise"),
        noise_memory=_optional(content.get("noise_memory"), n_dof, "noise_memory"),
        spreads=None
        if content.get("spreads") is None
        else LinkSpreads.restored(_mapping(content["spreads"]), n_dof[0]),
        ranges=None
        if content.get("ranges") is None
        else tuple(LinkRange.restored(_mapping(entry)) for entry in items("ranges")),
        residuals=None
        if residuals is None
        else ResidualStatistics.restored(_mapping(residuals), model.n_dof, n_terms, base.n_base),
        motion=None if motion is None else LoggedMotion.restored(_mapping(motion), model.n_dof),
        base_link=_base_link_in(content.get("base_link")),
        results=results,
        provenance=_mapping(content["provenance"]),
    )


def _base_link_in(content: object) -> BaseLink | None:
    if content is None:
        return None
    part = _mapping(content)
    values = _numbers(part["pi"], (10,), "base_link pi"), _numbers(part["covariance"], (10, 10), "base_link covariance")
    return BaseLink(*values)


def joint_model_out(model: JointModel) -> str | dict[str, object]:
    """A joint model as JSON (SI): what it stores, or its name where that is all."""
    content = model.stored()
    return model.name if len(content) == 1 else content


def joint_model_in(content: object) -> JointModel:
    """A joint model from its JSON (SI).

    Raises:
        ValueError: for a name that does not exist, or content that the model cannot read.
    """
    entry = {"name": content} if isinstance(content, str) else _mapping(content)
    known, name = joint_models(), _text(entry["name"])
    if name not in known:
        raise ValueError(f"unknown joint model {name!r}")
    return known[name].restored(entry)


def _robot_out(robot: Robot) -> dict[str, object]:
    return {
        "name": robot.name,
        "source": robot.source,
        "gravity": robot.gravity.tolist(),
        **({} if robot.transmission is None else {"transmission": robot.transmission.tolist()}),
        **({"held": dict(robot.held)} if robot.held else {}),
        **({"notes": list(robot.notes)} if robot.notes else {}),
        **({} if robot.base is None else {"base": _link_out(robot.base)}),
        "joints": [
            {
                "name": joint.name,
                "type": joint.type,
                "parent": joint.parent,
                "T_parent_joint": joint.T_parent_joint.tolist(),
                "axis": joint.axis.tolist(),
                "T_joint_link": joint.T_joint_link.tolist(),
                "limits": {
                    name: _number(getattr(joint.limits, name))
                    for name in ("lower", "upper", "velocity", "effort", "acceleration", "jerk")
                },
                **({"rotor_inertia": joint.rotor_inertia} if joint.rotor_inertia else {}),
                **_link_out(joint.link),
            }
            for joint in robot.joints
        ],
    }


def _link_out(link: Link) -> dict[str, object]:
    return {
        "link": link.name,
        "includes": list(link.includes),
        "nominal": None if link.nominal is None else link.nominal.pi.tolist(),
        **({} if link.trusted else {"trusted": False}),
    }


def _link_in(part: Json) -> Link:
    nominal = part["nominal"]
    return Link(
        _text(part["link"]),
        None if nominal is None else InertialParameters(_numbers(nominal, (10,), "nominal")),
        tuple(_text(name) for name in _row(part["includes"])),
        part.get("trusted", True) is not False,
    )


def _robot_in(content: Json) -> Robot:
    joints = []
    for entry in _row(content["joints"]):
        part = _mapping(entry)
        limits = {k: _scalar(v) for k, v in _mapping(part["limits"]).items() if v is not None}
        kind = part["type"]
        if kind not in ("revolute", "prismatic"):
            raise ValueError(f"joint type {kind!r}")
        joints.append(
            Joint(
                name=_text(part["name"]),
                type="revolute" if kind == "revolute" else "prismatic",
                parent=_integer(part["parent"]),
                T_parent_joint=_numbers(part["T_parent_joint"], (4, 4), "T_parent_joint"),
                axis=_numbers(part["axis"], (3,), "axis"),
                link=_link_in(part),
                T_joint_link=_numbers(part["T_joint_link"], (4, 4), "T_joint_link"),
                limits=Limits(**limits),
                rotor_inertia=float(str(part.get("rotor_inertia", 0.0))),
            )
        )
    gravity = _numbers(content["gravity"], (3,), "gravity")
    square = (len(joints), len(joints))
    C = _numbers(content["transmission"], square, "transmission") if "transmission" in content else None
    held = {name: _scalar(position) for name, position in _mapping(content.get("held", {})).items()}
    notes = tuple(_text(note) for note in _row(content.get("notes", [])))
    base = _link_in(_mapping(content["base"])) if "base" in content else None
    return Robot(_text(content["name"]), tuple(joints), gravity, _text(content["source"]), C, held, notes, base)


def _numbers(value: object, shape: tuple[int, ...], what: str, *, finite: bool = True) -> Float[Array, ...]:
    """Nested lists of numbers as an array of a shape; texts and truth values are no numbers."""

    def leaves(item: object, sizes: tuple[int, ...]) -> Iterator[float]:
        if not sizes:
            yield _scalar(item)
            return
        row = _row(item)
        if len(row) != sizes[0]:
            raise ValueError(f"{what} has {len(row)} entries where {sizes[0]} belong")
        for part in row:
            yield from leaves(part, sizes[1:])

    array = np.array(list(leaves(value, shape))).reshape(shape)
    if finite and not np.all(np.isfinite(array)):
        raise ValueError(f"{what} is not finite")
    return array


def _train_rmse(results: Json) -> object:
    """What a file of version 0.1 has for the noise of single samples, N·m or N."""
    train = results.get("train")
    return train.get("rmse") if isinstance(train, dict) else None


def _optional(value: object, shape: tuple[int, ...], what: str) -> Float[Array, ...] | None:
    if value is None:
        return None
    return _numbers([np.nan if item is None else item for item in _row(value)], shape, what, finite=False)


def _scalar(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    return float(value)


def _integer(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"expected a whole number, found {type(value).__name__}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {type(value).__name__}")
    return value


def _mapping(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {type(value).__name__}")
    return value


def _row(value: object) -> Sequence[object]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, found {type(value).__name__}")
    return value


def _plain(value: object) -> object:
    """What JSON can say: numbers that are not finite become null."""
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _finite(values: Float[Array, "n_rows n_columns"]) -> list[list[float | None]]:
    return [[_number(float(value)) for value in row] for row in values]
