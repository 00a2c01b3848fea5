"""Compiled code that comes with dynid for tracking, and the sources that it is made of."""

from __future__ import annotations

from dynid.dynamics.kernels.machine_code import Bundle

__all__ = ["ARM", "MOTION", "WATCH"]


def _sources(*names: str) -> tuple[str, ...]:
    kernels = ("batch", "chains", "formulas")
    return (*(f"dynamics/kernels/{name}.py" for name in kernels), *(f"tracking/{name}.py" for name in names))


MOTION = Bundle.of("tracking/motion.ll.gz", ("tracking/kinematics.py",))
"""The motion from noisy positions."""
ARM = Bundle.of("tracking/arm.ll.gz", _sources("core", "factors", "row_filter", "rows", "state_kernels", "terms"))
"""The filter of an arm, and the columns of its joint terms."""
WATCH = Bundle.of(
    "tracking/watch.ll.gz",
    _sources(
        "contact",
        "contact_bands",
        "contact_jumps",
        "decision_rules",
        "decision_state",
        "decisions",
        "factors",
        "hypotheses",
        "load_bank",
        "load_body",
        "load_gauss",
        "load_noise",
        "rows",
        "sudden_torque",
        "terms",
    ),
)
"""The filters of a load, and the watch for contacts."""
