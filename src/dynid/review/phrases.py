"""Words that every finding shares: lists that stay short, shares in percent, and what stands before a column map."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["PUT_INTO_MAP", "enumerated", "in_percent", "said_probability"]

PUT_INTO_MAP = "put into the column map:"
"""What stands before the lines of a column map, in a fix."""
MAX_LISTED = 5
"""Places of a log that the evidence of a finding lists; a person looks at one or two of them."""


def enumerated(items: Iterable[object], most: int = MAX_LISTED) -> str:
    """The first few of many things, and how many more there are."""
    found = [str(item) for item in items]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"{', '.join(found[:most])}{more}"


def in_percent(share: float, digits: int = 3) -> str:
    """A relative share as a percentage with so many significant digits."""
    return f"{100.0 * share:.{digits}g} %"


def said_probability(probability: float) -> str:
    """A probability (0 to 1) in words: no more digits than it deserves."""
    return "above 99.9 %" if probability > 0.999 else f"{100.0 * probability:.3g} %"
