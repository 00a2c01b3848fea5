"""``dynid reverse``: coefficients from a controller's own M(q) and g(q)."""

from __future__ import annotations

import json as json_format
from pathlib import Path

from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.options import JsonFlag, RobotName, RobotOptions, free_place
from dynid.cli.pipeline import parameters_json, provenance
from dynid.cli.progress import progress
from dynid.disk import at_once, claimed, write_whole
from dynid.dynamics import TorqueModel, base_parameters
from dynid.regression import (
    Compressed,
    IdentifiedModel,
    Reverse,
    ReverseEstimate,
    Status,
    read_controller_samples,
    save_model,
)
from dynid.writers import Report, Section, Table, Tile
from dynid.writers.report.charts import correlation_figure
from dynid.writers.report.tables import provenance_tables

__all__ = ["reverse"]


def reverse(
    robot: RobotName,
    samples: Path,
    /,
    *,
    out: Path | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Base coefficients from what a controller reports of its own model at still postures.

    Gravity rows that are zero whatever the parameters are found and dropped.

    Example: dynid reverse panda controller_model.csv --out result

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    samples
        CSV (also .gz) with columns q1…qn, M11, M21, M22, …, g1…gn.
    out
        Folder for model.json, report.html and run.json [default: result, or result-2, …].
    """
    out = free_place(out, "result")
    options = options or RobotOptions()
    loaded = options.load(robot)
    model = TorqueModel(loaded)
    with progress("reading"):
        base = base_parameters(model)
        found = Reverse().fit(model, base, read_controller_samples(samples, loaded.n_dof))
    inputs = [path for path in (Path(robot), samples) if path.exists()]
    origin = provenance("reverse", inputs, {"robot": robot, "lock": list(options.lock)})
    estimate, stacked = found.estimate, found.stacked
    result = IdentifiedModel(
        model=model,
        base=base,
        estimator="reverse",
        status=estimate.status.value,
        beta=estimate.beta,
        covariance=estimate.uncertainty.covariance,
        problem=Compressed(stacked.R, stacked.rho, stacked.rest, stacked.n_rows),
        results={
            "condition_number": estimate.condition_number,
            "relative_error_percent": estimate.fit.relative_percent,
        },
        provenance=origin,
    )
    files = {
        name: str(out / file)
        for name, file in (("model", "model.json"), ("report", "report.html"), ("run", "run.json"))
    }
    with claimed(out), at_once():
        save_model(result, out / "model.json")
        _report(found, samples, origin).write(out / "report.html")
        write_whole(out / "run.json", json_format.dumps(origin, indent=1, default=str) + "\n")
    if json:
        emit_json(_content(found, files))
    else:
        _show(found, samples, files)
    if estimate.status is not Status.CONVERGED:
        warn(estimate.status.value)
        return 1
    return 0


def _rows(found: ReverseEstimate) -> list[tuple[str, ...]]:
    estimate = found.estimate
    return [
        (label, f"{value:.6g}", f"{std:.2g}", f"{100 * std / abs(value):.4f}" if value else "", column.unit, trust)
        for label, value, std, column, trust in zip(
            estimate.base.labels(),
            estimate.beta,
            estimate.std,
            estimate.base.leading_columns,
            estimate.trust,
            strict=True,
        )
    ]


HEADERS = ("coefficient", "value", "± 1σ", "σ/|v| / %", "unit", "trust")


def _report(found: ReverseEstimate, samples: Path, origin: dict[str, object]) -> Report:
    estimate = found.estimate
    robot = estimate.model.robot
    verdict = (
        f"{estimate.rank} of {len(estimate.beta)} coefficients follow from {estimate.n_rows} rows of {samples.name}: "
        f"relative error {estimate.fit.relative_percent:.4f} %, condition number {estimate.condition_number:.4g}."
    )
    dropped = f"Gravity rows dropped because they are always zero: {', '.join(found.dropped) or 'none'}."
    tiles = (
        Tile("Robot", robot.name, f"{robot.n_dof} joints"),
        Tile("Relative error", f"{estimate.fit.relative_percent:.4f} %"),
        Tile("Condition number", f"{estimate.condition_number:.4g}", f"rank {estimate.rank} of {len(estimate.beta)}"),
        Tile("Rows", f"{estimate.n_rows}", samples.name),
    )
    sections = (
        Section("At a glance", (dropped,), tiles=tiles),
        Section("Coefficients", (), (Table(HEADERS, tuple(_rows(found)), badges=(5,)),)),
        Section(
            "Conditioning of the problem",
            (),
            figures=(correlation_figure(estimate.base.leading, estimate.correlation),),
        ),
        Section("Where it comes from", (), provenance_tables(origin)),
    )
    return Report(f"Model inside the controller of {robot.name}", verdict, sections, "Written by dynid reverse.")


def _content(found: ReverseEstimate, files: dict[str, str]) -> dict[str, object]:
    estimate = found.estimate
    return {
        "robot": estimate.model.robot.name,
        "n_dof": estimate.model.n_dof,
        "n_parameters": estimate.model.n_params,
        "n_base": estimate.base.n_base,
        "rank": estimate.rank,
        "condition_number": estimate.condition_number,
        "estimator": "reverse",
        "status": estimate.status.name.lower(),
        "consistent": False,
        "n_rows": estimate.n_rows,
        "dropped": list(found.dropped),
        "train": {"relative_error_percent": estimate.fit.relative_percent},
        "parameters": parameters_json(estimate),
        "files": files,
    }


def _show(found: ReverseEstimate, samples: Path, files: dict[str, str]) -> None:
    estimate = found.estimate
    say("robot", f"{estimate.model.robot.name}   {estimate.model.n_dof} joints, {estimate.base.n_base} base parameters")
    say("samples", f"{samples}   {estimate.n_rows} rows, gravity rows dropped: {', '.join(found.dropped) or 'none'}")
    say(
        "fit",
        f"rank {estimate.rank}, condition number {estimate.condition_number:.5g}, "
        f"relative error {estimate.fit.relative_percent:.4f} %",
    )
    note("")
    table(HEADERS, _rows(found), numeric=(1, 2, 3))
    note("")
    weak = [name for name, word in zip(estimate.base.leading, estimate.trust, strict=True) if word == "unreliable"]
    if weak:
        say("weak", f"σ above 30 % of the value: {', '.join(weak)}")
    for path in files.values():
        say("wrote", path)
