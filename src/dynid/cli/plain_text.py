"""Text for terminals that cannot print σ: ASCII stands in for what their encoding lacks; files are always UTF-8."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

__all__ = ["escaped_json", "speak_plainly"]

HANDLER = "dynid-ascii"
"""Name of the error handler."""
IN_ASCII = {
    "σ": "sigma",
    "τ": "tau",
    "β": "beta",
    "π": "pi",
    "θ": "theta",
    "ω": "omega",
    "φ": "phi",
    "κ": "kappa",
    "λ": "lambda",
    "ρ": "rho",
    "μ": "u",
    "µ": "u",
    "Δ": "Delta",
    "Σ": "Sigma",
    "±": "+-",
    "°": "deg",
    "·": "*",
    "⋅": "*",
    "×": "x",
    "−": "-",
    "–": "-",
    "—": "-",
    "‐": "-",
    "‑": "-",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "≠": "!=",
    "→": "->",
    "←": "<-",
    "↔": "<->",
    "∞": "inf",
    "√": "sqrt",
    "‖": "||",
    "∝": "~",
    "∈": "in",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "•": "*",
    "✓": "ok",
    "✗": "x",
    "─": "-",
    "━": "-",
    "│": "|",
    "┃": "|",
    "╭": "+",
    "╮": "+",
    "╰": "+",
    "╯": "+",
    "┌": "+",
    "┐": "+",
    "└": "+",
    "┘": "+",
    "├": "+",
    "┤": "+",
    "┬": "+",
    "┴": "+",
    "┼": "+",
    "█": "#",
    "²": "^2",
    "³": "^3",
    "⁻": "^-",
    "\u00a0": " ",
    "\u202f": " ",
    "\u2009": " ",
    "ß": "ss",
}
"""What stands in for letters and signs that are not ASCII."""


def in_ascii(text: str) -> str:
    """The text in ASCII: by the table, without accents, or as an escape."""
    return "".join(c if c.isascii() else _one(c) for c in text)


def _one(letter: str) -> str:
    if letter in IN_ASCII:
        return IN_ASCII[letter]
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return plain or letter.encode("ascii", "backslashreplace").decode()


def _handle(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return in_ascii(error.object[error.start : error.end]), error.end


def speak_plainly() -> None:
    """Let stdout and stderr write ASCII where their encoding lacks a letter; those in UTF-8 stay as they are."""
    codecs.register_error(HANDLER, _handle)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not _is_unicode(stream.encoding):
            stream.reconfigure(errors=HANDLER)


def _is_unicode(encoding: str | None) -> bool:
    return (encoding or "").lower().startswith("utf")


def escaped_json(text: str) -> str:
    """JSON as stdout can hold it: in an encoding that lacks letters, with escapes, so that it reads back the same."""
    if _is_unicode(sys.stdout.encoding) or text.isascii() or not isinstance(sys.stdout, io.TextIOWrapper):
        return text
    units = ((c, c.encode("utf-16-be", "surrogatepass")) for c in text)
    return "".join(
        c if c.isascii() else "".join(f"\\u{raw[k]:02x}{raw[k + 1]:02x}" for k in range(0, len(raw), 2))
        for c, raw in units
    )
