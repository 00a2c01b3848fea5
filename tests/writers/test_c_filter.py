"""The load filter as C: no warning as C11 and C++17, the same answers as Python sample by sample, and the example."""

import json
import re
import shutil
import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.chain import load_robot
from dynid.cli import main
from dynid.dynamics import RotorInertia, TorqueModel
from dynid.dynamics.friction.table import friction_models
from dynid.dynamics.kernels.formulas import formula_value
from dynid.errors import ExportError
from dynid.regression import save_model
from dynid.tracking import TrackingOptions, pack_message, replay
from dynid.tracking.terms import term_arrays
from dynid.writers.c.c_types import BOOL, DOUBLE, CArray, c_literal, c_type_of
from dynid.writers.c.check import find_compiler
from dynid.writers.c.kernels import KernelTranslator
from dynid.writers.c.load_filter import WARNINGS, load_filter_header, python_steps, run_load_filter
from dynid.writers.c.term_values import program_lines
from tests.writers.live_logs import RATE, known_panda, picking

COMPILER = find_compiler()
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
EXAMPLE = Path(__file__).parents[2] / "examples" / "c" / "udp_load.c"


def summed(x, limit, scale):
    total = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        if x[i] > limit:
            continue
        total, scale = total + scale * x[i] ** 2, scale if i % 2 == 0 else -scale
    return total


def test_a_function_is_translated_with_its_loops_conditions_and_sizes():
    translator = KernelTranslator("t")
    translator.add(summed, [CArray("double", (4,)), DOUBLE, DOUBLE])
    code = translator.code()
    assert "static double t_summed(const double *T_RESTRICT x, double limit, double scale)" in code
    assert "for (i = (4 - 1); i > -(1); i--) {" in code
    with pytest.raises(ExportError, match="has no translation into C"):
        KernelTranslator("t").add(unfit, [BOOL])


def unfit(flag):
    return [flag]


def test_numbers_become_initialisers():
    assert c_literal(np.array([1.0, np.nan, -np.inf])) == "{1.0, NAN, -INFINITY}"
    assert c_literal(np.zeros(0)) == "{0}"
    assert c_type_of(np.zeros((2, 3)), "p") == CArray("double", (2, 3))


PROGRAM = """#include <math.h>
#include <stdio.h>
static inline double p_sign(double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x); }
static inline double p_maxd(double a, double b) { return b > a ? b : a; }
static double value(int k, int j, double speed, double acceleration, double path, const double *z) {
    (void)speed; (void)acceleration; (void)path; (void)j; (void)z;
@LINES@
}
int main(void) {
    const double z[5] = {0.3, -0.2, 0.7, -4.0, 0.5};
    int i, k, j;
    for (i = -2; i <= 2; i++) for (k = 0; k < @PROGRAMS@; k++) for (j = 0; j < @JOINTS@; j++)
        printf("%.17g\\n", value(k, j, 0.3 * i, 1.5 * i, 0.01 * i, z));
    return 0;
}
"""


