"""The mutation run's rules: what is no fault, which tests are run for one, and what the shares are worth."""

import math

import pytest

from benchmarks.mutation import FOLDERS, ROOT, Share, drawn, overall
from benchmarks.mutation_faults import Fault, Source
from benchmarks.mutation_tests import COPIED, COPIED_FILES, TESTS, Seen

CODE = """\
from functools import cache
N = 3


def first(µ: int | None, b=2) -> int | str:
    words = zip("ab", "cd", strict=True)
    other = Block("psd", strict=True)
    return µ == None or len(words) == 0 or µ == other or N | 3


@cache
def second():
    return first(*[1]) * 8 > 1


@dataclass(frozen=True)
class Third:
    a: int = 4
table = (
    7,
    5,
)
for n in range(6):
    pass
"""


def place(operator: str, text: str, nth: int = 0) -> Fault:
    """A fault at the nth place where the code has this text, in letters, as the tool counts."""
    places = [
        (line, column)
        for line, content in enumerate(CODE.split("\n"), start=1)
        for column in range(len(content))
        if content.startswith(text, column)
    ]
    line, column = places[nth]
    return Fault("src/dynid/chain/m.py", f"core/{operator}", 0, (line, column), (line, column + len(text)), "")


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (place("ReplaceBinaryOperator_BitOr_Add", "|", 0), "annotation"),
        (place("ReplaceBinaryOperator_BitOr_Add", "|", 1), "annotation"),
        (place("ReplaceBinaryOperator_BitOr_Add", "|", 2), ""),
        (place("ReplaceTrueWithFalse", "True", 0), "guard of zip"),
        (place("ReplaceTrueWithFalse", "True", 1), ""),
        (place("ReplaceTrueWithFalse", "True", 2), ""),
        (place("ReplaceComparisonOperator_Eq_Is", "==", 0), "same for constants"),
        (place("ReplaceComparisonOperator_Eq_Lt", "==", 0), ""),
        (place("ReplaceComparisonOperator_Eq_LtE", "==", 1), "length below zero"),
        (place("ReplaceComparisonOperator_Eq_Lt", "==", 1), ""),
        (place("ReplaceComparisonOperator_Eq_Is", "==", 2), ""),
        (place("RemoveDecorator", "@cache"), "speed only"),
        (place("RemoveDecorator", "@dataclass"), ""),
        (place("NumberReplacer", "3", 0), ""),
        (place("ReplaceBinaryOperator_Mul_Add", "*", 0), "no operator"),
        (place("ReplaceBinaryOperator_Mul_Add", "*", 1), ""),
    ],
    ids=str,
)
def test_what_is_no_fault_is_left_out_by_rule_and_nothing_else(fault, rule):
    assert Source(CODE).exempt(fault) == rule


@pytest.mark.parametrize(
    ("text", "nth", "imported"), [("3", 0, True), ("2", 0, True), ("4", 0, True), ("1", 0, False), ("3", 1, False)]
)
def test_defaults_and_constants_are_executed_by_importing(text, nth, imported):
    assert Source(CODE).at_import(place("NumberReplacer", text, nth)) is imported


def test_a_statement_is_executed_as_a_whole():
    source = Source(CODE)
    assert list(source.lines_of(place("NumberReplacer", "5"))) == [19, 20, 21, 22]
    assert list(source.lines_of(place("NumberReplacer", "6"))) == [23]
    assert list(source.lines_of(place("ReplaceTrueWithFalse", "True", 2))) == [16]


SEEN = Seen(
    contexts={
        "src/dynid/chain/m.py": {
            1: set(),
            5: {"tests/a.py::slow", "tests/a.py::quick", "tests/chain/test_m.py::own"},
            7: {""},
            9: {"tests/b.py::many[1]", "tests/b.py::many[2]", "tests/b.py::many[3]", "tests/b.py::one"},
        }
    },
    seconds={
        "tests/a.py::slow": 20.0,
        "tests/a.py::quick": 1.0,
        "tests/a.py::beside": 0.1,
        "tests/chain/test_m.py::own": 2.0,
        "tests/b.py::many[1]": 0.1,
        "tests/b.py::many[2]": 0.2,
        "tests/b.py::many[3]": 0.3,
        "tests/b.py::one": 0.4,
        "tests/chain/test_n.py::far": 0.1,
    },
)


def chosen(line: int, module: str = "m", *, at_import: bool = False, budget: float = 100.0) -> list[str]:
    fault = Fault(f"src/dynid/chain/{module}.py", "core/NumberReplacer", 0, (line, 0), (line, 1), "")
    return SEEN.chosen(fault, range(line, line + 1), at_import=at_import, budget=budget)


def test_own_and_short_tests_come_first_then_their_neighbours():
    assert chosen(5) == ["tests/chain/test_m.py::own", "tests/a.py::quick", "tests/a.py::slow", "tests/a.py::beside"]


def test_tests_fit_the_budget_but_one_is_always_run():
    assert chosen(5, budget=4.5) == ["tests/chain/test_m.py::own", "tests/a.py::quick", "tests/a.py::beside"]
    assert chosen(5, budget=0.0) == ["tests/chain/test_m.py::own"]


def test_a_parametrised_test_does_not_crowd_out_the_others():
    names = [name.split("::")[1] for name in chosen(9)]
    assert names == ["many[1]", "many[2]", "one", "many[3]"]


def test_a_line_that_no_test_executes_has_no_tests():
    assert chosen(1) == []


def test_a_constant_is_tested_by_what_executes_its_module_and_by_its_folder():
    assert {"tests/b.py::one", "tests/chain/test_n.py::far"} <= set(chosen(1, at_import=True))
    assert "tests/b.py::one" in chosen(7)
    assert set(chosen(1, "constants", at_import=True)) == {
        "tests/chain/test_m.py::own",
        "tests/chain/test_n.py::far",
    }


def test_the_interval_is_wilsons_and_the_total_is_weighted():
    low, high = Share(80, 100).interval
    # Agresti & Coull (1998), as tabulated: 0.711 to 0.867.
    assert (round(low, 3), round(high, 3)) == (0.711, 0.867)
    rate, half = overall({"a": Share(9, 10), "b": Share(5, 10)}, {"a": 300, "b": 100})
    assert rate == pytest.approx(0.8)
    assert half == pytest.approx(1.96 * math.sqrt(0.75**2 * 0.009 + 0.25**2 * 0.025))


def test_the_sample_has_as_many_of_each_folder_and_depends_on_the_seed_alone():
    possible = [
        Fault(f"src/dynid/{folder}/m.py", "core/AddNot", n, (n, 0), (n, 1), "")
        for folder in ("chain", "regression")
        for n in range(50)
    ]
    sample = drawn(possible, 20, seed=1)
    assert [sum(fault.folder == name for fault in sample) for name in ("chain", "regression")] == [20, 20]
    assert sample == drawn(possible, 20, seed=1)
    assert sample != drawn(possible, 20, seed=2)


def test_every_folder_and_test_of_a_run_is_there():
    assert [name for name in (*FOLDERS, *TESTS, *COPIED, *COPIED_FILES) if not (ROOT / name).exists()] == []
