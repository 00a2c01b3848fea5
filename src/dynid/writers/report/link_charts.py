"""Pictures of links: mass, centre of mass and equivalent ellipsoid on the chain, in space and flat."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, Robot
from dynid.writers.report.drawing import Trace, chain_lines, packed, shown
from dynid.writers.report.page import Figure

__all__ = ["links_figure"]

_VIEWS = ((0, 2, "x / m", "z / m"), (1, 2, "y / m", "z / m"), (0, 1, "x / m", "y / m"))
"""Axes of the three flat pictures: from the front, from the side, from above."""
_SPHERE = (17, 9)
"""Points of an ellipsoid around and along its axis: round to the eye, small in the file."""
_THINNEST = 0.012
"""Half axes are drawn at least this long, relative to the reach of the robot: a consistent body may be flat."""


def links_figure(
    robot: Robot,
    links: Sequence[InertialParameters],
    q: Float[Array, " n_dof"],
    *,
    pose: str = "at the mean pose of the log",
) -> Figure:
    """The chain at positions `q` (rad or m) with the equivalent ellipsoid of every link, lengths in m."""
    poses = _poses(robot, q)
    ends = np.array([pose[:3, 3] for pose in poses])
    chain = chain_lines(robot, ends)
    named = [joint.link.name for joint in robot.joints]
    masses = [link.mass for link in links]
    texts = [f"{shown(name)}: {mass:.3g} kg" for name, mass in zip(named, masses, strict=True)]
    thin = _THINNEST * max(float(np.max(np.linalg.norm(ends, axis=1))), 1e-3)
    shapes = [_placed(link, pose, thin) for link, pose in zip(links, poses, strict=True)]
    centres = np.array([centre for centre, _ in shapes])
    nominal = _nominal_centres(robot, poses)
    traces: list[Trace] = [
        {
            "type": "scatter3d",
            "mode": "lines",
            "name": "chain",
            **_xyz(chain),
            "line": {"color": "@c7", "width": 7},
            "showlegend": False,
            "hoverinfo": "skip",
        },
        _markers("joints", ends, [shown(name) for name in robot.joint_names], "@c7", "circle"),
    ]
    for k, (text, (centre, half)) in enumerate(zip(texts, shapes, strict=True)):
        traces.append(_surface(text, centre, half, _colour(k)))
    traces.append(_markers("centres of mass", centres, texts, "@ink", "circle"))
    if len(nominal):
        traces.append(_markers("centres of mass in the robot file", nominal, [], "@c2", "cross"))
    layout: dict[str, object] = {
        "scene": {"camera": {"eye": {"x": 1.35, "y": -1.35, "z": 0.6}}, **_box(ends, shapes)},
        "margin": {"l": 0, "r": 0, "t": 8, "b": 0},
        "legend": {"itemsizing": "constant"},
    }
    caption = (
        f"Uniform ellipsoids with the mass, centre of mass and inertia of each link, the robot {pose}. "
        "Bodies that are flat or thin as a needle are drawn a little thicker. Drag to turn, scroll to zoom."
    )
    flat = _flat(chain, texts, shapes, centres, nominal)
    return Figure(tuple(traces), layout, caption, height=600, flat=flat)


def _box(
    origins: Float[Array, "n_dof 3"], shapes: Sequence[tuple[Float[Array, " 3"], Float[Array, "3 3"]]]
) -> dict[str, object]:
    """Axes in true proportion around everything drawn; a flat robot keeps some height, so that it can be turned."""
    reach = np.array([np.sqrt(np.sum(half**2, axis=1)) for _, half in shapes])
    centres = np.array([centre for centre, _ in shapes])
    points = np.vstack([np.zeros((1, 3)), origins, centres - reach, centres + reach])
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.maximum(high - low, max(0.25 * float(np.max(high - low)), 1e-3)) * 1.06
    middle = 0.5 * (low + high)
    scene: dict[str, object] = {
        "aspectmode": "manual",
        "aspectratio": {axis: 1.4 * span[k] / float(np.max(span)) for k, axis in enumerate("xyz")},
    }
    for k, axis in enumerate("xyz"):
        ends = [middle[k] - 0.5 * span[k], middle[k] + 0.5 * span[k]]
        scene[f"{axis}axis"] = {"title": {"text": f"{axis} / m"}, "range": ends, "nticks": 6}
    return scene


def _colour(k: int) -> str:
    return f"@c{(0, 1, 3, 4, 5, 2, 6)[k % 7]}"


def _poses(robot: Robot, q: Float[Array, " n_dof"]) -> list[Float[Array, "4 4"]]:
    poses: list[Float[Array, "4 4"]] = []
    for joint, position in zip(robot.joints, q, strict=True):
        T_base_parent = np.eye(4) if joint.parent == BASE else poses[joint.parent]
        poses.append(T_base_parent @ joint.T_parent_link(float(position)))
    return poses


def _nominal_centres(robot: Robot, poses: list[Float[Array, "4 4"]]) -> Float[Array, "n_known 3"]:
    known = [
        pose[:3, :3] @ joint.link.nominal.com + pose[:3, 3]
        for joint, pose in zip(robot.joints, poses, strict=True)
        if joint.link.nominal is not None and joint.link.nominal.mass > 0.0
    ]
    return np.array(known).reshape(-1, 3)


def _placed(
    link: InertialParameters, T_base_link: Float[Array, "4 4"], thinnest: float
) -> tuple[Float[Array, " 3"], Float[Array, "3 3"]]:
    """Centre (m) and half axes (columns, m) of a uniform ellipsoid: √(5 d/m) along the principal second moments d."""
    R, p = T_base_link[:3, :3], T_base_link[:3, 3]
    if not link.mass > 0.0:
        return p.copy(), np.zeros((3, 3))
    tensor = link.inertia_com
    second = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    moments, axes = np.linalg.eigh(second)
    half = np.maximum(np.sqrt(5.0 * np.maximum(moments, 0.0) / link.mass), thinnest)
    return R @ link.com + p, R @ axes * half


def _xyz(points: Float[Array, "n_points 3"]) -> Trace:
    return {name: packed(points[:, k]) for k, name in enumerate("xyz")}


def _markers(name: str, points: Float[Array, "n_points 3"], texts: Sequence[str], colour: str, symbol: str) -> Trace:
    return {
        "type": "scatter3d",
        "mode": "markers",
        "name": name,
        **_xyz(points),
        "text": list(texts),
        "hoverinfo": "text" if texts else "name",
        "marker": {"size": 4, "color": colour, "symbol": symbol},
    }


def _surface(text: str, centre: Float[Array, " 3"], half: Float[Array, "3 3"], colour: str) -> Trace:
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, _SPHERE[0]), np.linspace(0.0, np.pi, _SPHERE[1]))
    sphere = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1)
    points = sphere @ half.T + centre
    return {
        "type": "surface",
        **{name: packed(points[..., k]) for k, name in enumerate("xyz")},
        "colorscale": [[0, colour], [1, colour]],
        "showscale": False,
        "opacity": 0.6,
        "name": text,
        "text": text,
        "showlegend": True,
        "hoverinfo": "name",
        "contours": {axis: {"highlight": False} for axis in "xyz"},
        "lighting": {"ambient": 0.75, "diffuse": 0.5, "specular": 0.1},
    }


def _flat(
    chain: Float[Array, "n_points 3"],
    texts: Sequence[str],
    shapes: Sequence[tuple[Float[Array, " 3"], Float[Array, "3 3"]]],
    centres: Float[Array, "n_links 3"],
    nominal: Float[Array, "n_known 3"],
) -> Figure:
    """The same seen from the front, from the side and from above."""
    angle = np.linspace(0.0, 2.0 * np.pi, 49)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    traces: list[Trace] = []
    layout: dict[str, object] = {"grid": {"rows": 1, "columns": 3, "pattern": "independent"}, "legend": {"y": 1.05}}
    for view, (a, b, x, y) in enumerate(_VIEWS):
        number = "" if view == 0 else str(view + 1)
        place: Trace = {"type": "scatter", "xaxis": f"x{number}", "yaxis": f"y{number}"}
        layout[f"xaxis{number}"] = {"title": {"text": x}, "nticks": 5}
        layout[f"yaxis{number}"] = {"title": {"text": y}, "scaleanchor": f"x{number}", "nticks": 6}
        chain_line = {"x": packed(chain[:, a]), "y": packed(chain[:, b]), "line": {"color": "@c7", "width": 3}}
        traces.append({**place, "mode": "lines", "showlegend": False, "hoverinfo": "skip", **chain_line})
        for k, (text, (centre, half)) in enumerate(zip(texts, shapes, strict=True)):
            # The outline of an ellipsoid with half axes A, projected by P, is that of the matrix P A Aᵀ Pᵀ.
            seen = half[[a, b]] @ half[[a, b]].T
            moments, axes = np.linalg.eigh(seen)
            outline = (axes * np.sqrt(np.maximum(moments, 0.0))) @ circle
            drawn: Trace = {
                "mode": "lines",
                "name": text,
                "showlegend": view == 0,
                "hoverinfo": "name",
                "line": {"color": _colour(k), "width": 2},
            }
            points = {"x": packed(outline[0] + centre[a]), "y": packed(outline[1] + centre[b])}
            traces.append({**place, **drawn, **points})
        for name, where, colour, symbol in (
            ("centres of mass", centres, "@ink", "circle"),
            ("centres of mass in the robot file", nominal, "@c2", "cross-thin-open"),
        ):
            if len(where):
                points = {"x": packed(where[:, a]), "y": packed(where[:, b])}
                dots = {"mode": "markers", "name": name, "showlegend": view == 0}
                traces.append({**place, **dots, **points, "marker": {"size": 6, "color": colour, "symbol": symbol}})
    return Figure(tuple(traces), layout, "", height=460)
