"""`check`: whether any physically consistent robot has given base parameters, with a proof either way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TypedDict

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.regression.base_table import coefficient_vector, read_base_table, torque_model_of
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.feasible.certificate import (
    ProvenFeasible,
    ProvenInfeasible,
    Undecided,
    is_feasible,
)
from dynid.regression.feasible.mass_matrix import WorstPose, worst_pose
from dynid.regression.feasible.programme import FeasibleSolution, solve
from dynid.regression.model import IdentifiedModel
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import Numbers
from dynid.workflow.doors import ModelLike, RobotLike, RobotOptions, as_model, as_seed
from dynid.workflow.fit_options import ConditionChoice
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import provenance

__all__ = ["ConsistencyCheck", "check"]

CoefficientsLike = ModelLike | Mapping[str, float]
"""A model or its file, a CSV of base parameters, or their values by name."""
TABLES = (".csv", ".txt", ".tsv")
"""Endings of files with base parameters; all others are models."""
MOST_MOVED = 8
"""Base parameters that are printed, those that the nearest consistent robot changes most."""


class NearestJson(TypedDict):
    """The nearest physically consistent robot."""

    relative_change_percent: float
    """100·‖β − β'‖/‖β‖ over all base parameters as they stand."""
    largest_change_std: float | None
    """Largest change of a base parameter over its σ; null where no σ is known."""
    parameters: Numbers
    """β', in the order of `parameters`."""


class MassMatrixJson(TypedDict):
    """M(q) over the workspace."""

    positive_definite: bool
    smallest_scaled_eigenvalue: float
    smallest_eigenvalue: float
    worst_pose: Numbers
    share_not_positive: float


class CheckedParameterJson(TypedDict):
    """One base parameter and what the nearest consistent robot has."""

    leading: str
    label: str
    value: float
    nearest: float
    unit: str


class ConsistencyJson(TypedDict):
    """All that `check` tells."""

    robot: str
    n_dof: int
    n_base: int
    condition: str
    consistent: bool | None
    margin: float
    verdict: str
    advice: str
    proof: dict[str, float]
    nearest: NearestJson
    mass_matrix: MassMatrixJson
    parameters: list[CheckedParameterJson]


