"""Sizes and habits that keep the code readable, over every file of the project."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = ("src", "tests", "benchmarks", "docs", "examples")
MAX_MODULE_LINES = 400
MAX_CLASS_LINES = 300
MAX_FUNCTION_LINES = 80
TEXT_SUFFIXES = {".py", ".md", ".rst", ".toml", ".txt", ".cff", ".yml", ".sh", ".cfg", ".html", ".j2", ""}
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|tmp|root|farm|home|opt|Users)/")
ADDRESS = re.compile(r"://|^\s*-(i|f)\b|--(extra-)?index-url|--find-links|\s@\s|\bfile:", re.MULTILINE)


def python_files() -> list[Path]:
    return [p for folder in CODE for p in sorted((ROOT / folder).rglob("*.py")) if "_build" not in p.parts]


def text_files() -> Iterator[Path]:
    tops = [p for p in ROOT.iterdir() if p.is_file()]
    below = [p for folder in (*CODE, "requirements", ".ci") for p in (ROOT / folder).rglob("*")]
    for path in sorted(tops + below):
        skipped = {"_build", "__pycache__"} & set(path.parts)
        # In a git worktree .git is a file that holds a path of this machine.
        if path.is_file() and path.suffix in TEXT_SUFFIXES and not skipped and path.name != ".git":
            yield path


def in_library(path: Path) -> bool:
    return path.relative_to(ROOT).parts[0] == "src"


def size_complaints(text: str, *, library: bool) -> list[str]:
    """Modules, classes and functions of this text that are longer than allowed."""
    found = []
    n_lines = text.count("\n")
    if library and n_lines > MAX_MODULE_LINES:
        found.append(f"{n_lines} lines")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            is_class = isinstance(node, ast.ClassDef)
            length = (node.end_lineno or node.lineno) - node.lineno
            limit = MAX_CLASS_LINES if is_class else MAX_FUNCTION_LINES
            if length > limit and (library or not is_class):
                found.append(f"line {node.lineno}: {node.name} has {length} lines, at most {limit}")
    return found


def habit_complaints(text: str, *, may_print: bool) -> list[str]:
    """Calls of print, and handlers that catch everything."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print" and not may_print:
            found.append(f"line {node.lineno}: print in the library")
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            names = [getattr(kind, "id", None) for kind in kinds]
            if node.type is None or {"Exception", "BaseException"} & set(names):
                found.append(f"line {node.lineno}: catches everything")
    return found


def constant_complaints(text: str) -> list[str]:
    """Numbers that a module names but does not explain, below them (one sentence may serve several) or above."""
    found = []
    lines, body = text.splitlines(), ast.parse(text).body
    explained = False
    for node, following in zip(reversed(body), reversed([*body[1:], ast.Pass(lineno=0)]), strict=True):
        alone = following.lineno - 1 != node.end_lineno
        explained = isinstance(node, ast.Expr) or (explained and not alone)
        number = isinstance(node, ast.Assign) and _is_number(node.value)
        if number and not explained and not lines[node.lineno - 2].startswith("#"):
            found.append(f"line {node.lineno}: nothing says what this number means")
    return found


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(_is_number(entry) for entry in value.elts)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def waiting_complaints(text: str) -> list[str]:
    """Waits for a process or a thread without a limit: one that hangs would hang the whole suite."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, limited = node.func.attr, any(word.arg in ("timeout", None) for word in node.keywords)
        starts = name in ("run", "check_call", "check_output") and getattr(node.func.value, "id", "") == "subprocess"
        waits = name in ("communicate", "wait", "join") and not node.args
        if (starts or waits) and not limited:
            found.append(f"line {node.lineno}: {name} without timeout")
    return found


def complaints(files: list[Path], rule: Callable[[Path, str], list[str]]) -> dict[str, list[str]]:
    """What a rule finds in these files, by file; those without fault are left out."""
    found = {str(path.relative_to(ROOT)): rule(path, path.read_text(encoding="utf-8")) for path in files}
    return {name: told for name, told in found.items() if told}


def library() -> list[Path]:
    return [path for path in python_files() if in_library(path)]


def test_no_test_waits_without_end():
    tests = sorted((ROOT / "tests").rglob("*.py"))
    assert complaints(tests, lambda _, text: waiting_complaints(text)) == {}


def test_modules_classes_and_functions_stay_short():
    assert complaints(python_files(), lambda path, text: size_complaints(text, library=in_library(path))) == {}


def test_the_library_neither_prints_nor_catches_everything():
    def may_print(path: Path) -> bool:
        return path.relative_to(ROOT / "src" / "dynid").parts[0] == "cli"

    assert complaints(library(), lambda path, text: habit_complaints(text, may_print=may_print(path))) == {}


def test_every_number_with_a_name_says_what_it_means():
    assert complaints(library(), lambda _, text: constant_complaints(text)) == {}


def test_no_file_names_a_path_of_one_machine():
    named = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in text_files()
        for match in MACHINE_PATH.finditer(path.read_text(encoding="utf-8"))
    ]
    assert named == []


def test_the_lock_names_no_address_and_hashes_every_package():
    files = sorted((ROOT / "requirements").glob("*.txt"))
    assert [path.stem for path in files] == ["audit", "docs", "mutation", "peers", "run", "test"]
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert ADDRESS.search(text) is None, path.name
        entries = re.split(r"\n(?=\S)", text.strip())
        assert len(entries) > 20
        assert [entry for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == [], path.name


def test_the_rules_find_what_they_forbid():
    long_function = "def f():\n" + "    x = 1\n" * (MAX_FUNCTION_LINES + 1)
    long_class = "class C:\n" + "    x = 1\n" * (MAX_CLASS_LINES + 1)
    assert len(size_complaints(long_function, library=False)) == 1
    assert len(size_complaints(long_class, library=True)) == 1
    assert size_complaints(long_class, library=False) == []
    assert len(size_complaints("\n" * (MAX_MODULE_LINES + 1), library=True)) == 1
    for wait in ("subprocess.run(command)", "process.communicate()", "thread.join()", "process.wait()"):
        assert len(waiting_complaints(wait)) == 1
    for wait in ("subprocess.run(command, timeout=9)", "process.wait(timeout=9)", "', '.join(words)"):
        assert waiting_complaints(wait) == []
    assert len(habit_complaints("print(1)", may_print=False)) == 1
    assert habit_complaints("print(1)", may_print=True) == []
    for handler in ("except Exception:", "except (ValueError, Exception):", "except:"):
        assert len(habit_complaints(f"try:\n    pass\n{handler}\n    pass", may_print=True)) == 1
    for bare in ("A = 1\n", 'A = 1\n\n"""Of B."""\n', "A = 1\nB = f()\n", "A, B = -1, 2.0 * 3\n", "A = (0.1, 2)\n"):
        assert len(constant_complaints(bare)) == 1
    for told in ('A = 1\n"""Of A."""\n', 'A = 1\nB = 2.0\n"""Of both."""\n', "# Of A.\nA = 1\n", 'A = "text"\n'):
        assert constant_complaints(told) == []
    assert MACHINE_PATH.search("see /" + "home/me/data")
    assert ADDRESS.search("--extra-index-url x")
    assert ADDRESS.search("pin @ git+ssh")
