"""What robots are made of: values that do not change."""

from tests.values import ambiguous, changeable, dataclasses_of


def test_robots_and_their_parts_cannot_be_changed():
    assert len(dataclasses_of("dynid.chain")) > 10
    assert changeable("dynid.chain") == []


def test_what_holds_arrays_is_compared_as_a_whole():
    assert ambiguous("dynid.chain") == []
