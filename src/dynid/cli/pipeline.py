"""What several commands do alike: read logs, condition them, and turn results into the JSON contract."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from dynid import __version__
from dynid.chain import InertialParameters, Robot, consistency
from dynid.dynamics import BaseParameters, Drives, TorqueModel
from dynid.errors import RecordingError
from dynid.recording import (
    ColumnMap,
    Conditioning,
    Plan,
    RawLog,
    Recording,
    Samples,
    read_column_map,
    read_raw,
    read_recording,
    stream_recording,
)
from dynid.regression import Bootstrap, Estimate, FitError, IdentifiedModel
from dynid.validation import Validation, torque_band
from dynid.workflow.progress import Progress as Step

__all__ = [
    "LogOptions",
    "band_json",
    "error_json",
    "hashed",
    "links_json",
    "parameters_json",
    "with_band",
    "with_gains",
]

STREAMED_BYTES = 64 * 2**20
"""Log files larger than this are streamed, never held as a whole: conditioning takes some ten times their size."""
PIECE_SAMPLES = 40_000
"""Samples of a streamed log that are conditioned at a time: the memory of a long log is some 5 kB a sample of these."""
PACKED_BYTES = 16 * 2**20
"""The same for packed text, which is some four times as long as its file."""
LOOKED_AT = 100_000
"""Samples of such a file that the doctor looks at."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """How to read and condition a log."""

    from_: Annotated[float | None, Parameter(name="--from", help="Start of the part to use, s.")] = None
    until: Annotated[float | None, Parameter(help="End of the part to use, s.")] = None
    columns: Annotated[Path | None, Parameter(help="Mapping file: names, units, signs and gear ratios.")] = None
    gains: Annotated[str | None, Parameter(help="Drive gains K1,K2,… in N·m/A, for logs of motor current.")] = None
    lowpass: Annotated[float | None, Parameter(help="Low-pass in Hz [default: ten times the motion's bandwidth].")] = (
        None
    )

    def map(self) -> ColumnMap | None:
        """The mapping file, when one was named."""
        return None if self.columns is None else read_column_map(self.columns)

    def read(self, path: Path, robot: Robot) -> Recording:
        """The asked part of a log, with torques (N·m or N)."""
        recording = read_recording(path, robot.joint_names, columns=self.map())
        return with_gains(recording.part(self.from_, self.until), self._gains(robot), robot)

    def stream(self, path: Path, robot: Robot, step: Step | None = None) -> Iterator[Recording]:
        """The asked part of a log in pieces, with torques (N·m or N); `step` is told how far the reading is."""
        row_bytes, n_read = (None if step is None else _row_bytes(path)), 0
        pieces = stream_recording(path, robot.joint_names, columns=self.map(), chunk_samples=PIECE_SAMPLES)
        for piece in pieces:
            n_read += piece.n_samples
            if step is not None:
                share = None if row_bytes is None else n_read * row_bytes / path.stat().st_size
                step(f"reading {path.name}: {n_read} samples", share)
            if (self.until is not None and piece.t[0] >= self.until) or (
                self.from_ is not None and piece.t[-1] < self.from_
            ):
                continue
            yield with_gains(piece.part(self.from_, self.until), self._gains(robot), robot)

    def raw(self, path: Path, robot: Robot) -> RawLog:
        """The asked part of a log for the doctor, with torques (N·m or N) where gains are given; at most its start."""
        most = LOOKED_AT if self.is_long(path) else None
        found = read_raw(path, robot.joint_names, columns=self.map(), most_samples=most, t_from=self.from_)
        found = found.part(self.from_, self.until)
        gains = self._gains(robot)
        if gains is None:
            return found
        if found.current is None or found.tau is not None:
            with_gains(found.good_rows(), gains, robot)
        drives = Drives(np.array(gains, dtype=float), transmission=robot.transmission)
        return replace(found, tau=None if found.current is None else drives.joint_torque(found.current))

    def whole(self) -> LogOptions:
        """The same for another log: names, units and gains, but not the part of it."""
        return replace(self, from_=None, until=None)

    def is_long(self, path: Path) -> bool:
        """Whether a file is streamed rather than read."""
        most = PACKED_BYTES if path.suffix.lower() == ".gz" else STREAMED_BYTES
        return path.is_file() and path.stat().st_size > most

    def plan(self, recording: Recording, *, min_velocity: float = 0.0, delay: float = 0.0) -> Plan:
        """The conditioning of a log; settings that were not given are chosen from it."""
        return Conditioning(cutoff_hz=self.lowpass, min_velocity=min_velocity, delay=delay).plan(recording)

    def _gains(self, robot: Robot) -> tuple[float, ...] | None:
        if self.gains is None:
            return None
        try:
            values = tuple(float(word) for word in self.gains.replace(",", " ").split())
        except ValueError as error:
            raise RecordingError(f"--gains {self.gains}: {error}; write K1,K2,… in N·m/A") from error
        if len(values) != robot.n_dof:
            raise RecordingError(f"--gains has {len(values)} numbers but {robot.name} has {robot.n_dof} joints")
        if not all(np.isfinite(value) and value != 0.0 for value in values):
            raise RecordingError(f"--gains {self.gains}: every gain must be finite and not zero")
        return values


def _row_bytes(path: Path) -> float | None:
    """The mean length of a row, in bytes, of a log that is plain text; None for other logs."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(2**20)
    n_lines = head.count(b"\n")
    return None if b"\0" in head or n_lines < 2 else len(head) / n_lines


