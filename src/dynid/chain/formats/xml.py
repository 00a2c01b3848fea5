"""XML as untrusted input: parsed without entities, faults named by file and line, edits that leave every other byte."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from xml.parsers import expat

import numpy as np
from lxml import etree

from dynid.arrays import Array, Float
from dynid.errors import ParameterError, RobotFileError

__all__ = [
    "Edit",
    "Element",
    "InsertChild",
    "Markup",
    "NewElement",
    "RemoveAttribute",
    "SetAttribute",
    "edited",
    "parse_markup",
    "read_markup",
]

Element = etree._Element

MAX_BYTES = 64 * 2**20
"""Largest robot file that is read, bytes; meshes live elsewhere, so real ones stay below 1 MB."""
MAX_NUMBER = 1e9
"""Largest number (SI or degrees) of a robot file but for limits, which are often written as 1e16 or more for none."""
ENCODINGS = {"utf-8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "iso-8859-1": "latin-1", "latin-1": "latin-1"}
"""Encodings whose markup is plain ASCII bytes, so that attribute edits can work on bytes."""

_DECLARED = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TAG_NAME = re.compile(rb"<([^\s/>]+)")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=/>"']+)\s*=\s*("[^"]*"|'[^']*')""")
_TAG_END = re.compile(rb"\s*(/?)>")


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

    @property
    def root(self) -> Element:
        """The outermost element."""
        return self.elements[0]

    @cached_property
    def _position(self) -> dict[Element, int]:
        return {element: index for index, element in enumerate(self.elements)}

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
        return f"{self.source}, line {self.lines[self._position[element]]}, {label}"

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
            raise self.fault(element, f"attribute {attribute!r} holds an unexpanded xacro expression; {_RUN_XACRO}")
        if not _NUMBER.fullmatch(word):
            raise self.fault(element, f"attribute {attribute!r} is not a number: {word!r}")
        if not math.isfinite(float(word)):
            raise self.fault(element, f"attribute {attribute!r} is too large for a number ({word})")
        if abs(float(word)) > MAX_NUMBER and element.tag != "limit" and not attribute.endswith("range"):
            raise self.fault(element, f"attribute {attribute!r} is {word}, beyond any robot (1e9); correct it")
        return float(word)


_RUN_XACRO = "expand the file first: xacro robot.urdf.xacro > robot.urdf"


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
        RobotFileError: too large, not XML, another encoding than UTF-8, ASCII or Latin-1, a DOCTYPE, macros.
    """
    if len(data) > MAX_BYTES:
        raise RobotFileError(f"{source}: larger than {MAX_BYTES // 2**20} MB, which no robot description is")
    if not data.strip():
        raise RobotFileError(f"{source}: the file is empty")
    encoding = _encoding(data, source)
    offsets, lines = _start_tags(data, source)
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=True, recover=False
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise RobotFileError(f"{source}, line {error.lineno}: not well-formed XML: {error.msg}") from error
    elements = tuple(element for element in root.iter() if isinstance(element.tag, str))
    if len(elements) != len(offsets):
        raise RobotFileError(f"{source}: two XML parsers disagree about its elements; the file is damaged")
    for element in elements:
        if element.prefix is None:
            # URDF readers ignore a default namespace, so we do.
            element.tag = etree.QName(element).localname
    return Markup(source, data, encoding, elements, offsets, lines)


def _encoding(data: bytes, source: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:64]:
        raise RobotFileError(f"{source}: UTF-16 or binary; save it as UTF-8 text")
    match = _DECLARED.match(data.removeprefix(b"\xef\xbb\xbf"))
    declared = match.group(1).decode("ascii").lower() if match else "utf-8"
    if declared not in ENCODINGS:
        raise RobotFileError(f"{source}: encoding {declared} is not supported; save it as UTF-8")
    encoding = ENCODINGS[declared]
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RobotFileError(f"{source}, line {line}: a byte that is not {declared}; save it as UTF-8") from error
    return encoding


def _start_tags(data: bytes, source: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Byte offset and line of every start tag; refuses DOCTYPE, entities and macros before they can act."""
    offsets: list[int] = []
    lines: list[int] = []
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        if name.startswith("xacro:"):
            raise RobotFileError(f"{source}, line {parser.CurrentLineNumber}, <{name}>: unexpanded macro; {_RUN_XACRO}")
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
    return tuple(offsets), tuple(lines)


@dataclass(frozen=True, eq=False)
class SetAttribute:
    """An attribute to set, and to add where it is missing."""

    element: Element
    name: str
    value: str


@dataclass(frozen=True, eq=False)
class RemoveAttribute:
    """An attribute to delete, with the white space before it; nothing where it is not in the file."""

    element: Element
    name: str


