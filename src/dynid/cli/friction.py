"""``dynid friction``: friction refitted on the residual of a model whose links are known."""

from __future__ import annotations

import json as json_format
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
from cyclopts import Parameter

from dynid.arrays import Array, Float
from dynid.cli.console import emit_json, note, say, table
from dynid.cli.options import FrictionName, JsonFlag, free_place
from dynid.cli.pipeline import LogOptions, error_json, provenance
from dynid.cli.progress import progress
from dynid.disk import at_once, claimed, write_whole
from dynid.dynamics import BaseParameters, TorqueModel, base_parameters
from dynid.errors import ModelFileError, RecordingError
from dynid.recording import Samples
from dynid.regression import FrictionFit, IdentifiedModel, fit_friction, friction_curve, load_model, save_model
from dynid.writers import Report, Section, Table
from dynid.writers.report.friction_charts import friction_figures

__all__ = ["friction"]


def friction(
    model: Path,
    logs: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    out: Path | None = None,
    friction: FrictionName = "auto",
    against: Path | None = None,
    log: LogOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Refit friction only: after a change of lubrication or temperature, or on another copy of the same robot.

    Links and rotors stay as they are. Sinusoids that sweep all velocities show friction best.

    Example: dynid friction result/model.json sinusoids.csv --friction viscous+tanh+offset --out refit

    Parameters
    ----------
    model
        The model.json of identify or reverse.
    logs
        One or more logs of motion and torque.
    out
        Folder for model.json, report.html and run.json [default: refit, or refit-2, …].
    friction
        Names joined by +, or auto: what predicts best, joint by joint.
    against
        Another model whose friction is compared; without it the model's own, where it has any.
    """
    out = free_place(out, "refit")
    log = log or LogOptions()
    if not logs:
        raise RecordingError("no log given; dynid friction MODEL LOG --out DIR")
    known = load_model(model)
    other = known if against is None else load_model(against)
    if other.model.robot.joint_names != known.model.robot.joint_names:
        raise ModelFileError(f"{against}: is of a robot with other joints than {model}")
    with progress("reading") as step:
        samples = [_conditioned(path, known, log) for path in logs]
        step("fitting friction")
        rigid, theta = known_links(known)
        found = fit_friction(rigid, theta, samples, friction)
        origin = provenance("friction", [model, *logs], {"friction": friction, "lowpass": log.lowpass})
        result = _refitted(known, found, samples[0], origin)
        step("writing")
        compared = _compared(found, other) if has_friction(other.model) else []
        report = _report(known, found, other if compared else None, logs)
        with claimed(out), at_once():
            save_model(result, out / "model.json")
            report.write(out / "report.html")
            write_whole(out / "run.json", json_format.dumps(origin, indent=1, default=str) + "\n")
    names = (("model", "model.json"), ("report", "report.html"), ("run", "run.json"))
    files = {name: str(out / file) for name, file in names}
    if json:
        emit_json(_content(found, compared, files))
    else:
        _show(found, compared, files)
    return 0


def has_friction(model: TorqueModel) -> bool:
    """Whether a model has joint terms beside rotor inertia."""
    return any(joint_model.is_friction for joint_model in model.joint_models)


def known_links(known: IdentifiedModel) -> tuple[TorqueModel, Float[Array, " n_params"]]:
    """Links and rotors of a model without its friction, and their parameters (SI)."""
    whole = known.model
    rigid = TorqueModel(whole.robot, tuple(m for m in whole.joint_models if not m.is_friction))
    values = dict(zip(whole.symbols, known.parameters, strict=True))
    return rigid, np.array([values[symbol] for symbol in rigid.symbols])


def _conditioned(path: Path, known: IdentifiedModel, log: LogOptions) -> Samples:
    recording = log.read(path, known.model.robot)
    cutoff = log.lowpass if log.lowpass is not None or not np.isfinite(known.cutoff_hz) else known.cutoff_hz
    return replace(log, lowpass=cutoff).plan(recording).apply(recording)


def _refitted(
    known: IdentifiedModel, found: FrictionFit, samples: Samples, origin: dict[str, object]
) -> IdentifiedModel:
    base = base_parameters(found.model)
    return IdentifiedModel(
        model=found.model,
        base=base,
        estimator=f"{known.estimator}, friction refitted",
        status=known.status,
        beta=base.project(found.theta),
        covariance=_covariance(known, found, base),
        theta=None if known.theta is None else found.theta,
        labels=() if known.theta is None else _labels(known, found),
        rule=known.rule,
        cutoff_hz=samples.plan.low_pass.cutoff_hz,
        results={
            "relative_error_percent": found.fit.relative_percent,
            "relative_error_percent_without": found.without.relative_percent,
            "conditioning": list(samples.plan.choices),
            "friction": list(found.choice.reasons),
        },
        provenance=origin,
    )


def _covariance(known: IdentifiedModel, found: FrictionFit, base: BaseParameters) -> Float[Array, "n_base n_base"]:
    """Of the coefficients: those of the links as they were, friction from its own fit."""
    covariance = np.zeros((base.n_base, base.n_base))
    shared = [(k, known.base.leading.index(s)) for k, s in enumerate(base.leading) if s in known.base.leading]
    new, old = [k for k, _ in shared], [k for _, k in shared]
    covariance[np.ix_(new, new)] = known.covariance[np.ix_(old, old)]
    std = {
        f"{joint.joint} {name}": value
        for joint in found.joints
        for name, value in zip(joint.names, joint.std, strict=True)
    }
    for k, column in enumerate(base.leading_columns):
        if str(column) in std:
            covariance[k], covariance[:, k] = 0.0, 0.0
            covariance[k, k] = std[str(column)] ** 2
    return covariance


def _labels(known: IdentifiedModel, found: FrictionFit) -> tuple[str, ...]:
    old = dict(zip(known.model.symbols, known.labels, strict=False))
    return tuple(old.get(symbol, "identified") for symbol in found.model.symbols)


Row = tuple[str, float, float, float]
"""Joint, share of the largest speed, friction of the new fit and of the other, N·m or N."""


def _compared(found: FrictionFit, other: IdentifiedModel) -> list[Row]:
    speed = np.max(np.abs(found.velocity), axis=0)
    rows: list[Row] = []
    for share in (0.1, 0.5, 1.0):
        dq = share * speed[None, :]
        new = friction_curve(found.model, found.theta, dq)[0]
        old = friction_curve(other.model, other.parameters, dq)[0]
        if not has_friction(other.model):
            continue
        names = found.model.robot.joint_names
        rows += [(name, share, float(a), float(b)) for name, a, b in zip(names, new, old, strict=True)]
    return sorted(rows, key=lambda row: found.model.robot.joint_names.index(row[0]))


HEADERS = ("joint", "parameter", "value", "± 1σ", "unit")
COMPARED = ("joint", "speed / %", "this fit", "other", "unit", "change / %")


def _rows(found: FrictionFit) -> list[tuple[str, ...]]:
    return [
        (joint.joint, name, f"{value:.5g}", f"{std:.2g}", unit)
        for joint in found.joints
        for name, value, std, unit in zip(joint.names, joint.values, joint.std, joint.units, strict=True)
    ]


def _compared_rows(found: FrictionFit, compared: list[Row]) -> list[tuple[str, ...]]:
    units = {joint.name: "N·m" if joint.type == "revolute" else "N" for joint in found.model.robot.joints}
    return [
        (
            name,
            f"{100 * share:.0f}",
            f"{new:.4g}",
            f"{old:.4g}",
            units[name],
            f"{100 * (new / old - 1):+.1f}" if old else "",
        )
        for name, share, new, old in compared
    ]


def _report(
    known: IdentifiedModel, found: FrictionFit, other: IdentifiedModel | None, logs: tuple[Path, ...]
) -> Report:
    verdict = (
        f"Friction lowers the relative torque error of the known links from {found.without.relative_percent:.2f} % to "
        f"{found.fit.relative_percent:.2f} % on {', '.join(path.name for path in logs)}."
    )
    others = [] if other is None else [("other model", other.model, other.parameters)]
    figures = friction_figures(found.model, found.theta, found.velocity, found.residual, others)
    sections = [
        Section("Friction over velocity", found.choice.reasons, figures=figures),
        Section("Values", (), (Table(HEADERS, tuple(_rows(found))),)),
    ]
    if other is not None:
        compared = tuple(_compared_rows(found, _compared(found, other)))
        text = "Steady friction at shares of the largest speed, forwards."
        sections.append(Section("Beside the other model", (text,), (Table(COMPARED, compared),)))
    return Report(f"Friction of {known.model.robot.name}", verdict, tuple(sections))


def _content(found: FrictionFit, compared: list[Row], files: dict[str, str]) -> dict[str, object]:
    joints = zip(found.joints, found.choice.names, found.choice.reasons, found.choice.left_out_percent, strict=True)
    return {
        "robot": found.model.robot.name,
        "n_dof": found.model.n_dof,
        "n_parameters": found.model.n_params,
        "estimator": "friction",
        "train": error_json(found.fit),
        "without_friction": error_json(found.without),
        "joints": [
            {
                "joint": joint.joint,
                "models": list(names),
                "why": reason,
                "left_out_error_percent": float(error),
                "parameters": [
                    {"name": name, "value": float(value), "std": float(std), "unit": unit}
                    for name, value, std, unit in zip(joint.names, joint.values, joint.std, joint.units, strict=True)
                ],
            }
            for joint, names, reason, error in joints
        ],
        "compared": [
            {"joint": name, "share_of_speed": share, "friction": new, "other": old}
            for name, share, new, old in compared
        ],
        "files": files,
    }


def _show(found: FrictionFit, compared: list[Row], files: dict[str, str]) -> None:
    say("robot", f"{found.model.robot.name}   {found.model.n_dof} joints")
    say("error", f"{found.without.relative_percent:.2f} % without friction, {found.fit.relative_percent:.2f} % with it")
    for reason in found.choice.reasons:
        say("friction", reason)
    note("")
    table(HEADERS, _rows(found), numeric=(2, 3))
    if compared:
        note("")
        table(COMPARED, _compared_rows(found, compared), numeric=(1, 2, 3, 5))
    for path in files.values():
        say("wrote", path)
