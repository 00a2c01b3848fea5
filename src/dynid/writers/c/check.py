"""A generated header against dynid's own numbers: compiled and run, or evaluated statement by statement."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.formula import FUNCTIONS
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ExportError
from dynid.writers.exports import demand_agreement, export_motion, relative_error

__all__ = ["CompiledCheck", "check_header", "evaluate", "expected", "find_compiler", "run_header"]

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic")
COMPILERS = ("cc", "gcc", "clang")
TIMEOUT = 120.0
"""s, for the compiler and for the program."""
QUANTITIES = ("inverse_dynamics", "rigid", "gravity", "coriolis", "friction", "mass_matrix", "regressor")

Values = dict[str, Float[Array, "..."]]


@dataclass(frozen=True)
class CompiledCheck:
    """How a header was checked."""

    error: float
    """Largest relative error of any quantity, dimensionless."""
    n_states: int
    by: str
    notices: tuple[str, ...] = ()


def check_header(
    text: str, prefix: str, model: TorqueModel, theta: Float[Array, " n_params"], path: Path
) -> CompiledCheck:
    """Compare everything a header computes (SI) with dynid's own numbers.

    Raises:
        ExportError: a difference, or a compiler that refuses the header.
    """
    motion = export_motion(model)
    mine = expected(model, theta, motion)
    compiler = find_compiler()
    notices: tuple[str, ...] = ()
    if compiler is not None:
        theirs = run_header(text, prefix, model, motion, compiler)
        by = f"compiled by {Path(compiler).name} and run"
    else:
        theirs = {name: evaluate(text, prefix, name, model, motion) for name in QUANTITIES}
        by = "evaluated statement by statement"
        notices = ("no C compiler here (cc, gcc, clang): the header was evaluated by dynid but never compiled",)
    errors = differences(mine, theirs)
    return CompiledCheck(demand_agreement(path, errors), motion.n_samples, by, notices)


def differences(mine: Values, theirs: Values) -> list[tuple[str, float]]:
    """The relative error of each quantity, dimensionless; parts of the torque count against the whole."""
    whole = float(np.max(np.abs(mine["inverse_dynamics"])))
    scales = dict.fromkeys(("rigid", "gravity", "coriolis", "friction"), whole)
    return [
        (name.replace("_", " "), relative_error(mine[name], values, scales.get(name, 0.0)))
        for name, values in theirs.items()
    ]


def expected(model: TorqueModel, theta: Float[Array, " n_params"], motion: Motion) -> Values:
    """What dynid computes (SI), by the names of the C functions."""
    robot, n = model.robot, model.n_dof
    links = theta[: model.n_inertial]
    rigid, weightless = TorqueModel(robot), TorqueModel(robot.with_gravity(np.zeros(3)))
    still = Motion(motion.t, motion.q, motion.dq, np.zeros_like(motion.q))
    friction = np.array(theta)
    friction[model.n_inertial :].reshape(model.n_dof, -1)[:, list(model.inertia_terms)] = 0.0
    triangle = model.inertia_rows(motion.q) @ theta
    M = np.zeros((motion.n_samples, n, n))
    rows, columns = np.tril_indices(n)
    M[:, rows, columns] = M[:, columns, rows] = triangle
    return {
        "inverse_dynamics": model.torque(motion, theta),
        "rigid": rigid.torque(motion, links),
        "gravity": rigid.torque(Motion.at_rest(motion.q), links),
        "coriolis": weightless.torque(still, links),
        "friction": model.joint_torque(motion, friction),
        "mass_matrix": M,
        "regressor": model.regressor(motion),
    }


def _shapes(model: TorqueModel, names: Sequence[str] = QUANTITIES) -> dict[str, tuple[int, ...]]:
    n = model.n_dof
    large = {"mass_matrix": (n, n), "regressor": (n, model.n_params)}
    return {name: large.get(name, (n,)) for name in names}


def _arguments(model: TorqueModel, name: str, state: str) -> str:
    if name in ("gravity", "mass_matrix"):
        return "q"
    if name == "coriolis":
        return "q, dq"
    remembers = model.has_memory and name not in ("rigid",)
    return f"q, dq, ddq, {state}" if remembers else "q, dq, ddq"


def find_compiler(names: tuple[str, ...] = COMPILERS) -> str | None:
    """A C compiler that can build and link a program here, None without one."""
    for name in names:
        found = shutil.which(name)
        if found is not None:
            with tempfile.TemporaryDirectory() as folder:
                if not _compiled(found, Path(folder), "#include <math.h>\nint main(void) { return 0; }\n"):
                    return found
    return None


def _compiled(compiler: str, folder: Path, program: str) -> str:
    """What the compiler complains about; empty where the program is ready as `folder`/program."""
    (folder / "main.c").write_text(program, encoding="ascii")
    command = [compiler, *FLAGS, "-o", "program", "main.c", "-lm"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.decode("utf-8", "replace") or "failed"


def harness(prefix: str, model: TorqueModel, names: Sequence[str] = QUANTITIES) -> str:
    """A C program that reads states (SI) on stdin and prints the named quantities of each."""
    n = f"{prefix.upper()}_N_DOF"
    state = f"    {prefix}_state state;\n    {prefix}_state_reset(&state);\n" if model.has_memory else ""
    update = f"        {prefix}_state_update(&state, q);\n" if model.has_memory else ""
    calls = ""
    for name, shape in _shapes(model, names).items():
        target = {"mass_matrix": "M", "regressor": "Y"}.get(name, "tau")
        calls += f"        {prefix}_{name}({_arguments(model, name, '&state')}, {target});\n"
        index = "[i]" if len(shape) == 1 else "[i][k]"
        inner = f"for (k = 0; k < {shape[-1]}; ++k) " if len(shape) == 2 else ""
        calls += f'        for (i = 0; i < {n}; ++i) {inner}printf("%.17g ", {target}{index});\n'
    return f"""#include <stdio.h>