def test_programs_of_joint_terms_have_the_same_values_in_c(tmp_path):
    kinds = "viscous+tanh+offset+sigmoid+presliding+load"
    model = TorqueModel(load_robot("panda"), (RotorInertia(), *friction_models(kinds)))
    terms, z = term_arrays(model), np.array([0.3, -0.2, 0.7, -4.0, 0.5])
    for code, numbers in ((terms.code, terms.numbers), (terms.state_code, terms.state_numbers)):
        lines = "\n".join(program_lines(code, numbers, "p"))
        source = PROGRAM.replace("@LINES@", lines).replace("@PROGRAMS@", str(len(code))).replace("@JOINTS@", "7")
        (tmp_path / "programs.c").write_text(source)
        command = [str(COMPILER), "-std=c11", *WARNINGS, "-o", "programs", "programs.c", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
        said = subprocess.run([tmp_path / "programs"], capture_output=True, text=True, check=True, timeout=60).stdout
        stack = np.zeros(code.shape[1])
        expected = [
            formula_value.py_func(code[k], numbers[k, j], 0.3 * i, 1.5 * i, 0.01 * i, z, stack)
            for i in range(-2, 3)
            for k in range(len(code))
            for j in range(7)
        ]
        np.testing.assert_allclose(np.array(said.split(), dtype=float), expected, rtol=1e-12, atol=1e-15)


@pytest.fixture(scope="module")
def header():
    return load_filter_header(known_panda(), TrackingOptions(payload=True, rate=RATE), "arm")


@pytest.mark.slow
@pytest.mark.parametrize(("compiler", "standard"), [("gcc", "-std=c11"), ("g++", "-std=c++17")])
def test_the_header_compiles_without_a_warning(tmp_path, header, compiler, standard):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    (tmp_path / "filter.h").write_text(header)
    source = tmp_path / ("main.c" if compiler == "gcc" else "main.cpp")
    source.write_text('#include "filter.h"\nint main(void) { return 0; }\n')
    command = [compiler, standard, *WARNINGS, "-c", source.name, "-o", "main.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert not re.search(r"\b(malloc|calloc|realloc|free)\s*\(", header)


@pytest.mark.slow
def test_the_header_answers_as_python_does_sample_by_sample(header):
    known, samples = known_panda(), list(replay(picking(6.0)))
    mine = python_steps(known, TrackingOptions(payload=True, rate=RATE), samples)
    theirs, times = run_load_filter(header, "arm", 7, samples, str(COMPILER))
    assert mine.mass[-1] == pytest.approx(2.0, abs=0.2)
    assert len(mine.events) >= 2
    assert theirs.events == mine.events
    np.testing.assert_allclose(theirs.mass, mine.mass, rtol=0.0, atol=1e-6 * np.max(mine.mass))
    np.testing.assert_allclose(theirs.mass_std, mine.mass_std, rtol=1e-6)
    assert np.median(times) < 1e-3


@pytest.mark.slow
def test_the_command_writes_a_header_that_the_example_reads_the_stream_with(tmp_path, capsys):
    model, out = tmp_path / "model.json", tmp_path / "arm_load.h"
    save_model(known_panda(), model)
    asked = ["export", str(model), "--to", "c", "--filter", "load", "--rate", str(RATE), "--prefix", "arm"]
    assert main([*asked, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["error"] < 1e-6
    assert "compiled by" in told["checked_by"]
    shutil.copy(EXAMPLE, tmp_path)
    command = [str(COMPILER), "-std=c11", "-O2", *WARNINGS, "-o", "udp_load", "udp_load.c", "-lm"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    samples = list(replay(picking(1.0)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = subprocess.Popen([tmp_path / "udp_load", str(port), str(len(samples))], stdout=subprocess.PIPE, text=True)
    answers: list[dict[str, float]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.settimeout(10.0)
        while not answers:  # until it listens
            link.sendto(b"garbage", ("127.0.0.1", port))
            link.sendto(pack_message(samples[0], number=0), ("127.0.0.1", port))
            link.settimeout(0.2)
            try:
                answers.append(json.loads(link.recv(1000)))
            except (TimeoutError, ConnectionRefusedError):
                continue
        link.settimeout(10.0)
        for k, sample in enumerate(samples[1:], 1):
            link.sendto(pack_message(sample, number=k), ("127.0.0.1", port))
            answers.append(json.loads(link.recv(1000)))
    said, _ = program.communicate(timeout=20.0)
    assert re.search(r"\d+ refused, step [\d.]+ us median, [\d.]+ us at worst", said)
    mine = python_steps(known_panda(), TrackingOptions(payload=True, rate=RATE), samples)
    assert answers[-1]["mass"] == pytest.approx(mine.mass[-1], abs=2e-6)


def test_a_filter_is_for_c_alone(tmp_path):
    with pytest.raises(ExportError, match="only load, and only for c"):
        dynid.export(known_panda(), "urdf", tmp_path / "a.urdf", filter="load")
