"""The version of the program."""

__all__ = ["VERSION"]

VERSION = "0.2.0"
"""As in pyproject.toml."""
