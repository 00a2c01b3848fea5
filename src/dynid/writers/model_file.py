"""The identified model as a JSON file: versioned, with the hashes of its inputs; it round-trips exactly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, Vector3, freeze_arrays
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import Joint, Limits, Link, Robot
from dynid.disk import write_whole
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.friction import FRICTION
from dynid.dynamics.load import LoadCoulomb
from dynid.dynamics.regressor import TorqueModel
from dynid.dynamics.regrouping import BaseParameters, base_parameters
from dynid.dynamics.terms import JointModel, OnJoints, ShapedModel
from dynid.errors import ModelFileError

__all__ = ["FORMAT", "Compressed", "IdentifiedModel", "load_model", "save_model"]

FORMAT = "dynid-model/1"
"""Name and version of the file format; a reader refuses what it does not know."""

Json = Mapping[str, "object"]


@dataclass(frozen=True, eq=False)
class Compressed:
    """The log as a triangular least-squares problem ‖Rβ − ρ‖² (weights applied), for whoever fits again."""

    R: Float[Array, "n_base n_base"]
    rho: Float[Array, " n_base"]
    rest: float
    """Weighted sum of squares that no coefficients explain."""
    n_rows: int

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class IdentifiedModel:
    """A robot with identified parameters: what is saved, exported, validated and tracked with."""

    model: TorqueModel
    base: BaseParameters
    estimator: str
    status: str
    """Empty when the fit ended well, else advice."""
    beta: Float[Array, " n_base"]
    """Base coefficients in the units of their leading parameters."""
    covariance: Float[Array, "n_base n_base"]
    """Of β, honest."""
    theta: Float[Array, " n_params"] | None = None
    """Full parameters (SI) where the estimator gave a possible set."""
    labels: tuple[str, ...] = ()
    """For every entry of θ: identified, combination, prior or bound."""
    rule: str = ""
    """How θ was chosen among equal fits."""
    problem: Compressed | None = None
    cutoff_hz: float = np.inf
    """Low-pass of the fit, Hz; validation uses the same."""
    results: Json = field(default_factory=dict)
    """What the commands printed: condition number, errors, logs."""
    provenance: Json = field(default_factory=dict)
    """Inputs with hashes, versions, options, seed."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def parameters(self) -> Float[Array, " n_params"]:
        """θ (SI) to predict with: the full set, or the simplest that has the coefficients."""
        return self.base.lift(self.beta) if self.theta is None else self.theta

    @property
    def links(self) -> tuple[InertialParameters, ...]:
        """Identified inertial parameters of every link; empty without a full set (SI)."""
        if self.theta is None:
            return ()
        rows = self.theta[: self.model.n_inertial].reshape(-1, 10)
        return tuple(InertialParameters(row) for row in rows)

    @property
    def consistent(self) -> bool:
        """Whether there is a full set and every link of it is physically possible."""
        return bool(self.links) and all(consistency(link).holds for link in self.links)


