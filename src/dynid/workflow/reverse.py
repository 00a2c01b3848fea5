"""`reverse`: base parameters from a controller's own M(q) and g(q)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TypedDict

import numpy as np

from dynid.arrays import ArrayLike
from dynid.chain.robot import Robot
from dynid.chain.transmission import TransmissionLike
from dynid.dynamics.base_parameters import base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import RecordingError
from dynid.prose import Document, Grid, Line, PrintsAsDocument, counted
from dynid.regression.estimate import Estimate
from dynid.regression.model import IdentifiedModel
from dynid.regression.reverse import ControllerSamples, Reverse, read_controller_samples
from dynid.regression.status import Status
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.contract import BaseParameterJson, base_parameters_json
from dynid.workflow.doors import RobotLike, RobotOptions
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import provenance

__all__ = ["ReverseIdentification", "reverse"]

SamplesLike = str | PathLike[str] | ControllerSamples | Mapping[str, ArrayLike]
"""A file, `ControllerSamples`, or plain arrays by name: q, M, g."""


class ReverseErrorJson(TypedDict):
    """How far the rows of the controller and those of the fit are apart."""

    relative_error_percent: float


class ReverseJson(TypedDict):
    """All that `reverse` tells."""

    robot: str
    n_dof: int
    n_parameters: int
    n_base: int
    rank: int
    condition_number: float
    estimator: str
    status: str
    consistent: bool
    n_rows: int
    dropped: list[str]
    train: ReverseErrorJson
    parameters: list[BaseParameterJson]


@dataclass(frozen=True, eq=False)
class ReverseIdentification(PrintsAsDocument):
    """The result of `dynid.reverse`: print it to read it, `dynid.save` it for its files."""

    model: IdentifiedModel
    """What later jobs take."""
    estimate: Estimate
    """Base parameters with σ."""
    dropped: tuple[str, ...]
    """Kinds of gravity rows that are zero whatever the parameters."""
    samples: str
    """The file of the samples, or what samples in memory call themselves."""
    warnings: tuple[str, ...] = ()
    """What is weak about the result, a sentence each."""

    def json(self) -> ReverseJson:
        """What scripts read of it (SI)."""
        estimate = self.estimate
        return {
            "robot": self.model.robot.name,
            "n_dof": self.model.model.n_dof,
            "n_parameters": self.model.model.n_params,
            "n_base": self.model.base.n_base,
            "rank": estimate.rank,
            "condition_number": estimate.condition_number,
            "estimator": estimate.estimator,
            "status": estimate.status.name.lower(),
            "consistent": self.model.consistent,
            "n_rows": estimate.n_rows,
            "dropped": list(self.dropped),
            "train": {"relative_error_percent": estimate.fit.relative_percent},
            "parameters": base_parameters_json(estimate),
        }

    def document(self) -> Document:
        """The result from top to bottom, as the terminal shows it."""
        estimate = self.estimate
        counts = f"{counted(self.model.model.n_dof, 'joint')}, {self.model.base.n_base} base parameters"
        rows = f"{estimate.n_rows} rows, gravity rows dropped: {', '.join(self.dropped) or 'none'}"
        fit = f"rank {estimate.rank}, condition number {estimate.condition_number:.5g}"
        weak = [name for name, word in zip(estimate.base.leading, estimate.trust, strict=True) if word == "unreliable"]
        return (
            Line("robot", f"{self.model.robot.name}   {counts}"),
            Line("samples", f"{self.samples}   {rows}"),
            Line("fit", f"{fit}, relative error {estimate.fit.relative_percent:.4f} %"),
            self.base_parameters(),
            *((Line("weak", f"σ above 30 % of the value: {', '.join(weak)}"),) if weak else ()),
        )

    def base_parameters(self) -> Grid:
        """Base parameters with σ, in the units of their leading parameters."""
        estimate = self.estimate
        columns = zip(
            estimate.base.labels(),
            estimate.beta,
            estimate.std,
            estimate.base.leading_columns,
            estimate.trust,
            strict=True,
        )
        rows = tuple(
            (label, f"{value:.6g}", f"{std:.2g}", f"{100 * std / abs(value):.4f}" if value else "", column.unit, trust)
            for label, value, std, column, trust in columns
        )
        return Grid(("base parameter", "value", "± 1σ", "σ/|v| / %", "unit", "trust"), rows, (1, 2, 3))

    def __repr__(self) -> str:
        estimate = self.estimate
        return (
            f"ReverseIdentification({self.model.robot.name!r}: {estimate.rank} of {self.model.base.n_base} base "
            f"parameters, {estimate.fit.relative_percent:.4f} % relative error)"
        )


@checked_arguments
@one_blas_thread()
def reverse(
    robot: RobotLike,
    samples: SamplesLike,
    *,
    lock: Iterable[str] | Mapping[str, float] = (),
    gravity: tuple[float, float, float] | None = None,
    mount: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ignore_inertials: bool = False,
    tip: str | None = None,
    transmission: TransmissionLike | None = None,
    progress: Progress = silent,
) -> ReverseIdentification:
    """Base parameters (SI) from what a controller reports of its own model at still postures [Gaz2019]_.

    Gravity rows that are zero whatever the parameters are found and dropped.

    Args:
        robot: built-in name, robot file (URDF, MJCF, TOML) or `Robot`.
        samples: CSV (also .gz) with columns q1…qn, M11, M21, M22, …, g1…gn; `ControllerSamples`; or plain arrays by
            name: q and g of shape (n_samples, n_dof), M of shape (n_samples, n_dof, n_dof) or its lower triangle.
        lock: joints to freeze, names or JOINT=VALUE (rad or m).
        gravity: in world axes, m/s²; None is the file's, or −z.
        mount: roll, pitch, yaw of the base in the world, rad.
        ignore_inertials: neither use nor check the inertias of the robot file.
        tip: last link of the arm that is meant; joints off the way to it are held.
        transmission: coupled drives, a TOML file or a matrix with a row for every motor; None is the robot file's.
        progress: hears what is being done.

    Raises:
        RecordingError: samples that cannot be read, or do not fit the robot.
    """
    options = RobotOptions.of(lock, gravity, mount, ignore_inertials, tip, transmission)
    progress("reading")
    loaded = options.load(robot)
    known = _as_samples(samples, loaded)
    progress("fitting")
    model = TorqueModel(loaded)
    found = Reverse().fit(model, base_parameters(model), known)
    named = loaded.source if isinstance(robot, Robot) else fspath(robot)
    origin = provenance(
        "reverse",
        [Path(named), *options.files, Path(samples) if isinstance(samples, str | PathLike) else known],
        {
            "robot": named,
            "lock": list(options.lock),
            "gravity": None if options.gravity is None else list(options.gravity),
            "mount": list(options.mount),
            "ignore_inertials": options.ignore_inertials,
            "transmission": None if loaded.transmission is None else loaded.transmission.tolist(),
        },
    )
    estimate = found.estimate
    return ReverseIdentification(
        model=IdentifiedModel.of_reverse(found, provenance=origin),
        estimate=estimate,
        dropped=found.dropped,
        samples=known.source,
        warnings=(*loaded.notes, *(() if estimate.status is Status.CONVERGED else (estimate.status.value,))),
    )


def _as_samples(samples: SamplesLike, robot: Robot) -> ControllerSamples:
    """Samples of a file or in memory (SI), for this robot.

    Raises:
        RecordingError: for anything else, saying what was expected.
    """
    if isinstance(samples, str | PathLike):
        return read_controller_samples(Path(samples), robot.n_dof)
    if isinstance(samples, ControllerSamples):
        found = samples
    elif isinstance(samples, Mapping):
        found = _of_arrays(samples)
    else:
        raise RecordingError(
            f"samples: expected a CSV file, ControllerSamples or arrays by name (q, M, g), got {type(samples).__name__}"
        )
    if found.q.shape[1] != robot.n_dof:
        raise RecordingError(f"samples: {found.q.shape[1]} joints, but {robot.name} has {robot.n_dof}")
    return found


def _of_arrays(samples: Mapping[str, ArrayLike]) -> ControllerSamples:
    if set(samples) != {"q", "M", "g"}:
        raise RecordingError(f"samples: arrays are called q, M, g; got {', '.join(str(name) for name in samples)}")
    q, M, g = (np.asarray(samples[name], dtype=float) for name in ("q", "M", "g"))
    if q.ndim != 2 or g.shape != q.shape or len(M) != len(q):
        raise RecordingError(
            f"samples: expected q and g of shape (n_samples, n_dof) and as many M, got {q.shape}, {g.shape}, {M.shape}"
        )
    if M.ndim == 3:
        lower = np.tril_indices(q.shape[1])
        if M.shape[1:] != (q.shape[1], q.shape[1]):
            raise RecordingError(f"samples: M of shape {M.shape} does not fit q of shape {q.shape}")
        M = M[:, lower[0], lower[1]]
    return ControllerSamples(q, M, g)
