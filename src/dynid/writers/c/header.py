"""An identified model as one C99 header: no dependency, no allocation, every function written out for this robot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.disk import write_whole
from dynid.dynamics.model import TorqueModel
from dynid.regression.model import IdentifiedModel
from dynid.writers.c.blocks import forward_block, limits_block, memory_block, self_test_block
from dynid.writers.c.check import check_header
from dynid.writers.c.code import ZERO, Code, Scalar, c_comment, c_name, literal
from dynid.writers.c.dynamics import ChainCode
from dynid.writers.c.friction import HELPERS, JointCode, formula_code, gear_links, motor_values, term_inputs
from dynid.writers.exported import DEFAULTS, Exported, ExportOptions, export_motion, require_consistent, warning_line
from dynid.writers.joint_terms import JointTerm, terms_by_joint

__all__ = ["HeaderSource", "write_c_header"]

N_SELF_TEST = 3
"""States of the self-test that is part of the header."""
WIDTH = 118
"""Longest line of a generated statement, characters."""
_UNITS = str.maketrans({"·": "*", "²": "^2", "³": "^3"})
"""Units in ASCII, which comments of C are written in."""


def write_c_header(model: IdentifiedModel, path: Path, options: ExportOptions = DEFAULTS) -> Exported:
    """Write a C99 header (SI), after what it computes has been compared with dynid's own numbers.

    It is compiled and run where there is a C compiler; elsewhere the expressions it is printed from are evaluated, and
    a notice says that it was never compiled.

    Args:
        model: what to write.
        path: the file.
        options: `prefix` is what every name in the header starts with.

    Raises:
        ExportError: no physically consistent parameters, or numbers that differ; nothing was written.
    """
    notices = require_consistent(model, path, force=options.force)
    source = HeaderSource(
        model.model, model.parameters, c_name(options.prefix or model.model.robot.name), _story(model, notices)
    )
    text = source.text()
    checked = check_header(text, source.bodies, source.prefix, model.model, model.parameters, path)
    write_whole(path, text)
    return Exported(
        path,
        "c",
        checked.error,
        checked.n_states,
        checked.by,
        notices=(*notices, *checked.notices),
        consistent=not notices,
        subject=model.model.robot.name,
    )


def _story(model: IdentifiedModel, notices: Sequence[str]) -> list[str]:
    given = model.provenance
    inputs = given.get("inputs")
    lines = [f"robot {model.model.robot.name}, estimator {model.estimator}, dynid {given.get('dynid', 'unknown')}"]
    if isinstance(inputs, dict):
        lines += [f"input {name}, sha256 {digest}" for name, digest in inputs.items()]
    return lines + [warning_line([notice]) for notice in notices]


@dataclass(frozen=True, eq=False)
class HeaderSource:
    """A torque model with parameters, on its way to C."""

    model: TorqueModel
    theta: Float[Array, " n_params"]
    """Parameters, SI."""
    prefix: str
    story: Sequence[str] = ()
    """Lines about where the numbers come from."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def macro(self) -> str:
        """The prefix in capitals."""
        return self.prefix.upper()

    @cached_property
    def terms(self) -> tuple[JointTerm, ...]:
        """Friction and rotor terms of every joint (SI)."""
        return terms_by_joint(self.model, self.theta)

    @property
    def _state(self) -> list[str]:
        return [f"const {self.prefix}_state *state"] if self.model.has_memory else []

    @cached_property
    def _needs_load(self) -> bool:
        return any(joint_model.needs_load for joint_model in self.model.joint_models)

    @cached_property
    def _load_links(self) -> Float[Array, "n_links 10"] | None:
        """Inertial parameters (SI) whose torque loads the gears; None where they are θ itself, or not needed."""
        links = gear_links(self.model)
        same = np.array_equal(links.ravel(), self.theta[: self.model.n_inertial])
        return None if same or not len(links) else links

    def _values(self) -> dict[int, Scalar]:
        return {
            k: Scalar(1.0, f"{self.prefix}_theta[{k}]") if value else ZERO
            for k, value in enumerate(self.theta.tolist())
        }

    @cached_property
    def _chain(self) -> ChainCode:
        values = self._values()
        return ChainCode(
            self.model.robot, {(i, k): values[10 * i + k] for i in range(self.model.n_dof) for k in range(10)}
        )

    def _load(self, code: Code) -> list[Scalar]:
        """Rigid torque that gears feel; empty where no friction depends on it."""
        robot, links = self.model.robot, self._load_links
        if links is None:
            return self._chain.torque(code) if self._needs_load else []
        numbers = {
            (i, k): Scalar(1.0, f"{self.prefix}_load_reference[{i}][{k}]") if links[i, k] else ZERO
            for i in range(robot.n_dof)
            for k in range(10)
        }
        return ChainCode(robot, numbers).torque(code)

    def text(self) -> str:
        """The header."""
        functions = [*([self._memory()] if self.model.has_memory else []), *self._functions()]
        parts = [self._opening(), self._tables(), *self._helpers("".join(functions)), *functions]
        if not self._needs_load:
            parts.append(forward_block(self.prefix, remembers=bool(self._state)))
        motion = export_motion(self.model, N_SELF_TEST)
        tau = self.model.torque(motion, self.theta)
        states = np.concatenate([motion.q, motion.dq, motion.ddq, tau], axis=1)
        parts += [
            self_test_block(self.prefix, states, remembers=bool(self._state)),
            f"#endif /* {self.macro}_DYNAMICS_H */\n",
        ]
        return "\n".join(parts)

    def _opening(self) -> str:
        story = "".join(f" * {c_comment(line)}\n" for line in self.story)
        return (
            f"/* Dynamics of {c_comment(self.model.robot.name)}. SI units: rad or m, N*m or N, kg, s.\n"
            f"{story}"
            " *\n"
            " * C99 and C++, double precision; no allocation, no mutable globals, safe to call from several threads.\n"
            " * Results must not overlap what they are computed from.\n"
            f" * Compile -D{self.macro}_SELF_TEST for a program that checks this header.\n"
            " */\n"
            f"#ifndef {self.macro}_DYNAMICS_H\n#define {self.macro}_DYNAMICS_H\n\n#include <math.h>\n\n"
            f"#define {self.macro}_N_DOF {self.model.n_dof}\n#define {self.macro}_N_PARAMS {self.model.n_params}\n"
        )

    def _tables(self) -> str:
        model, robot = self.model, self.model.robot
        rows = [
            f"    {literal(float(value))}{',' if k + 1 < len(self.theta) else ' '} "
            f"/* {k}: {c_comment(column.owner)} {column.name}, {column.unit.translate(_UNITS) or '1'} */"
            for k, (value, column) in enumerate(zip(self.theta, model.columns, strict=True))
        ]
        text = "/* Parameters: ten numbers a link about its frame, then the terms of every joint. */\n"
        text += f"static const double {self.prefix}_theta[{self.macro}_N_PARAMS] = {{\n" + "\n".join(rows) + "\n};\n"
        if self._load_links is not None:
            links = ",\n".join("    {" + ", ".join(map(literal, row.tolist())) + "}" for row in self._load_links)
            text += "\n/* Links whose torque loads the gears, as kg, kg*m, kg*m^2. */\n"
            text += f"static const double {self.prefix}_load_reference[{self.macro}_N_DOF][10] = {{\n{links}\n}};\n"
        joints = [f"{joint.name} ({joint.type})" for joint in robot.joints]
        text += f"\n/* Limits of {c_comment(', '.join(joints))}; HUGE_VAL where there is none. */\n"
        units = {"lower": "rad or m", "upper": "rad or m", "velocity": "rad/s or m/s", "effort": "N*m or N"}
        for name, unit in units.items():
            values = ", ".join(literal(float(getattr(joint.limits, name))) for joint in robot.joints)
            text += f"static const double {self.prefix}_limit_{name}[{self.macro}_N_DOF] = {{{values}}}; /* {unit} */\n"
        return text + "\n" + limits_block(self.prefix)

    def _memory(self) -> str:
        code, moved = Code(), {}
        for i, value in enumerate(motor_values(code, self.model.robot, "q")):
            code.put(f"at[{i}]", value)
        positions = list(code.lines())
        code = Code()
        for term in self.terms:
            inputs = {"path": Scalar(1.0, f"moved[{term.joint}]")} | term_inputs(term)
            for place, formula in zip(term.states, term.model.next_states, strict=True):
                moved[term.joint, place] = formula_code(code, self.prefix, formula, inputs)
        for (joint, place), value in moved.items():
            code.put(f"state->z[{joint}][{place}]", value)
        n_states = sum(joint_model.n_states for joint_model in self.model.joint_models)
        updates = [line for statement in code.lines() for line in _folded(statement)]
        return memory_block(self.prefix, n_states, positions, updates)

    def _helpers(self, text: str) -> list[str]:
        """The functions that `text` calls."""
        return [
            f"static inline double {self.prefix}_{name}(double x)\n{{\n    {body}\n}}\n"
            for name, body in HELPERS.items()
            if f"{self.prefix}_{name}(" in text
        ]

    @cached_property
    def bodies(self) -> dict[str, Code]:
        """What every function computes, as a graph of expressions."""
        writers: dict[str, Callable[[Code], None]] = {
            "inverse_dynamics": self._inverse,
            "rigid": self._rigid,
            "gravity": self._gravity,
            "coriolis": self._coriolis,
            "friction": self._friction,
            "mass_matrix": self._mass,
            "regressor": self._regressor,
        }
        codes = {name: Code() for name in writers}
        for name, write in writers.items():
            write(codes[name])
        return codes

    def _functions(self) -> list[str]:
        n, state = f"{self.macro}_N_DOF", self._state
        q, dq, ddq = (f"const double {name}[{n}]" for name in ("q", "dq", "ddq"))
        motion, tau = [q, dq, ddq], f"double tau[{n}]"
        heads = {
            "inverse_dynamics": ([*motion, *state, tau], "Torque of a motion, friction included."),
            "rigid": ([*motion, tau], "Torque of the links alone: no friction, no rotors."),
            "gravity": ([q, tau], "Torque that holds the links still."),
            "coriolis": ([q, dq, tau], "Centrifugal and Coriolis torque C(q, dq) dq."),
            "friction": (
                [*motion, *state, tau],
                "Friction torque alone, as a part of inverse dynamics: positive where dq is.",
            ),
            "mass_matrix": ([q, f"double M[{n}][{n}]"], "M(q), rotors included; symmetric."),
            "regressor": (
                [*motion, *state, f"double Y[{n}][{self.macro}_N_PARAMS]"],
                "Y with tau = Y theta, columns in the order of theta.",
            ),
        }
        return [self._function(name, *heads[name], code) for name, code in self.bodies.items()]

    def _function(self, name: str, arguments: Sequence[str], doc: str, code: Code) -> str:
        body = "\n".join(f"    {line}" for statement in code.lines() for line in _folded(statement))
        names = [re.sub(r"\[.*", "", argument).split()[-1].lstrip("*") for argument in arguments]
        idle = [arg for arg in names if not re.search(rf"\b{arg}(\[|->)", body)]
        body = "".join(f"    (void){arg};\n" for arg in idle) + body
        start = f"static inline void {self.prefix}_{name}("
        space = f",\n{' ' * len(start)}"
        head = f"{start}{', '.join(arguments)})"
        if len(head) > WIDTH:
            head = f"{start}{space.join(arguments)})"
        return f"/* {doc} */\n{head}\n{{\n{body}\n}}\n"

    def _inverse(self, code: Code) -> None:
        rigid, load = self._chain.torque(code), self._load(code)
        own = JointCode(code, self.model.robot, self.prefix, load).torque(self.terms, self._values())
        for j, (links, joint) in enumerate(zip(rigid, own, strict=True)):
            code.put(f"tau[{j}]", code.sum((links,), (joint,)))

    def _rigid(self, code: Code) -> None:
        _put(code, self._chain.torque(code))

    def _gravity(self, code: Code) -> None:
        _put(code, self._chain.torque(code, moving=False, pushed=False))

    def _coriolis(self, code: Code) -> None:
        _put(code, self._chain.torque(code, pushed=False, heavy=False))

    def _friction(self, code: Code) -> None:
        dry = [term for term in self.terms if not term.term.is_inertia]
        _put(code, JointCode(code, self.model.robot, self.prefix, self._load(code)).torque(dry, self._values()))

    def _mass(self, code: Code) -> None:
        n_dof, values = self.model.n_dof, self._values()
        M = self._chain.mass_matrix(code)
        C = np.eye(n_dof) if self.model.robot.transmission is None else self.model.robot.transmission
        rotors = [term for term in self.terms if term.term.is_inertia]
        for i in range(n_dof):
            for j in range(i + 1):
                spun = [(Scalar(float(C[t.joint, i] * C[t.joint, j])), values[t.column]) for t in rotors]
                total = code.sum((M.get((i, j), ZERO),), *spun)
                code.put(f"M[{i}][{j}]", total)
                if i != j:
                    code.put(f"M[{j}][{i}]", total)

    def _regressor(self, code: Code) -> None:
        n_dof = self.model.n_dof
        rows = self._chain.regressor(code)
        own = JointCode(code, self.model.robot, self.prefix, self._load(code))
        columns = {term.column: (term.joint, own.column(term)) for term in self.terms}
        C = np.eye(n_dof) if self.model.robot.transmission is None else self.model.robot.transmission
        for j in range(n_dof):
            for k in range(self.model.n_params):
                if k < self.model.n_inertial:
                    value = rows.get((j, k // 10, k % 10), ZERO)
                else:
                    motor, column = columns.get(k, (0, ZERO))
                    value = code.sum((Scalar(float(C[motor, j])), column))
                code.put(f"Y[{j}][{k}]", value)


def _put(code: Code, values: Sequence[Scalar]) -> None:
    for j, value in enumerate(values):
        code.put(f"tau[{j}]", value)


def _folded(statement: str) -> list[str]:
    """A statement on lines that are not too long, cut before a plus or minus between terms."""
    lines = [""]
    for word in re.split(r" (?=[+-] )", statement):
        if lines[-1] and len(lines[-1]) + len(word) > WIDTH:
            lines.append("    " + word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines
