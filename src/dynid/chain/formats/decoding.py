"""Bytes of a robot file as an XML parser takes them: encodings, and slips that lenient parsers overlook."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dynid.errors import RobotFileError

__all__ = ["Readable", "readable", "with_declared_prefixes"]

BYTE_ORDER_MARK = codecs.BOM_UTF8
WIDE_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Byte-order marks of encodings whose markup is not plain ASCII."""
ASCII_MARKUP = {"utf-8": "utf-8", "ascii": "ascii", "iso8859-1": "latin-1"}
"""Encodings whose markup is plain ASCII and that both parsers know, by Python's name: attribute edits work on bytes."""
DECLARATION_REACH = 1024
"""Bytes from the start in which an XML declaration is looked for, blank lines and comments before it included."""

_DECLARATION = re.compile(rb"<\?xml\s[^>]*?\?>")
_ENCODING = re.compile(rb"""(encoding\s*=\s*["'])([A-Za-z0-9._-]+)(["'])""")
_PREFIXED_TAG = re.compile(rb"<([A-Za-z_][\w.-]*):[A-Za-z_]")
_PREFIXED_ATTRIBUTE = re.compile(rb"\s([A-Za-z_][\w.-]*):[A-Za-z_][\w.-]*\s*=\s*[\"']")
_DECLARED_PREFIX = re.compile(rb"\sxmlns:([A-Za-z_][\w.-]*)\s*=")
_START_TAG = re.compile(rb"""(<[A-Za-z_][\w.:-]*)(?:\s+[^\s=/>"']+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>""")


@dataclass(frozen=True)
class Readable:
    """A file's bytes, and what parsers are given in their place."""

    data: bytes
    """The document; as the file has it but for encodings that are not plain ASCII in their markup."""
    encoding: str
    """Of `data`, as Python calls it."""
    parsed: bytes
    """`data` with slips blanked out: as long, so that every offset is the same."""

    @property
    def parser_encoding(self) -> str:
        """The encoding as XML parsers call it."""
        return {"ascii": "us-ascii", "latin-1": "iso-8859-1"}.get(self.encoding, self.encoding)


def readable(data: bytes, source: str) -> Readable:
    """Find the encoding of an XML document and blank out what only strict parsers mind.

    Blanked out are double dashes inside comments and an XML declaration that does not come first. Bytes that are not
    of the declared encoding make the document Latin-1, in which every byte is a letter.

    Raises:
        RobotFileError: binary, or an encoding that does not exist.
    """
    for mark, name in WIDE_MARKS.items():
        if data.startswith(mark):
            data = _recoded(data, name, source)
    if b"\0" in data[:64]:
        raise RobotFileError(f"{source}: binary, not XML text; give the robot file itself")
    found = _ENCODING.search(_declaration(data))
    declared = found[2].decode("ascii").lower() if found else "utf-8"
    try:
        name = codecs.lookup(declared).name
    except LookupError as error:
        raise RobotFileError(f"{source}: encoding {declared} is not supported; save it as UTF-8") from error
    if name not in ASCII_MARKUP:
        data = _recoded(data, declared, source)
        name = "utf-8"
    encoding = ASCII_MARKUP[name]
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        encoding = "latin-1"
    return Readable(data, encoding, _strict(data))


def _declaration(data: bytes) -> bytes:
    match = _DECLARATION.search(data[:DECLARATION_REACH])
    return match[0] if match else b""


def _recoded(data: bytes, encoding: str, source: str) -> bytes:
    """The document in UTF-8, its declaration with it."""
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise RobotFileError(f"{source}: not {encoding} text ({error}); save it as UTF-8") from error
    recoded = text.lstrip("\ufeff").encode()
    declaration = _declaration(recoded)
    return recoded.replace(declaration, _ENCODING.sub(rb"\1utf-8\3", declaration), 1) if declaration else recoded


def _strict(data: bytes) -> bytes:
    cleaned = bytearray(data)
    for start, end in _comments(data):
        inner = data[start + 4 : end - 3].replace(b"--", b"  ")
        cleaned[start + 4 : end - 3] = inner[:-1] + b" " if inner.endswith(b"-") else inner
    match = _DECLARATION.search(data[:DECLARATION_REACH])
    if match and match.start() > 0 and data[: match.start()] != BYTE_ORDER_MARK:
        cleaned[match.start() : match.end()] = b" " * len(match[0])
    return bytes(cleaned)


def _comments(data: bytes) -> Iterator[tuple[int, int]]:
    """Where comments begin and end."""
    end = 0
    while (start := data.find(b"<!--", end)) >= 0 and (end := data.find(b"-->", start + 4) + 3) >= 3:
        yield start, end


def with_declared_prefixes(parsed: bytes) -> bytes:
    """The document with a declaration at its root for every prefix that lacks one; offsets behind it move."""
    plain = bytearray(parsed)
    for start, end in _comments(parsed):
        plain[start:end] = b" " * (end - start)
    root = _START_TAG.search(plain)
    used = {*_PREFIXED_TAG.findall(plain), *_PREFIXED_ATTRIBUTE.findall(plain)} - {b"xml", b"xmlns"}
    if root is None or not used:
        return parsed
    missing = sorted(used - set(_DECLARED_PREFIX.findall(root[0])))
    extra = b"".join(b' xmlns:%s="undeclared:%s"' % (prefix, prefix) for prefix in missing)
    return parsed[: root.end(1)] + extra + parsed[root.end(1) :]
