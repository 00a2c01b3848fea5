"""MJCF files that include others, as one document; nothing outside the folder of the first file is opened."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from dynid.chain.formats.xml import MAX_BYTES, Element, Markup, parse_markup, read_markup
from dynid.errors import RobotFileError

__all__ = ["MAX_DEPTH", "neighbour", "read_document"]

MAX_INCLUDES = 200
"""Files that one robot file may include, directly or not."""
MAX_DEPTH = 10
"""Files that may include one another in turn."""

_START_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=/>"']+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")


def read_document(path: Path) -> Markup:
    """The XML document of a robot file; of an MJCF file with everything it includes, as one text.

    Raises:
        RobotFileError: naming the file, and the line where there is one; an included file that is missing, lies
            elsewhere, or includes itself.
    """
    document = read_markup(path)
    if document.root.tag != "mujoco" or not _includes(document):
        return document
    used: list[Path] = []
    expanded = _expanded(document, path.resolve().parent, (path.resolve(),), used)
    joined = parse_markup(expanded, document.source)
    return replace(joined, included=tuple(str(file) for file in used))


def neighbour(folder: Path, name: str, document: Markup, element: Element) -> Path:
    """The file that an element names, which must lie in `folder` or below it.

    Raises:
        RobotFileError: it does not, or there is no such file.
    """
    path = (folder / name).resolve()
    if "\0" in name or not path.is_relative_to(folder):
        raise document.fault(element, f"{name!r} lies outside the folder of the robot file, which opens nothing there")
    if not path.is_file():
        raise document.fault(element, f"{name!r} is not there; copy it beside the robot file, as its author has it")
    return path


def _includes(document: Markup) -> list[Element]:
    return [element for element in document.elements if element.tag == "include"]


def _expanded(document: Markup, folder: Path, chain: tuple[Path, ...], used: list[Path]) -> bytes:
    """The bytes of a document with the content of other files where it includes them."""
    if len(chain) > MAX_DEPTH:
        raise RobotFileError(f"{document.source}: includes nested more than {MAX_DEPTH} deep")
    pieces: list[bytes] = []
    size = position = 0
    for element in _includes(document):
        path = neighbour(folder, document.text(element, "file"), document, element)
        if path in chain:
            raise document.fault(element, f"{path.name} includes itself")
        used.append(path)
        if len(used) > MAX_INCLUDES:
            raise document.fault(element, f"more than {MAX_INCLUDES} files are included")
        inner = read_markup(path)
        if inner.root.tag not in ("mujoco", "mujocoinclude"):
            raise document.fault(element, f"{path.name} starts with <{inner.root.tag}>, not with <mujoco>")
        content = _content(parse_markup(_expanded(inner, folder, (*chain, path), used), inner.source))
        start, end = _span(document, element)
        pieces += [document.data[position:start], content.encode(document.encoding, "xmlcharrefreplace")]
        size += len(pieces[-1])
        if size > MAX_BYTES:
            raise document.fault(element, f"more than {MAX_BYTES // 2**20} MB are included")
        position = end
    return b"".join([*pieces, document.data[position:]])


def _span(document: Markup, element: Element) -> tuple[int, int]:
    """Where an element begins and ends; one that does not close itself holds nothing."""
    start = document.offset(element)
    tag = _START_TAG.match(document.data, start)
    assert tag is not None, "the XML parser found a start tag here"
    if tag[1]:
        return start, tag.end()
    return start, document.data.index(b">", document.data.index(b"</include", tag.end())) + 1


def _content(document: Markup) -> str:
    """What stands between the start and the end tag of the root."""
    tag = _START_TAG.match(document.data, document.offset(document.root))
    assert tag is not None, "the XML parser found a start tag here"
    if tag[1]:
        return ""
    return document.data[tag.end() : document.data.rindex(b"</")].decode(document.encoding)
