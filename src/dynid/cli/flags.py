"""Messages of the library name parameters in backticks; here they become options of the command."""

from __future__ import annotations

import re

__all__ = ["with_flags"]


def with_flags(text: str) -> str:
    """The same message with ```half_window``` as ``--half-window``."""
    return re.sub(r"`(\w+)`", lambda found: "--" + found.group(1).replace("_", "-"), text)
