"""Figures of the report: traces and layouts with units on every axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, Robot
from dynid.dynamics.regressor import TorqueModel
from dynid.regression.friction_fit import friction_curve
from dynid.validation.validate import Contributions, Validation
from dynid.writers.report import Figure

__all__ = [
    "correlation_figure",
    "friction_data_figure",
    "friction_figure",
    "links_figure",
    "parts_figure",
    "torque_figure",
]

MAX_POINTS = 4000
"""Points of a curve; longer logs are thinned for drawing only."""
COLOURS = ("#1463a5", "#d1495b", "#2a9d6f", "#e09f3e", "#7b5ea7", "#3a86b7", "#8d6e63")
Trace = dict[str, object]


def _thin(values: Float[Array, " n"], step: int) -> list[float]:
    return [float(f"{value:.6g}") for value in values[::step]]


def torque_figure(validation: Validation) -> Figure:
    """Measured and predicted torque (N·m or N) of every joint over time, with the residual."""
    n_dof = len(validation.joint_names)
    step = max(1, len(validation.t) // MAX_POINTS)
    t = _thin(validation.t, step)
    traces: list[Trace] = []
    layout: dict[str, object] = {
        "grid": {"rows": n_dof, "columns": 1, "pattern": "coupled", "roworder": "top to bottom"},
        "xaxis": {"title": {"text": "time / s"}, "anchor": f"y{n_dof}" if n_dof > 1 else "y"},
        "legend": {"orientation": "h", "y": 1.03},
        "hovermode": "x unified",
    }
    curves = (
        ("measured", validation.measured, COLOURS[0], 1.4),
        ("predicted", validation.predicted, COLOURS[3], 1.4),
        ("difference", validation.residual, COLOURS[1], 1.0),
    )
    for j, name in enumerate(validation.joint_names):
        axis = "y" if j == 0 else f"y{j + 1}"
        layout["yaxis" if j == 0 else f"yaxis{j + 1}"] = {"title": {"text": f"{name}<br>N·m"}}
        for label, values, colour, width in curves:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": label,
                    "legendgroup": label,
                    "showlegend": j == 0,
                    "x": t,
                    "y": _thin(values[:, j], step),
                    "yaxis": axis,
                    "line": {"color": colour, "width": width},
                }
            )
    return Figure(tuple(traces), layout, f"Torque in {validation.log}", height=150 * n_dof + 90)


def parts_figure(joint_names: Sequence[str], parts: Contributions) -> Figure:
    """RMS torque (N·m or N) that each effect needs at each joint."""
    effects = (
        ("inertia", parts.inertia),
        ("centrifugal and Coriolis", parts.coriolis),
        ("gravity", parts.gravity),
        ("friction and drives", parts.joint_terms),
    )
    traces: list[Trace] = [
        {
            "type": "bar",
            "name": label,
            "x": list(joint_names),
            "y": np.sqrt(np.mean(values**2, axis=0)).tolist(),
            "marker": {"color": COLOURS[k]},
        }
        for k, (label, values) in enumerate(effects)
    ]
    layout: dict[str, object] = {"barmode": "group", "yaxis": {"title": {"text": "RMS torque / N·m"}}}
    return Figure(tuple(traces), layout, "What the torque is made of", height=360)


def friction_figure(model: TorqueModel, theta: Float[Array, " n_params"], velocity: Float[Array, " n_dof"]) -> Figure:
    """Friction torque (N·m or N) of every joint over its velocity, up to `velocity` (rad/s or m/s)."""
    dq = np.linspace(-1.0, 1.0, 201)[:, None] * np.maximum(velocity, 1e-3)
    tau = friction_curve(model, theta, dq)
    traces: list[Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": _thin(dq[:, j], 1),
            "y": _thin(tau[:, j], 1),
            "line": {"color": COLOURS[j % len(COLOURS)]},
        }
        for j, name in enumerate(model.robot.joint_names)
    ]
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "velocity / rad/s"}},
        "yaxis": {"title": {"text": "friction torque / N·m"}},
    }
    return Figure(tuple(traces), layout, "Friction as identified", height=380)


def friction_data_figure(
    model: TorqueModel,
    theta: Float[Array, " n_params"],
    velocity: Float[Array, "n_rows n_dof"],
    residual: Float[Array, "n_rows n_dof"],
    other: tuple[TorqueModel, Float[Array, " n_other"]] | None = None,
) -> Figure:
    """Friction torque (N·m or N) over velocity (rad/s or m/s), a panel a joint, with the data it was fitted to behind.

    Args:
        model: with the friction.
        theta: its parameters (SI).
        velocity: of the data.
        residual: torque of the data that the links do not explain.
        other: another model and its parameters, to be drawn beside.
    """
    n_dof = model.n_dof
    step = max(1, len(velocity) // (MAX_POINTS // 2))
    dq = np.linspace(-1.0, 1.0, 301)[:, None] * np.maximum(np.max(np.abs(velocity), axis=0), 1e-3)
    curves = [("friction", friction_curve(model, theta, dq), COLOURS[1])]
    if other is not None:
        curves.append(("other model", friction_curve(other[0], other[1], dq), COLOURS[2]))
    columns = 2
    layout: dict[str, object] = {
        "grid": {"rows": -(-n_dof // columns), "columns": columns, "pattern": "independent"},
        "legend": {"orientation": "h", "y": 1.04},
    }
    traces: list[Trace] = []
    for j, name in enumerate(model.robot.joint_names):
        number = "" if j == 0 else str(j + 1)
        layout[f"xaxis{number}"] = {"title": {"text": f"{name} / rad/s"}}
        layout[f"yaxis{number}"] = {"title": {"text": "N·m"}}
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": j == 0}
        points = {"type": "scatter", "mode": "markers", "name": "data", "legendgroup": "data"}
        marker = {"marker": {"size": 3, "color": COLOURS[0], "opacity": 0.35}}
        data = {"x": _thin(velocity[:, j], step), "y": _thin(residual[:, j], step)}
        traces.append({**points, **marker, **data, **axes})
        for label, tau, colour in curves:
            line = {"type": "scatter", "mode": "lines", "name": label, "legendgroup": label}
            drawn = {"x": _thin(dq[:, j], 1), "y": _thin(tau[:, j], 1), "line": {"color": colour, "width": 2}}
            traces.append({**line, **drawn, **axes})
    caption = "Torque that the links do not explain, over velocity, and the friction fitted to it"
    return Figure(tuple(traces), layout, caption, height=260 * -(-n_dof // columns) + 60)


def correlation_figure(labels: Sequence[str], correlation: Float[Array, "n_base n_base"]) -> Figure:
    """Correlation of the coefficients, dimensionless."""
    values = np.clip(np.nan_to_num(correlation, posinf=0.0, neginf=0.0), -1.0, 1.0)
    trace: Trace = {
        "type": "heatmap",
        "x": list(labels),
        "y": list(labels),
        "z": np.round(values, 3).tolist(),
        "zmin": -1,
        "zmax": 1,
        "colorscale": "RdBu",
        "colorbar": {"title": {"text": "correlation"}},
    }
    layout: dict[str, object] = {"yaxis": {"autorange": "reversed"}}
    return Figure((trace,), layout, "Correlation of the coefficients", height=560)


def links_figure(robot: Robot, links: Sequence[InertialParameters]) -> Figure:
    """The chain at zero position with the equivalent inertia ellipsoid of every link, lengths in m."""
    poses: list[Float[Array, "4 4"]] = []
    for joint in robot.joints:
        T_base_parent = np.eye(4) if joint.parent == BASE else poses[joint.parent]
        poses.append(T_base_parent @ joint.T_parent_link(0.0))
    traces: list[Trace] = []
    for j, joint in enumerate(robot.joints):
        start = np.zeros(3) if joint.parent == BASE else poses[joint.parent][:3, 3]
        ends = np.array([start, poses[j][:3, 3]])
        traces.append(
            {
                "type": "scatter3d",
                "mode": "lines+markers",
                "x": ends[:, 0].tolist(),
                "y": ends[:, 1].tolist(),
                "z": ends[:, 2].tolist(),
                "line": {"color": "#8a97a5", "width": 6},
                "marker": {"size": 3, "color": "#8a97a5"},
                "showlegend": False,
                "hoverinfo": "skip",
            }
        )
    for j, (joint, link) in enumerate(zip(robot.joints, links, strict=True)):
        traces.append(_ellipsoid(joint.link.name, link, poses[j], COLOURS[j % len(COLOURS)]))
    axes = {name: {"title": {"text": f"{name[0]} / m"}} for name in ("xaxis", "yaxis", "zaxis")}
    layout: dict[str, object] = {"scene": {"aspectmode": "data", **axes}, "legend": {"orientation": "h"}}
    caption = "Uniform ellipsoids with the mass, centre of mass and inertia of each link, at zero position"
    return Figure(tuple(traces), layout, caption, height=560)


def _ellipsoid(name: str, link: InertialParameters, T_base_link: Float[Array, "4 4"], colour: str) -> Trace:
    """A solid ellipsoid of half lengths √(5 d/m) along the principal axes, d the second moments."""
    tensor = link.inertia_com
    second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    moments, axes = np.linalg.eigh(second)
    half = np.sqrt(5.0 * np.maximum(moments, 0.0) / max(link.mass, 1e-9))
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 17), np.linspace(0.0, np.pi, 9))
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1)
    points = (sphere * half) @ axes.T + link.com
    placed = points @ T_base_link[:3, :3].T + T_base_link[:3, 3]
    return {
        "type": "surface",
        "x": np.round(placed[..., 0], 4).tolist(),
        "y": np.round(placed[..., 1], 4).tolist(),
        "z": np.round(placed[..., 2], 4).tolist(),
        "colorscale": [[0, colour], [1, colour]],
        "showscale": False,
        "opacity": 0.55,
        "name": f"{name}: {link.mass:.3g} kg",
        "hovertemplate": f"{name}: {link.mass:.3g} kg<extra></extra>".replace("&", "and"),
    }
