"""A log for a filter that takes it sample by sample: stamps go on, values may be missing, and nothing else is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dynid.arrays import Array, Float
from dynid.prose import counted
from dynid.recording.clock import steady_clock
from dynid.recording.raw import RawLog
from dynid.recording.recording import Recording, measurable
from dynid.recording.repairs import LogRepair
from dynid.recording.tidying import stamped_rows

__all__ = ["followed_log"]

MOSTLY = 0.5
"""Share of missing velocities of a joint from which on they are as good as not logged: positions give them better."""


def followed_log(raw: RawLog) -> Recording:
    """A log (SI) as tracking takes it: a value that is not a number costs what needs it, not its whole row.

    Stamps that stand still, run backwards or start again are put right as for a fit; `Recording.repairs` tells how.

    Raises:
        RecordingError: stamps that cannot be put right, or a log without a sample.
    """
    log = steady_clock(stamped_rows(raw))
    values: dict[str, Any] = {name: _measured(getattr(log, name)) for name in (*log.signals, *log.carried)}
    log = _with_velocity(replace(log, **values))
    fields = {name: getattr(log, name) for name in (*log.signals, *log.carried)}
    return Recording(
        log.joint_names,
        log.t,
        source=log.source,
        first_sample=int(log.places[0]) if log.n_samples else 0,
        holes=any(np.isnan(value).any() for value in fields.values()),
        repairs=log.repairs,
        **fields,
    )


def _measured(values: Float[Array, "n_samples n_columns"]) -> Float[Array, "n_samples n_columns"]:
    """The values with nan for whatever no sensor measures: infinite, or absurdly large."""
    good = measurable(values)
    return values if good.all() else np.where(good, values, np.nan)


def _with_velocity(log: RawLog) -> RawLog:
    """The log without velocities where a joint has hardly any."""
    if log.dq is None or not log.n_samples:
        return log
    missing = np.isnan(log.dq).mean(axis=0)
    poor = np.flatnonzero(missing > MOSTLY)
    if not len(poor):
        return log
    j = int(poor[0])
    repair = LogRepair(
        "not-finite",
        f"{log.column('dq', log.joint_names[j])} is not a finite number in {100.0 * missing[j]:.3g} % of the rows"
        + (f", and {counted(len(poor) - 1, 'other velocity column')} likewise" if len(poor) > 1 else ""),
        "the robot does not measure this velocity",
        "velocities of all joints come from the positions",
        log.joint_names[j],
        share=float(missing[j]),
        harmless=False,
    )
    return replace(log, dq=None, repairs=(*log.repairs, repair))
