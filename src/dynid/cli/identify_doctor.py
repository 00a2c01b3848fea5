"""The doctor before ``dynid identify``: logs with errors are refused, nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dynid.chain import Robot
from dynid.cli.console import complain, emit_json
from dynid.cli.doctor import findings_json, has_errors, show_findings
from dynid.cli.identify_job import IdentifyJob
from dynid.errors import RecordingError
from dynid.recording import Recording
from dynid.regression import needs_search
from dynid.review import Finding, Severity, examine, overlap_findings

__all__ = ["LogsRefused", "examined_logs", "tell_refusal"]


class LogsRefused(RecordingError):
    """Logs that the doctor found errors in.

    Attributes:
        findings: all that was found.
        logs: the names of the logs, for messages.
    """

    def __init__(self, findings: Sequence[Finding], logs: Sequence[Path]) -> None:
        self.findings = tuple(findings)
        self.logs = ", ".join(str(path) for path in logs[:3]) + (f" and {len(logs) - 3} more" if len(logs) > 3 else "")
        errors = [f"{f.code}{f' ({f.joint})' if f.joint else ''}" for f in findings if f.severity is Severity.ERROR]
        super().__init__(f"the doctor found errors in {self.logs}, and nothing was written: {', '.join(errors)}")


def examined_logs(job: IdentifyJob, robot: Robot) -> tuple[Finding, ...]:
    """What the doctor finds in the logs of the fit, and whether logs hold the same samples.

    Raises:
        LogsRefused: one of the findings is an error, and the job is not to be forced.
        RecordingError: a log that cannot be read.
    """
    friction = "viscous+coulomb+offset" if needs_search(job.fit.friction) else job.fit.friction
    findings: list[Finding] = []
    seen: list[Recording] = []
    for path in job.logs:
        raw = job.log.raw(path, robot)
        try:
            good = raw.recording()
        except RecordingError as error:
            hint = f"dynid doctor {job.robot} {path} --write-map map.toml lists them all and leaves them out"
            raise RecordingError(f"{error}; {hint}") from error
        found = (*examine(robot, raw, friction=friction), *overlap_findings(good, seen, severity=Severity.WARNING))
        seen.append(good)
        findings += [replace(f, log=str(path)) for f in found]
    for path in job.validate_on:
        # The fit is none the worse for it; what its prediction proves is the verdict's business.
        findings += overlap_findings(job.log.whole().raw(path, robot).good_rows(), seen, severity=Severity.WARNING)
    # What is too short to be conditioned is refused there, as wrong input.
    if has_errors([finding for finding in findings if finding.code != "short"]) and not job.force:
        raise LogsRefused(findings, (*job.logs, *job.validate_on))
    return tuple(findings)


def tell_refusal(refused: LogsRefused, json: bool) -> int:
    """Say what the doctor found; the exit code."""
    if json:
        emit_json({"status": "refused", "findings": findings_json(refused.findings), "files": {}})
    else:
        show_findings(refused.findings, stderr=True)
    complain(
        f"the doctor found errors in {refused.logs}, and nothing was written",
        hint="repair what it names (dynid doctor ROBOT LOG --write-map map.toml), or go on with --force",
    )
    return 1