def save_model(model: IdentifiedModel, path: Path) -> None:
    """Write a model (SI) whole or not at all."""
    write_whole(path, json.dumps(_encoded(model), indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def load_model(path: Path) -> IdentifiedModel:
    """Read a model file (SI).

    Raises:
        ModelFileError: naming the file and what is wrong with it.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFileError(f"{path}: no such model file; dynid identify --out DIR writes DIR/model.json") from error
    except IsADirectoryError as error:
        raise ModelFileError(f"{path}: is a folder; the model in it is {path / 'model.json'}") from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ModelFileError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else None
        raise ModelFileError(f"{path}: not a model file of this version: format {found!r}, known is {FORMAT!r}")
    try:
        return _decoded(content)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError(f"{path}: damaged model file: {error!r}; identify again") from error


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
    return IdentifiedModel(
        model=model,
        base=base,
        estimator=str(content["estimator"]),
        status=str(content["status"]),
        beta=np.array(items("beta"), dtype=float),
        covariance=np.array(
            [[np.inf if v is None else v for v in _row(row)] for row in items("covariance")], dtype=float
        ),
        theta=None if theta is None else np.array(theta, dtype=float),
        labels=tuple(str(label) for label in items("labels")),
        rule=str(content["rule"]),
        problem=None
        if problem is None
        else Compressed(
            np.array(problem["R"], dtype=float),
            np.array(problem["rho"], dtype=float),
            float(str(problem["rest"])),
            int(str(problem["n_rows"])),
        ),
        cutoff_hz=np.inf if content["cutoff_hz"] is None else float(str(content["cutoff_hz"])),
        results=_mapping(content["results"]),
        provenance=_mapping(content["provenance"]),
    )


def joint_model_out(model: JointModel) -> str | dict[str, object]:
    """A joint model as JSON: its name, or an object with its shape numbers, joints and load reference (SI)."""
    joints = list(model.joints) if isinstance(model, OnJoints) else None
    inner = model.model if isinstance(model, OnJoints) else model
    content: dict[str, object] = {"name": inner.name}
    if joints is not None:
        content["joints"] = joints
    if isinstance(inner, ShapedModel):
        content["shape"] = [list(row) for row in inner.shape]
    if isinstance(inner, LoadCoulomb) and inner.reference is not None:
        content["reference"] = inner.reference.tolist()
    return inner.name if len(content) == 1 else content


def joint_model_in(content: object) -> JointModel:
    """A joint model from its JSON (SI).

    Raises:
        ValueError: for a name that does not exist.
    """
    entry = {"name": content} if isinstance(content, str) else _mapping(content)
    known: dict[str, JointModel] = {**FRICTION, RotorInertia.name: RotorInertia()}
    name = str(entry["name"])
    if name not in known:
        raise ValueError(f"unknown joint model {name!r}")
    model = known[name]
    if "shape" in entry and isinstance(model, ShapedModel):
        model = model.reshaped(tuple(tuple(float(str(x)) for x in _row(row)) for row in _row(entry["shape"])))
    if "reference" in entry and isinstance(model, LoadCoulomb):
        model = model.referred(np.array(entry["reference"], dtype=float))
    return OnJoints(model, tuple(bool(flag) for flag in _row(entry["joints"]))) if "joints" in entry else model


def _robot_out(robot: Robot) -> dict[str, object]:
    return {
        "name": robot.name,
        "source": robot.source,
        "gravity": robot.gravity.tolist(),
        **({} if robot.transmission is None else {"transmission": robot.transmission.tolist()}),
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
                "link": joint.link.name,
                "includes": list(joint.link.includes),
                "nominal": None if joint.link.nominal is None else joint.link.nominal.pi.tolist(),
            }
            for joint in robot.joints
        ],
    }


def _robot_in(content: Json) -> Robot:
    joints = []
    for entry in _row(content["joints"]):
        part = _mapping(entry)
        limits = {k: float(str(v)) for k, v in _mapping(part["limits"]).items() if v is not None}
        nominal = part["nominal"]
        kind = part["type"]
        if kind not in ("revolute", "prismatic"):
            raise ValueError(f"joint type {kind!r}")
        joints.append(
            Joint(
                name=str(part["name"]),
                type="revolute" if kind == "revolute" else "prismatic",
                parent=int(str(part["parent"])),
                T_parent_joint=np.array(part["T_parent_joint"], dtype=float),
                axis=_axis(part["axis"]),
                link=Link(
                    str(part["link"]),
                    None if nominal is None else InertialParameters(np.array(nominal, dtype=float)),
                    tuple(str(name) for name in _row(part["includes"])),
                ),
                T_joint_link=np.array(part["T_joint_link"], dtype=float),
                limits=Limits(**limits),
                rotor_inertia=float(str(part.get("rotor_inertia", 0.0))),
            )
        )
    gravity = np.array(content["gravity"], dtype=float)
    C = np.array(content["transmission"], dtype=float) if "transmission" in content else None
    return Robot(str(content["name"]), tuple(joints), gravity, str(content["source"]), C)


def _axis(value: object) -> Vector3:
    return np.array(value, dtype=float)


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