def with_gains(recording: Recording, gains: Sequence[float] | None, robot: Robot | None = None) -> Recording:
    """A recording with joint torque: its own, or motor current times drive gain (N·m/A).

    Where joints of `robot` are coupled, torques of motors turn into torques of joints; logged torques are of joints.

    Raises:
        RecordingError: currents without gains, or both torque and current to choose from.
    """
    if gains is None:
        if recording.tau is None and recording.current is not None:
            raise RecordingError(
                f"{recording.source}: holds motor currents and no torques; give drive gains, --gains K1,K2,… in N·m/A"
            )
        return recording
    if recording.current is None:
        raise RecordingError(f"{recording.source}: --gains is given but the log has no currents i1…i{recording.n_dof}")
    if recording.tau is not None:
        raise RecordingError(
            f"{recording.source}: has torques and currents; leave --gains out to use the torques, "
            "or map the torque columns away to use the currents"
        )
    drives = Drives(np.array(gains, dtype=float), transmission=None if robot is None else robot.transmission)
    return replace(recording, tau=drives.joint_torque(recording.current))


def hashed(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal; of every file in it for a folder."""
    digest = hashlib.sha256()
    for part in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if part.is_file():
            with part.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
    return digest.hexdigest()


def provenance(command: str, inputs: Sequence[Path], options: Mapping[str, object]) -> dict[str, object]:
    """Inputs with hashes, versions and options, for run.json and the model file."""
    return {
        "command": command,
        "dynid": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "inputs": {str(path): hashed(path) for path in inputs if path.exists()},
        "options": dict(options),
    }


def error_json(error: FitError) -> dict[str, object]:
    """An error as scripts read it: percent, and N·m or N."""
    return {
        "relative_error_percent": error.relative_percent,
        "rmse": error.rmse,
        "relative_error_percent_joint": error.relative_percent_joint,
    }


def with_band(validation: Validation, model: IdentifiedModel, samples: Samples) -> Validation:
    """A validation of `samples` with its torque band (N·m or N); raw torque has none, for its noise is not known."""
    if validation.raw:
        return validation
    noise = model.results.get("noise")
    known = np.array(noise, dtype=float) if isinstance(noise, list) and len(noise) == model.model.n_dof else None
    return replace(validation, band=torque_band(model.model, model.base, model.covariance, samples, known))


def band_json(validation: Validation) -> dict[str, object]:
    """The torque band as scripts read it, by joint: RMS σ of the prediction and noise (N·m or N), share inside."""
    band = validation.band
    if band is None:
        return {}
    return {
        "predicted_std": np.sqrt(np.mean(band.std**2, axis=0)),
        "noise": band.noise,
        "coverage_95_joint": validation.coverage,
    }


def parameters_json(estimate: Estimate, resampled: Bootstrap | None = None) -> list[dict[str, object]]:
    """Coefficients with standard deviations (and intervals), in the units of their leading parameters."""
    base = estimate.base
    entries: list[dict[str, object]] = [
        {
            "label": label,
            "leading": leading,
            "value": float(value),
            "std": float(std),
            "std_white": float(white),
            "unit": column.unit,
            "trust": trust,
            "origin": origin,
        }
        for label, leading, value, std, white, column, trust, origin in zip(
            base.labels(),
            base.leading,
            estimate.beta,
            estimate.std,
            estimate.uncertainty.white_std,
            base.leading_columns,
            estimate.trust,
            estimate.origins,
            strict=True,
        )
    ]
    if resampled is not None:
        for entry, low, high in zip(entries, resampled.lower, resampled.upper, strict=True):
            entry["interval_95"] = [float(low), float(high)]
    return entries


def links_json(model: IdentifiedModel) -> list[dict[str, object]]:
    """Links of a full parameter set (SI), each with its margin; empty without one."""
    names = model.model.robot.link_names
    return [_link_json(name, link) for name, link in zip(names, model.links, strict=False)]


def _link_json(name: str, link: InertialParameters) -> dict[str, object]:
    return {
        "name": name,
        "mass": link.mass,
        "com": link.com,
        "inertia_com": link.inertia_com,
        "margin": consistency(link).margin,
    }


def joint_terms_json(model: TorqueModel, theta: object, base: BaseParameters) -> list[dict[str, object]]:
    """Friction and rotor inertia of each joint (SI)."""
    values = np.asarray(theta, dtype=float)[model.n_inertial :]
    columns = model.columns[model.n_inertial :]
    return [
        {"joint": column.owner, "name": column.name, "value": float(value), "unit": column.unit}
        for column, value in zip(columns, values, strict=True)
    ]
