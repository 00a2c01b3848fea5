"""The import law: a module imports only modules listed before it, plus the leaves."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "dynid"
STAGES = (
    "chain",
    "dynamics",
    "excitation",
    "recording",
    "regression",
    "review",
    "simulation",
    "tracking",
    "validation",
    "workflow",
    "writers",
)
LEAVES = ("errors", "arrays", "disk", "lazy", "prose")
"""Modules that every other may import; a later leaf may import an earlier one."""
EXEMPT = ("cli", "__init__", "__main__")


def listed_modules(init: Path) -> tuple[str, ...]:
    """The value of `MODULES` in a folder's `__init__.py`, empty where it has none."""
    if not init.is_file():
        return ()
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if any(isinstance(target, ast.Name) and target.id == "MODULES" for target in targets):
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            assert node.value is not None
            return tuple(ast.literal_eval(node.value))
    return ()


def imported(path: Path, package: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and dotted parts below `dynid` of every import of dynid in a file, at any depth of the code.

    For `from dynid.chain import robot` the parts are (chain, robot), whether `robot` is a module or a name.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                head, *rest = alias.name.split(".")
                if head == "dynid":
                    yield node.lineno, tuple(rest)
        elif isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = ("dynid", *package)
                module = base[: len(base) - (node.level - 1)] + module
            if module[:1] == ("dynid",):
                for alias in node.names:
                    yield node.lineno, (*module[1:], alias.name)


def violations(source: Path) -> list[str]:
    """Every breach of the law under `source`, one sentence each."""
    order: dict[str, tuple[str, ...]] = {}
    found: list[str] = []
    for folder in sorted(p for p in source.iterdir() if p.is_dir() and any(p.glob("*.py"))):
        if folder.name in EXEMPT:
            continue
        if folder.name not in STAGES:
            found.append(f"{folder.name}: not a stage of the pipeline ({', '.join(STAGES)})")
            continue
        rooms = [folder, *sorted(init.parent for init in folder.glob("*/__init__.py"))]
        for room in rooms:
            place = room.relative_to(source).as_posix()
            order[place] = listed_modules(room / "__init__.py")
            listed = set(order[place])
            present = {p.stem for p in room.glob("*.py")} | {p.parent.name for p in room.glob("*/__init__.py")}
            present.discard("__init__")
            found += [f"{place}/{name}: not listed in MODULES" for name in sorted(present - listed)]
            found += [f"{place}: MODULES lists {name}, which is not there" for name in sorted(listed - present)]
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        if parts[0] in EXEMPT:
            continue
        package = parts[:-1]
        for line, target in imported(path, package):
            reason = forbidden(parts, target, order)
            if reason:
                found.append(f"{'/'.join(parts)}.py:{line}: {reason}")
    return found


def forbidden(importer: tuple[str, ...], target: tuple[str, ...], order: dict[str, tuple[str, ...]]) -> str:
    """Why `importer` may not import `target`, or an empty string where it may."""
    name = ".".join(("dynid", *target))
    if target and target[0] in LEAVES:
        own = LEAVES.index(importer[0]) if importer[0] in LEAVES else len(LEAVES)
        return "" if LEAVES.index(target[0]) < own else f"a leaf may not import {name}"
    if not target or target[0] not in STAGES:
        return f"imports {name}, which is neither a stage nor a leaf"
    if importer[0] in LEAVES:
        return f"a leaf may not import {name}"
    stage = importer[0]
    if target[0] != stage:
        return "" if STAGES.index(target[0]) < STAGES.index(stage) else f"imports {name} of a later stage"
    modules = order.get(stage, ())
    if importer[1] == "__init__":
        return ""
    if len(target) < 2 or target[1] not in modules:
        return f"imports its own folder ({name}); name the module"
    if importer[1] not in modules:
        return ""
    if target[1] == importer[1]:
        return within_room(importer, target, order)
    before = modules.index(target[1]) < modules.index(importer[1])
    return "" if before else f"imports {name}, listed after it"


def within_room(importer: tuple[str, ...], target: tuple[str, ...], order: dict[str, tuple[str, ...]]) -> str:
    """The same law inside a folder of a stage, whose own `MODULES` gives the order."""
    modules = order.get("/".join(importer[:2]), ())
    if len(importer) < 3 or importer[2] == "__init__" or importer[2] not in modules:
        return ""
    name = ".".join(("dynid", *target))
    if len(target) < 3 or target[2] not in modules:
        return f"imports its own folder ({name}); name the module"
    if target[2] == importer[2] or modules.index(target[2]) < modules.index(importer[2]):
        return ""
    return f"imports {name}, listed after it"


def test_every_module_imports_only_modules_listed_before_it():
    assert violations(SOURCE) == []


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


LAWFUL = {
    "errors.py": "",
    "arrays.py": "from dynid.errors import DynidError",
    "__init__.py": "from dynid.dynamics import motion",
    "cli/__init__.py": "from dynid.dynamics.motion import Motion",
    "chain/__init__.py": "from dynid.chain.robot import Robot\nMODULES: tuple[str, ...] = ('inertia', 'robot')",
    "chain/inertia.py": "from dynid import arrays, errors\nimport numpy",
    "chain/robot.py": "from dynid.chain.inertia import x\nfrom .inertia import y\nfrom . import inertia",
    "dynamics/__init__.py": "MODULES = ('motion',)",
    "dynamics/motion.py": "from dynid.chain import Robot\nimport dynid.chain.robot",
    "excitation/__init__.py": "from dynid.excitation.room import first\nMODULES = ('room', 'last')",
    "excitation/room/__init__.py": "from dynid.excitation.room.second import x\nMODULES = ('first', 'second')",
    "excitation/room/first.py": "from dynid.dynamics.motion import Motion",
    "excitation/room/second.py": "from dynid.excitation.room.first import x\nfrom .first import y",
    "excitation/last.py": "from dynid.excitation.room import first",
}


def test_a_lawful_tree_passes(tmp_path):
    assert violations(write_tree(tmp_path, LAWFUL)) == []


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("chain/inertia.py", "from dynid.chain.robot import Robot", "listed after it"),
        ("chain/inertia.py", "from .robot import Robot", "listed after it"),
        ("chain/inertia.py", "from . import robot", "listed after it"),
        ("chain/inertia.py", "def f():\n    from dynid.chain import robot", "listed after it"),
        ("chain/robot.py", "import dynid.dynamics.motion", "later stage"),
        ("chain/robot.py", "from ..dynamics import motion", "later stage"),
        ("chain/robot.py", "from dynid.chain import Inertia", "its own folder"),
        ("chain/__init__.py", "MODULES = ('inertia', 'robot')\nfrom dynid.dynamics import Motion", "later stage"),
        ("chain/robot.py", "from dynid import Robot", "neither a stage nor a leaf"),
        ("chain/robot.py", "import dynid", "neither a stage nor a leaf"),
        ("chain/robot.py", "from dynid.cli import main", "neither a stage nor a leaf"),
        ("errors.py", "from dynid.arrays import Array", "a leaf may not import"),
        ("arrays.py", "from dynid.chain.robot import Robot", "a leaf may not import"),
        ("chain/extra.py", "", "not listed in MODULES"),
        ("chain/__init__.py", "MODULES = ('inertia', 'robot', 'ghost')", "ghost, which is not there"),
        ("helpers/__init__.py", "", "not a stage"),
        ("excitation/room/first.py", "from dynid.excitation.room.second import x", "listed after it"),
        ("excitation/room/first.py", "from dynid.excitation.last import x", "listed after it"),
        ("excitation/room/second.py", "from dynid.excitation.room import first, x", "its own folder"),
        ("excitation/room/extra.py", "", "not listed in MODULES"),
    ],
)
def test_a_breach_of_the_law_is_found(tmp_path, file, text, complaint):
    found = violations(write_tree(tmp_path, LAWFUL | {file: text}))
    assert len(found) == 1, found
    assert complaint in found[0]
    assert found[0].startswith(file.split("/")[0].removesuffix(".py"))
