"""What ``dynid identify`` tells: JSON, tables, files, and the exit code."""

from __future__ import annotations

import json as json_format
from pathlib import Path

from dynid.cli.console import note, say, table, warn
from dynid.cli.doctor import findings_json
from dynid.cli.identify_job import Outcome
from dynid.cli.pipeline import band_json, error_json, links_json, parameters_json
from dynid.cli.robot_urdf import urdf_content
from dynid.cli.searching import say_reasons, warn_of_one_way_joints
from dynid.disk import write_whole
from dynid.errors import DynidError
from dynid.regression import Bootstrap, Estimate, IdentifiedModel, Status, save_model, unexcited
from dynid.review import Finding
from dynid.validation import Criterion, Validation, judge, verdict_json
from dynid.validation.verdict import worst
from dynid.writers import Report
from dynid.writers.origin import write_urdf_like_its_origin
from dynid.writers.report.tables import spread_percent

__all__ = ["outcome_json", "show_outcome", "verdict", "write_outcome"]


def outcome_json(
    result: IdentifiedModel,
    estimate: Estimate,
    train: Validation,
    held_out: list[Validation],
    resampled: Bootstrap | None,
    findings: tuple[Finding, ...],
) -> dict[str, object]:
    """What scripts read of a whole identification (SI)."""
    return {
        "robot": result.model.robot.name,
        "n_dof": result.model.n_dof,
        "n_parameters": result.model.n_params,
        "n_base": result.base.n_base,
        "rank": estimate.rank,
        "n_rows": estimate.n_rows,
        "condition_number": estimate.condition_number,
        "estimator": estimate.estimator,
        "status": estimate.status.name.lower(),
        "advice": estimate.status.value,
        "consistent": result.consistent,
        "verdict": verdict_json(judge(result, estimate, train, held_out, findings)),
        "rule": estimate.rule,
        "conditioning": result.results["conditioning"],
        "friction": result.results["friction"],
        "train": {"log": train.log, **error_json(train.error), **band_json(train)},
        "validation": [{"log": v.log, **error_json(v.error), **band_json(v)} for v in held_out],
        "parameters": parameters_json(estimate, resampled),
        "full_parameters": _full(result, estimate),
        "links": links_json(result),
        "findings": findings_json(findings),
    }


def _full(result: IdentifiedModel, estimate: Estimate) -> list[dict[str, object]]:
    if result.theta is None:
        return []
    columns = zip(
        result.model.symbols, result.theta, estimate.full_std, result.model.columns, estimate.full_origins, strict=True
    )
    return [
        {"symbol": symbol, "value": value, "std": std, "unit": column.unit, "owner": column.owner, "origin": label}
        for symbol, value, std, column, label in columns
    ]


def write_outcome(out: Path, result: IdentifiedModel, report: Report, content: dict[str, object]) -> dict[str, str]:
    """Write the result directory; `content` learns how robot.urdf came about."""
    save_model(result, out / "model.json")
    report.write(out / "report.html")
    write_whole(out / "run.json", json_format.dumps(dict(result.provenance), indent=1, default=str) + "\n")
    files = {"model": str(out / "model.json"), "report": str(out / "report.html"), "run": str(out / "run.json")}
    if result.consistent:
        done = write_urdf_like_its_origin(result, out / "robot.urdf")
        files["urdf"] = str(done.path)
        content["urdf"] = urdf_content(done)
    return files


def show_outcome(outcome: Outcome) -> None:
    """The result for people."""
    result, estimate, samples, resampled = outcome.result, outcome.estimate, outcome.samples, outcome.resampled
    model = result.model
    say("robot", f"{model.robot.name}   {model.n_dof} joints, {result.base.n_base} base parameters of {model.n_params}")
    say(
        "recording",
        f"{samples.source}   {samples.n_samples} samples, {estimate.n_rows} rows; {'; '.join(samples.plan.choices)}",
    )
    say(
        "fit",
        f"{estimate.estimator}   {estimate.iterations} iteration(s), condition number {estimate.condition_number:.4g}",
    )
    note("")
    rows: list[tuple[str, ...]] = [
        (label, f"{value:.4e}", f"{std:.1e}", spread_percent(std, value), column.unit, trust)
        for label, value, std, column, trust in zip(
            estimate.base.labels(),
            estimate.beta,
            estimate.std,
            estimate.base.leading_columns,
            estimate.trust,
            strict=True,
        )
    ]
    headers: tuple[str, ...] = ("parameter", "value", "± 1σ", "σ / %", "unit", "trust")
    if resampled is not None:
        headers = (*headers, "95 % of resampled fits")
        ends = zip(resampled.lower, resampled.upper, strict=True)
        rows = [(*row, f"{low:.4e} … {high:.4e}") for row, (low, high) in zip(rows, ends, strict=True)]
    table(headers, rows, numeric=(1, 2, 3))
    say_reasons(result.results["friction"])
    if result.links:
        note("")
        links = [
            (name, f"{link.mass:.4f}", "  ".join(f"{x:.4f}" for x in link.com))
            for name, link in zip(model.robot.link_names, result.links, strict=True)
        ]
        table(("link", "mass / kg", "centre of mass / m"), links, numeric=(1,))
        say("rule", estimate.rule)
    note("")
    names = [("fit", outcome.train), *(("unseen", v) for v in outcome.held_out)]
    errors = [
        (kind, v.log, f"{v.error.relative_percent:.2f}", *(f"{x:.2f}" for x in v.error.relative_percent_joint))
        for kind, v in names
    ]
    headers = ("", "log", "error / %", *(f"{name} / %" for name in model.robot.joint_names))
    table(headers, errors, numeric=range(2, len(headers)))
    say("possible", "yes" if result.consistent else "no full parameter set" if not result.links else "NO")
    say("verdict", worst(_criteria(outcome)))
    files = outcome.content["files"]
    for path in files.values() if isinstance(files, dict) else ():
        say("wrote", path)


def _criteria(outcome: Outcome) -> tuple[Criterion, ...]:
    return judge(outcome.result, outcome.estimate, outcome.train, outcome.held_out, outcome.findings)


def verdict(outcome: Outcome, force: bool) -> int:
    """Warn of what is weak; the exit code: 0, or 1 for a fit that is not good enough (unless forced).

    The mark is the one that the report and the JSON give.
    """
    estimate, regression, result = outcome.estimate, outcome.regression, outcome.result
    weak = [symbol for symbol, word in zip(estimate.base.leading, estimate.trust, strict=True) if word == "unreliable"]
    if weak:
        warn(f"{len(weak)} of {len(estimate.beta)} coefficients have σ above 30 % of their value: {', '.join(weak)}")
    warn_of_one_way_joints(regression)
    if estimate.status is Status.RANK_DEFICIENT:
        warn(f"not excited by this motion: {', '.join(unexcited(regression))}")
    if estimate.status is not Status.CONVERGED:
        warn(estimate.status.value)
    elif result.links and not result.consistent:
        raise DynidError("the parameters found are not physically possible; this should not happen, please report it")
    criteria = _criteria(outcome)
    if worst(criteria) != "not good enough":
        return 0
    failed = [f"{c.name}: {c.found} (asked for: {c.asked})" for c in criteria if c.mark == "not good enough"]
    warn(f"not good enough: {'; '.join(failed)}")
    return 0 if force else 1
