"""The page of a trajectory: the arm in motion, joint curves against their limits, the search, a strip of poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.excitation.curves.curve import States
from dynid.excitation.limits.clearance import Clearance
from dynid.excitation.limits.motion_limits import EffortLimit, MotionLimits
from dynid.excitation.limits.workspace import link_origins
from dynid.excitation.trajectory import Trajectory
from dynid.prose import counted
from dynid.writers.report.animation import moving_arm
from dynid.writers.report.drawing import Trace, chain_lines, curve, line, packed, panel, shown
from dynid.writers.report.page import Figure, Report, Section, Tile

__all__ = ["trajectory_report"]

_SAMPLES = 1500
"""Points of a curve: the width of a wide screen."""
_POSES = 9
"""Poses of the strip, which still can be told apart on paper."""
_PLAY = "Press play, or drag the slider; drag the arm to look at it from another side."
_DASHES = ("solid", "dash", "dot", "dashdot")
"""Tell curves apart once the eight colours are used up."""


def trajectory_report(
    trajectory: Trajectory,
    robot: Robot,
    limits: MotionLimits,
    *,
    history: Sequence[tuple[float, float]] = (),
    condition_number: float = np.nan,
    n_base: int = 0,
    clear: Clearance | None = None,
) -> Report:
    """The page as a value.

    Args:
        trajectory: to show.
        robot: that runs it.
        limits: against which curves are drawn, as fractions of them.
        history: seconds and best condition number (a ratio) of the search that found it.
        condition_number: reached, a ratio; nan where it is not known.
        n_base: number of base parameters it excites; 0 where it is not known.
        clear: what its links keep clear of, and the capsules they are drawn as; None where that is not known.
    """
    t = np.linspace(0.0, trajectory.duration, _SAMPLES)
    states = trajectory.at(t)
    shares = _shares(states, robot, limits)
    curves = tuple(_share_figure(title, t, values, trajectory.joint_names) for title, values in shares.items())
    largest = {title: float(np.nanmax(np.abs(values))) for title, values in shares.items()}
    tiles = [
        Tile("Robot", robot.name, f"{counted(robot.n_dof, 'joint')}"),
        Tile("Duration", f"{trajectory.duration:.2f} s", f"bandwidth {trajectory.bandwidth_hz:.3g} Hz"),
        *(Tile(title, f"{100.0 * value:.0f} %", "largest") for title, value in largest.items()),
    ]
    verdict = f"A motion of {trajectory.duration:.1f} s for {robot.name}"
    if np.isfinite(condition_number):
        tiles.insert(2, Tile("Condition number", f"{condition_number:.4g}", f"{n_base} base parameters"))
        verdict += f" that excites its {n_base} base parameters with condition number {condition_number:.4g}"
    verdict += f". It uses at most {100.0 * max(largest.values()):.0f} % of any limit of the joints."
    sections = [
        Section("At a glance", () if clear is None else (f"Clearance: {clear}.",), tiles=tuple(tiles)),
        Section("The arm in motion", (_PLAY,), figures=(moving_arm(robot, t, states.q, clear=clear),)),
        Section(
            "Curves against their limits",
            ("Every quantity as a share of its limit; 1 and −1 are the limits.",),
            figures=curves,
        ),
    ]
    if history:
        sections.append(Section("The search", (), figures=(_history_figure(history),)))
    sections.append(Section("Poses", (), figures=(_poses_figure(robot, trajectory),)))
    return Report(f"Trajectory for {robot.name}", verdict, tuple(sections), "Written by dynid.")


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


def _style(k: int) -> tuple[str, str]:
    """Eight colours, then the same dashed."""
    return f"@c{k % 8}", _DASHES[k // 8 % len(_DASHES)]


def _share_figure(
    title: str, t: Float[Array, " n_samples"], values: Float[Array, "n_samples n_dof"], names: Sequence[str]
) -> Figure:
    traces: list[Trace] = []
    for j, name in enumerate(names):
        colour, dash = _style(j)
        traces.append({**line(shown(name), colour, dash=dash), **curve(t, values[:, j])})
    ends = packed(t[[0, -1]])
    for bound in (-1.0, 1.0):
        edge = {"x": ends, "y": packed(np.array([bound, bound])), "showlegend": False, "hoverinfo": "skip"}
        traces.append({**line("limit", "@ink", width=1.0, dash="dash"), **edge})
    return panel(traces, "time / s", "share of the limit", title=title, height=320, link="time")


def _history_figure(history: Sequence[tuple[float, float]]) -> Figure:
    seconds, best = (np.array(values, dtype=float) for values in zip(*history, strict=True))
    step: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": "best so far",
        "x": packed(seconds),
        "y": packed(best),
        "line": {"shape": "hv", "color": "@c0", "width": 2},
    }
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": "time of the search / s"}},
        "yaxis": {"title": {"text": "condition number"}, "type": "log"},
    }
    return Figure((step,), layout, "Best condition number during the search", 300)


def _poses_figure(robot: Robot, trajectory: Trajectory) -> Figure:
    t = np.linspace(0.0, trajectory.duration, _POSES)
    origins = link_origins(robot, trajectory.at(t).q)
    reach = float(np.max(np.linalg.norm(origins, axis=2))) or 1.0
    traces: list[Trace] = []
    flat: list[Trace] = []
    for k in range(_POSES):
        lines = chain_lines(robot, origins[k]) + np.array([1.6 * reach * k, 0.0, 0.0])
        common = {
            "mode": "lines+markers",
            "name": f"{t[k]:.1f} s",
            "x": packed(lines[:, 0]),
            "showlegend": False,
            "hoverinfo": "name",
        }
        colour = f"@c{k % 8}"
        solid = {"y": packed(lines[:, 1]), "z": packed(lines[:, 2]), "marker": {"size": 2, "color": colour}}
        traces.append({"type": "scatter3d", **common, **solid, "line": {"width": 6, "color": colour}})
        side = {"y": packed(lines[:, 2]), "marker": {"size": 4, "color": colour}, "line": {"width": 2, "color": colour}}
        flat.append({"type": "scatter", **common, **side})
    axes = {name: {"title": {"text": f"{name[0]} / m"}} for name in ("xaxis", "yaxis", "zaxis")}
    camera = {"eye": {"x": 0.1, "y": -0.9, "z": 0.25}}
    scene: dict[str, object] = {
        "scene": {"aspectmode": "data", "camera": camera, **axes},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
    }
    sideways: dict[str, object] = {
        "xaxis": {"title": {"text": "x, one pose beside the other / m"}},
        "yaxis": {"title": {"text": "z / m"}, "scaleanchor": "x"},
    }
    caption = f"{_POSES} poses at even steps of time, left to right"
    return Figure(tuple(traces), scene, caption, 460, flat=Figure(tuple(flat), sideways, caption, 260))