@dataclass(frozen=True, eq=False)
class ConsistencyCheck(PrintsAsDocument):
    """The result of `dynid.check`: print it to read it, `dynid.save` it for its certificate."""

    model: TorqueModel
    base: BaseParameters
    beta: Float[Array, " n_base"]
    """What was checked, in the units of the leading parameters."""
    std: Float[Array, " n_base"]
    """σ of it; nan where none is known."""
    condition: ConditionChoice
    proof: ProvenFeasible | ProvenInfeasible | Undecided
    nearest: FeasibleSolution
    """The physically consistent robot nearest to it; itself where it is consistent."""
    pose: WorstPose
    """Where the mass matrix is nearest to losing its inverse."""
    source: str
    """The file that was checked, or what it is called."""
    inputs: tuple[Path, ...] = ()
    """Files that it was made from."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def consistent(self) -> bool | None:
        """Whether a physically consistent robot has these base parameters; None where rounding hides it."""
        return None if isinstance(self.proof, Undecided) else isinstance(self.proof, ProvenFeasible)

    @property
    def good_enough(self) -> bool:
        """Whether they are consistent and M(q) is positive definite in all poses looked at."""
        return self.consistent is True and self.pose.is_positive

    @property
    def margin(self) -> float:
        """The largest smallest eigenvalue (SI) that the links of any robot with these base parameters have."""
        return self.proof.margin

    @property
    def identified(self) -> IdentifiedModel:
        """The consistent robot (SI) as a model: with these base parameters, or the nearest where there is none."""
        theta = self.proof.theta if isinstance(self.proof, ProvenFeasible) else self.nearest.theta
        options = {"condition": self.condition}
        rule = "the robot that proves consistency" if self.consistent else "nearest physically consistent robot"
        return IdentifiedModel(
            model=self.model,
            base=self.base,
            estimator="check",
            status="",
            beta=self.base.project(theta),
            covariance=np.diag(np.where(np.isfinite(self.std), self.std, np.inf) ** 2),
            theta=theta,
            rule=rule,
            provenance=provenance("check", list(self.inputs), options),
        )

    def json(self) -> ConsistencyJson:
        """What scripts read of it (SI)."""
        base, pose = self.base, self.pose
        return {
            "robot": self.model.robot.name,
            "n_dof": self.model.n_dof,
            "n_base": base.n_base,
            "condition": self.condition,
            "consistent": self.consistent,
            "margin": self.margin,
            "verdict": self._verdict(),
            "advice": self.proof.advice if isinstance(self.proof, Undecided) else "",
            "proof": self._proof_numbers(),
            "nearest": {
                "relative_change_percent": self._relative_change(),
                "largest_change_std": self._largest_change(),
                "parameters": self.nearest.beta,
            },
            "mass_matrix": {
                "positive_definite": pose.is_positive,
                "smallest_scaled_eigenvalue": pose.eigenvalue,
                "smallest_eigenvalue": pose.smallest,
                "worst_pose": pose.q,
                "share_not_positive": pose.share_not_positive,
            },
            "parameters": [
                {
                    "leading": leading,
                    "label": label,
                    "value": float(value),
                    "nearest": float(near),
                    "unit": column.unit,
                }
                for leading, label, value, near, column in zip(
                    base.leading, base.labels(), self.beta, self.nearest.beta, base.leading_columns, strict=True
                )
            ],
        }

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        counts = f"{counted(self.model.n_dof, 'joint')}, {counted(self.base.n_base, 'base parameter')}"
        where = ", ".join(f"{value:.3g}" for value in self.pose.q)
        positive = "positive definite in every pose looked at" if self.pose.is_positive else "NOT positive definite"
        mass = (
            f"{positive}; smallest eigenvalue {self.pose.smallest:.3g} (scaled by joint {self.pose.eigenvalue:.3g}) at "
            f"q = ({where}), {100.0 * self.pose.share_not_positive:.3g} % of drawn poses not positive"
        )
        asked = "pseudo-inertia 4×4 (triangle)" if self.condition == "triangle" else "inertia 6×6 of the papers"
        lines: list[Line | Grid] = [
            Line("robot", f"{self.model.robot.name}   {counts}"),
            Line("checked", f"{self.source}   condition: {asked}"),
            Line("consistent", self._verdict()),
            Line("margin", f"{self.margin:.4g} (largest smallest eigenvalue of any such robot, SI)"),
        ]
        if not self.consistent:
            largest = self._largest_change()
            units = "" if largest is None else f", at most {largest:.2g} σ of one"
            lines.append(Line("nearest", f"base parameters change by {self._relative_change():.3g} %{units}"))
            lines.append(self._moved())
        lines.append(Line("M(q)", mass))
        return tuple(lines)

    def _moved(self) -> Grid:
        change = np.abs(self.nearest.beta - self.beta)
        known = np.isfinite(self.std) & (self.std > 0.0)
        order = np.argsort(-np.where(known, change / np.where(known, self.std, 1.0), change))[:MOST_MOVED]
        labels, columns = self.base.labels(), self.base.leading_columns
        rows = tuple(
            (labels[k], f"{self.beta[k]:.4g}", f"{self.nearest.beta[k]:.4g}", columns[k].unit)
            for k in order
            if change[k] > 0.0
        )
        return Grid(("base parameter", "value", "nearest consistent", "unit"), rows, (1, 2))

    def _verdict(self) -> str:
        if isinstance(self.proof, ProvenFeasible):
            return "yes, proven by a full parameter set"
        if isinstance(self.proof, ProvenInfeasible):
            size = self.proof.verification.excludes_below
            return f"NO, proven: a certificate excludes every robot of size below {size:.2g} SI"
        return f"undecided: {self.proof.advice}"

    def _proof_numbers(self) -> dict[str, float]:
        if not isinstance(self.proof, ProvenInfeasible):
            return {}
        verified = self.proof.verification
        return {
            "value": verified.value,
            "smallest_eigenvalue": verified.smallest_eigenvalue,
            "residual": verified.residual,
            "excludes_below": verified.excludes_below,
        }

    def _relative_change(self) -> float:
        return float(100.0 * np.linalg.norm(self.nearest.beta - self.beta) / (np.linalg.norm(self.beta) or 1.0))

    def _largest_change(self) -> float | None:
        known = np.isfinite(self.std) & (self.std > 0.0)
        if not np.any(known):
            return None
        return float(np.max(np.abs(self.nearest.beta - self.beta)[known] / self.std[known]))

    def __repr__(self) -> str:
        word = {True: "consistent", False: "not consistent", None: "undecided"}[self.consistent]
        return f"ConsistencyCheck({self.model.robot.name!r}: {word}, margin {self.margin:.3g} SI)"


@checked_arguments
@one_blas_thread()
def check(
    model: CoefficientsLike,
    *,
    robot: RobotLike | None = None,
    condition: ConditionChoice = "triangle",
    total_mass: tuple[float, float] | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> ConsistencyCheck:
    """Whether any physically consistent robot has these base parameters (SI) [Sousa2013]_, [Wensing2018]_.

    Decided with a proof either way: a full parameter set, or a certificate that there is none. Beside it the nearest
    consistent robot, and M(q) in the worst pose of the workspace, which is searched for.

    Args:
        model: model.json or an `IdentifiedModel`; or a CSV file of base parameters (columns symbol and value), or
            their values by name, such as J2xx, mc3x, fv1, Ia4, which need `robot`.
        robot: built-in name, robot file (URDF, MJCF, TOML) or `Robot`, for base parameters without a model.
        condition: triangle for full consistency, inertia for the papers' weaker 6×6.
        total_mass: least and largest mass of all links, kg.
        seed: of the poses that are drawn.
        progress: hears what is being done.

    Raises:
        ParameterError: base parameters that do not fit the robot.
        ConfigError: coefficients without a robot, or an unknown condition.
    """
    if condition not in ("triangle", "inertia"):
        raise ConfigError(f"condition: no {condition!r}; known: triangle, inertia")
    asked = Constraints(triangle=condition == "triangle", margin=0.0, total_mass=total_mass)
    torque, base, beta, covariance, source, inputs = _given(model, robot)
    progress("looking for a consistent robot")
    proof = is_feasible(torque, base, beta, asked)
    # Where σ are known, a base parameter that the data hardly fix moves before one that they do.
    std = np.sqrt(np.diag(covariance)) if covariance is not None else np.full(base.n_base, np.nan)
    known = np.isfinite(std) & (std > 0.0)
    R = np.diag(1.0 / std) if np.all(known) else np.eye(base.n_base)
    nearest = solve(R, R @ beta, torque, base, asked, equal_fit=1e-6)
    if isinstance(proof, ProvenFeasible):
        nearest = replace(nearest, theta=proof.theta, beta=beta, objective=0.0, best_objective=0.0)
    progress("searching the worst pose")
    pose = worst_pose(torque, base, beta, np.random.default_rng(as_seed(seed)))
    return ConsistencyCheck(torque, base, beta, std, condition, proof, nearest, pose, source, inputs)


def _given(
    model: CoefficientsLike, robot: RobotLike | None
) -> tuple[
    TorqueModel,
    BaseParameters,
    Float[Array, " n_base"],
    Float[Array, "n_base n_base"] | None,
    str,
    tuple[Path, ...],
]:
    """Torque model, regrouping, β, its covariance where known, a name, and the files."""
    path = Path(fspath(model)) if isinstance(model, str | PathLike) else None
    if isinstance(model, IdentifiedModel) or (path is not None and path.suffix.lower() not in TABLES):
        if robot is not None:
            raise ConfigError("robot: a model has its robot already; leave it out")
        known = as_model(model)  # type: ignore[arg-type]
        name = "model in memory" if path is None else str(path)
        return known.model, known.base, known.beta, known.covariance, name, () if path is None else (path,)
    if path is None and not isinstance(model, Mapping):
        raise ConfigError(f"model: expected a model, a CSV file or values by name, got {type(model).__name__}")
    values = dict(model) if isinstance(model, Mapping) else read_base_table(Path(fspath(model)))
    if robot is None:
        raise ConfigError("`robot`: base parameters alone do not say of which robot; give its name or file")
    arm = robot if isinstance(robot, Robot) else RobotOptions().load(robot)
    torque = torque_model_of(arm, values)
    base = base_parameters(torque)
    source = "values in memory" if path is None else str(path)
    own = () if isinstance(robot, Robot) or not Path(fspath(robot)).exists() else (Path(fspath(robot)),)
    return torque, base, coefficient_vector(base, values, source), None, source, (*((path,) if path else ()), *own)
