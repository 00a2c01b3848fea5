"""``dynid friction``: friction refitted on the residual of a model whose links are known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import tell, warn
from dynid.cli.options import FrictionName, JsonFlag, LogOptions, ScaleOptions, free_place
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress

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
    scale: ScaleOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """Refit friction only: after a change of lubrication or temperature, or on another copy of the same robot.

    Links and rotors stay as they are. Sinusoids that sweep all velocities show friction best. Logs are read and
    conditioned as in the fit of the model (column map, gains, low-pass, delay), unless options say otherwise.

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
    with progress("reading") as step:
        result = dynid.friction(model, logs, friction=friction, against=against, progress=step, **typed(log, scale))
        step("writing")
        saved = dynid.save(result, free_place(out, "refit"))
    for sentence in result.warnings:
        warn(sentence)
    tell(result, saved, json=json)
    return 0
