"""A generated header against dynid's own numbers: compiled and run, or its expressions evaluated."""

from __future__ import annotations

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
from dynid.writers.c.code import C_FUNCTIONS, Code
from dynid.writers.c.friction import gear_links
from dynid.writers.exported import export_motion, relative_error, require_agreement

__all__ = ["HeaderCheck", "check_header", "evaluate", "expected", "find_compiler", "run_header"]

COMPILER_OPTIONS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic")
"""The standard that the header keeps to, optimised as a controller would have it."""
COMPILERS = ("cc", "gcc", "clang")
"""Names of C compilers, the system's own first."""
COMPILE_SECONDS = 120.0
"""Limit of the compiler, and of the program, s; a seven-joint arm takes about one."""
QUANTITIES = ("inverse_dynamics", "rigid", "gravity", "coriolis", "friction", "mass_matrix", "regressor")
"""Functions of a header that are compared."""
_OUTPUTS = {"mass_matrix": "M", "regressor": "Y"}
"""Names of the arrays that functions fill, where it is not tau."""

Values = dict[str, Float[Array, "..."]]
"""What the functions of a header compute (SI), by name."""


@dataclass(frozen=True)
class HeaderCheck:
    """How a header was checked."""

    error: float
    """Largest relative error of any quantity, dimensionless."""
    n_states: int
    by: str
    notices: tuple[str, ...] = ()


def check_header(
    text: str,
    codes: Mapping[str, Code],
    prefix: str,
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    path: Path,
) -> HeaderCheck:
    """Compare everything a header computes (SI) with dynid's own numbers.

    Args:
        text: the header.
        codes: the expressions that its functions are printed from.
        prefix: what its names start with.
        model: what it is written for.
        theta: parameters, SI.
        path: the file to be written.

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
        theirs = evaluate(codes, prefix, model, theta, motion)
        by = "its expressions evaluated"
        names = ", ".join(COMPILERS)
        notices = (f"no C compiler here ({names}): the expressions were checked, but the header was never compiled",)
    errors = differences(mine, theirs)
    return HeaderCheck(require_agreement(path, errors), motion.n_samples, by, notices)


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
    command = [compiler, *COMPILER_OPTIONS, "-o", "program", "main.c", "-lm"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=COMPILE_SECONDS, check=False, stdin=subprocess.DEVNULL
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
        target = _OUTPUTS.get(name, "tau")
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
            done = subprocess.run([program], input=given, capture_output=True, timeout=COMPILE_SECONDS, check=False)
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


def evaluate(
    codes: Mapping[str, Code], prefix: str, model: TorqueModel, theta: Float[Array, " n_params"], motion: Motion
) -> Values:
    """What the expressions compute (SI) that a header is printed from, by the names of its functions.

    Raises:
        ExportError: a function of C whose meaning is not known.
    """
    own: dict[str, Callable[[Array], Array]] = {f"{prefix}_{name}": f for name, f in FUNCTIONS.items()}
    own[f"{prefix}_inverse"] = np.reciprocal
    inputs = _atoms(prefix, model, theta, motion)
    values: Values = {}
    for name, shape in _shapes(model, tuple(codes)).items():
        found = codes[name].evaluated(inputs, {**C_FUNCTIONS, **own})
        quantity = np.zeros((motion.n_samples, *shape))
        for place in np.ndindex(shape):
            quantity[:, *place] = found[_OUTPUTS.get(name, "tau") + "".join(f"[{k}]" for k in place)]
        values[name] = quantity
    return values


def _atoms(
    prefix: str, model: TorqueModel, theta: Float[Array, " n_params"], motion: Motion
) -> dict[str, Float[Array, "..."]]:
    """Motion and parameters (SI) by the names that expressions of a header have for them."""
    links = gear_links(model)
    states = model.joint_states(motion)
    return (
        {f"{name}[{j}]": getattr(motion, name)[:, j] for name in ("q", "dq", "ddq") for j in range(model.n_dof)}
        | {f"{prefix}_theta[{k}]": np.asarray(value) for k, value in enumerate(theta)}
        | {f"{prefix}_load_reference[{i}][{k}]": np.asarray(links[i, k]) for i, k in np.ndindex(links.shape)}
        | {f"state->z[{j}][{k}]": states[:, j, k] for j, k in np.ndindex(states.shape[1:])}
    )
