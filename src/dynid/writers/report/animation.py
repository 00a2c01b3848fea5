"""The arm through a motion, to be played and scrubbed: its links as capsules, floor and boxes with them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from dynid.arrays import Array, Float, Int, freeze_arrays
from dynid.chain.robot import BASE, Robot
from dynid.dynamics.kernels.chains import chain_arrays
from dynid.excitation.limits.capsules import Capsules, capsules_of
from dynid.excitation.limits.clearance import Clearance
from dynid.excitation.limits.workspace import KeepOut, link_frames
from dynid.writers.report.drawing import Trace, packed
from dynid.writers.report.page import Figure

__all__ = ["moving_arm"]

MAX_FRAMES, MIN_FRAMES = 120, 24
"""Frames of an animation, at most and at least."""
FRAMES_A_SECOND = 10.0
"""Frames a second of the motion, where that is not more than `MAX_FRAMES`."""
MAX_BYTES = 600_000
"""Of the coordinates of all frames: an arm of seven links takes two thirds of it."""
_FINE, _COARSE = (8, 2), (6, 1)
"""Sides of a capsule and rings of its half balls, where few capsules are drawn and where many are."""
_CAMERA = {"eye": {"x": 1.45, "y": -1.45, "z": 0.75}, "center": {"x": 0.0, "y": 0.0, "z": -0.12}}
_BEYOND = 1.5
"""How much of a keep-out box is shown, over the reach of the arm."""
_FINE_UP_TO = 14
"""Capsules that are drawn finely."""
_TRIANGLES = (
    *((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1)),
    *((2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
)
"""Faces of a box whose corners are numbered in binary."""


@dataclass(frozen=True, eq=False)
class _Skin:
    """The surface of some capsules as triangles that move with their links."""

    links: Int[Array, " n_vertices"]
    """Joint that moves each vertex, or `BASE`."""
    vertices: Float[Array, "n_vertices 3"]
    """In the frame of its link, m."""
    faces: Int[Array, "n_faces 3"]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def at(
        self, R: Float[Array, "n_frames n_bodies 3 3"], p: Float[Array, "n_frames n_bodies 3"]
    ) -> Float[Array, "n_frames n_vertices 3"]:
        """Vertices in the base frame, m."""
        body = self.links + 1
        return np.einsum("fvij,vj->fvi", R[:, body], self.vertices) + p[:, body]


def moving_arm(
    robot: Robot,
    t: Float[Array, " n_samples"],
    q: Float[Array, "n_samples n_dof"],
    *,
    clear: Clearance | None = None,
    caption: str = "",
) -> Figure:
    """A figure that plays the arm through positions `q` (rad or m) at times `t` (s).

    Args:
        robot: that moves.
        t: increasing.
        q: positions at these times.
        clear: the capsules it is drawn as, with floor and boxes; from link lengths, and none, when None.
        caption: below the figure.
    """
    body = capsules_of(robot, shapes=False) if clear is None else clear.capsules
    skins = _skins(body)
    n_vertices = sum(len(skin.vertices) for skin in skins.values())
    seconds = float(t[-1] - t[0])
    wanted = int(np.clip(FRAMES_A_SECOND * seconds, MIN_FRAMES, MAX_FRAMES))
    n_frames = int(np.clip(MAX_BYTES // (12 * max(n_vertices, 1)), 2, wanted))
    at = np.linspace(float(t[0]), float(t[-1]), n_frames)
    poses = np.column_stack([np.interp(at, t, column) for column in q.T])
    R, p = _frames(robot, poses)
    surfaces = {colour: skin.at(R, p) for colour, skin in skins.items()}
    around = _surroundings(clear, surfaces)
    traces: list[Trace] = [*around]
    for colour, skin in skins.items():
        faces = {name: skin.faces[:, k].tolist() for k, name in enumerate("ijk")}
        look = {
            "color": colour,
            "flatshading": False,
            "hoverinfo": "skip",
            "lighting": {"ambient": 0.75, "diffuse": 0.6},
        }
        traces.append({"type": "mesh3d", **_xyz(surfaces[colour][0]), **faces, **look})
    moving = list(range(len(around), len(traces)))
    frames: tuple[Trace, ...] = tuple(
        {"name": f"{k}", "traces": moving, "data": [_xyz(surface[k]) for surface in surfaces.values()]}
        for k in range(n_frames)
    )
    layout = _controls(at - at[0], n_frames) | {
        "scene": _scene(surfaces, clear),
        "margin": {"l": 0, "r": 0, "t": 0, "b": 28},
    }
    flat = _side_view(robot, body, R, p, at, clear, caption)
    return Figure(tuple(traces), layout, caption, 560, flat=flat, frames=frames)


def _frames(
    robot: Robot, q: Float[Array, "n_frames n_dof"]
) -> tuple[Float[Array, "n_frames n_bodies 3 3"], Float[Array, "n_frames n_bodies 3"]]:
    """Rotations and origins (m) of the base and every link."""
    R, p = link_frames(chain_arrays(robot), q)
    still = np.broadcast_to(np.eye(3), (len(q), 1, 3, 3))
    return np.concatenate([still, np.moveaxis(R, 0, 1)], axis=1), np.concatenate(
        [np.zeros((len(q), 1, 3)), np.moveaxis(p, 0, 1)], axis=1
    )


def _skins(body: Capsules) -> dict[str, _Skin]:
    """The surfaces of all capsules by colour: the base grey, links in turn."""
    n_sides, n_rings = _FINE if len(body.radius) <= _FINE_UP_TO else _COARSE
    parts: dict[str, list[tuple[int, Array, Array]]] = {}
    for link, (start, stop), radius in zip(body.link.tolist(), body.ends, body.radius.tolist(), strict=True):
        colour = "@c7" if link == BASE else f"@c{link % 7}"
        parts.setdefault(colour, []).append((link, *_capsule_mesh(start, stop, radius, n_sides, n_rings)))
    skins = {}
    for colour, found in parts.items():
        begins = np.cumsum([0, *(len(vertices) for _, vertices, _ in found)])
        skins[colour] = _Skin(
            np.concatenate([np.full(len(vertices), link) for link, vertices, _ in found]),
            np.concatenate([vertices for _, vertices, _ in found]),
            np.concatenate([faces + begin for (_, _, faces), begin in zip(found, begins, strict=False)]),
        )
    return skins


def _capsule_mesh(
    start: Float[Array, " 3"], stop: Float[Array, " 3"], radius: float, n_sides: int, n_rings: int
) -> tuple[Float[Array, "n_vertices 3"], Int[Array, "n_faces 3"]]:
    """Vertices (m) and faces of a capsule: a pole, rings of points from one end to the other, and a pole."""
    way = stop - start
    length = float(np.linalg.norm(way))
    axis = way / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    side = np.linalg.svd(axis[None])[2][1:]
    turn = 2.0 * np.pi * np.arange(n_sides) / n_sides
    circle = np.cos(turn)[:, None] * side[0] + np.sin(turn)[:, None] * side[1]
    rise = 0.5 * np.pi * np.arange(1, n_rings + 1) / n_rings
    rings = [start - radius * np.cos(a) * axis + radius * np.sin(a) * circle for a in rise]
    rings += [stop + radius * np.cos(a) * axis + radius * np.sin(a) * circle for a in rise[::-1]]
    vertices = np.vstack([start - radius * axis, *rings, stop + radius * axis])
    faces = []
    top = len(vertices) - 1
    for k in range(n_sides):
        after = (k + 1) % n_sides
        faces += [(0, 1 + after, 1 + k), (top, top - n_sides + k, top - n_sides + after)]
        for ring in range(len(rings) - 1):
            one, two = 1 + ring * n_sides, 1 + (ring + 1) * n_sides
            faces += [(one + k, one + after, two + after), (one + k, two + after, two + k)]
    return vertices, np.array(faces)


def _xyz(points: Float[Array, "n_points 3"]) -> dict[str, dict[str, str]]:
    return {name: packed(points[:, k]) for k, name in enumerate("xyz")}


def _bounds(surfaces: dict[str, Float[Array, "n_frames n_vertices 3"]]) -> Float[Array, "2 3"]:
    """Smallest and largest coordinates of all frames, m."""
    low = np.min([surface.min(axis=(0, 1)) for surface in surfaces.values()], axis=0)
    high = np.max([surface.max(axis=(0, 1)) for surface in surfaces.values()], axis=0)
    return np.array([low, high])


def _surroundings(clear: Clearance | None, surfaces: dict[str, Float[Array, "n_frames n_vertices 3"]]) -> list[Trace]:
    """Floor and keep-out boxes."""
    if clear is None:
        return []
    found: list[Trace] = []
    around = clear.surroundings
    if around.floor is not None and "above the floor" in clear.kept:
        low, high = _bounds(surfaces)
        corners = np.array([[x, y, around.floor] for x in (low[0], high[0]) for y in (low[1], high[1])])
        faces = {"i": [0, 3], "j": [1, 1], "k": [2, 2]}
        look = {"color": "@soft", "opacity": 0.25, "hoverinfo": "skip", "name": "floor"}
        found.append({"type": "mesh3d", **_xyz(corners), **faces, **look})
    return found + [_box(box) for box in around.keep_out]


def _box(box: KeepOut) -> Trace:
    corners = np.array(list(itertools.product(*zip(box.lower, box.upper, strict=True))))
    faces = {name: [face[k] for face in _TRIANGLES] for k, name in enumerate("ijk")}
    look = {"color": "@c2", "opacity": 0.25, "hoverinfo": "name", "name": "keep-out box", "flatshading": True}
    return {"type": "mesh3d", **_xyz(corners), **faces, **look}


def _scene(surfaces: dict[str, Float[Array, "n_frames n_vertices 3"]], clear: Clearance | None) -> dict[str, object]:
    """Axes that hold every frame, so that nothing jumps while it plays."""
    low, high = _bounds(surfaces)
    if clear is not None and clear.surroundings.floor is not None and "above the floor" in clear.kept:
        low[2] = min(low[2], clear.surroundings.floor)
    reach = _BEYOND * float(np.max(np.abs([low, high])))
    for box in () if clear is None else clear.surroundings.keep_out:
        low, high = np.minimum(low, np.maximum(box.lower, -reach)), np.maximum(high, np.minimum(box.upper, reach))
    axes = {
        f"{name}axis": {"title": {"text": f"{name} / m"}, "range": [float(low[k]), float(high[k])]}
        for k, name in enumerate("xyz")
    }
    return {"aspectmode": "data", "camera": _CAMERA, **axes}


def _controls(at: Float[Array, " n_frames"], n_frames: int, *, y: float = 0.0) -> dict[str, object]:
    """Buttons and a slider that play the frames in the time (s) that the robot takes; `y` is a share of the height."""
    step = 1e3 * float(at[-1]) / max(n_frames - 1, 1)
    still = {"duration": 0}
    play = {"frame": {"duration": step, "redraw": True}, "fromcurrent": True, "transition": still}
    pause = {"mode": "immediate", "frame": {"duration": 0, "redraw": False}, "transition": still}
    jump = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": still}
    buttons = [
        {"label": "▶ play", "method": "animate", "args": [None, play]},
        {"label": "❚❚ pause", "method": "animate", "args": [[None], pause]},
    ]
    menu = {"type": "buttons", "direction": "left", "x": 0.0, "xanchor": "left", "y": y, "yanchor": "top"}
    steps = [{"label": f"{s:.1f}", "method": "animate", "args": [[f"{k}"], jump]} for k, s in enumerate(at.tolist())]
    shown = {"suffix": " s", "xanchor": "right", "font": {"size": 13, "color": "@ink"}}
    slider = {"x": 0.22, "len": 0.76, "y": y, "yanchor": "top", "steps": steps, "currentvalue": shown}
    slider |= {"ticklen": 4, "minorticklen": 0, "font": {"size": 11, "color": "@soft"}}
    look = {"bgcolor": "@paper", "bordercolor": "@soft", "pad": {"t": 8, "l": 8}}
    return {
        "updatemenus": [{**menu, **look, "buttons": buttons, "showactive": False}],
        "sliders": [{**slider, "pad": {"t": 8}}],
    }


def _side_view(
    robot: Robot,
    body: Capsules,
    R: Float[Array, "n_frames n_bodies 3 3"],
    p: Float[Array, "n_frames n_bodies 3"],
    at: Float[Array, " n_frames"],
    clear: Clearance | None,
    caption: str,
) -> Figure:
    """The same seen along y, as lines: for paper, and where the browser has no WebGL."""
    index = body.link + 1
    ends = np.einsum("fcij,cej->fcei", R[:, index], body.ends) + p[:, index][:, :, None]
    gaps = np.full((len(at), len(index), 1, 3), np.nan)
    lines = np.concatenate([ends, gaps], axis=2).reshape(len(at), -1, 3)

    def points(k: int) -> dict[str, dict[str, str]]:
        return {"x": packed(lines[k, :, 0]), "y": packed(lines[k, :, 2])}

    look = {"type": "scatter", "mode": "lines+markers", "showlegend": False, "hoverinfo": "skip"}
    style = {"line": {"color": "@c0", "width": 6}, "marker": {"color": "@c1", "size": 5}}
    traces: list[Trace] = [{**look, **points(0), **style}]
    low, high = np.nanmin(lines, axis=(0, 1)), np.nanmax(lines, axis=(0, 1))
    edge = float(body.radius.max())
    if clear is not None and clear.surroundings.floor is not None and "above the floor" in clear.kept:
        floor = np.full(2, clear.surroundings.floor)
        ground = {"x": packed(np.array([low[0], high[0]])), "y": packed(floor)}
        traces.append({**look, "mode": "lines", **ground, "line": {"color": "@soft", "width": 2}})
        low[2] = min(low[2], clear.surroundings.floor)
    axes: dict[str, object] = {
        "xaxis": {"title": {"text": "x / m"}, "range": [float(low[0] - edge), float(high[0] + edge)]},
        "yaxis": {
            "title": {"text": "z / m"},
            "range": [float(low[2] - edge), float(high[2] + edge)],
            "scaleanchor": "x",
        },
        "margin": {"l": 58, "r": 14, "t": 8, "b": 110},
    }
    frames: tuple[Trace, ...] = tuple({"name": f"{k}", "traces": [0], "data": [points(k)]} for k in range(len(at)))
    return Figure(tuple(traces), axes | _controls(at - at[0], len(at), y=-0.22), caption, 420, frames=frames)
