"""Every public name exists, is documented, and says the unit or the shape of its numbers."""

import ast
import importlib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import dynid
from dynid.workflow import ExciteKeywords, SimulateKeywords
from tests.test_layers import LEAVES, SOURCE, STAGES

ROOT = SOURCE.parents[1]
MOST_AT_THE_ROOT = 42
"""More names than these nobody reads; the rest is at its stage."""

UNIT = re.compile(
    r"kg|N·m|\brad\b|\bHz\b|\bSI\b|²|³|/s\b|°|%|\bunits?\b|\bseconds?\b|dimensionless|relative|\bratio\b|fraction"
    r"|(?:\bin|\d|[(,\[/·])\s*(?:m|s|N|A)\b"
)
SHAPE = re.compile(r"\((?:n_\w+|\d+|\.\.\.|…)(?:,\s*(?:n_\w+|\d+|\.\.\.|…))*,?\)|\d\s?[×x]\s?\d|\bshape\b")
SHAPED = re.compile(r"\b(?:Float|Float64|Int|Int64|UInt8|Bool|Shaped|Num|Real|Inexact|Complex)\[.+?, *['\"]")
NUMBER = re.compile(r"\bfloat\b|\bArray\b|\bNDArray\b|\bndarray\b|\bArrayLike\b")


@dataclass(frozen=True)
class Definition:
    """Where a public name is defined, and the docstring that stands with it."""

    node: ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign
    doc: str


def definitions(folder: Path, pattern: str = "**/*.py") -> dict[str, Definition]:
    """Every class, function and constant at the top of modules in and under a folder; a string behind documents it."""
    found: dict[str, Definition] = {}
    for path in sorted(folder.glob(pattern), key=lambda path: (len(path.parts), path), reverse=True):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for node, doc in with_docs(body):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found[node.name] = Definition(node, ast.get_docstring(node) or "")
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    if isinstance(target, ast.Name):
                        found[target.id] = Definition(node, doc)
    return found


def with_docs(body: list[ast.stmt]) -> list[tuple[ast.stmt, str]]:
    """Each statement with the string literal that follows it, empty where none does."""
    after: list[ast.stmt | None] = [*body[1:], None]
    return [(node, literal(following)) for node, following in zip(body, after, strict=True)]


