"""XML as untrusted input: parsed without entities, faults named by file and line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from xml.parsers import expat

import numpy as np
from lxml import etree

from dynid.arrays import Array, Float
from dynid.chain.formats.decoding import readable, with_declared_prefixes
from dynid.errors import RobotFileError

__all__ = ["Element", "Markup", "parse_markup", "read_markup"]

Element = etree._Element

MAX_BYTES = 64 * 2**20
"""Largest robot file that is read, bytes; meshes live elsewhere, so real ones stay below 1 MB."""
MAX_NUMBER = 1e9
"""Largest number (SI or degrees) of a robot file but for limits, which are often written as 1e16 or more for none."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Markup:
    """A parsed XML file that still knows its bytes."""

    source: str
    """The file, as error messages name it."""
    data: bytes
    encoding: str
    elements: tuple[Element, ...]
    """All elements in document order; the first is the root."""
    offsets: tuple[int, ...]
    """Byte at which the start tag of each element begins."""
    lines: tuple[int, ...]
    """Line of each start tag, from 1."""
    macros: tuple[str, ...] = ()
    """Tags of xacro that were left in the file, with their lines; they are not part of the robot."""
    included: tuple[str, ...] = ()
    """Files that are part of it; lines count through all of them."""

    @property
    def root(self) -> Element:
        """The outermost element."""
        return self.elements[0]

    @cached_property
    def _position(self) -> dict[Element, int]:
        return {element: index for index, element in enumerate(self.elements)}

    def holds(self, element: Element | None) -> bool:
        """Whether an element stands in the file itself, not in another one and not as a copy."""
        return element is not None and element in self._position

    def offset(self, element: Element) -> int:
        """The byte at which the start tag of `element` begins."""
        return self.offsets[self._position[element]]

    def describe(self, element: Element) -> str:
        """File, line and element, as every message about it starts."""
        name = element.get("name")
        label = f"<{element.tag}>" if name is None else f'<{element.tag} name="{name}">'
        for owner in element.iterancestors("link", "joint", "body") if name is None else ():
            if owner.get("name") is not None:
                label = f'<{owner.tag} name="{owner.get("name")}"> {label}'
                break
        place = self._position.get(element)
        # A copy that a generator made stands nowhere in the file.
        line = "" if place is None else f", line {self.lines[place]}{' with its includes' if self.included else ''}"
        return f"{self.source}{line}, {label}"

    def fault(self, element: Element, problem: str) -> RobotFileError:
        """The error that blames `element`."""
        return RobotFileError(f"{self.describe(element)}: {problem}")

    def text(self, element: Element, attribute: str) -> str:
        """A required attribute.

        Raises:
            RobotFileError: the attribute is missing or empty.
        """
        value = element.get(attribute)
        if value is None or not value.strip():
            raise self.fault(element, f"attribute {attribute!r} is {'missing' if value is None else 'empty'}")
        return value

    def numbers(
        self, element: Element, attribute: str, count: int | None, default: Sequence[float] | None = None
    ) -> Float[Array, " count"]:
        """The `count` finite numbers (any unit; any positive count when None) of an attribute, or `default`.

        Raises:
            RobotFileError: missing without default, not numbers, not finite, or not `count` of them.
        """
        if element.get(attribute) is None and default is not None:
            return np.array(default, dtype=float)
        words = self.text(element, attribute).split()
        if count is not None and len(words) != count:
            raise self.fault(element, f"attribute {attribute!r} needs {count} number(s), found {len(words)}")
        return np.array([self._number(element, attribute, word) for word in words])

    def number(self, element: Element, attribute: str, default: float | None = None) -> float:
        """One finite number (any unit) of an attribute, or `default` when it is absent."""
        return float(self.numbers(element, attribute, 1, None if default is None else (default,))[0])

    def _number(self, element: Element, attribute: str, word: str) -> float:
        if word.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            hint = "leave the attribute out where there is no limit" if element.tag == "limit" else "write its value"
            raise self.fault(element, f"attribute {attribute!r} is not finite ({word}); {hint}")
        if "${" in word or "$(" in word:
            raise self.fault(element, f"attribute {attribute!r} holds an unexpanded xacro expression; {RUN_XACRO}")
        if not _NUMBER.fullmatch(word):
            raise self.fault(element, f"attribute {attribute!r} is not a number: {word!r}")
        if not math.isfinite(float(word)):
            raise self.fault(element, f"attribute {attribute!r} is too large for a number ({word})")
        if abs(float(word)) > MAX_NUMBER and element.tag != "limit" and not attribute.endswith("range"):
            raise self.fault(element, f"attribute {attribute!r} is {word}, beyond any robot (1e9); correct it")
        return float(word)


RUN_XACRO = "expand the file first: xacro robot.urdf.xacro > robot.urdf"
"""What to do about macros."""


def read_markup(path: Path) -> Markup:
    """The XML document of a file, hardened against entities, network access and size.

    Raises:
        RobotFileError: naming the file, and the line where there is one.
    """
    try:
        if path.is_fifo():
            raise RobotFileError(f"{path}: a pipe, not a robot file; write it into a file first")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise RobotFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse_markup(data, str(path))


def parse_markup(data: bytes, source: str) -> Markup:
    """The XML document of bytes in memory; `source` is what messages call it.

    Raises:
        RobotFileError: too large, not XML, an encoding that does not exist, a DOCTYPE or entities.
    """
    if len(data) > MAX_BYTES:
        raise RobotFileError(f"{source}: larger than {MAX_BYTES // 2**20} MB, which no robot description is")
    if not data.strip():
        raise RobotFileError(f"{source}: the file is empty")
    text = readable(data, source)
    offsets, lines, macros = _start_tags(text.parsed, text.parser_encoding, source)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=True,
        recover=False,
        encoding=text.parser_encoding,
    )
    try:
        root = etree.fromstring(with_declared_prefixes(text.parsed), parser)
    except etree.XMLSyntaxError as error:
        raise RobotFileError(f"{source}, line {error.lineno}: not well-formed XML: {error.msg}") from error
    elements = tuple(element for element in root.iter() if isinstance(element.tag, str))
    if len(elements) != len(offsets):
        raise RobotFileError(f"{source}: two XML parsers disagree about its elements; the file is damaged")
    for element in elements:
        if element.prefix is None:
            # URDF readers ignore a default namespace, so we do.
            element.tag = etree.QName(element).localname
    return Markup(source, text.data, text.encoding, elements, offsets, lines, macros)


def _start_tags(data: bytes, encoding: str, source: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
    """Byte offset and line of every start tag, and tags of macros; refuses DOCTYPE and entities before they act."""
    offsets: list[int] = []
    lines: list[int] = []
    macros: list[str] = []
    parser = expat.ParserCreate(encoding)

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.startswith("xacro:"):
            macros.append(f"<{name}> in line {parser.CurrentLineNumber}")
        offsets.append(parser.CurrentByteIndex)
        lines.append(parser.CurrentLineNumber)

    def refuse(*declaration: object) -> None:
        raise RobotFileError(
            f"{source}, line {parser.CurrentLineNumber}: DOCTYPE and entities are refused in robot files; delete them"
        )

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        problem = expat.ErrorString(error.code)
        raise RobotFileError(f"{source}, line {error.lineno}: not well-formed XML: {problem}") from error
    return tuple(offsets), tuple(lines), tuple(macros)
