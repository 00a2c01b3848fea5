"""``dynid doctor``: what is wrong with a log, the number that shows it, the likely cause and the exact fix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dynid.chain import Robot
from dynid.cli.console import emit_json, note, say
from dynid.cli.doctor_options import typed
from dynid.cli.options import JsonFlag, RobotOptions
from dynid.cli.pipeline import LogOptions
from dynid.cli.progress import progress
from dynid.disk import write_whole
from dynid.review import Finding, Severity, examine, repaired_map

__all__ = ["doctor", "examined", "findings_json", "has_errors", "show_findings"]

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
    log, options = log or LogOptions(), options or RobotOptions()
    loaded = options.load(robot)
    with progress("looking at the log"):
        findings = examined(loaded, log_file, log, against)
    files: dict[str, str] = {}
    if write_map is not None and any(finding.mapping for finding in findings):
        write_whole(write_map, repaired_map(log.columns, findings))
        files["map"] = str(write_map)
    if json:
        emit_json({"robot": loaded.name, "log": str(log_file), "findings": findings_json(findings), "files": files})
    else:
        say("log", str(log_file))
        show_findings(findings)
        for path in files.values():
            say("wrote", f"{path}   (read it with --columns {path})")
        if write_map is None and any(finding.mapping for finding in findings):
            say("repair", "--write-map map.toml writes these lines of a column map, --columns map.toml reads them")
    return 1 if has_errors(findings) else 0


def examined(robot: Robot, path: Path, log: LogOptions, against: Sequence[Path] = ()) -> tuple[Finding, ...]:
    """The findings of a log file; of a long one, those of its first segment.

    Raises:
        RecordingError: for a file that is no log of this robot.
    """
    others = [log.whole().raw(other, robot).good_rows() for other in against]
    return examine(robot, log.raw(path, robot), against=others)


def has_errors(findings: Sequence[Finding]) -> bool:
    """Whether one of the findings makes a result wrong."""
    return any(finding.severity is Severity.ERROR for finding in findings)


def findings_json(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """Findings as scripts read them."""
    return [
        {
            "code": finding.code,
            "log": finding.log,
            "severity": finding.severity.value,
            "joint": finding.joint,
            "evidence": finding.evidence,
            "cause": finding.cause,
            "fix": finding.fix,
            "mapping": finding.mapping,
            "probability": finding.probability,
        }
        for finding in findings
    ]


def show_findings(findings: Sequence[Finding], *, stderr: bool = False) -> None:
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
        lines = {"evidence": finding.evidence, "cause": finding.cause, "fix": finding.fix, "type": typed(finding)}
        for label, text in lines.items():
            if not text:
                continue
            first, *rest = text.split("\n")
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