#include "header.h"
int main(void)
{{
    static double q[{n}], dq[{n}], ddq[{n}], tau[{n}], M[{n}][{n}], Y[{n}][{prefix.upper()}_N_PARAMS];
    int i, k = 0;
    (void)tau, (void)M, (void)Y;
{state}    for (;;) {{
        for (i = 0; i < {n}; ++i) if (scanf("%lf", &q[i]) != 1) return k < 0;
        for (i = 0; i < {n}; ++i) if (scanf("%lf", &dq[i]) != 1) return 1;
        for (i = 0; i < {n}; ++i) if (scanf("%lf", &ddq[i]) != 1) return 1;
{update}{calls}    }}
}}
"""


def run_header(
    text: str, prefix: str, model: TorqueModel, motion: Motion, compiler: str, names: Sequence[str] = QUANTITIES
) -> Values:
    """What the compiled header computes (SI), by the names of its functions.

    Raises:
        ExportError: the compiler refuses it, or the program fails.
    """
    states = np.concatenate([motion.q, motion.dq, motion.ddq], axis=1)
    given = "\n".join(" ".join(map(repr, row)) for row in states.tolist()).encode()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "header.h").write_text(text, encoding="ascii")
        complaint = _compiled(compiler, Path(folder), harness(prefix, model, names))
        if complaint:
            raise ExportError(f"the C header does not compile: {complaint.strip()[:500]}")
        try:
            program = str(Path(folder) / "program")
            done = subprocess.run([program], input=given, capture_output=True, timeout=TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ExportError(f"the compiled C header cannot be run: {error}") from error
    shapes = _shapes(model, names)
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    numbers = np.fromstring(done.stdout.decode("ascii"), sep=" ")
    if done.returncode or numbers.size != motion.n_samples * sum(sizes):
        raise ExportError(f"the compiled C header failed with exit code {done.returncode}")
    parts = np.split(numbers.reshape(motion.n_samples, -1), np.cumsum(sizes)[:-1], axis=1)
    return {
        name: part.reshape(motion.n_samples, *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


_STATEMENT = re.compile(r"(?:const double )?([A-Za-z_]\w*)((?:\[\d+\])*) = (.*)")


def evaluate(text: str, prefix: str, name: str, model: TorqueModel, motion: Motion) -> Float[Array, "n_samples ..."]:
    """What the statements of one function of a header compute (SI), without a compiler.

    Raises:
        ExportError: a statement that is not plain arithmetic.
    """
    found = re.search(rf"void {prefix}_{name}\([^)]*\)\n{{\n(.*?)\n}}", text, re.DOTALL)
    if found is None:
        raise ExportError(f"the C header has no function {prefix}_{name}")
    known: dict[str, object] = {"q": motion.q.T, "dq": motion.dq.T, "ddq": motion.ddq.T, **_tables(text, prefix)}
    known["state_z"] = np.moveaxis(model.joint_states(motion), 0, -1)
    result = np.zeros((*_shapes(model)[name], motion.n_samples))
    for statement in found.group(1).replace("state->z", "state_z").split(";"):
        line = " ".join(statement.split())
        if not line or line.startswith("(void)"):
            continue
        match = _STATEMENT.fullmatch(line)
        if match is None:
            raise ExportError(f"the C header holds a statement that cannot be checked: {line[:80]}")
        target, place, expression = match.groups()
        value = _value(ast.parse(expression, mode="eval").body, known, prefix)
        if place:
            result[tuple(int(k) for k in re.findall(r"\d+", place))] = value
        else:
            known[target] = value
    return np.moveaxis(result, -1, 0)


def _tables(text: str, prefix: str) -> dict[str, object]:
    """The constant arrays of a header (SI), read from its text."""
    tables: dict[str, object] = {}
    for name, size, body in re.findall(r"static const double (\w+)((?:\[\w+\])+) = \{(.*?)\n?\};", text, re.DOTALL):
        plain = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).replace("HUGE_VAL", "inf")
        numbers = np.array(re.findall(r"[-+.\w]+", plain), dtype=float)
        tables[name] = numbers.reshape(-1, 10) if size.endswith("[10]") else numbers
    return tables


def _value(node: ast.expr, known: Mapping[str, object], prefix: str) -> Array:
    functions: dict[str, Callable[[Array], Array]] = {
        "cos": np.cos, "sin": np.sin, "tanh": np.tanh, "exp": np.exp, "fabs": np.abs,
        f"{prefix}_inverse": np.reciprocal,
    } | {f"{prefix}_{name}": function for name, function in FUNCTIONS.items()}  # fmt: skip
    match node:
        case ast.Constant(value=float() as number):
            return np.array(number)
        case ast.Name(id=name) if name in known:
            return np.asarray(known[name])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return np.asarray(-_value(operand, known, prefix))
        case ast.Subscript(value=inner, slice=ast.Constant(value=int() as index)):
            return np.asarray(_value(inner, known, prefix)[index])
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in functions:
            return np.asarray(functions[name](_value(argument, known, prefix)))
        case ast.BinOp(left=left, op=operation, right=right):
            a, b = _value(left, known, prefix), _value(right, known, prefix)
            match operation:
                case ast.Add():
                    return np.asarray(a + b)
                case ast.Sub():
                    return np.asarray(a - b)
                case ast.Mult():
                    return np.asarray(a * b)
    raise ExportError(f"the C header holds an expression that cannot be checked: {ast.unparse(node)[:80]}")
