"""A picture of a trajectory: joint curves against their limits, the search over time, a strip of poses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from plotly.colors import qualitative
from plotly.subplots import make_subplots

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.disk import write_whole
from dynid.excitation.curves import States
from dynid.excitation.limits import EffortLimit, MotionLimits
from dynid.excitation.trajectory import Trajectory
from dynid.excitation.workspace import link_origins

__all__ = ["write_picture"]

_SAMPLES = 1500
_POSES = 9
_FULL = 1.0


def write_picture(
    path: Path,
    trajectory: Trajectory,
    robot: Robot,
    limits: MotionLimits,
    *,
    history: Sequence[tuple[float, float]] = (),
    title: str = "",
) -> None:
    """Write one HTML page that opens offline.

    Args:
        path: of the page.
        trajectory: to show.
        robot: that runs it.
        limits: against which curves are drawn, as fractions of them.
        history: seconds and best condition number (a ratio) of the search that found it.
        title: of the page.

    Raises:
        OutputError: the file cannot be written.
    """
    t = np.linspace(0.0, trajectory.duration, _SAMPLES)
    states = trajectory.at(t)
    shares = _shares(states, robot, limits)
    figure = make_subplots(
        rows=len(shares) + 2,
        cols=1,
        specs=[[{"type": "xy"}]] * (len(shares) + 1) + [[{"type": "scene"}]],
        subplot_titles=[*shares, "condition number during the search", "poses, left to right in time"],
        row_heights=[1.0] * len(shares) + [0.8, 2.2],
        vertical_spacing=0.035,
    )
    for row, values in enumerate(shares.values(), 1):
        _add_curves(figure, row, t, values, trajectory.joint_names)
    _add_history(figure, len(shares) + 1, history)
    _add_poses(figure, len(shares) + 2, robot, trajectory)
    heading = title or f"{robot.name}: {trajectory.duration:.1f} s"
    figure.update_layout(title=heading, template="plotly_white", height=330 * (len(shares) + 3), hovermode="x")
    write_whole(path, figure.to_html(include_plotlyjs=True, full_html=True, div_id="trajectory"))


def _shares(states: States, robot: Robot, limits: MotionLimits) -> dict[str, Float[Array, "n_samples n_dof"]]:
    """Every quantity as a fraction of its limit; quantities without any limit are left out."""
    half = 0.5 * (limits.upper - limits.lower)
    shares = {"position, of the range": (states.q - limits.middle) / half}
    for name, values, cap in (
        ("velocity, of the limit", states.dq, limits.velocity),
        ("acceleration, of the limit", states.ddq, limits.acceleration),
        ("jerk, of the limit", states.dddq, limits.jerk),
    ):
        if np.any(np.isfinite(cap)):
            shares[name] = values / cap
    if np.any(np.isfinite(limits.effort)) and robot.has_nominal:
        torque = EffortLimit(robot, limits.effort).torque(states)
        shares["nominal effort, of the limit less its margin"] = torque / limits.effort
    return shares


def _add_curves(
    figure: go.Figure,
    row: int,
    t: Float[Array, " n_samples"],
    values: Float[Array, "n_samples n_dof"],
    names: Sequence[str],
) -> None:
    palette = qualitative.D3
    for j, name in enumerate(names):
        figure.add_trace(
            go.Scatter(
                x=t,
                y=values[:, j],
                name=name,
                legendgroup=name,
                showlegend=row == 1,
                line={"color": palette[j % len(palette)], "width": 1.5},
            ),
            row=row,
            col=1,
        )
    for bound in (-_FULL, _FULL):
        figure.add_hline(y=bound, line={"color": "black", "dash": "dash", "width": 1}, row=row, col=1)
    figure.update_xaxes(title_text="s", row=row, col=1)


def _add_history(figure: go.Figure, row: int, history: Sequence[tuple[float, float]]) -> None:
    seconds, best = zip(*history, strict=True) if history else ((), ())
    line = {"shape": "hv", "color": "black"}
    figure.add_trace(go.Scatter(x=seconds, y=best, line=line, showlegend=False), row=row, col=1)
    figure.update_yaxes(type="log", row=row, col=1)
    figure.update_xaxes(title_text="s", row=row, col=1)


def _add_poses(figure: go.Figure, row: int, robot: Robot, trajectory: Trajectory) -> None:
    t = np.linspace(0.0, trajectory.duration, _POSES)
    origins = link_origins(robot, trajectory.at(t).q)
    reach = float(np.max(np.linalg.norm(origins, axis=2))) or 1.0
    for k in range(_POSES):
        lines = _skeleton(robot, origins[k]) + np.array([1.6 * reach * k, 0.0, 0.0])
        figure.add_trace(
            go.Scatter3d(
                x=lines[:, 0],
                y=lines[:, 1],
                z=lines[:, 2],
                mode="lines+markers",
                marker={"size": 2},
                line={"width": 6},
                name=f"{t[k]:.1f} s",
                showlegend=False,
            ),
            row=row,
            col=1,
        )
    figure.update_scenes(aspectmode="data")


def _skeleton(robot: Robot, origins: Float[Array, "n_dof 3"]) -> Float[Array, "n_points 3"]:
    """From the base to every tip, broken by nan where a new branch starts."""
    tips = [i for i in range(robot.n_dof) if i not in robot.parents]
    gap = np.full((1, 3), np.nan)
    branches = [np.vstack([np.zeros((1, 3)), origins[list(robot.path_to[tip])], gap]) for tip in tips]
    return np.vstack(branches)
