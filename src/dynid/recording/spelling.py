"""How logs spell the names of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["STEMS", "TIME_NAMES", "bare", "numbered_patterns", "signal_of", "stamp_parts", "unit_of"]

TIME_NAMES = ("t", "time", "timestamp", "t_s", "time_s", "stamp", "sec", "secs", "seconds", "__time", "%time")
"""Names of a time column, the most trusted first; in s where nothing else is said."""
STEMS: dict[str, tuple[str, ...]] = {
    "q": (
        "q", "position", "positions", "pos", "joint_position", "joint_positions", "joint_pos", "joint_angle",
        "joint_angles", "angle", "angles", "actual_q", "q_actual", "q_measured", "measured_joint_positions", "q_m",
    ),
    "dq": (
        "dq", "qd", "qdot", "q_dot", "velocity", "velocities", "vel", "joint_velocity", "joint_velocities", "joint_vel",
        "joint_speed", "joint_speeds", "speed", "speeds", "actual_qd", "dq_measured", "measured_joint_velocities",
    ),
    "ddq": (
        "ddq", "qdd", "qddot", "q_ddot", "acceleration", "accelerations", "acc", "joint_acceleration",
        "joint_accelerations", "joint_acc",
    ),
    "tau": (
        "tau", "τ", "torque", "torques", "trq", "effort", "efforts", "eff", "joint_torque", "joint_torques",
        "joint_effort", "joint_efforts", "tau_j", "tau_measured", "measured_torque", "measured_torques",
        "measured_joint_torques",
    ),
    "current": (
        "i", "current", "currents", "cur", "motor_current", "motor_currents", "joint_current", "joint_currents",
        "actual_current",
    ),
}  # fmt: skip
"""Names of signals; the first is the one dynid writes, the others are tried where it is absent."""
UNIT_MARK = re.compile(r"\s*(?:\[\s*([^\[\]\d][^\[\]]*)\]|\(\s*([^()\d][^()]*)\))\s*$")
"""A unit after a name, as in ``q1 [deg]``; a number in brackets is an index."""
UNIT_ENDING = re.compile(r"(?:(?<=\d)|(?<=^t)|(?<=time)|(?<=stamp))_(s|ms|us|ns|deg|rad|rpm|nm|ma)$", re.IGNORECASE)
"""A unit as the last word of a name, as in ``q1_deg`` or ``time_ms``."""
PRINTED_TIME = "%time"
"""The time column of ``rostopic echo -p``, in ns."""
SECONDS, NANOSECONDS = re.compile(r"(.*?)(?:secs?|seconds)", re.DOTALL), ("nanosec", "nsec", "nsecs", "nanoseconds")
"""Names of the two parts of a ROS stamp."""


def unit_of(name: str) -> str | None:
    """The unit (a name, as in a column map) that stands in the name of a column, None without one."""
    found = UNIT_MARK.search(name)
    if found is not None:
        return (found[1] or found[2]).strip()
    if name.casefold() == PRINTED_TIME:
        return "ns"
    ending = UNIT_ENDING.search(name)
    if ending is None:
        return None
    return {"nm": "Nm", "ma": "mA"}.get(ending[1].casefold(), ending[1].casefold())


def bare(name: str) -> str:
    """A name (no unit) without what stands around it: ``/states/elbow/position [rad]``, ``q 1``, ``field.effort0``."""
    plain = re.sub(r"\s+", "_", UNIT_MARK.sub("", name).strip()).casefold()
    return UNIT_ENDING.sub("", re.sub(r"^(?:/[^/]+/|field\.)", "", plain))


def stamp_parts(names: Sequence[str]) -> dict[str, str]:
    """The columns of seconds of ROS stamps, each with its column of nanoseconds."""
    folded = {name.casefold(): name for name in names}
    pairs: dict[str, str] = {}
    for name in names:
        seconds = SECONDS.fullmatch(name.casefold())
        partners = [folded[seconds[1] + end] for end in NANOSECONDS if seconds[1] + end in folded] if seconds else []
        if partners:
            pairs[name] = partners[0]
    return pairs


def signal_of(name: str) -> str | None:
    """The signal that a column (no unit) is called after, such as ``dq3`` or ``tau.elbow``; None for others."""
    stem = re.split(r"[./]|[_\[]?(?:\d|\{n\})", name, maxsplit=1)[0].casefold()
    return next((signal for signal, stems in STEMS.items() if stem in stems), None)


def numbered_patterns(names: Sequence[str], n_joints: int) -> list[str]:
    """Names (no unit) of as many columns as joints that differ only in a number from 0 or 1, as ``axis{n}_force``."""
    numbers: dict[str, list[int]] = {}
    for name in names:
        for digits in re.finditer(r"\d+", name):
            pattern = f"{name[: digits.start()]}{{n}}{name[digits.end() :]}"
            numbers.setdefault(pattern, []).append(int(digits[0]))
    runs = (list(range(n_joints)), list(range(1, n_joints + 1)))
    return [pattern for pattern, found in numbers.items() if sorted(found) in runs]
