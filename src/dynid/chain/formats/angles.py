"""Right angles that a file gives with few digits."""

from __future__ import annotations

from collections.abc import Iterator

from dynid.chain.formats.edits import SetAttribute
from dynid.chain.formats.xml import Markup
from dynid.chain.placement import exact_right_angle

__all__ = ["right_angles_written_out"]


def right_angles_written_out(document: Markup, *, radian: bool) -> Iterator[SetAttribute]:
    """The edits that give every rounded right angle of joints and bodies all its digits (rad); none for degrees."""
    if document.root.tag == "robot":
        places = [(origin, "rpy") for joint in document.root.iterchildren("joint") for origin in joint.iter("origin")]
    else:
        places = [(element, name) for element in document.elements for name in ("euler", "axisangle") if radian]
    for element, name in places:
        words = str(element.get(name, "")).split()
        first = len(words) - 1 if name == "axisangle" else 0
        exact = [*words[:first], *(_digits(word) for word in words[first:])]
        if exact != words and document.holds(element):
            yield SetAttribute(element, name, " ".join(exact))


def _digits(word: str) -> str:
    exact = exact_right_angle(word)
    return word if exact == float(word) else repr(exact)
