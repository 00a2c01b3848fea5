"""``dynid validate``: predicted against measured torque, one model or several side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import emit_json, say, show, warn
from dynid.cli.options import JsonFlag, LogOptions, ScaleOptions
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.disk import refuse_replacing
from dynid.writers.report.validation import validation_report

__all__ = ["validate"]


def validate(
    model: Path,
    logs: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    against: Annotated[tuple[Path, ...], Parameter(negative="")] = (),
    raw: Annotated[bool, Parameter(negative="")] = False,
    report: Path | None = None,
    log: LogOptions | None = None,
    scale: ScaleOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Predict logs with a model and compare, per joint; with --against, several models side by side.

    Logs are read and conditioned as in the fit of the first model (column map, gains, low-pass, delay), unless options
    say otherwise.

    Example: dynid validate result/model.json other.csv

    Parameters
    ----------
    model
        The model.json of identify.
    logs
        Logs to predict.
    against
        Another model to set beside.
    raw
        Compare with the unfiltered torque.
    report
        HTML page to write, with the curves.
    """
    if report is not None:
        refuse_replacing([model, *against, *logs], [report])
    with progress("predicting") as step:
        result = dynid.validate(model, logs, against=against, raw=raw, progress=step, **typed(log, scale))
    for sentence in result.warnings:
        warn(sentence)
    if report is not None:
        validation_report(result).write(report)
    if json:
        emit_json({**result.json(), "files": {} if report is None else {"report": str(report)}})
        return 0
    show(result.document())
    if report is not None:
        say("wrote", str(report))
    return 0
