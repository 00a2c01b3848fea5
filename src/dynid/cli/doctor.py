"""``dynid doctor``: what is wrong with a log, the number that shows it, the likely cause and the exact fix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import emit_json, note, say, warn, with_flags
from dynid.cli.doctor_options import typed
from dynid.cli.options import JsonFlag, LogOptions, RobotOptions, keywords
from dynid.cli.progress import progress
from dynid.disk import refuse_replacing, write_whole
from dynid.review import Finding, Severity, repaired_map

__all__ = ["doctor", "show_findings"]

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def doctor(
    robot: str,
    log_file: Annotated[Path, Parameter(name="LOG")],
    /,
    *,
    against: Annotated[tuple[Path, ...], Parameter(negative="")] = (),
    write_map: Path | None = None,
    log: LogOptions | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """What is wrong with a log: findings with the number that shows each, the likely cause and the exact fix.

    Exit code 1 where a finding is an error, so that the result of identify would be wrong.

    Example: dynid doctor panda run1.csv --write-map map.toml

    Parameters
    ----------
    robot
        Built-in name (panda, wam7, planar2r, spatial2r) or a URDF, MJCF or TOML file.
    log_file
        The log: CSV (also .gz), NPZ, Parquet, HDF5, MAT, ROS bag or MCAP.
    against
        Other logs, whose samples this one should not hold: for validation, the logs of the fit.
    write_map
        File for a column map with the lines that repair the log, on top of those of --columns.
    """
    asked = keywords(log, options)
    if write_map is not None:
        in_use = [asked[name] for name in ("columns", "transmission") if name in asked]
        refuse_replacing([Path(robot), log_file, *against, *in_use], (), unasked={write_map: "written by dynid"})
    with progress("looking at the log") as step:
        asked.pop("lowpass", None)  # the review has a low-pass of its own
        result = dynid.examine(robot, log_file, against=against, progress=step, **asked)
    for sentence in result.notes:
        warn(sentence)
    files: dict[str, str] = {}
    if write_map is not None and any(finding.mapping for finding in result.findings):
        write_whole(write_map, repaired_map(None if log is None else log.columns, result.findings))
        files["map"] = str(write_map)
    if json:
        emit_json({**result.json(), "files": files})
    else:
        say("log", str(log_file))
        show_findings(result.findings, robot)
        for path in files.values():
            say("wrote", f"{path}   (read it with --columns {path})")
        if write_map is None and any(finding.mapping for finding in result.findings):
            say("repair", "--write-map map.toml writes these lines of a column map, --columns map.toml reads them")
    return 1 if result.has_errors else 0


def show_findings(findings: Sequence[Finding], robot: str = "ROBOT", *, stderr: bool = False) -> None:
    """Findings for people, the gravest first; coloured on a terminal only."""
    from rich.console import Console
    from rich.text import Text

    if not findings and not stderr:
        note("healthy    nothing found that would harm an identification")
        return
    several = len({finding.log for finding in findings}) > 1
    console = Console(highlight=False, soft_wrap=True, file=sys.stderr if stderr else sys.stdout)
    for finding in findings:
        head = Text(f"{finding.severity.value:<11}", style=COLOURS[finding.severity]) + Text(finding.code, style="bold")
        where = [finding.joint or "", f"in {finding.log}" if several else ""]
        console.print(head + Text("".join(f"  {part}" for part in where if part)))
        lines = {
            "evidence": finding.evidence,
            "cause": finding.cause,
            "fix": finding.fix,
            "type": typed(finding, robot),
        }
        for label, text in lines.items():
            if not text:
                continue
            first, *rest = with_flags(text).split("\n")
            console.print(Text(f"  {label:<9}{first}"))
            for line in rest:
                console.print(Text(f"  {'':<9}  {line}"))
    if not stderr:
        counts = {severity: sum(f.severity is severity for f in findings) for severity in COLOURS}
        said = ", ".join(
            f"{count} {severity.value}{'s' if count > 1 and severity is not Severity.INFO else ''}"
            for severity, count in counts.items()
            if count
        )
        note(f"found      {said}")
