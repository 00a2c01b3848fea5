"""``dynid excite``: a motion that shows the parameters, inside every limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from dynid.arrays import Array, Float
from dynid.chain import Robot
from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.excite_options import Kind, LimitOptions, SearchOptions, ShapeOptions
from dynid.cli.options import FrictionName, JsonFlag, RobotName, RobotOptions, checked_seed, free_place, locked_joint
from dynid.cli.progress import Step, progress
from dynid.disk import at_once
from dynid.dynamics import BaseParameters, RotorInertia, TorqueModel, base_parameters, friction_models
from dynid.errors import ExcitationError
from dynid.excitation import (
    Assembly,
    DesignCriterion,
    DesignProgress,
    Excitation,
    ExcitationReport,
    FourierBasis,
    Information,
    MotionLimits,
    PathLimit,
    PoseKind,
    SplineBasis,
    assess,
    check_noise,
    design_excitation,
    design_poses,
    point_to_point,
    random_fourier,
    sinusoids,
    write_coefficients,
    write_poses,
    write_ros,
    write_trajectory,
)
from dynid.writers import trajectory_report

__all__ = ["excite"]

_JUDGED_HZ = 100.0


@dataclass(frozen=True, eq=False)
class _Result:
    """What was found, for table and JSON alike."""

    model: TorqueModel
    base: BaseParameters
    assembly: Assembly
    report: ExcitationReport
    found: Excitation | None


def excite(
    robot: RobotName,
    *,
    out: Path | None = None,
    friction: FrictionName = "viscous+coulomb+offset",
    rotor_inertia: Annotated[bool, Parameter(negative="")] = False,
    rate: float = 1000.0,
    ros: Path | None = None,
    picture: bool = True,
    shape: ShapeOptions | None = None,
    search: SearchOptions | None = None,
    keep: LimitOptions | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """An exciting trajectory inside all limits, its condition number, its coefficients and a picture.

    Example: dynid excite panda --out traj.csv --harmonics 5 --base-frequency 0.075

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    out
        CSV of t, q, dq, ddq; coefficients (.toml) and picture (.html) are written beside it [default: traj.csv, or
        traj-2.csv, …].
    friction
        Friction columns that will be fitted: none, or names joined by +.
    rotor_inertia
        Add a rotor inertia to every joint.
    rate
        Of the CSV and of the predicted measurement, Hz.
    ros
        Also write a ROS 2 JointTrajectory as YAML, at 100 Hz.
    picture
        Write the picture.
    """
    out = free_place(out, "traj.csv")
    shape, search, keep = shape or ShapeOptions(), search or SearchOptions(), keep or LimitOptions()
    checked_seed(search.seed)
    reading = options or RobotOptions()
    loaded = reading.load(robot)
    models = (*((RotorInertia(),) if rotor_inertia else ()), *friction_models(friction))
    model = TorqueModel(loaded, models)
    base = base_parameters(model)
    basis, repeats = shape.basis(rate)
    limits = keep.motion(loaded)
    paths = keep.paths(loaded, limits, dict(locked_joint(item) for item in reading.lock))
    if shape.kind in ("reverse-poses", "gravity-poses"):
        return _posed(loaded, limits, paths, shape, search.seed, out, as_json=json)
    check_noise(search.noise_std, loaded.n_dof)
    known = search.known(model, base, rate)
    if shape.kind in ("fourier", "spline"):
        wanted = search.wanted(known, rate * basis.length * repeats)
        result = _designed(model, base, basis, repeats, limits, paths, wanted, search, quiet=json)
    else:
        result = _ready_made(model, base, basis, repeats, limits, paths, search, shape.kind)
    run = Information.of(model, result.assembly.trajectory.motion(rate), noise_std=search.noise_std, base=base)
    files = _written(out, result, limits, rate=rate, ros=ros, picture=picture)
    if json:
        emit_json(_content(result, (run if known is None else known + run).std, search.seed, files))
    else:
        _show(result, files)
    for text in result.assembly.certificate.unchecked:
        warn(f"not checked: {text}")
    if result.found is not None and result.found.status.value:
        warn(result.found.status.value)
    return 0


def _posed(
    robot: Robot,
    limits: MotionLimits,
    paths: Sequence[PathLimit],
    shape: ShapeOptions,
    seed: int,
    out: Path,
    *,
    as_json: bool,
) -> int:
    kind: PoseKind = "gravity" if shape.kind == "gravity-poses" else "reverse"
    design = design_poses(robot, shape.poses, kind=kind, limits=limits, path_limits=paths, seed=seed)
    write_poses(out, design)
    if as_json:
        emit_json(
            {
                "robot": robot.name,
                "n_dof": robot.n_dof,
                "n_base": len(design.labels),
                "n_poses": len(design.poses),
                "condition_number": design.condition_number,
                "seed": seed,
                "files": {"poses": str(out)},
            }
        )
        return 0
    say("robot", f"{robot.name}   {robot.n_dof} joints, {len(design.labels)} coefficients that these poses can show")
    say("poses", f"{len(design.poses)}, condition number {design.condition_number:.4g}")
    say("wrote", str(out))
    return 0


def _designed(
    model: TorqueModel,
    base: BaseParameters,
    basis: FourierBasis | SplineBasis,
    repeats: int,
    limits: MotionLimits,
    paths: Sequence[PathLimit],
    wanted: DesignCriterion,
    search: SearchOptions,
    *,
    quiet: bool,
) -> _Result:
    with progress("searching", quiet=quiet) as step:
        found = design_excitation(
            model,
            basis=basis,
            repeats=repeats,
            limits=limits,
            path_limits=paths,
            criterion=wanted,
            start=search.start_pose,
            base=base,
            restarts=search.restarts,
            time_budget=search.time_budget,
            workers=search.workers,
            seed=search.seed,
            progress=lambda now: _tell(step, now, search.time_budget),
        )
    return _Result(model, base, Assembly(found.trajectory, found.certificate), found.report, found)


def _tell(step: Step, now: DesignProgress, budget: float) -> None:
    # Restarts end early or the time does: whichever is nearer.
    share = max(now.restart / now.n_restarts, now.seconds / budget)
    place = f"restart {now.restart + 1} of {now.n_restarts}"
    step(f"searching: {place}, condition number {now.condition_number:.4g} (Ctrl-C keeps the best)", share)


def _ready_made(
    model: TorqueModel,
    base: BaseParameters,
    basis: FourierBasis | SplineBasis,
    repeats: int,
    limits: MotionLimits,
    paths: Sequence[PathLimit],
    search: SearchOptions,
    kind: Kind,
) -> _Result:
    if search.start:
        raise ExcitationError(f"--start is for optimised motions; {kind} starts where its limits are easiest kept")
    robot, seed = model.robot, search.seed
    if kind == "random":
        assembly = random_fourier(robot, basis=basis, repeats=repeats, limits=limits, path_limits=paths, seed=seed)
    elif kind == "sinusoids":
        seconds = repeats * basis.length
        assembly = sinusoids(robot, duration=seconds, limits=limits, path_limits=paths, seed=seed)
    else:
        assembly = point_to_point(robot, limits=limits, path_limits=paths, seed=seed)
    motion = assembly.trajectory.motion(_JUDGED_HZ + 4.0 * assembly.trajectory.bandwidth_hz)
    return _Result(model, base, assembly, assess(model, motion, base=base), None)


def _written(
    out: Path, result: _Result, limits: MotionLimits, *, rate: float, ros: Path | None, picture: bool
) -> dict[str, str]:
    trajectory, robot = result.assembly.trajectory, result.model.robot
    files = {"trajectory": out, "coefficients": out.with_suffix(".toml")}
    with at_once():
        write_trajectory(out, trajectory, rate_hz=rate)
        write_coefficients(files["coefficients"], trajectory)
        if ros is not None:
            write_ros(ros, trajectory, rate_hz=max(100.0, 4.0 * trajectory.bandwidth_hz))
            files["ros"] = ros
        if picture:
            files["picture"] = out.with_suffix(".html")
            page = trajectory_report(
                trajectory,
                robot,
                limits,
                history=() if result.found is None else result.found.history,
                condition_number=result.report.condition_number,
                n_base=result.base.n_base,
            )
            page.write(files["picture"])
    return {name: str(path) for name, path in files.items()}


def _content(result: _Result, std: Float[Array, " n_base"], seed: int, files: dict[str, str]) -> dict[str, object]:
    model, base, certificate = result.model, result.base, result.assembly.certificate
    return {
        "robot": model.robot.name,
        "n_dof": model.n_dof,
        "n_parameters": model.n_params,
        "n_base": base.n_base,
        "condition_number": result.report.condition_number,
        "scaled_condition_number": result.report.scaled_condition_number,
        "log_det": result.report.log_det,
        "duration": result.assembly.trajectory.duration,
        "status": "ready-made" if result.found is None else result.found.status.name.lower(),
        "seed": seed,
        "limits": {
            "kept": certificate.holds,
            "unchecked": list(certificate.unchecked),
            "uses": [
                {"quantity": use.quantity, "label": use.label, "reached": use.reached, "limit": use.limit}
                for use in certificate.uses
            ],
        },
        "parameters": [
            {"label": label, "std": float(value), "unit": column.unit}
            for label, value, column in zip(base.labels(), std, base.leading_columns, strict=True)
        ],
        "files": files,
    }


def _show(result: _Result, files: dict[str, str]) -> None:
    robot, report, certificate = result.model.robot, result.report, result.assembly.certificate
    say("robot", f"{robot.name}   {robot.n_dof} joints, {result.base.n_base} base parameters")
    searched = "" if result.found is None else f", found in {result.found.n_evaluations} evaluations"
    say("motion", f"{result.assembly.trajectory.duration:.2f} s from rest to rest{searched}")
    say(
        "condition", f"{report.condition_number:.4g} as it is, {report.scaled_condition_number:.4g} with scaled columns"
    )
    note("")
    kinds = ("position", "velocity", "acceleration", "jerk", "effort")
    uses = {(use.quantity, use.label): use for use in certificate.uses}
    rows = []
    for name in robot.joint_names:
        low, high = uses[("−position", name)], uses[("position", name)]
        row = [name, f"{-low.reached:.4g} … {high.reached:.4g}  of  {-low.limit:.4g} … {high.limit:.4g}"]
        for kind in kinds[1:4]:
            use = uses[(kind, name)]
            row.append("" if np.isinf(use.limit) else f"{use.reached:.4g} of {use.limit:.4g}")
        efforts = [use.reached for use in certificate.uses if use.quantity == "effort" and use.label == name]
        row.append(f"{100.0 * (1.0 + max(efforts)):.0f} %" if efforts else "")
        rows.append(row)
    table(("joint", *kinds), rows)
    others = [use for use in certificate.uses if use.quantity not in (*kinds, "−position")]
    if others:
        closest = max(others, key=lambda use: use.reached)
        say("closest", f"{closest.quantity} {closest.label}: {-1e3 * closest.reached:.1f} mm to spare")
    note("")
    for name in files.values():
        say("wrote", name)