@dataclass(frozen=True, eq=False)
class NewElement:
    """An element to write: its tag, attributes in order, and children."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: tuple[NewElement, ...] = ()


@dataclass(frozen=True, eq=False)
class InsertChild:
    """A child to insert right after the start tag of `parent`."""

    parent: Element
    child: NewElement


Edit = SetAttribute | RemoveAttribute | InsertChild


@dataclass(frozen=True)
class _StartTag:
    """Where the parts of one start tag lie, as byte offsets into the document."""

    name_end: int
    values: Mapping[str, tuple[int, int]]
    """Attribute name to its value, quotes included."""
    spans: Mapping[str, tuple[int, int]]
    """Attribute name to all of it, with the white space before."""
    attributes_end: int
    close: int
    """Of the `>` or `/>`."""
    empty: bool
    """Closes itself."""

    @property
    def end(self) -> int:
        return self.close + (2 if self.empty else 1)


def edited(document: Markup, edits: Iterable[Edit]) -> bytes:
    """The bytes of the document with the edits made and every other byte as it was.

    New children take the indentation and line ends of their surroundings.

    Raises:
        ParameterError: the same attribute is set or removed twice.
    """
    pieces: list[tuple[int, int, bytes]] = []
    children: dict[Element, list[NewElement]] = {}
    done: set[tuple[Element, str]] = set()
    for edit in edits:
        if isinstance(edit, InsertChild):
            children.setdefault(edit.parent, []).append(edit.child)
            continue
        if (edit.element, edit.name) in done:
            raise ParameterError(f"{document.describe(edit.element)}: attribute {edit.name!r} set twice")
        done.add((edit.element, edit.name))
        if isinstance(edit, SetAttribute):
            pieces.append(_attribute_piece(document, edit))
        else:
            tag = _scan(document.data, document.offset(edit.element))
            pieces += [(*tag.spans[edit.name], b"")] if edit.name in tag.spans else []
    pieces += [_children_piece(document, parent, new) for parent, new in children.items()]
    result = bytearray()
    position = 0
    # Stable, so attributes added at the same place keep the order of the edits.
    for start, end, replacement in sorted(pieces, key=lambda piece: piece[0]):
        result += document.data[position:start] + replacement
        position = end
    return bytes(result + document.data[position:])


def _scan(data: bytes, offset: int) -> _StartTag:
    name = _TAG_NAME.match(data, offset)
    assert name is not None, "the XML parser found a start tag here"
    position = name.end()
    values: dict[str, tuple[int, int]] = {}
    spans: dict[str, tuple[int, int]] = {}
    while attribute := _ATTRIBUTE.match(data, position):
        name_text = attribute.group(1).decode("latin-1")
        values[name_text], spans[name_text] = attribute.span(2), attribute.span()
        position = attribute.end()
    close = _TAG_END.match(data, position)
    assert close is not None, "the XML parser accepted this start tag"
    return _StartTag(name.end(), values, spans, position, close.end() - 1 - len(close.group(1)), bool(close.group(1)))


def _attribute_piece(document: Markup, edit: SetAttribute) -> tuple[int, int, bytes]:
    tag = _scan(document.data, document.offset(edit.element))
    if edit.name not in tag.values:
        text = f' {edit.name}="{_escaped(edit.value)}"'
        return tag.attributes_end, tag.attributes_end, _encoded(document, text)
    start, end = tag.values[edit.name]
    quote = document.data[start : start + 1].decode("ascii")
    return start, end, _encoded(document, f"{quote}{_escaped(edit.value, quote)}{quote}")


def _children_piece(document: Markup, parent: Element, new: Sequence[NewElement]) -> tuple[int, int, bytes]:
    tag = _scan(document.data, document.offset(parent))
    outer = _indentation(document, parent)
    if outer is None:
        body = "".join(_rendered(child, "", "", "") for child in new)
        tail = ""
    else:
        newline = "\r\n" if b"\r\n" in document.data else "\n"
        inner, step = _inner_indentation(document, parent, outer)
        body = "".join(_rendered(child, newline, inner, step) for child in new)
        tail = newline + outer
    if tag.empty:
        closing = document.data[document.offset(parent) + 1 : tag.name_end].decode(document.encoding)
        return tag.close, tag.end, _encoded(document, f">{body}{tail}</{closing}>")
    if len(parent) == 0 and not (parent.text or "").strip():
        # `<link></link>` has no line end of its own before the end tag.
        tail = tail if "\n" not in (parent.text or "") else ""
        return tag.end, tag.end, _encoded(document, body + tail)
    return tag.end, tag.end, _encoded(document, body)


def _rendered(new: NewElement, newline: str, indent: str, step: str) -> str:
    attributes = "".join(f' {name}="{_escaped(value)}"' for name, value in new.attributes.items())
    if not new.children:
        return f"{newline}{indent}<{new.tag}{attributes}/>"
    children = "".join(_rendered(child, newline, indent + step, step) for child in new.children)
    return f"{newline}{indent}<{new.tag}{attributes}>{children}{newline}{indent}</{new.tag}>"


def _indentation(document: Markup, element: Element) -> str | None:
    """The white space before an element that starts its line, None for one that does not."""
    offset = document.offset(element)
    line_start = max(document.data.rfind(b"\n", 0, offset), document.data.rfind(b"\r", 0, offset)) + 1
    before = document.data[line_start:offset]
    return None if before.strip(b" \t") or line_start == 0 else before.decode("ascii")


def _inner_indentation(document: Markup, parent: Element, outer: str) -> tuple[str, str]:
    """Indentation of the children of `parent`, and the step from one level to the next."""
    for child in parent.iterchildren("*"):
        inner = _indentation(document, child)
        if inner is not None and inner.startswith(outer) and len(inner) > len(outer):
            return inner, inner[len(outer) :]
    above = parent.getparent()
    before = "" if above is None else _indentation(document, above) or ""
    step = outer[len(before) :] if outer.startswith(before) and len(outer) > len(before) else "  "
    return outer + step, step


def _escaped(value: str, quote: str = '"') -> str:
    text = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace(quote, "&quot;" if quote == '"' else "&apos;")


def _encoded(document: Markup, text: str) -> bytes:
    return text.encode(document.encoding, "xmlcharrefreplace")
