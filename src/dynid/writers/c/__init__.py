"""The C99 header: code written for one robot, compiled, run and compared before it appears."""

from dynid.writers.c.header import write_c_header

MODULES = (
    "code",
    "dynamics",
    "friction",
    "blocks",
    "check",
    "header",
    "c_types",
    "kernel_body",
    "kernels",
    "load_templates",
    "term_values",
    "load_filter",
)
"""The order of this folder: a module imports only those before it."""

__all__ = ["write_c_header"]
