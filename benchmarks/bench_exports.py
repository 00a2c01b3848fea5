"""The generated C against Pinocchio's compiled recursion, both timed inside compiled code or one call at a time."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pinocchio as pin

from benchmarks import Line
from dynid import TorqueModel, load_robot
from dynid.dynamics import RotorInertia, friction_models, random_motion
from dynid.writers.c.check import COMPILER_OPTIONS, expected, find_compiler, run_header
from dynid.writers.c.header import HeaderSource
from dynid.writers.exported import relative_error

N_CALLS = 200_000
N_STATES = 1000

PROGRAM = """#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>
#include "header.h"
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9*t.tv_nsec;
}
static double states[3][64][ARM_N_DOF], M[ARM_N_DOF][ARM_N_DOF], Y[ARM_N_DOF][ARM_N_PARAMS];
static double sum;
static void add(const double *x) { sum += *x; }
/* Called through a pointer that the compiler cannot see through, so that every output is needed. */
static void (*volatile use)(const double *x) = add;
#define TIME(call, result) do { \\
    double best = 1e9; \\
    int r, k; \\
    for (r = 0; r < 7; ++r) { \\
        const double start = now(); \\
        for (k = 0; k < CALLS; ++k) { \\
            const double *q = states[0][k % 64], *dq = states[1][k % 64], *ddq = states[2][k % 64]; \\
            (void)q; (void)dq; (void)ddq; \\
            call; \\
            use(result); \\
        } \\
        best = fmin(best, (now() - start)/CALLS); \\
    } \\
    printf("%.6g ", 1e6*best); \\
} while (0)
int main(void)
{
    double tau[ARM_N_DOF] = {0.0};
    int a, b, c;
    for (a = 0; a < 3; ++a) for (b = 0; b < 64; ++b) for (c = 0; c < ARM_N_DOF; ++c)
        states[a][b][c] = sin(1.0 + a + 3.7*b + 1.3*c);
    TIME(arm_inverse_dynamics(q, dq, ddq, tau), tau);
    TIME(arm_mass_matrix(q, M), M[0]);
    TIME(arm_regressor(q, dq, ddq, Y), Y[0]);
    return sum != sum;
}
"""


def run(*, quick: bool = False) -> list[Line]:
    """Time per call of the generated C for the Panda with friction and rotors, and agreement on random states."""
    robot = load_robot("panda")
    model = TorqueModel(robot, (*friction_models("viscous+coulomb+offset"), RotorInertia()))
    theta = model.nominal()
    theta[model.n_inertial :] = 0.3
    text = HeaderSource(model, theta, "arm").text()
    compiler = find_compiler()
    if compiler is None:
        return [Line("exports: no C compiler here", float("nan"), 3.0, "µs", bound="at most")]
    motion = random_motion(robot, 50 if quick else N_STATES, np.random.default_rng(0))
    names = ("inverse_dynamics",)
    theirs = run_header(text, "arm", model, motion, compiler, names)["inverse_dynamics"]
    error = relative_error(expected(model, theta, motion)["inverse_dynamics"], theirs)
    inverse, mass, regressor = timed(text, compiler)
    peer = pinocchio_time(robot.pinocchio)
    return [
        Line("exports: C against dynid, 1000 Panda states", error, 1e-6, "", bound="at most"),
        Line("exports: C inverse dynamics of a Panda with friction", inverse, 3.0, "µs", bound="at most"),
        Line("exports: C mass matrix", mass, unit="µs"),
        Line("exports: C regressor", regressor, unit="µs"),
        Line("exports: Pinocchio rnea called from Python over C", peer / inverse),
    ]


def timed(text: str, compiler: str) -> list[float]:
    """Time of a call of each function, µs."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "header.h").write_text(text, encoding="ascii")
        (Path(folder) / "main.c").write_text(PROGRAM, encoding="ascii")
        command = [compiler, *COMPILER_OPTIONS, f"-DCALLS={N_CALLS // 10}", "-o", "program", "main.c", "-lm"]
        subprocess.run(command, cwd=folder, check=True)
        done = subprocess.run([str(Path(folder) / "program")], capture_output=True, check=True)
    return [float(word) for word in done.stdout.split()]


def pinocchio_time(model: pin.Model) -> float:
    """Time of a call of Pinocchio's inverse dynamics from Python, µs; rigid body only."""
    data, q = model.createData(), pin.neutral(model)
    v = np.ones(model.nv)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(2000):
            pin.rnea(model, data, q, v, v)
        times.append((time.perf_counter() - started) / 2000)
    return 1e6 * min(times)
