"""The load filter and contact watch of `dynid.tracking` as one C header: fixed memory, no allocation, no dependency."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynid.arrays import Array, Float
from dynid.disk import write_whole
from dynid.dynamics.motion import Motion
from dynid.errors import ExportError
from dynid.regression.model import IdentifiedModel
from dynid.tracking import decision_state, decisions, hypotheses, load_bank
from dynid.tracking.kinematics import KinematicFilter, smooth
from dynid.tracking.load_body import small_body
from dynid.tracking.samples import Sample
from dynid.tracking.setup import TrackingOptions, live_noise, load_watch
from dynid.tracking.terms import state_value, term_value
from dynid.tracking.watch import LoadWatcher
from dynid.version import VERSION
from dynid.writers.c.c_types import DOUBLE, INT, CArray, CType, c_literal, c_type_of
from dynid.writers.c.check import find_compiler
from dynid.writers.c.code import c_comment, c_name
from dynid.writers.c.kernels import KernelTranslator
from dynid.writers.c.load_templates import FILTER, HEAD, MAIN, STEP
from dynid.writers.c.term_values import program_lines
from dynid.writers.exported import Exported, ExportOptions

__all__ = ["FilterSteps", "load_filter_header", "python_steps", "run_load_filter", "write_load_filter"]

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
"""What the header must pass without a word."""
LIMIT = 120.0
"""Time in s for the compiler, and for the program."""
TRIAL = 4.0
"""Length of the motion that the header is compared on, s."""
TOLERANCE = 1e-6
"""Largest difference of the load's mass from that of Python, over the largest mass."""


@dataclass(frozen=True, eq=False)
class FilterSteps:
    """The answers of a filter, sample by sample."""

    mass: Float[Array, " n_samples"]
    """kg"""
    mass_std: Float[Array, " n_samples"]
    """kg"""
    events: tuple[tuple[int, int], ...]
    """Sample and code of every event."""


def _watcher(known: IdentifiedModel, options: TrackingOptions) -> LoadWatcher:
    noise = live_noise(known.model.robot, options)
    return load_watch(known, noise, options, rate_hz=options.rate).start()


def python_steps(known: IdentifiedModel, options: TrackingOptions, samples: Iterable[Sample]) -> FilterSteps:
    """What the filter of Python answers (kg) to samples with q, dq and torque (SI), as `TrackingSession` runs it."""
    watcher = _watcher(known, options)
    window = KinematicFilter.at_rate(options.rate, half_window=options.half_window).start(known.model.n_dof)
    masses, stds, events = [], [], []
    for number, sample in enumerate(samples):
        watcher.hear(sample)
        heard = [int(code) for code in watcher.decision.events]
        watcher.decision.events[:] = decision_state.NO_EVENT
        completed = window.step(sample)
        if completed is not None:
            watcher.step(completed)
        heard += [int(code) for code in watcher.decision.events]
        events += [(number, code) for code in heard if code != decision_state.NO_EVENT]
        estimate_std = float(hypotheses.mass_std(watcher.state, watcher._best))
        masses.append(float(watcher.load[0]))
        stds.append(estimate_std)
    return FilterSteps(np.array(masses), np.array(stds), tuple(events))