def literal(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def states_unit_or_shape(annotation: str, *docs: str) -> bool:
    """A jaxtyping shape in the annotation, or a unit or a shape in one of the docstrings."""
    return bool(SHAPED.search(annotation)) or any(UNIT.search(doc) or SHAPE.search(doc) for doc in docs)


def silent_numbers(definition: Definition) -> list[str]:
    """Arguments, results and fields that hold numbers and say neither unit nor shape."""
    node = definition.node
    if isinstance(node, ast.FunctionDef):
        return [f"{node.name}({where})" for where in silent_signature(node, definition.doc)]
    if not isinstance(node, ast.ClassDef):
        return []
    found = []
    for member, doc in with_docs(node.body):
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            own = ast.get_docstring(member) or ""
            found += [f"{node.name}.{member.name}({where})" for where in silent_signature(member, own, definition.doc)]
        elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            annotation = ast.unparse(member.annotation)
            private = member.target.id.startswith("_")
            if NUMBER.search(annotation) and not private and not states_unit_or_shape(annotation, doc, definition.doc):
                found.append(f"{node.name}.{member.target.id}")
    return found


def silent_signature(node: ast.FunctionDef, *docs: str) -> list[str]:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    annotated = [(arg.arg, arg.annotation) for arg in arguments] + [("return", node.returns)]
    texts = [(name, ast.unparse(annotation)) for name, annotation in annotated if annotation is not None]
    return [name for name, text in texts if NUMBER.search(text) and not states_unit_or_shape(text, *docs)]


STAGES_HERE = [stage for stage in STAGES if (SOURCE / stage / "__init__.py").is_file()]


@pytest.mark.parametrize("package", ["dynid", *(f"dynid.{stage}" for stage in STAGES_HERE)])
def test_every_public_name_exists(package):
    module = importlib.import_module(package)
    assert module.__doc__, f"{package} has no docstring"
    assert sorted(set(module.__all__)) == sorted(module.__all__), "a name is listed twice"
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


@pytest.mark.parametrize("stage", STAGES_HERE)
def test_every_public_name_of_a_stage_has_a_docstring(stage):
    known = definitions(SOURCE / stage)
    undocumented = [
        name
        for name in importlib.import_module(f"dynid.{stage}").__all__
        if name not in known or not known[name].doc.strip()
    ]
    assert undocumented == []


@pytest.mark.parametrize("stage", STAGES_HERE)
def test_every_public_number_says_its_unit_or_its_shape(stage):
    known = definitions(SOURCE / stage)
    public = [known[name] for name in importlib.import_module(f"dynid.{stage}").__all__ if name in known]
    assert [silent for definition in public for silent in silent_numbers(definition)] == []


def public_modules() -> list[str]:
    """Stages, leaves, and the modules of writers whose job bears their name."""
    leaves = [name for name in LEAVES if (SOURCE / f"{name}.py").is_file()]
    jobs = [f"writers.{name}" for name in ("campaign", "export", "live.serve", "save")]
    return [f"dynid.{name}" for name in (*STAGES_HERE, *leaves, *jobs)]


def test_the_root_offers_only_names_of_the_stages_and_leaves():
    # A job bears the name of its module, and is offered by that module and by the root.
    jobs = [f"dynid.workflow.{module}" for module in importlib.import_module("dynid.workflow").MODULES]
    known = {
        name
        for module in (*public_modules(), *jobs)
        for name in getattr(importlib.import_module(module), "__all__", ())
    }
    assert set(dynid.__all__) - known == set()
    assert len(dynid.__all__) <= MOST_AT_THE_ROOT


@pytest.mark.parametrize("place", ["examples/*.py", "docs/api.rst"])
def test_every_name_of_the_root_is_shown(place):
    shown = "\n".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob(place)))
    forms = (r"\bdynid\.{}\b", r"``{}``") if place.endswith(".rst") else (r"\bdynid\.{}\b",)
    assert [name for name in dynid.__all__ if not any(re.search(form.format(name), shown) for form in forms)] == []


def class_of(definition: Definition) -> ast.ClassDef:
    assert isinstance(definition.node, ast.ClassDef)
    return definition.node


@pytest.mark.parametrize(("job", "keywords"), [(dynid.excite, ExciteKeywords), (dynid.simulate, SimulateKeywords)])
def test_help_lists_every_keyword_and_its_group_documents_it(job, keywords):
    listed = set(re.findall(r"\w+", inspect.getdoc(job).split("keywords:", 1)[1]))
    assert set(keywords.__annotations__) <= listed
    known = definitions(SOURCE / "workflow")
    told = {
        member.target.id
        for base in class_of(known[keywords.__name__]).bases
        for member, doc in with_docs(class_of(known[ast.unparse(base)]).body)
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name) and doc
    }
    assert told == set(keywords.__annotations__)


def test_a_silent_number_is_found(tmp_path):
    (tmp_path / "module.py").write_text(
        "class Good:\n"
        '    """A thing."""\n'
        '    q: Float[Array, "n_samples n_dof"]\n'
        "    mass: float\n"
        '    """Mass in kg."""\n'
        "class Bad:\n"
        '    """A thing."""\n'
        "    q: Array\n"
        "    mass: float\n"
        '    """How heavy it is."""\n'
        "    _hidden: float\n"
        "    def scale(self, by: float) -> float:\n"
        '        """A scaled thing."""\n'
        "def torque(q: Array) -> Float[Array, ' n']:\n"
        '    """The torque."""\n'
        "LIMIT = 3\n"
        '"""Limit in N·m."""\n',
        encoding="utf-8",
    )
    known = definitions(tmp_path)
    assert silent_numbers(known["Good"]) == []
    assert silent_numbers(known["Bad"]) == ["Bad.q", "Bad.mass", "Bad.scale(by)", "Bad.scale(return)"]
    assert silent_numbers(known["torque"]) == ["torque(q)"]
    assert known["LIMIT"].doc == "Limit in N·m."
