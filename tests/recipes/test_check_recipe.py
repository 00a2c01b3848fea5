"""The recipe for a check works as it is written: its code, its line in the table, and a look at logs with it."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from dynid.cli.doctor import show_findings
from dynid.review import CHECKS, Check, Measured, Needs, Severity, review_log
from dynid.workflow.contract import findings_json
from tests.review.doctor_faults import clean_case

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "check.md"


@pytest.fixture
def small_range(monkeypatch) -> Check:
    """The check of the recipe, as its line in the table makes it."""
    text = RECIPE.read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    line = re.search(r"```\n(Check\(.*\)),\n```", text)
    assert code is not None
    assert line is not None
    module = ModuleType("small_range")
    monkeypatch.setitem(sys.modules, "small_range", module)  # dataclasses look their module up
    exec(compile(code[1], str(RECIPE), "exec"), module.__dict__)
    check = eval(line[1], {"Check": Check, "find_small_range": module.__dict__["find_small_range"]})
    assert isinstance(check, Check)
    return check


@pytest.fixture(scope="module")
def clean():
    return clean_case(3, index=0, velocity="measured")


def held_in_place(case, j: int):
    """The log with joint j moving a hundredth as far as it did."""
    shrunk = np.where(np.arange(case.log.n_dof) == j, 0.01, 1.0)
    centre = case.log.q.mean(axis=0)
    return replace(case.log, q=centre + (case.log.q - centre) * shrunk, dq=case.log.dq * shrunk)


def test_the_new_check_names_the_joint_with_number_cause_and_fix(small_range, clean):
    found = review_log(clean.robot, held_in_place(clean, 2), checks=(*CHECKS, small_range))
    (finding,) = (f for f in found if f.code in small_range.codes)
    assert finding.severity is Severity.INFO
    assert finding.joint == clean.robot.joint_names[2]
    assert finding.log == clean.log.source
    assert re.search(r"uses 0\.\d+ % of its range; above 2 % is normal", finding.evidence)
    assert isinstance(finding.measured, Measured)
    (used,) = finding.quantities
    assert (used.name, used.unit, used.normal) == ("used", "1", (0.02, 1.0))
    assert used.value < 0.02


def test_the_new_check_is_silent_on_a_clean_log(small_range, clean):
    assert review_log(clean.robot, clean.log, checks=(small_range,)) == ()


def test_the_new_check_is_left_out_where_there_are_too_few_samples(small_range, clean):
    assert small_range.needs is Needs.SIGNALS
    assert review_log(clean.robot, clean.log.part(t_until=float(clean.log.t[5])), checks=(small_range,)) == ()


def test_people_and_scripts_read_the_new_finding(small_range, clean, capsys):
    found = review_log(clean.robot, held_in_place(clean, 2), checks=(small_range,))
    (content,) = findings_json(found)
    assert (content["code"], content["mapping"], content["probability"]) == ("small-range", "", None)
    show_findings(found)
    assert "let the joint travel over more of its range" in capsys.readouterr().out
