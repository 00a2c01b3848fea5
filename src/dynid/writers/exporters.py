"""The table of export formats: each is one module of this folder, and one entry here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dynid.regression.model import IdentifiedModel
from dynid.writers.actuators import write_actuators
from dynid.writers.c.header import write_c_header
from dynid.writers.exported import Exported, ExportOptions
from dynid.writers.load_settings import Load, write_franka, write_franka_desk, write_urscript
from dynid.writers.mjcf import write_mjcf
from dynid.writers.tables import write_csv_table, write_json_table
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
    refits: bool = False
    """Whether friction that the format cannot say is refitted over the training log, where that is still there."""


@dataclass(frozen=True)
class LoadExporter:
    """A format for loads."""

    name: str
    suffix: str
    """How files of this format usually end, ``.json``."""
    summary: str
    write: Callable[[Load, Path, ExportOptions], Exported]


def _write_c(model: IdentifiedModel, path: Path, options: ExportOptions) -> Exported:
    if options.filter is None:
        return write_c_header(model, path, options)
    from dynid.writers.c.load_filter import write_load_filter  # the compiled filters are many: only where asked for

    return write_load_filter(model, path, options)


_ENTRIES: tuple[ModelExporter | LoadExporter, ...] = (
    ModelExporter("urdf", ".urdf", "robot file of ROS, Pinocchio and Drake", "consistent links", write_urdf, "robot"),
    ModelExporter("mjcf", ".xml", "robot file of MuJoCo", "consistent links", write_mjcf, "mujoco", True),
    ModelExporter("c", ".h", "C99 header for a controller", "consistent links", _write_c),
    ModelExporter("csv", ".csv", "table with units, σ and trust", "parameters", write_csv_table),
    ModelExporter("json", ".json", "the same table as JSON", "parameters", write_json_table),
    ModelExporter(
        "yaml", ".yaml", "actuators of Isaac Lab: armature and friction", "parameters", write_actuators, refits=True
    ),
    LoadExporter("franka", ".json", "arguments of libfranka's setLoad", write_franka),
    LoadExporter("franka-desk", ".json", "end effector for Franka's Desk", write_franka_desk),
    LoadExporter("ur", ".script", "line of URScript", write_urscript),
)
EXPORTERS: dict[str, ModelExporter | LoadExporter] = {entry.name: entry for entry in _ENTRIES}
"""Formats by name, those of models first."""
