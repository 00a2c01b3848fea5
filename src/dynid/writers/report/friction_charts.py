"""Friction over velocity, a panel a joint, with the torque it was fitted to behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.model import TorqueModel
from dynid.regression.friction.curve import friction_curve
from dynid.writers.report.drawing import Trace, effort_axis, line, packed, shown, thinned
from dynid.writers.report.page import Figure

__all__ = ["friction_figures"]

POINTS = 800
"""Points of the cloud of one joint."""
_CURVE_POINTS = 241
"""Points of a curve; odd, so that one is standstill."""


def friction_figures(
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    velocity: Float[Array, "n_rows n_dof"],
    residual: Float[Array, "n_rows n_dof"],
    others: Sequence[tuple[str, TorqueModel, Float[Array, " _"]]] = (),
    *,
    n_points: int = POINTS,
) -> tuple[Figure, ...]:
    """Friction torque (N·m or N) of every joint over velocity (rad/s or m/s), the data it was fitted to behind.

    Args:
        model: with the friction.
        theta: its parameters (SI).
        velocity: of the data.
        residual: torque of the data that the links do not explain.
        others: names, models and parameters to be drawn beside.
        n_points: of the cloud of each joint.
    """
    reach = np.maximum(np.max(np.abs(velocity), axis=0, initial=0.0), 1e-3)
    # Dense near standstill, where dry friction turns over.
    grid = np.linspace(-1.0, 1.0, _CURVE_POINTS)
    dq = np.sign(grid)[:, None] * np.abs(grid)[:, None] ** 2 * reach
    drawn = [("friction", friction_curve(model, theta, dq), "@c2")]
    for k, (name, other, values) in enumerate(others):
        drawn.append((shown(name), friction_curve(other, values, dq), f"@c{3 + k % 4}"))
    figures = []
    some = thinned(len(velocity), n_points)
    for j, joint in enumerate(model.robot.joints):
        turns = joint.type == "revolute"
        cloud: Trace = {
            "type": "scatter",
            "mode": "markers",
            "name": "measured − links",
            "x": packed(velocity[some, j]),
            "y": packed(residual[some, j]),
            "marker": {"size": 4, "color": "@c7", "opacity": 0.55},
            "hoverinfo": "skip",
        }
        curves: list[Trace] = [
            {**line(name, colour, width=2.4), "x": packed(dq[:, j]), "y": packed(tau[:, j])}
            for name, tau, colour in drawn
        ]
        layout: dict[str, object] = {
            "xaxis": {"title": {"text": f"velocity / {'rad/s' if turns else 'm/s'}"}},
            "yaxis": {"title": {"text": effort_axis("N·m" if turns else "N")}},
            "legend": {"itemsizing": "constant"},
        }
        figures.append(Figure((cloud, *curves), layout, "", 270, joint.name, wide=False))
    return tuple(figures)
