"""``dynid rollout``: models simulated forward beside what the robot did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import emit_json, say, show, warn
from dynid.cli.options import JsonFlag, LogOptions
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.disk import refuse_replacing
from dynid.errors import ConfigError
from dynid.workflow.rolling import HORIZONS
from dynid.writers.report.rollout import rollout_report

__all__ = ["rollout"]


def rollout(
    files: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    window: Annotated[tuple[float, ...], Parameter(negative="")] = HORIZONS,
    controller: Path | None = None,
    reference: Path | None = None,
    in_: Annotated[tuple[str, ...], Parameter(name="--in", negative="")] = (),
    report: Path | None = None,
    log: LogOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Simulate models forward and compare with what the robot did: only a rollout tells a simulator's model.

    Open loop, windows start from measured states and take the measured torque; each error stands beside what the noise
    of the log alone explains. With --controller the whole log is repeated in closed loop. The nominal robot file is
    always set beside. The log is read and conditioned as in the fit of the first model, unless options say otherwise.

    The controller file holds kp, kd, rate, hold (zero or none), delay, feedforward (none, gravity or inverse, of the
    robot file), damping (error or velocity), limit, and reference: columns of the log such as q_ref{n}, or a file.

    Example: dynid rollout result/model.json other.csv

    Parameters
    ----------
    files
        One or more model.json, then the log.
    window
        Length of a window in s; may be given several times.
    controller
        Controller file (ctrl.toml): also repeat the log in closed loop.
    reference
        Log with t and q that the controller was asked for [default: as the controller file says].
    in_
        mujoco:FILE, an MJCF file to step in MuJoCo itself, such as an export; may be given several times.
    report
        HTML page to write, with the curves.
    """
    if len(files) < 2:
        raise ConfigError("give one or more model.json, then the log: dynid rollout result/model.json other.csv")
    *models, source = files
    if report is not None:
        refuse_replacing(files, [report])
    with progress("simulating") as step:
        result = dynid.rollout(
            models,
            source,
            window=window,
            controller=controller,
            reference=reference,
            in_=in_,
            progress=step,
            **typed(log),
        )
    for sentence in result.warnings:
        warn(sentence)
    if report is not None:
        rollout_report(result).write(report)
    if json:
        emit_json({**result.json(), "files": {} if report is None else {"report": str(report)}})
        return 0
    show(result.document())
    if report is not None:
        say("wrote", str(report))
    return 0
