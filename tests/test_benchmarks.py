"""The benchmark runner, without running the benchmarks."""

import importlib
import math

import pytest

from benchmarks import Line
from benchmarks.__main__ import formatted, main, names


@pytest.mark.parametrize(
    ("line", "met"),
    [
        (Line("a", 12.0, 10.0), True),
        (Line("a", 9.0, 10.0), False),
        (Line("a", 9.0, 10.0, bound="at most"), True),
        (Line("a", 11.0, 10.0, bound="at most"), False),
        (Line("a", math.nan, 10.0), False),
        (Line("a", math.nan, 10.0, bound="at most"), False),
        (Line("a", 1.0), True),
    ],
)
def test_a_line_is_met_on_the_right_side_of_its_target(line, met):
    assert line.met is met
    assert ("MISSED" in formatted(line)) is not met


def test_every_benchmark_has_a_run_function():
    for name in names():
        assert callable(importlib.import_module(f"benchmarks.bench_{name}").run)


def test_an_unknown_benchmark_is_refused(capsys):
    assert main(["nonsense"]) == 2
    assert "no benchmark nonsense" in capsys.readouterr().err