def load_filter_header(known: IdentifiedModel, options: TrackingOptions, prefix: str) -> str:
    """The header for one robot at one rate (Hz): model, friction, load filter and contact watch (SI).

    Raises:
        ExportError: the filter has a part that has no translation.
    """
    watcher = _watcher(known, options)
    parts = {
        "bands": watcher.bands, "contact": watcher.contact, "constants": watcher.constants, "state": watcher.state,
        "memory": watcher.memory, "decision": watcher.decision, "rules": watcher.rules,
    }  # fmt: skip
    kinds = {name: c_type_of(value, prefix) for name, value in parts.items()}
    n, n_rows = known.model.n_dof, len(watcher._tau)
    half = KinematicFilter.at_rate(options.rate, half_window=options.half_window).half_samples
    width = 2 * half + 1
    vector, rows = CArray("double", (n,)), CArray("double", (n_rows,))
    programs = watcher.constants.terms
    translator = KernelTranslator(
        prefix,
        {
            term_value: program_lines(programs.code, programs.numbers, prefix),
            state_value: program_lines(programs.state_code, programs.state_numbers, prefix),
        },
    )
    k, o, c, s, m, d, r = kinds.values()
    hear = translator.add(decisions.hear, [k, o, c, s, m, d, r, DOUBLE, vector, vector, rows])
    watch = translator.add(decisions.watch_sample, [c, s, m, d, r, DOUBLE, vector, vector, vector, rows])
    std = translator.add(hypotheses.mass_std, [s, INT])
    # Rows of an even length: compilers take two numbers at a time.
    padded = n + n % 2
    window = CArray("double", (width, padded))
    smoothing = translator.add(
        smooth,
        [CArray("double", (width,)), window, window, CArray("int", (padded,)), INT, INT, CArray("double", (3,)),
         CArray("double", (10, 16)), CArray("double", (3, width)), CArray("double", (3, padded))],
    )  # fmt: skip
    filter_ = KinematicFilter.at_rate(options.rate, half_window=options.half_window)
    fields = {
        "P": prefix, "U": prefix.upper(), "N": n, "PADDED": padded, "ROWS": n_rows, "WIDTH": width,
        "HALF": half, "ORDER": filter_.order,
        "GAP": c_literal(filter_.gap), "VERSION": VERSION, "ROBOT": c_comment(known.robot.name),
        "RATE": f"{options.rate:g}", "HEAR": hear.name, "WATCH": watch.name, "STD": std.name, "SMOOTH": smoothing.name,
        "BANDS": _name(k), "CONTACT": _name(o), "CONSTANTS": _name(c), "STATE": _name(s), "MEMORY": _name(m),
        "DECISION": _name(d), "RULES": _name(r), "NOTHING": load_bank.NOTHING, "PICKED": load_bank.PICKED,
        "UNKNOWN": decision_state.UNKNOWN, "PHASE": decision_state.PHASE, "CALLED": decision_state.CALLED,
    }  # fmt: skip
    functions = translator.code().replace("\nstatic ", "\nstatic inline ")
    pieces = [
        _filled(HEAD, fields),
        translator.structs(list(kinds.values())),
        f"static inline {functions.removeprefix('static ')}",
        "\n".join(
            f"static const {_name(kinds[name])} {prefix}_the_{name} = {c_literal(parts[name])};"
            for name in ("bands", "constants", "rules")
        ),
        _filled(FILTER, fields),
        _reset(prefix, {name: parts[name] for name in ("contact", "state", "memory", "decision")}),
        _filled(STEP, fields),
    ]
    return "\n\n".join(pieces) + "\n"


def _name(kind: CType) -> str:
    name = getattr(kind, "name", None)
    assert isinstance(name, str)
    return name


def _filled(template: str, fields: dict[str, object]) -> str:
    for name, value in fields.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def _reset(prefix: str, parts: dict[str, object]) -> str:
    """The function that puts a filter to its start: zeros, and whatever is none."""
    lines = [f"static inline void {prefix}_load_reset({prefix}_load_filter *f)", "{", "    int i = 0;"]
    lines += ["    memset(f, 0, sizeof *f);", "    (void)i;"]
    for name, value in parts.items():
        lines += _starts(f"f->{name}", value)
    return "\n".join([*lines, "    f->last = -INFINITY;", "}"])


def _starts(place: str, value: object) -> list[str]:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [line for name in value._fields for line in _starts(f"{place}.{name}", getattr(value, name))]
    if not isinstance(value, np.ndarray):
        return [f"    {place} = {c_literal(value)};"]
    flat = value.ravel()
    if len(flat) > 3 and len({repr(item) for item in flat.tolist()}) == 1 and flat[0] != 0:
        return [f"    for (i = 0; i < {len(flat)}; i++) {place}[i] = {c_literal(flat[0])};"]
    return [f"    {place}[{k}] = {c_literal(item)};" for k, item in enumerate(flat.tolist()) if item != 0]


def _packed(sample: Sample, n_dof: int) -> bytes:
    missing = np.full(n_dof, np.nan)
    parts = [np.array([sample.t]), sample.q, *(missing if v is None else v for v in (sample.dq, sample.tau))]
    return np.concatenate(parts).astype(float).tobytes()


