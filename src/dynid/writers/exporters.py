"""The table of export formats: each is one module of this folder, and one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynid.regression.model import IdentifiedModel
from dynid.writers.c.header import write_c_header
from dynid.writers.exported import Exported, ExportOptions
from dynid.writers.load_settings import Load, LoadFormat, write_load_settings
from dynid.writers.mjcf import write_mjcf
from dynid.writers.tables import write_table
from dynid.writers.urdf import write_urdf

__all__ = ["EXPORTERS", "LoadExporter", "ModelExporter"]


@dataclass(frozen=True)
class ModelExporter:
    """A format for identified models."""

    name: str
    suffix: str
    """How files of this format usually end, ``.urdf``."""
    summary: str
    needs: Literal["consistent links", "parameters"]
    """Whether links must be physically consistent (unless forced), or any parameters will do."""
    write: Callable[[IdentifiedModel, Path, ExportOptions], Exported]
    """Writes the file after it has been read back and has re-predicted the torque."""
    root: str = ""
    """Root element of robot files that can be edited in place; empty where a file is always fresh."""


@dataclass(frozen=True)
class LoadExporter:
    """A format for loads."""

    name: str
    suffix: str
    """How files of this format usually end, ``.json``."""
    summary: str
    write: Callable[[Load, Path, ExportOptions], Exported]


def _urdf(model: IdentifiedModel, path: Path, options: ExportOptions) -> Exported:
    return write_urdf(model, path, template=options.template, lock=options.lock, force=options.force)


def _mjcf(model: IdentifiedModel, path: Path, options: ExportOptions) -> Exported:
    return write_mjcf(model, path, template=options.template, lock=options.lock, force=options.force)


def _c(model: IdentifiedModel, path: Path, options: ExportOptions) -> Exported:
    return write_c_header(model, path, prefix=options.prefix, force=options.force)


def _table(kind: Literal["csv", "json"]) -> Callable[[IdentifiedModel, Path, ExportOptions], Exported]:
    return lambda model, path, options: write_table(model, path, kind=kind)


def _settings(controller: LoadFormat) -> Callable[[Load, Path, ExportOptions], Exported]:
    return lambda load, path, options: write_load_settings(load, path, controller=controller, force=options.force)


_ENTRIES: tuple[ModelExporter | LoadExporter, ...] = (
    ModelExporter("urdf", ".urdf", "robot file of ROS, Pinocchio and Drake", "consistent links", _urdf, root="robot"),
    ModelExporter("mjcf", ".xml", "robot file of MuJoCo", "consistent links", _mjcf, root="mujoco"),
    ModelExporter("c", ".h", "C99 header for a controller", "consistent links", _c),
    ModelExporter("csv", ".csv", "table with units, σ and trust", "parameters", _table("csv")),
    ModelExporter("json", ".json", "the same table as JSON", "parameters", _table("json")),
    LoadExporter("franka", ".json", "arguments of libfranka's setLoad", _settings("franka")),
    LoadExporter("franka-desk", ".json", "end-effector configuration of Franka's Desk", _settings("franka-desk")),
    LoadExporter("ur", ".script", "URScript line", _settings("ur")),
)
EXPORTERS: dict[str, ModelExporter | LoadExporter] = {entry.name: entry for entry in _ENTRIES}
"""Formats by name, those of models first."""
