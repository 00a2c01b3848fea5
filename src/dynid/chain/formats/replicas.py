"""Elements of MJCF that stand for several copies of what they hold."""

from __future__ import annotations

from copy import deepcopy

import numpy as np

from dynid.chain.formats.mjcf_parts import Compiler
from dynid.chain.formats.xml import Markup

__all__ = ["write_out_replicas"]

MAX_COPIES = 10_000
"""Elements that all copies of a file may have."""


def write_out_replicas(document: Markup, compiler: Compiler) -> None:
    """Write a `<frame>` for every copy that a `<replicate>` asks for, names numbered as MuJoCo numbers them.

    Only the parsed tree changes, never the document's bytes.

    Raises:
        RobotFileError: more copies than any robot has.
    """
    left = MAX_COPIES
    # Inner ones first, so that their copies are copied.
    for element in reversed(list(document.root.iter("replicate"))):
        count = int(document.number(element, "count"))
        left -= max(count, 0) * sum(1 for _ in element.iter())
        if left < 0:
            raise document.fault(
                element, f"more than {MAX_COPIES} elements come of copies; write the bodies themselves"
            )
        offset = document.numbers(element, "offset", 3, (0.0, 0.0, 0.0))
        angles = document.numbers(element, "euler", 3, (0.0, 0.0, 0.0))
        position = np.zeros(3)
        parent = element.getparent()
        assert parent is not None, "a root is no <replicate>"
        for number in range(count):
            frame = document.root.makeelement("frame")
            frame.set("pos", " ".join(map(repr, position.tolist())))
            frame.set("euler", " ".join(map(repr, (number * angles).tolist())))
            if element.get("childclass") is not None:
                frame.set("childclass", str(element.get("childclass")))
            ending = f"{element.get('sep', '')}{number:0{len(str(max(count - 1, 0)))}d}"
            for child in element.iterchildren("*"):
                copy = deepcopy(child)
                for part in copy.iter("*"):
                    if part.get("name") is not None and part.tag != "frame":
                        part.set("name", f"{part.get('name')}{ending}")
                frame.append(copy)
            parent.insert(parent.index(element), frame)
            position = position + compiler.turned(number * angles) @ offset
        parent.remove(element)