def run_load_filter(
    header: str, prefix: str, n_dof: int, samples: Iterable[Sample], compiler: str
) -> tuple[FilterSteps, Float[Array, " n_samples"]]:
    """What the compiled header answers (kg) to samples with q, dq and torque (SI), and the time of every step in s.

    Raises:
        ExportError: the compiler has anything to say, or the program fails.
    """
    given = b"".join(_packed(sample, n_dof) for sample in samples)
    with tempfile.TemporaryDirectory(prefix="dynid-c-") as name:
        folder = Path(name)
        (folder / "filter.h").write_text(header, encoding="utf-8")
        (folder / "main.c").write_text(_filled(MAIN, {"P": prefix, "N": n_dof}), encoding="utf-8")
        command = [compiler, "-std=c11", "-O2", *WARNINGS, "-o", "program", "main.c", "-lm"]
        built = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
        if built.returncode:
            raise ExportError(f"the compiler refuses the filter: {built.stderr[:500]}")
        done = subprocess.run([folder / "program"], input=given, capture_output=True, timeout=LIMIT)
    if done.returncode:
        raise ExportError(f"the compiled filter ended with code {done.returncode}")
    answers = np.frombuffer(done.stdout).reshape(-1, 7)
    events = tuple(
        (k, int(code)) for k, row in enumerate(answers[:, 2:6]) for code in row if int(code) != decision_state.NO_EVENT
    )
    return FilterSteps(answers[:, 0], answers[:, 1], events), answers[:, 6]


def write_load_filter(model: IdentifiedModel, path: Path, options: ExportOptions) -> Exported:
    """Write the header of the load filter once it compiles without a warning and answers as Python does.

    Raises:
        ExportError: no compiler, a warning, or an answer that differs.
    """
    rate = options.rate
    asked = TrackingOptions(
        payload=True, rate=rate, half_window=options.half_window, max_mass=options.max_mass,
        false_alarms=options.false_alarms,
    )  # fmt: skip
    prefix = c_name(options.prefix or model.robot.name)
    header = load_filter_header(model, asked, prefix)
    compiler = find_compiler()
    if compiler is None:
        raise ExportError("no C compiler here, so the filter cannot be compared; install cc, gcc or clang")
    samples = _trial(model, rate)
    mine = python_steps(model, asked, samples)
    theirs, times = run_load_filter(header, prefix, model.model.n_dof, samples, compiler)
    error = float(np.max(np.abs(theirs.mass - mine.mass)) / max(float(np.max(mine.mass)), 1e-9))
    if not error <= TOLERANCE or theirs.events != mine.events:
        raise ExportError(f"the compiled filter differs from that of Python by {error:.2g} of the mass")
    write_whole(path, header)
    notice = f"a step took {1e6 * np.median(times):.1f} µs here (median), {1e6 * np.max(times):.0f} µs at most"
    return Exported(
        path, "c", error, len(samples), f"compiled by {Path(compiler).name} and run", notices=(notice,),
        subject=model.robot.name,
    )  # fmt: skip


def _trial(known: IdentifiedModel, rate: float) -> list[Sample]:
    """A few seconds of motion in which a load is picked up (SI), for the comparison."""
    model, n = known.model, known.model.n_dof
    t = np.arange(round(TRIAL * rate)) / rate
    rng = np.random.default_rng(0)
    omega, phase = 2.0 * np.pi * rng.uniform(0.1, 0.4, n), rng.uniform(0.0, 6.0, n)
    angle = omega * t[:, None] + phase
    motion = Motion(t, 0.5 * np.sin(angle), 0.5 * omega * np.cos(angle), -0.5 * omega**2 * np.sin(angle))
    load = np.concatenate([np.zeros(10 * (n - 1)), small_body(1.0, 0.3), np.zeros(model.n_params - 10 * n)])
    tau = model.torque(motion, known.parameters)
    tau += (t > 0.5 * TRIAL)[:, None] * (model.torque(motion, known.parameters + load) - tau)
    noise = live_noise(model.robot, TrackingOptions(payload=True))
    tau += 0.1 * noise * rng.standard_normal(tau.shape)
    return [Sample(float(t[k]), motion.q[k], motion.dq[k], None, tau[k]) for k in range(len(t))]
