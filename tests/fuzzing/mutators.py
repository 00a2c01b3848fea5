"""Damage to files, from single bits to whole elements; every mutator is a function of the content and a generator."""

from __future__ import annotations

import copy
import csv
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

from lxml import etree

NUMBERS = (
    "nan", "NaN", "inf", "-inf", "Infinity", "1e308", "-1e308", "1e309", "1e-320", "0", "-0.0", "-1", "1e200", "1e-200",
    "9" * 400, "9" * 5000, "0x1F", "1_000", "1,5", "1e", "--1", "٣", "1.0.0", "", " ", "true", "null", "${x}", "abc",
    "4294967296", "18446744073709551616", "-9223372036854775809", "1e16", "3.14159265358979", "1" + "0" * 308,
)  # fmt: skip
"""What is written in the place of a number."""
NAMES = (
    "", " ", "a" * 5000, "joint1", "world", "base", "=1+1", "<b>", "\u202e", "\U0001f916", "ÿ", "a\tb", "q1", "t",
    "../../etc/passwd", "nan", "*", "%s", "{0}", "'", '"', "\\", "é",
)  # fmt: skip
"""What is written in the place of a name."""
WORDS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**400, 1e308, -1e308, 5e-324, float("nan"), float("inf"), "",
    "x", "nan", [], {}, [[]], [[[]]], {"a": 1}, [1, "x"], [None], [True], "a" * 3000, 1.5, -0.0, [[1.0, 2.0], [3.0]],
    1e200, 1e-200,
)  # fmt: skip
"""What is put in the place of a value of a tree (TOML or JSON)."""

Mutator = Callable[[bytes, random.Random], bytes]


