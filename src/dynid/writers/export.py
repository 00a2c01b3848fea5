"""One call for every export: a model or a load, to any format of the table, checked before the file appears."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Literal

from dynid.arrays import Transform
from dynid.chain.placement import rotation_rpy, transform
from dynid.disk import refuse_replacing
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ExportError, InconsistentModel, LossyExport, UnknownName
from dynid.regression.model import IdentifiedModel
from dynid.regression.model_file import load_model
from dynid.workflow.argument_types import checked_arguments
from dynid.writers.exported import Exported, ExportOptions
from dynid.writers.exporters import EXPORTERS, LoadExporter, ModelExporter
from dynid.writers.load_settings import FLANGE, Load, read_load
from dynid.writers.origin import RobotOrigin, model_sources, robot_origin, training_log

__all__ = ["export"]


@checked_arguments
@one_blas_thread()
def export(
    model: IdentifiedModel | Load | str | PathLike[str],
    to: str,
    out: str | PathLike[str],
    *,
    template: str | PathLike[str] | None = None,
    fresh: bool = False,
    lock: Mapping[str, float] | None = None,
    prefix: str | None = None,
    flange: Sequence[float] | None = None,
    force: bool = False,
    filter: Literal["load"] | None = None,
    rate: float = 1000.0,
    half_window: float = 0.1,
    max_mass: float = 5.0,
    false_alarms: float = 0.5,
) -> Exported:
    """Write a model in a format of `EXPORTERS`, or a load as settings of a controller (SI).

    The file is read back and must re-predict the torque to 1e-6 of the largest, else it is not written. A model from a
    URDF or MJCF file is written into a copy of that file, as long as the file has not changed.

    Args:
        model: an identified model or its file; for settings of a controller a load or its file.
        to: a name in `EXPORTERS`.
        out: the file to write.
        template: a robot file to edit; only inertias, damping, friction (and armature) change in the copy.
        fresh: write a new file even though the robot's own could be edited.
        lock: where joints stood (rad or m) that move in the template but not in the model.
        prefix: what names in a C header start with; the robot's name where None.
        flange: flange frame in the frame of the load: x, y, z in m, roll, pitch, yaw in rad.
        force: write parameters that are not physically consistent, and say so in the file; write an MJCF file that
            simulates far worse than the model.

    Raises:
        UnknownName: a format that is not in the table.
        InconsistentModel: parameters that are not physically consistent, without `force`.
        LossyExport: an MJCF file that simulates far worse than the model, without `force`.
        OutputError: `out` is the file of the model, or the robot file it came from.
        ExportError: any other refusal; nothing was written.
    """
    if to not in EXPORTERS:
        raise UnknownName(str(to), known=EXPORTERS, kind="export format")
    exporter = EXPORTERS[to]
    options = ExportOptions(
        lock=_positions(lock), prefix=prefix, force=force, filter=filter, rate=rate, half_window=half_window,
        max_mass=max_mass, false_alarms=false_alarms,
    )  # fmt: skip
    if filter is not None and (to != "c" or filter != "load"):
        raise ExportError(f"`filter` {filter}: only load, and only for c")
    if template is not None and not (isinstance(exporter, ModelExporter) and exporter.root):
        edited = [name for name, other in EXPORTERS.items() if isinstance(other, ModelExporter) and other.root]
        raise ExportError(f"`template` is for {' and '.join(edited)}, not for {to}")
    place = Path(out)
    refuse_replacing([Path(path) for path in (model, template) if isinstance(path, str | PathLike)], [place])
    if isinstance(exporter, LoadExporter):
        return exporter.write(_load(model, flange, to), place, options)
    known = _model(model, to)
    refuse_replacing(model_sources(known), [place])
    origin = RobotOrigin(None if template is None else Path(template))
    if exporter.root and template is None and not fresh:
        origin = robot_origin(known, exporter.root)
    options = replace(options, template=origin.path, lock={**origin.lock, **options.lock})
    if exporter.refits:
        log, aligned = training_log(known)
        options = replace(options, log=log, aligned=aligned)
    try:
        done = exporter.write(known, place, options)
    except (InconsistentModel, LossyExport):
        raise
    except ExportError as error:
        if template is not None or origin.path is None:
            raise
        # The robot's own file cannot be edited; the model can be written all the same.
        origin = replace(origin, path=None, reason=str(error))
        done = exporter.write(known, place, replace(options, template=None))
    return replace(done, how=origin.how) if exporter.root else done


def _positions(lock: object) -> dict[str, float]:
    if lock is None:
        return {}
    if not isinstance(lock, Mapping):
        raise ExportError(f"`lock`: expected positions (rad or m) by joint name, got {type(lock).__name__}")
    return {str(name): float(position) for name, position in lock.items()}


def _model(model: object, to: str) -> IdentifiedModel:
    if isinstance(model, str | PathLike):
        return load_model(Path(model))
    if not isinstance(model, IdentifiedModel):
        raise ExportError(f"{to}: expected an IdentifiedModel or its file, got {type(model).__name__}")
    return model


def _load(load: object, flange: Sequence[float] | None, to: str) -> Load:
    if isinstance(load, str | PathLike):
        load = read_load(Path(load))
    if not isinstance(load, Load):
        raise ExportError(f"{to}: expected a Load or its file, got {type(load).__name__}")
    if flange is None:
        return load
    if load.frame == FLANGE:
        raise ExportError(f"{load.source}: the load is in the flange frame already; leave `flange` out")
    return load.at_flange(_frame(flange))


def _frame(flange: Sequence[float]) -> Transform:
    try:
        x, y, z, roll, pitch, yaw = (float(value) for value in flange)
    except (TypeError, ValueError) as error:
        given = " ".join(str(value) for value in flange) if isinstance(flange, Sequence) else repr(flange)
        raise ExportError(f"`flange` {given}: give x y z in m and roll pitch yaw in rad") from error
    return transform(rotation_rpy(roll, pitch, yaw), (x, y, z))
