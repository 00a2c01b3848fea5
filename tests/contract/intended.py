"""What version 0.2 does otherwise than the record of 0.1, on purpose, and why; the record itself stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = [
    "m{0}",
    "mc{0}x",
    "mc{0}y",
    "mc{0}z",
    "J{0}xx",
    "J{0}xy",
    "J{0}yy",
    "J{0}xz",
    "J{0}yz",
    "J{0}zz",
    "fv{0}",
    "fc{0}",
    "fo{0}",
]
_PLANAR = {name.format(link): "number" for link in (1, 2) for name in _NAMES}
"""What is followed of the arm with two links: inertial parameters and friction."""

INTENDED: dict[str, dict[str, Any]] = {
    # Issue 15: one cell without a number is left out and named, it is no reason to refuse a log.
    "doctor nan": {"code": 0, "findings": [["not-finite", "info"]]},
    "bad input: NaN": {"code": 0},
    # Issue 15: rows that stand in a file twice are used once, and time goes on.
    "doctor backwards": {"code": 0, "findings": [["backward-stamps", "info"]]},
    "bad input: time goes back": {"code": 0},
    # Issue 16: σ counts drift of friction, memory of the noise and the scale of the torques.
    "identify ols": {"figures": {"parameters/0/std": {"value": 0.00396043081, "rtol": 0.02}}},
    # Issue 16: load, arm and drift are fitted together, rows whitened; the error on the torque is no longer the least.
    "payload": {"figures": {"train/relative_error_percent": {"value": 0.0521018559, "rtol": 0.01}}},
    # Issue 17: links are followed as their inertial parameters, held physically consistent together; no log-Cholesky.
    "track links": {
        "json": {
            "instant": {"t": "number", "nis": "number", "parameters": _PLANAR, "std": _PLANAR},
            "summary": {
                "robot": "string",
                "n_dof": "number",
                "estimator": "string",
                "n_absorbed": "number",
                "n_skipped": "number",
                "nis": {"mean": "number", "band": ["number"], "share_inside": "number"},
                "health": ["string"],
                "parameters": [{"label": "string", "value": "number", "std": "number", "unit": "string"}],
                "events": [],
                "files": {},
            },
        }
    },
}
"""Parts of a recorded run that changed, by its name."""


def amended(name: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded run with what changed on purpose."""
    changed = INTENDED.get(name, {})
    figures = {**recorded.get("figures", {}), **changed.get("figures", {})}
    return {**recorded, **changed, **({"figures": figures} if figures else {})}
