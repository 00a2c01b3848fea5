"""``dynid data``: public data sets, listed, fetched and converted. The only command that talks to the network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

import dynid
from dynid.cli.console import emit_json, note, say, show, warn
from dynid.cli.options import ForceFlag, JsonFlag
from dynid.cli.progress import progress
from dynid.recording.datasets.fetch import fetch_data
from dynid.recording.datasets.fetched import convert_logs, data_catalogue

__all__ = ["data"]

data = App(name="data", help="Public data sets: list them, fetch one, convert a published log.", help_epilogue="")
SetName = Annotated[
    Literal["panda", "ur10e", "ur10e-contacts", "wam7", "lwr4", "kr300", "ur10", "panda30", "med7"] | str,
    Parameter(show_choices=False),
]
FormName = Annotated[
    Literal["panda", "ur", "wam-record", "wam-reference", "wam-series"] | str, Parameter(show_choices=False)
]


def _default_mirror() -> Path | None:
    named = os.environ.get("DYNID_DATA")
    return Path(named) if named else None


@data.command(name="list")
def list_(*, json: JsonFlag = False) -> int:
    """Every public data set that dynid knows: what it holds, its licence, and whether a mirror has it.

    Example: dynid data list
    """
    result = data_catalogue(_default_mirror())
    if json:
        emit_json(result.json())
        return 0
    show(result.document())
    note("")
    say("next", "dynid data fetch NAME")
    return 0


@data.command
def fetch(
    name: SetName,
    /,
    *,
    out: Path | None = None,
    mirror: Path | None = None,
    unverified: Annotated[bool, Parameter(negative="")] = False,
    force: ForceFlag = False,
    json: JsonFlag = False,
) -> int:
    """Put a public data set into a folder: logs, robot file, a README, and the next command to type.

    It is copied from a mirror where that has it, else fetched by HTTPS from its authors; either way it is checked
    before anything appears.

    Example: dynid data fetch panda --out panda-data

    Parameters
    ----------
    name
        Of the data set: see dynid data list.
    out
        Folder for it [default: one of its name].
    mirror
        Folder with a folder for each data set [default: the environment variable DYNID_DATA].
    unverified
        Also take files from the network whose hash nobody knows.
    force
        Replace files that are there with another content.
    """
    folder = Path(name) if out is None else out
    with progress(f"fetching {name}") as step:

        def told(file: str, done: int, total: int) -> None:
            step(f"fetching {file}", done / total if total else None)

        found = fetch_data(
            name,
            folder,
            mirror=mirror if mirror is not None else _default_mirror(),
            unverified=unverified,
            force=force,
            progress=told,
        )
    if json:
        emit_json(found.json())
    else:
        show(found.document())
    for sentence in found.warnings:
        warn(sentence)
    return 0


@data.command
def convert(
    form: FormName,
    files: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    out: Path,
    rows: Annotated[tuple[int, int] | None, Parameter(negative="")] = None,
    json: JsonFlag = False,
) -> int:
    """Turn a log in the form its authors published into one that every command reads.

    Forms: panda (four texts of one number a line), ur (rows of t, q, dq, i and more), wam-record (t, q, tau),
    wam-reference (q at 1 kHz), wam-series (JSON of Fourier coefficients).

    Example: dynid data convert ur ur-rows.csv --rows 10 400 --out log.csv

    Parameters
    ----------
    form
        Form of the files: panda, ur, wam-record, wam-reference or wam-series.
    files
        The published files.
    out
        The log, .csv or .csv.gz; a folder where the files hold several.
    rows
        First and last row to keep, counted from 1.
    """
    result = convert_logs(form, files, rows=rows)
    saved = dynid.save(result, out)
    if json:
        emit_json({**result.json(), **saved.json()})
        return 0
    for line, path in zip(result.document(), saved.files.values(), strict=True):
        show((line,))
        say("wrote", str(path))
    return 0
