"""What version 0.2 does otherwise than the record of 0.1, on purpose, and why; the record itself stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

INTENDED: dict[str, dict[str, Any]] = {
    # Issue 15: one cell without a number is left out and named, it is no reason to refuse a log.
    "doctor nan": {"code": 0, "findings": [["not-finite", "info"]]},
    "bad input: NaN": {"code": 0},
    # Issue 15: rows that stand in a file twice are used once, and time goes on.
    "doctor backwards": {"code": 0, "findings": [["backward-stamps", "info"]]},
    "bad input: time goes back": {"code": 0},
}
"""Parts of a recorded run that changed, by its name."""


def amended(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded run with what changed on purpose."""
    return {**recorded, **INTENDED.get(name, {})}
