"""The table of checks: names, codes and documentation agree with what the checks report."""

import re
from collections import Counter
from pathlib import Path

import pytest

from dynid.recording import RawLog
from dynid.review import CHECKS, Finding, Look, Severity
from dynid.review.checks.table import SIGNAL_CHECKS
from dynid.review.checks.values import CoarseSignal
from tests.review.doctor_faults import FAULTS as SIGNAL_FAULTS
from tests.review.doctor_faults import clean_case, spoilt
from tests.review.model_faults import FAULTS as MODEL_FAULTS

PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"
FLAG = re.compile(r"(?<!\w)--?[a-z]{2}|dynid \w+")
"""An option or a command, which only the command line may name."""


def codes_of_the_table() -> set[str]:
    return {code for check in CHECKS for code in check.codes}


def test_names_of_checks_are_unique():
    assert max(Counter(check.name for check in CHECKS).values()) == 1


def test_the_page_of_the_doctor_lists_every_code_and_no_other():
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)}
    assert listed == codes_of_the_table()


def test_every_fault_of_the_batteries_has_a_code_of_the_table():
    named = {code for fault in SIGNAL_FAULTS.values() for code in fault.codes}
    named |= {code for fault in MODEL_FAULTS.values() for code in fault.codes}
    assert named <= codes_of_the_table()


@pytest.mark.parametrize("name", list(SIGNAL_FAULTS)[::3])
def test_a_check_reports_its_own_codes_in_words_without_options(name):
    case, raw = spoilt(name, 7, index=0)
    look = Look.at(case.robot, raw)
    for check in SIGNAL_CHECKS:
        n_before = len(look.findings)
        look = check.run(look) if look.has(check.needs) else look
        for finding in look.findings[n_before:]:
            assert finding.code in check.codes
            assert_complete(finding)


def assert_complete(finding: Finding) -> None:
    for text in (finding.evidence, finding.cause, finding.measured.fix or finding.mapping):
        assert text
        assert FLAG.search(text) is None, text
    for quantity in finding.quantities:
        assert quantity.unit
    assert len(repr(finding)) < 400 + len(finding.evidence)


def test_a_look_keeps_the_first_finding_of_one_code_at_one_signal_of_a_joint():
    case = clean_case(3, index=0, velocity="measured")
    joint, other = case.robot.joint_names[:2]

    def coarse(at: str, signal: str, step: float) -> Finding:
        measured = CoarseSignal(signal, step, 10.0, 0.5)
        return Finding(code="quantisation", severity=Severity.WARNING, joint=at, measured=measured)

    given = [coarse(joint, "q", 0.1), coarse(joint, "q", 0.2), coarse(joint, "tau", 0.3), coarse(other, "q", 0.4)]
    look = Look.at(case.robot, RawLog.of(case.log)).found(given[:1]).found(given[1:])
    assert [finding.quantities[0].value for finding in look.findings] == [0.1, 0.3, 0.4]
