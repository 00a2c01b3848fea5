"""One public name means one thing: none is defined in two modules of src/dynid."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "dynid"
COMMANDS = "cli"
"""Exempt: a command bears the name of its job."""


def public_definitions(path: Path) -> Iterator[str]:
    """Public classes and functions of a module, and what its `__all__` lists of its own assignments."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    assigned: set[str] = set()
    exported: set[str] = set()
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if not node.name.startswith("_"):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
            if "__all__" in names and node.value is not None:
                exported |= {str(text.value) for text in ast.walk(node.value) if isinstance(text, ast.Constant)}
            assigned |= names
    yield from sorted(assigned & exported)


def defined_twice(source: Path) -> dict[str, list[str]]:
    """Every public name with more than one home, and its homes; overloads of a function share theirs."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        place = path.relative_to(source)
        if place.parts[0] == COMMANDS:
            continue
        for name in sorted(set(public_definitions(path))):
            homes[name].append(place.as_posix())
    return {name: places for name, places in sorted(homes.items()) if len(places) > 1}


def test_no_public_name_is_defined_in_two_modules():
    assert defined_twice(SOURCE) == {}


def test_a_name_with_two_homes_is_found(tmp_path):
    (tmp_path / "cli").mkdir()
    (tmp_path / "a.py").write_text(
        '__all__ = ["Level", "fit"]\nLevel = int\ndef fit(): ...\ndef fit(): ...\ndef _own(): ...\nROOM = 1\n'
    )
    (tmp_path / "b.py").write_text('__all__ = ["Level"]\nLevel = str\nclass fit: ...\ndef _own(): ...\nROOM = 2\n')
    (tmp_path / "cli" / "fit.py").write_text("def fit(): ...\n")
    assert defined_twice(tmp_path) == {"Level": ["a.py", "b.py"], "fit": ["a.py", "b.py"]}
