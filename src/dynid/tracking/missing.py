"""Values that samples lack: counted by joint while they are followed, and said in plain words at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Int, freeze_arrays
from dynid.prose import counted
from dynid.recording.recording import WRENCH_AXES
from dynid.tracking.samples import Sample

__all__ = ["MissingCounter", "MissingValues"]


@dataclass(frozen=True, eq=False, kw_only=True)
class MissingValues:
    """How many samples lacked a value, by joint; signals that were never measured do not count."""

    joint_names: tuple[str, ...]
    q: Int[Array, " n_dof"]
    """Positions; the whole sample is skipped."""
    dq: Int[Array, " n_dof"]
    """Velocities; taken from the samples around, or the sample is skipped where accelerations were given."""
    tau: Int[Array, " n_dof"]
    """Torques; the row of the joint is left out."""
    base_wrench: Int[Array, " 6"]
    """Axes of the wrench under the base; the row is left out."""
    completed: bool = True
    """Whether velocities and accelerations come from a window over the samples."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __bool__(self) -> bool:
        return any(np.any(counts > 0) for counts in (self.q, self.dq, self.tau, self.base_wrench))

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was missing, and what became of it."""
        instead = "taken from the samples around" if self.completed else "these samples are skipped"
        told = (
            ("torque", self.joint_names, self.tau, "their rows are left out, not the samples"),
            ("velocity", self.joint_names, self.dq, instead),
            ("position", self.joint_names, self.q, "these samples are skipped"),
            ("base wrench", WRENCH_AXES, self.base_wrench, "their rows are left out, not the samples"),
        )
        return tuple(
            f"{what} missing: {_listed(names, counts)}; {done}" for what, names, counts, done in told if np.any(counts)
        )


def _listed(names: Sequence[str], counts: Int[Array, " n"]) -> str:
    found = [(name, count) for name, count in zip(names, counts.tolist(), strict=True) if count]
    (first, count), *rest = found
    return ", ".join([f"{first} in {counted(count, 'sample')}", *(f"{name} in {count}" for name, count in rest)])


class MissingCounter:
    """Counts while samples pass."""

    def __init__(self, joint_names: Sequence[str], *, completed: bool) -> None:
        """Count for these joints; `completed` where a window over the samples gives velocities."""
        n = len(joint_names)
        self._names, self._completed = tuple(joint_names), completed
        self._counts: dict[str, Int[Array, " n"]] = {name: np.zeros(n, dtype=np.int64) for name in ("q", "dq", "tau")}
        self._counts["base_wrench"] = np.zeros(len(WRENCH_AXES), dtype=np.int64)

    def hear(self, sample: Sample) -> None:
        """Count what one sample lacks."""
        for name, counts in self._counts.items():
            values = getattr(sample, name)
            # The sum tells at once whether there is anything to count.
            if values is not None and not np.isfinite(values.sum()):
                counts += ~np.isfinite(values)

    @property
    def values(self) -> MissingValues:
        """The counts so far."""
        return MissingValues(joint_names=self._names, completed=self._completed, **self._counts)
