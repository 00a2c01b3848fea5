"""Edits of an XML document that leave every other byte as it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dynid.chain.formats.xml import Element, Markup
from dynid.errors import ParameterError

__all__ = ["Edit", "InsertChild", "NewElement", "RemoveAttribute", "SetAttribute", "edited"]

_TAG_NAME = re.compile(rb"<([^\s/>]+)")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=/>"']+)\s*=\s*("[^"]*"|'[^']*')""")
_TAG_END = re.compile(rb"\s*(/?)>")


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
