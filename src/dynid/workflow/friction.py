"""`friction`: friction refitted on the residual of a model whose links are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TypedDict

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, ModelFileError, RecordingError
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.recording.column_map import ColumnMap
from dynid.regression.friction.curve import friction_curve
from dynid.regression.friction.fit import FrictionFit, fit_friction
from dynid.regression.model import IdentifiedModel
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import ErrorJson, error_json
from dynid.workflow.doors import LogLike, ModelLike, as_logs, as_model, model_files, model_name
from dynid.workflow.identify_job import LogOptions
from dynid.workflow.logs import Log
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import provenance, texts_of
from dynid.workflow.torque_scales import GainStd

__all__ = ["FrictionComparison", "FrictionRefit", "friction"]

SHARES = (0.1, 0.5, 1.0)
"""Of the largest speed in the logs: where two frictions are compared."""


class FrictionTermJson(TypedDict):
    """One number of the friction of a joint."""

    name: str
    value: float
    std: float
    unit: str


class JointFrictionJson(TypedDict):
    """The friction of one joint, and why it is this one."""

    joint: str
    models: list[str]
    why: str
    left_out_error_percent: float
    parameters: list[FrictionTermJson]


class FrictionComparisonJson(TypedDict):
    """Two frictions at one speed, N·m or N."""

    joint: str
    share_of_speed: float
    friction: float
    other: float


class FrictionJson(TypedDict):
    """All that `friction` tells."""

    robot: str
    n_dof: int
    n_parameters: int
    estimator: str
    train: ErrorJson
    without_friction: ErrorJson
    joints: list[JointFrictionJson]
    compared: list[FrictionComparisonJson]


@dataclass(frozen=True)
class FrictionComparison:
    """Steady friction of a joint at one speed, beside that of another model."""

    joint: str
    share_of_speed: float
    """Of the largest speed in the logs, dimensionless."""
    friction: float
    """Of the new fit, N·m or N."""
    other: float
    """Of the other model, N·m or N."""
    unit: str
    """N·m or N."""

    @property
    def change(self) -> str:
        """By how much the friction has changed, %; empty where there was none."""
        return f"{100 * (self.friction / self.other - 1):+.1f}" if self.other else ""


@dataclass(frozen=True, eq=False)
class FrictionRefit(PrintsAsDocument):
    """The result of `dynid.friction`: print it to read it, `dynid.save` it for its files."""

    model: IdentifiedModel
    """Links and rotors as they were, with the friction found: what later jobs take."""
    fit: FrictionFit
    """The friction of every joint, with σ and errors."""
    logs: tuple[str, ...]
    """The files of the logs, or what logs in memory call themselves."""
    other: IdentifiedModel | None = None
    """The model whose friction is compared; None where it has none."""
    comparisons: tuple[FrictionComparison, ...] = ()
    """Joint by joint."""
    warnings: tuple[str, ...] = ()
    """What is weak about the result, a sentence each."""

    def json(self) -> FrictionJson:
        """What scripts read of it (%, SI)."""
        fit, choice = self.fit, self.fit.choice
        joints = zip(fit.joints, choice.names, choice.reasons, choice.left_out_percent, strict=True)
        return {
            "robot": self.model.robot.name,
            "n_dof": self.model.model.n_dof,
            "n_parameters": self.model.model.n_params,
            "estimator": "friction",
            "train": error_json(fit.fit),
            "without_friction": error_json(fit.without),
            "joints": [
                {
                    "joint": joint.joint,
                    "models": list(names),
                    "why": reason,
                    "left_out_error_percent": float(error),
                    "parameters": [
                        {"name": name, "value": float(value), "std": float(std), "unit": unit}
                        for name, value, std, unit in zip(
                            joint.names, joint.values, joint.std, joint.units, strict=True
                        )
                    ],
                }
                for joint, names, reason, error in joints
            ],
            "compared": [
                {"joint": c.joint, "share_of_speed": c.share_of_speed, "friction": c.friction, "other": c.other}
                for c in self.comparisons
            ],
        }

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        before, after = self.fit.without.relative_percent, self.fit.fit.relative_percent
        return (
            Line("robot", f"{self.model.robot.name}   {counted(self.model.model.n_dof, 'joint')}"),
            Line("error", f"{before:.2f} % without friction, {after:.2f} % with it"),
            *(Line("friction", reason) for reason in self.fit.choice.reasons),
            self.values(),
            *((self.compared(),) if self.comparisons else ()),
        )

    def values(self) -> Grid:
        """Every number of the friction (SI) with σ."""
        rows = tuple(
            (joint.joint, name, f"{value:.5g}", f"{std:.2g}", unit)
            for joint in self.fit.joints
            for name, value, std, unit in zip(joint.names, joint.values, joint.std, joint.units, strict=True)
        )
        return Grid(("joint", "parameter", "value", "± 1σ", "unit"), rows, (2, 3))

    def compared(self) -> Grid:
        """Both frictions (N·m or N) at some speeds, and the change in %."""
        rows = tuple(
            (c.joint, f"{100 * c.share_of_speed:.0f}", f"{c.friction:.4g}", f"{c.other:.4g}", c.unit, c.change)
            for c in self.comparisons
        )
        return Grid(("joint", "speed / %", "this fit", "other", "unit", "change / %"), rows, (1, 2, 3, 5))

    def __repr__(self) -> str:
        return (
            f"FrictionRefit({self.model.robot.name!r}: {self.fit.without.relative_percent:.2f} % without friction, "
            f"{self.fit.fit.relative_percent:.2f} % with it)"
        )


@checked_arguments
@one_blas_thread()
def friction(
    model: ModelLike,
    logs: LogLike | Sequence[LogLike],
    *,
    friction: str | Sequence[JointModel] = "auto",
    against: ModelLike | None = None,
    from_: float | None = None,
    until: float | None = None,
    columns: str | PathLike[str] | ColumnMap | None = None,
    gains: str | PathLike[str] | Sequence[float] | Array | None = None,
    gain_std: GainStd | None = None,
    lowpass: float | None = None,
    progress: Progress = silent,
) -> FrictionRefit:
    """Refit friction only (SI): after a change of lubrication or temperature, or on another copy of the same robot.

    Links and rotors stay as they are. Sinusoids that sweep all velocities show friction best. The logs are read and
    conditioned as those of the model's fit were: its column map, gains, low-pass and delay hold unless given here.

    Args:
        model: model.json or `IdentifiedModel`.
        logs: one or more logs of motion and torque.
        friction: names joined by +, auto for what predicts best, joint by joint, or friction models.
        against: another model whose friction is compared; None is the model's own, where it has any.
        from_: start of the part to use, s.
        until: end of the part to use, s.
        columns: mapping file or `ColumnMap`.
        gains, gain_std: drive gains in N·m/A, for logs of motor current; their relative σ, for the new model to keep.
        lowpass: low-pass in Hz.
        progress: hears what is being done.

    Raises:
        ModelFileError: models of robots with other joints.
        RegressionError: a joint never reverses, so that dry friction and offset cannot be told apart.
    """
    if not isinstance(friction, str | Sequence):
        raise ConfigError(f"friction: expected names joined by +, or friction models, got {type(friction).__name__}")
    progress("reading")
    known = as_model(model)
    other = known if against is None else as_model(against)
    if other.robot.joint_names != known.robot.joint_names:
        named = model_name(against or model, "against")
        raise ModelFileError(f"{named}: is of a robot with other joints than {model_name(model, 'model')}")
    asked = LogOptions.of(from_, until, columns, gains, lowpass, gain_std)
    settings = asked.settings().over(known.settings)
    opened = [Log.of(source, known.robot, settings, from_, until, held=True) for source in as_logs(logs)]
    if not opened:
        raise RecordingError("no log given to fit friction to")
    samples = [log.condition() for log in opened]
    progress("fitting friction")
    rigid, theta = _without_friction(known)
    found = fit_friction(rigid, theta, samples, friction)
    plan = samples[0].plan
    origin = provenance(
        "friction",
        [*model_files(model, against), *(log.source for log in opened), *asked.files],
        {
            "friction": friction if isinstance(friction, str) else "+".join(m.name for m in friction),
            "lowpass": lowpass,
            "log": texts_of(asked),
        },
    )
    refitted = known.with_friction(
        found,
        settings=replace(settings, cutoff_hz=float(plan.low_pass.cutoff_hz), remembered_gains=False),
        results={
            "relative_error_percent": found.fit.relative_percent,
            "relative_error_percent_without": found.without.relative_percent,
            "conditioning": list(plan.choices),
            "friction": list(found.choice.reasons),
        },
        provenance=origin,
    )
    compared = _has_friction(other.model)
    return FrictionRefit(
        model=refitted,
        fit=found,
        logs=tuple(log.name for log in opened),
        other=other if compared else None,
        comparisons=_compared(found, other) if compared else (),
    )


def _has_friction(model: TorqueModel) -> bool:
    """Whether a model has joint terms beside rotor inertia."""
    return any(joint_model.is_friction for joint_model in model.joint_models)


def _without_friction(known: IdentifiedModel) -> tuple[TorqueModel, Float[Array, " n_params"]]:
    """Links and rotors of a model without its friction, and their parameters (SI)."""
    whole = known.model
    rigid = TorqueModel(whole.robot, tuple(m for m in whole.joint_models if not m.is_friction))
    values = dict(zip(whole.symbols, known.parameters, strict=True))
    return rigid, np.array([values[symbol] for symbol in rigid.symbols])


def _compared(found: FrictionFit, other: IdentifiedModel) -> tuple[FrictionComparison, ...]:
    """Both frictions (N·m or N) at shares of each joint's largest speed, forwards."""
    dq = np.outer(SHARES, np.max(np.abs(found.velocity), axis=0))
    # One speed at a time: friction that remembers is steady only in a motion of its own.
    new = np.array([friction_curve(found.model, found.theta, row[None, :])[0] for row in dq])
    old = np.array([friction_curve(other.model, other.parameters, row[None, :])[0] for row in dq])
    return tuple(
        FrictionComparison(
            joint.name, share, float(new[k, j]), float(old[k, j]), "N·m" if joint.type == "revolute" else "N"
        )
        for j, joint in enumerate(found.model.robot.joints)
        for k, share in enumerate(SHARES)
    )
