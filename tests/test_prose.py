"""Tables and numbers for people."""

import math

import pytest

from dynid.prose import counted, html_table, significant, text_table


def test_numeric_columns_are_aligned_to_the_right_and_others_to_the_left():
    table = text_table(("joint", "mass"), [("shoulder", "1.5"), ("a", "10.25")], numeric=(1,))
    assert table.splitlines() == ["joint      mass", "shoulder    1.5", "a         10.25"]


def test_a_table_without_headers_has_no_header_line():
    assert text_table(("", ""), [("a", 1), ("bb", 2)]) == "a   1\nbb  2"


def test_a_table_without_rows_is_its_header_line():
    assert text_table(("joint", "mass"), []) == "joint  mass"


def test_html_tables_escape_what_they_show():
    table = html_table(("<joint>",), [("a & b",)], caption="<b>")
    assert "&lt;joint&gt;" in table
    assert "a &amp; b" in table
    assert "<caption>&lt;b&gt;</caption>" in table


def test_html_tables_align_numeric_columns_to_the_right():
    assert html_table(("joint", "mass"), [("a", 1)], numeric=(1,)).count("text-align:right") == 2


@pytest.mark.parametrize(
    ("value", "std", "shown"),
    [
        (4.87031, 0.0213, "4.870"),
        (-4.87031, 0.0213, "-4.870"),
        (123.456, 4.0, "123.5"),
        (0.01, 0.5, "0.01"),
        (0.0, 0.5, "0"),
        (1.0, math.nan, "1.000"),
        (1234.4, math.nan, "1234"),
        (0.000123456, math.nan, "0.0001235"),
        (math.nan, math.nan, "nan"),
    ],
)
def test_a_number_keeps_the_digits_its_standard_deviation_supports(value, std, shown):
    assert significant(value, std) == shown


def test_counts_agree_with_their_noun():
    assert counted(1, "joint") == "1 joint"
    assert counted(20544, "sample") == "20 544 samples"
    assert counted(2, "base parameter of one arm", "base parameters of one arm") == "2 base parameters of one arm"
