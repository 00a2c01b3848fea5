"""What every chart needs: curves of bounded size whose peaks survive, packed numbers, text that stays text."""

from __future__ import annotations

import base64
import html

import numpy as np

from dynid.arrays import Array, Float, Int
from dynid.chain.robot import BASE, Robot
from dynid.writers.report.page import Figure

__all__ = [
    "MAX_POINTS",
    "Trace",
    "chain_lines",
    "curve",
    "effort_axis",
    "kept",
    "line",
    "packed",
    "panel",
    "shown",
    "thinned",
]

Trace = dict[str, object]
"""One curve, cloud or surface as Plotly's JSON."""
MAX_POINTS = 2000
"""Points of one curve; longer logs are thinned for drawing only."""
_MAX_GAPS = 200
"""Gaps at which one curve is broken; of more, the longest."""
_MAX_NAME = 48
"""Letters of a name in a chart; longer ones are cut."""


def shown(text: str, *, length: int = _MAX_NAME) -> str:
    """Text as Plotly must be given it to show it letter by letter: it reads entities and a few tags."""
    short = text if len(text) <= length else text[: length - 1] + "…"
    return html.escape(short, quote=False)


def packed(values: Float[Array, "..."], *, exact: bool = False) -> dict[str, str]:
    """Numbers (any unit) as Plotly reads them fastest: base64 of 32-bit floats, 64-bit ones where `exact`."""
    array = np.ascontiguousarray(values, dtype="<f8")
    if not exact:
        with np.errstate(over="ignore"):
            array = array.astype("<f4")
    array = np.where(np.isfinite(array), array, np.asarray(np.nan, dtype=array.dtype))
    content = {"dtype": "f8" if exact else "f4", "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    if array.ndim > 1:
        content["shape"] = ", ".join(str(n) for n in array.shape)
    return content


def kept(values: Float[Array, " n_samples"], n_points: int) -> Int[Array, " n_kept"]:
    """Indices of at most `n_points` samples (any unit) that draw like all of them: extremes of even segments."""
    n_samples = len(values)
    if n_samples <= n_points:
        return np.arange(n_samples)
    size = -(-n_samples // max(1, n_points // 2))
    n_buckets = -(-n_samples // size)
    padded = np.full(n_buckets * size, values[-1])
    padded[:n_samples] = np.nan_to_num(values)
    buckets = padded.reshape(n_buckets, size)
    start = size * np.arange(n_buckets)
    chosen = np.concatenate([start + buckets.argmin(axis=1), start + buckets.argmax(axis=1)])
    return np.unique(np.minimum(chosen, n_samples - 1))


def thinned(n_samples: int, n_points: int) -> slice:
    """Every so many-th of `n_samples` points of a scatter, so that at most `n_points` are left."""
    return slice(None, None, max(1, -(-n_samples // max(1, n_points))))


def curve(
    t: Float[Array, " n_samples"], values: Float[Array, " n_samples"], n_points: int = MAX_POINTS
) -> dict[str, dict[str, str]]:
    """The x and y of a curve over time (s): its peaks survive, and it is broken where the log has gaps."""
    index = kept(values, n_points)
    x, y = t[index], values[index]
    steps = np.diff(t)
    if len(steps):
        gaps = np.flatnonzero(steps > 3.0 * np.median(steps)) + 1
        if len(gaps) > _MAX_GAPS:
            gaps = np.sort(gaps[np.argsort(-steps[gaps - 1], kind="stable")[:_MAX_GAPS]])
        place = np.searchsorted(index, gaps)
        x, y = np.insert(x, place, t[gaps]), np.insert(y, place, np.nan)
    # Stamps of a clock that started in 1970 need all digits.
    step = float(np.median(steps)) if len(steps) else 1.0
    exact = bool(np.max(np.abs(x), initial=0.0) * 1e-7 > 0.02 * max(step, 1e-12))
    return {"x": packed(x, exact=exact), "y": packed(y)}


def line(name: str, colour: str, *, width: float = 1.5, dash: str = "solid") -> Trace:
    """A curve of the palette without its numbers; `name` must have passed `shown`."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
    }


def panel(
    traces: list[Trace], x: str, y: str, *, title: str = "", caption: str = "", height: int = 260, link: str = ""
) -> Figure:
    """A small figure with one pair of axes whose titles, with units, are `x` and `y`; height in pixels (unit: px)."""
    layout: dict[str, object] = {
        "xaxis": {"title": {"text": shown(x)}},
        "yaxis": {"title": {"text": shown(y)}},
        "hovermode": "x unified",
    }
    return Figure(tuple(traces), layout, caption, height, title, wide=False, link=link)


def chain_lines(robot: Robot, origins: Float[Array, "n_dof 3"]) -> Float[Array, "n_points 3"]:
    """Lines (m) from the origin of every link's parent to its own, broken by nan."""
    rows = []
    for joint, origin in zip(robot.joints, origins, strict=True):
        rows += [np.zeros(3) if joint.parent == BASE else origins[joint.parent], origin, np.full(3, np.nan)]
    return np.array(rows)


def effort_axis(unit: str) -> str:
    """The label of an axis of what drives a joint, in `unit`: the torque of one that turns, the force of a slide."""
    return f"{'force' if unit == 'N' else 'torque'} / {unit}"
