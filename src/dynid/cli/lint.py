"""``dynid lint``: inertias that cannot be, or hardly, and the smallest repair."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dynid.chain import BUILT_IN, LintReport, load_robot, repair
from dynid.chain import lint as examine
from dynid.cli.console import emit_json, note, say, table
from dynid.cli.options import JsonFlag, RobotName
from dynid.errors import RobotFileError, UnknownRobot

__all__ = ["lint"]


def lint(
    robot: RobotName,
    *,
    repair_to: Annotated[Path | None, Parameter(name="--repair")] = None,
    json: JsonFlag = False,
) -> int:
    """Physically impossible or suspicious inertias, and the smallest repair.

    Exit code 1 when an inertia is impossible (and was not repaired).

    Example: dynid lint arm.urdf --repair arm-repaired.urdf

    Parameters
    ----------
    robot
        Built-in name, or a URDF, MJCF or TOML file.
    repair_to
        Write a copy in which only impossible numbers change, by as little as possible.
    """
    known = robot in BUILT_IN
    if not known and not Path(robot).exists():
        if Path(robot).suffix:
            raise RobotFileError(f"{robot}: no such robot file; built in are {', '.join(BUILT_IN)}")
        raise UnknownRobot(robot, known=BUILT_IN)
    report = examine(load_robot(robot)) if known else examine(Path(robot))
    files: dict[str, str] = {}
    repaired: list[dict[str, object]] = []
    if repair_to is not None:
        if known or Path(robot).suffix.lower() == ".toml":
            raise RobotFileError(f"{robot}: --repair edits URDF and MJCF files; change a table by hand")
        done = repair(Path(robot), repair_to)
        files["repaired"] = str(done.path)
        repaired = [{"link": link.link, "note": link.note} for link in done.links]
    if json:
        findings = [
            {"link": f.link, "code": f.code, "severity": f.severity, "evidence": f.evidence, "fix": f.fix}
            for f in report.findings
        ]
        emit_json(
            {
                "robot": report.source,
                "n_links": report.n_links,
                "possible": report.consistent,
                "findings": findings,
                "repaired": repaired,
                "files": files,
            }
        )
    else:
        _show(report, robot, repair_to)
        for entry in repaired:
            say("repaired", f"{entry['link']}: {entry['note']}")
        if files:
            say("wrote", files["repaired"])
    return 0 if report.consistent or repair_to is not None else 1


def _show(report: LintReport, robot: str, repair_to: Path | None) -> None:
    say("robot", f"{report.source}   {report.n_links} links looked at")
    if not report.findings:
        say("verdict", "nothing impossible, nothing suspicious")
        return
    note("")
    rows = [(f.severity, f.link, f.code, f.evidence, f.fix) for f in report.findings]
    table(("severity", "link", "code", "evidence", "what to do"), rows)
    note("")
    impossible, odd = len(report.of("impossible")), len(report.of("suspicious"))
    say("verdict", f"{impossible} impossible, {odd} suspicious")
    if impossible and repair_to is None:
        say("next", f"dynid lint {robot} --repair repaired{Path(robot).suffix}")
