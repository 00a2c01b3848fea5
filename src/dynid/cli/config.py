"""``--config FILE``: options of a command from a TOML file; what is typed on the command line wins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dynid.disk import read_toml
from dynid.errors import ConfigError

__all__ = ["Configured", "with_config"]

FLAG = "--config"


class Configured(NamedTuple):
    """A command line with the options of its file put in."""

    tokens: list[str]
    origins: dict[str, tuple[str, tuple[str, ...]]]
    """By option that the file gave: file and key, and its values as typed."""

    def blamed(self, message: str) -> str:
        """A message about an option or a value (SI or as typed) of the file, with file and key before it."""
        for option, (place, values) in self.origins.items():
            named = re.search(rf"{re.escape(option)}(?![\w-])", message)
            if named or any(message.startswith(f"{value}:") for value in values):
                return f"{place}: {message}"
        return message


def with_config(tokens: Sequence[str], owners: Sequence[str]) -> Configured:
    """The tokens of a command line with the options of its ``--config FILE`` put in (values as typed, no unit).

    Keys are option names without the dashes (``total-mass = [16, 20]``); `true` sets a flag, `false` leaves it out.
    Commands in `owners` have a ``--config`` of their own and keep it.

    Raises:
        ConfigError: naming file and key.
    """
    given = [part for token in tokens for part in _split(token)]
    if FLAG not in given or given[0] in owners:
        return Configured(list(tokens), {})
    place = given.index(FLAG)
    if place + 1 >= len(given):
        raise ConfigError(f"{FLAG} needs a file")
    path = Path(given[place + 1])
    rest = given[:place] + given[place + 2 :]
    content = read_toml(path, ConfigError, "configuration file")
    extra: list[str] = []
    origins: dict[str, tuple[str, tuple[str, ...]]] = {}
    for key, value in content.items():
        option = "--" + key.replace("_", "-")
        if any(token == option or token.startswith(option + "=") for token in rest):
            continue
        put = _tokens(path, key, option, value)
        origins[option] = (f"{path}: {key}", tuple(token for token in put if token != option))
        extra += put
    return Configured(rest + extra, origins)


def _split(token: str) -> list[str]:
    """``--config=FILE`` as two tokens (no unit), every other one as it is."""
    return [FLAG, token.removeprefix(f"{FLAG}=")] if token.startswith(f"{FLAG}=") else [token]


def _tokens(path: Path, key: str, option: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [option] if value else []
    if isinstance(value, int | float | str):
        return [option, str(value)]
    if value == []:
        raise ConfigError(f"{path}: {key}: an empty list; leave the key out")
    if isinstance(value, list) and all(isinstance(item, int | float) and not isinstance(item, bool) for item in value):
        return [option, *(str(item) for item in value)]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [token for item in value for token in (option, item)]
    raise ConfigError(f"{path}: {key}: expected a number, a text, true, false, or a list of numbers or of texts")
