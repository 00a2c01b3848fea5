"""Right angles that a file gives with few digits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from dynid.chain.formats.edits import SetAttribute
from dynid.chain.formats.xml import Markup

__all__ = ["exact_right_angle", "right_angles_written_out"]

QUARTER_TURN = math.pi / 2.0
FEWEST_DECIMALS = 2
"""1.57 and 3.14 can only mean a right angle and a straight one; 1.6 or 3 can mean anything."""

_DECIMALS = re.compile(r"[+-]?\d*\.(\d+)")


def exact_right_angle(word: str) -> float:
    """The angle (rad) of a text; a multiple of a right angle where the text is that, rounded or cut to its digits.

    ``1.5708``, ``1.5707`` and ``3.14`` become π/2, π/2 and π; ``1.58`` and ``1.5701`` stay what they are.
    """
    value = float(word)
    written = _DECIMALS.fullmatch(word)
    n_quarters = round(value / QUARTER_TURN)
    if written is None or len(written[1]) < FEWEST_DECIMALS or n_quarters == 0:
        return value
    exact, unit = n_quarters * QUARTER_TURN, 10.0 ** -len(written[1])
    # Cut digits only bring an angle towards zero; the margin is for the last bit of the decimal fraction.
    short = abs(exact) - abs(value)
    return exact if -0.5 * unit <= short * (1.0 - 1e-9) < unit else value


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
