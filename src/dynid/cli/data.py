"""``dynid data``: public data sets, listed, fetched and converted. The only command that talks to the network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from dynid.cli.console import emit_json, note, say, table, warn
from dynid.cli.options import ForceFlag, JsonFlag
from dynid.cli.progress import progress
from dynid.errors import DataSetError
from dynid.recording.datasets.conversion import convert as converted
from dynid.recording.datasets.fetch import fetch_data, mirrored
from dynid.recording.datasets.published import DATA_SETS, DataSet
from dynid.recording.formats.text import write_csv

__all__ = ["data"]

data = App(name="data", help="Public data sets: list them, fetch one, convert a published log.", help_epilogue="")
SetName = Annotated[Literal["panda", "ur10e", "ur10e-contacts", "wam7"] | str, Parameter(show_choices=False)]
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
    mirror = _default_mirror()
    if json:
        emit_json({"data_sets": [_entry(entry, mirror) for entry in DATA_SETS.values()]})
        return 0
    rows = [
        (name, entry.title, entry.licence, "mirror" if mirrored(name, mirror) else _trust(entry))
        for name, entry in DATA_SETS.items()
    ]
    table(("name", "what", "licence", "from"), rows)
    note("")
    say("next", "dynid data fetch NAME")
    return 0


def _trust(entry: DataSet) -> str:
    unsure = entry.archive is not None or any(file.sources and not file.verified for file in entry.files)
    return "network, only with --unverified" if unsure else "network"


def _entry(entry: DataSet, mirror: Path | None) -> dict[str, object]:
    return {
        "name": entry.name,
        "title": entry.title,
        "robot": entry.robot,
        "source": entry.source,
        "licence": entry.licence,
        "cite": entry.cite,
        "mirrored": mirrored(entry.name, mirror) is not None,
        "archive": None if entry.archive is None else entry.archive.address,
        "files": [
            {
                "name": file.name,
                "what": file.what,
                "sha256": file.sha256 or None,
                "numbers_sha256": file.numbers or None,
                "bytes": file.n_bytes or None,
                "verified": file.verified,
                "sources": [
                    {"address": s.address, "sha256": s.sha256 or None, "bytes": s.n_bytes or None} for s in file.sources
                ],
            }
            for file in entry.files
        ],
    }


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
        emit_json(
            {
                "name": name,
                "folder": str(folder),
                "origin": found.origin,
                "licence": found.data_set.licence,
                "files": {file: str(folder / file) for file in (*found.files, "README.md", "dataset.json")},
                "unverified": list(found.unverified),
                "left_out": list(found.left_out),
                "next": list(found.next),
            }
        )
    else:
        say("data", f"{found.data_set.title}")
        say("licence", found.data_set.licence)
        say("from", found.data_set.source if found.origin == "network" else found.origin)
        for file in (*found.files, "README.md", "dataset.json"):
            say("wrote", str(folder / file))
        for command in found.next:
            say("next", command)
    if found.left_out:
        warn(f"only mirrors have {', '.join(found.left_out)}")
    if found.unverified:
        warn(f"not verified, no hash is known: {', '.join(found.unverified)}")
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
    if not files:
        raise DataSetError("no file given; dynid data convert FORM FILE… --out log.csv")
    found = converted(form, {path.name: path.read_bytes() for path in files}, rows=rows)
    single = out.name.endswith((".csv", ".csv.gz"))
    if single and len(found) > 1:
        raise DataSetError(f"--out {out}: the files hold {len(found)} logs, {', '.join(found)}; name a folder instead")
    written = {key: out if single else out / f"{key}.csv.gz" for key in found}
    for key, path in written.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_csv(found[key], path)
    if json:
        logs = [
            {"name": key, "n_samples": r.n_samples, "duration": r.duration, "signals": list(r.signals)}
            for key, r in found.items()
        ]
        emit_json({"form": form, "logs": logs, "files": {key: str(path) for key, path in written.items()}})
        return 0
    for key, recording in found.items():
        signals = ", ".join(recording.signals)
        say(
            "log",
            f"{key}   {recording.n_samples} samples, {recording.duration:.1f} s, {recording.n_dof} joints: {signals}",
        )
        say("wrote", str(written[key]))
    return 0