def flip(data: bytes, rng: random.Random) -> bytes:
    """Some bytes replaced by any others."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def cut(data: bytes, rng: random.Random) -> bytes:
    """The end missing."""
    return data[: rng.randrange(len(data) + 1)]


def splice(data: bytes, rng: random.Random) -> bytes:
    """A piece moved, repeated or deleted."""
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    b = min(b, a + rng.choice((1, 4, 16, 200)))
    c = rng.randrange(len(data) + 1)
    piece = data[a:b]
    return rng.choice((data[:c] + piece * rng.choice((1, 1, 3, 50)) + data[c:], data[:a] + data[b:]))


def lie(data: bytes, rng: random.Random) -> bytes:
    """Four or eight bytes replaced by a size that is wrong."""
    width = rng.choice((2, 4, 8))
    if len(data) < width:
        return data
    place = rng.randrange(len(data) - width + 1)
    size = rng.choice((0, 1, 0x7F, 0xFFFF, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 10**6)) % 2 ** (8 * width)
    return data[:place] + size.to_bytes(width, rng.choice(("little", "big"))) + data[place + width :]


def blank(data: bytes, rng: random.Random) -> bytes:
    """A range of zeros or of ones."""
    a = rng.randrange(len(data) + 1)
    b = min(len(data), a + rng.choice((1, 8, 64, 4096)))
    return data[:a] + rng.choice((b"\0", b"\xff")) * (b - a) + data[b:]


def reencode(data: bytes, rng: random.Random) -> bytes:
    """Text with a byte order mark, other line ends, another encoding, a NUL, or white space around it."""
    text = data.decode("utf-8", "replace")
    kind = rng.randrange(9)
    if kind < 3:
        return text.encode(("utf-16", "utf-32", "utf-8-sig")[kind])
    if kind == 3:
        return text.replace("\n", "\r\n").encode()
    if kind == 4:
        return text.replace("\n", "\r").encode()
    if kind == 5:
        return text.encode("latin-1", "replace")
    place = rng.randrange(len(text) + 1)
    inserted = ("\0", "\ufeff", "\x1b[2J", "\u2028", "\x85", "é", "\ud7ff", "\x0c")[rng.randrange(8)]
    return (text[:place] + inserted + text[place:]).encode()


def renumber(data: bytes, rng: random.Random) -> bytes:
    """A number of a text replaced."""
    text = data.decode("utf-8", "replace")
    places = [k for k in range(len(text)) if text[k].isdigit() and (k == 0 or text[k - 1] in " ,\"'=[;\t\n-")]
    if not places:
        return data
    start = rng.choice(places)
    stop = start
    while stop < len(text) and (text[stop].isalnum() or text[stop] in ".+-"):
        stop += 1
    return (text[:start] + rng.choice(NUMBERS) + text[stop:]).encode("utf-8", "replace")


def nest(data: bytes, rng: random.Random) -> bytes:
    """An opening mark repeated very often somewhere."""
    place = rng.choice((0, len(data), rng.randrange(len(data) + 1)))
    mark = rng.choice((b"[", b"{", b"(", b'{"a":', b"<a>", b"<link>", b'"', b"'''", b"a=[", b"\n[a.b"))
    return data[:place] + mark * rng.choice((3, 300, 20000)) + data[place:]


BYTES: tuple[Mutator, ...] = (flip, cut, splice, lie, blank)
TEXT: tuple[Mutator, ...] = (flip, cut, splice, reencode, renumber, renumber, renumber, nest)


def xml(data: bytes, rng: random.Random) -> bytes:
    """Elements and attributes dropped, doubled, moved, renamed, nested; numbers and names replaced."""
    root = etree.fromstring(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        element = rng.choice(elements)
        kind = rng.randrange(12)
        if kind < 5 and element.attrib:
            _change_attribute(element, elements, rng)
        elif kind == 5 and element.getparent() is not None:
            element.getparent().remove(element)
        elif kind == 6 and element.getparent() is not None:
            element.addnext(copy.deepcopy(element))
        elif kind == 7:
            element.tag = rng.choice([other.tag for other in elements] + ["x", "include", "frame", "body"])
        elif kind == 8 and element.getparent() is not None:
            target = rng.choice(elements)
            if element not in (target, *target.iterancestors()):
                target.append(element)
        elif kind == 9:
            element.append(copy.deepcopy(rng.choice([e for e in elements if len(e) < 4] or [element])))
        elif kind == 10:
            inner = element
            for _ in range(rng.choice((2, 30, 400))):
                inner = etree.SubElement(inner, element.tag, {str(k): str(v) for k, v in element.attrib.items()})
        elif kind == 11:
            element.text = rng.choice((" x ", "1 2 3", "]]>", "\n\n"))
    return etree.tostring(root)


def _change_attribute(element: etree._Element, elements: list[etree._Element], rng: random.Random) -> None:
    name = rng.choice(list(element.attrib))
    value = str(element.attrib[name])
    kind = rng.randrange(8)
    if kind == 0:
        del element.attrib[name]
    elif kind == 1:
        other = rng.choice(elements)
        for key, content in other.attrib.items():
            element.set(key, content)
    elif kind == 2:
        element.set(rng.choice(("quat", "rpy", "xyz", "name", "type", "class", "axis", "range", "x", "size")), value)
    elif kind == 3 and not any(c.isdigit() for c in value):
        element.set(name, _xml_safe(rng.choice(NAMES)))
    else:
        words = value.split() or [""]
        words[rng.randrange(len(words))] = rng.choice((*NUMBERS, str(rng.uniform(-10, 10)), str(rng.uniform(0, 1e-3))))
        if rng.random() < 0.1:
            words.append("1")
        element.set(name, _xml_safe(" ".join(words)))


def _xml_safe(text: str) -> str:
    return "".join(c for c in text if c >= " " or c in "\t\n")


def tree(content: Any, rng: random.Random) -> Any:
    """A tree of dicts and lists with leaves replaced, keys dropped, renamed or added, items doubled or dropped."""
    content = copy.deepcopy(content)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places: list[tuple[Any, Any]] = []
        _places(content, places)
        if not places:
            return content
        owner, key = rng.choice(places)
        kind = rng.randrange(10)
        if kind < 5:
            owner[key] = copy.deepcopy(rng.choice(WORDS))
        elif kind == 5:
            del owner[key]
        elif kind == 6 and isinstance(owner, list):
            owner.append(copy.deepcopy(owner[key]))
        elif kind == 7 and isinstance(owner, dict):
            owner[rng.choice((*NAMES, "type", "name"))] = owner.pop(key)
        elif kind == 8:
            other, place = rng.choice(places)
            owner[key] = copy.deepcopy(other[place]) if _holds(other, place) else None
        elif isinstance(owner[key], str):
            owner[key] = rng.choice(NAMES)
        elif isinstance(owner[key], float):
            owner[key] = owner[key] * rng.choice((-1.0, 1e-12, 1e12, 0.0, 1.0 + 1e-9, 1e300))
    return content


def _holds(owner: Any, key: Any) -> bool:
    return key in owner if isinstance(owner, dict) else key < len(owner)


def _places(content: Any, found: list[tuple[Any, Any]]) -> None:
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        found.append((content, key))
        _places(value, found)


def json_tree(data: bytes, rng: random.Random) -> bytes:
    """A JSON document with its tree changed, NaN and Infinity included."""
    return json.dumps(tree(json.loads(data), rng)).encode()


def toml_tree(data: bytes, rng: random.Random) -> bytes:
    """A TOML document with its tree changed."""
    import tomllib

    return toml_text(tree(tomllib.loads(data.decode()), rng)).encode()


def toml_text(content: dict[str, Any]) -> str:
    """Any tree as TOML, tables written inline; None becomes a date, which is what TOML has and nobody expects."""
    return "".join(f"{json.dumps(str(key))} = {_toml(value)}\n" for key, value in content.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    if value is None:
        return "1979-05-27T07:32:00Z"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def cells(data: bytes, rng: random.Random) -> bytes:
    """Cells, rows and columns of a table replaced, dropped, doubled, quoted; other separators."""
    rows = list(csv.reader(io.StringIO(data.decode())))
    for _ in range(rng.choice((1, 1, 2, 5))):
        r = rng.choice((0, rng.randrange(len(rows))))
        row = rows[r]
        c = rng.randrange(len(row)) if row else 0
        kind = rng.randrange(9)
        if kind < 3 and row:
            row[c] = rng.choice(NUMBERS if r else (*NAMES, *rows[0]))
        elif kind == 3 and row:
            del row[c]
        elif kind == 4:
            row.insert(c, rng.choice((*NUMBERS, *NAMES)))
        elif kind == 5:
            rows.insert(r, list(rng.choice(rows)))
        elif kind == 6 and len(rows) > 1:
            del rows[r]
        elif kind == 7:
            for other in rows:
                if c < len(other):
                    other.insert(c, other[c]) if rng.random() < 0.5 else None
        elif row:
            row[c] = f"{row[c]}\n{row[c]}" if rng.random() < 0.5 else f'"{row[c]}'
        rows = rows or [["t"]]
    text = io.StringIO()
    delimiter = rng.choice((",", ",", ",", ";", "\t", " ", "|"))
    csv.writer(text, delimiter=delimiter, lineterminator=rng.choice(("\n", "\n", "\r\n", "\r"))).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def npz(data: bytes, rng: random.Random) -> bytes:
    """An archive written anew: members renamed, dropped, doubled or damaged, headers whose shape or type is a lie."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", rng.choice((0, 8))) as new:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
        victim = rng.randrange(len(members))
        for k, (name, content) in enumerate(members):
            if k == victim:
                kind = rng.randrange(7)
                if kind == 0:
                    continue
                if kind == 1:
                    name = rng.choice(
                        ("../../../etc/evil.npy", "/etc/evil.npy", "q.npy", "\n.npy", "x", "q1.npy", ".npy")
                    )
                elif kind == 2 and f"{name}_2" not in new.namelist():
                    name = rng.choice((name, members[0][0]))
                elif kind == 3:
                    content = rng.choice(BYTES)(content, rng)
                else:
                    content = _npy_lie(content, rng)
            if name not in new.namelist():
                new.writestr(name, content)
    return out.getvalue()


def _npy_lie(content: bytes, rng: random.Random) -> bytes:
    shape = rng.choice(
        ("(50,)", "(50, 3)", "(3, 50)", "(10000000000,)", "(-1,)", "(0,)", "()", "(50, 3, 1)", "(1e3,)", "(2**70,)",
         "(9223372036854775807, 9223372036854775807)", "(50, 0)", "'x'", "[50]", "(True,)", "(" * 300)
    )  # fmt: skip
    kind = rng.choice(("<f8", ">f8", "<f4", "|O", "<i8", "<c16", "|S8", "<U3", "|b1", "<M8[s]", "<f16", "|V8", "bad"))
    order = rng.choice(("True", "False", "None", "1"))
    header = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    body = content[10 + int.from_bytes(content[8:10], "little") :]
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


def gz(inner: tuple[Mutator, ...]) -> Mutator:
    """Damage inside a gzip file, or to the gzip file itself."""
    import gzip

    def mutate(data: bytes, rng: random.Random) -> bytes:
        if rng.random() < 0.3:
            return rng.choice(BYTES)(data, rng)
        return gzip.compress(rng.choice(inner)(gzip.decompress(data), rng), 1)

    return mutate
