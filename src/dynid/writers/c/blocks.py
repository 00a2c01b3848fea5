"""The parts of a C header that are the same for every robot but for its name."""

from __future__ import annotations

from collections.abc import Sequence

from dynid.arrays import Array, Float
from dynid.writers.c.code import literal

__all__ = ["forward_block", "limits_block", "memory_block", "self_test_block"]

PER_LINE = 5
"""Numbers on a line of a table."""


def limits_block(prefix: str) -> str:
    """A function that compares a state (SI) with the limits."""
    p, n = prefix, f"{prefix.upper()}_N_DOF"
    return f"""/* The first joint that leaves its limits at this position, velocity and torque; -1 where none does. */
static inline int {p}_beyond_limits(const double q[{n}], const double dq[{n}], const double tau[{n}])
{{
    int i;
    for (i = 0; i < {n}; ++i) {{
        if (q[i] < {p}_limit_lower[i] || q[i] > {p}_limit_upper[i]) return i;
        if (fabs(dq[i]) > {p}_limit_velocity[i] || fabs(tau[i]) > {p}_limit_effort[i]) return i;
    }}
    return -1;
}}
"""


def memory_block(prefix: str, n_states: int, positions: Sequence[str], updates: Sequence[str]) -> str:
    """What friction remembers: `n_states` a joint; statements that fill at[] from q, and state->z from moved[]."""
    p, n = prefix, f"{prefix.upper()}_N_DOF"
    fill, body = "\n    ".join(positions), "\n    ".join(updates)
    return f"""/* Memory of friction: reset it once, update it with every position, in order. */
typedef struct {{
    double q[{n}];
    double z[{n}][{n_states}];
    int started;
}} {p}_state;

static inline void {p}_state_reset({p}_state *state)
{{
    int i, k;
    for (i = 0; i < {n}; ++i) {{
        state->q[i] = 0.0;
        for (k = 0; k < {n_states}; ++k) state->z[i][k] = 0.0;
    }}
    state->started = 0;
}}

static inline void {p}_state_move({p}_state *state, const double moved[{n}])
{{
    {body}
}}

static inline void {p}_state_update({p}_state *state, const double q[{n}])
{{
    double at[{n}], moved[{n}];
    int i;
    {fill}
    for (i = 0; i < {n}; ++i) {{
        moved[i] = state->started ? at[i] - state->q[i] : 0.0;
        state->q[i] = at[i];
    }}
    state->started = 1;
    {p}_state_move(state, moved);
}}
"""


def forward_block(prefix: str, *, remembers: bool) -> str:
    """Forward dynamics (SI) by a Cholesky factor of M."""
    p, n = prefix, f"{prefix.upper()}_N_DOF"
    start = f"static inline int {p}_forward_dynamics("
    names = (f"const double q[{n}]", f"const double dq[{n}]", f"const double tau[{n}]")
    state = (f"const {p}_state *state",) if remembers else ()
    head = start + f",\n{' ' * len(start)}".join((*names, *state, f"double ddq[{n}]")) + ")"
    return f"""/* Accelerations that torques cause, friction included; 1 where M is not positive definite, else 0. */
{head}
{{
    double M[{n}][{n}], still[{n}];
    int i, j, k;
    for (i = 0; i < {n}; ++i) still[i] = 0.0;
    {p}_mass_matrix(q, M);
    {p}_inverse_dynamics(q, dq, still{", state" if remembers else ""}, ddq);
    for (i = 0; i < {n}; ++i) ddq[i] = tau[i] - ddq[i];
    for (j = 0; j < {n}; ++j) {{
        for (k = 0; k < j; ++k) M[j][j] -= M[j][k]*M[j][k];
        if (!(M[j][j] > 0.0)) return 1;
        M[j][j] = sqrt(M[j][j]);
        for (i = j + 1; i < {n}; ++i) {{
            for (k = 0; k < j; ++k) M[i][j] -= M[i][k]*M[j][k];
            M[i][j] /= M[j][j];
        }}
    }}
    for (i = 0; i < {n}; ++i) {{
        for (k = 0; k < i; ++k) ddq[i] -= M[i][k]*ddq[k];
        ddq[i] /= M[i][i];
    }}
    for (i = {n} - 1; i >= 0; --i) {{
        for (k = i + 1; k < {n}; ++k) ddq[i] -= M[k][i]*ddq[k];
        ddq[i] /= M[i][i];
    }}
    return 0;
}}
"""


def self_test_block(prefix: str, states: Float[Array, "n_states n_numbers"], *, remembers: bool) -> str:
    """A function, and under a macro a program, that compares with known answers; rows are q, dq, ddq, tau (SI)."""
    p, n = prefix, f"{prefix.upper()}_N_DOF"
    table = ",\n".join("        {" + ",\n         ".join(_wrapped(row.tolist())) + "}" for row in states)
    memory = f"    {p}_state state;\n    {p}_state_reset(&state);\n" if remembers else ""
    update = f"        {p}_state_update(&state, row);\n" if remembers else ""
    passed = ", &state" if remembers else ""
    return f"""/* Largest error of inverse dynamics over the largest torque, on states with known answers. */
static inline double {p}_self_test(void)
{{
    /* q, dq, ddq, tau */
    static const double states[{len(states)}][4*{n}] = {{
{table}
    }};
    double tau[{n}], error = 0.0, size = 1e-300;
    int i, k;
{memory}    for (k = 0; k < {len(states)}; ++k) {{
        const double *row = states[k];
{update}        {p}_inverse_dynamics(row, row + {n}, row + 2*{n}{passed}, tau);
        for (i = 0; i < {n}; ++i) {{
            error = fmax(error, fabs(tau[i] - row[3*{n} + i]));
            size = fmax(size, fabs(row[3*{n} + i]));
        }}
    }}
    return error/size;
}}

#ifdef {prefix.upper()}_SELF_TEST
#include <stdio.h>
int main(void)
{{
    const double error = {p}_self_test();
    printf("largest relative error %.3g\\n", error);
    return error < 1e-9 ? 0 : 1;
}}
#endif
"""


def _wrapped(values: Sequence[float]) -> list[str]:
    words = list(map(literal, values))
    return [", ".join(words[k : k + PER_LINE]) for k in range(0, len(words), PER_LINE)]
