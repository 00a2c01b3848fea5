"""Whether an MJCF file moves in MuJoCo as its model does, and where its meshes are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from dynid.chain.formats.edits import Edit, InsertChild, NewElement, SetAttribute
from dynid.chain.formats.xml import Markup
from dynid.errors import ConfigError, LossyExport, ParameterError
from dynid.recording.conditioning import Samples
from dynid.regression.model import IdentifiedModel
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.mujoco_arm import MujocoArm
from dynid.validation.rollout import Rollable, Windows, open_loop, window_starts
from dynid.writers.exported import ExportOptions

__all__ = ["asset_edits", "compilable", "require_likeness"]

HORIZON = 0.5
"""Length of the rollouts that are compared, s."""
N_WINDOWS = 32
"""Rollouts that are compared, spread over the log."""
FAR = 1.3
"""Error of a file over that of its model beyond which it is far worse, dimensionless."""
FOLDERS = ("assetdir", "meshdir", "texturedir")
"""Attributes of an MJCF compiler that name folders."""


def require_likeness(
    model: IdentifiedModel, data: bytes, samples: Samples | None, path: Path, options: ExportOptions
) -> tuple[str, ...]:
    """How a file simulates in MuJoCo beside its model, over the training log; nothing where that cannot be asked.

    Raises:
        LossyExport: far worse, without `force`.
    """
    if samples is None or options.log is None:
        return ()
    fastest = max(float(np.max(np.abs(segment.motion.dq))) for segment in samples.segments)
    try:
        theirs = MujocoArm.of(compilable(data, path).decode(), model.robot)
        mine = SimulatedArm.of(model.model, model.parameters, fastest)
    except (ConfigError, ParameterError, UnicodeDecodeError):
        return ()
    if theirs.compiled.nv != model.model.n_dof:
        return ("more joints move in the file than in the model: how it simulates was not compared",)
    own, file = _error(mine, model, options.log), _error(theirs, model, samples)
    told = f"after 0.5 s open loop over the training log it is off by {1e3 * file:.3g} mrad (or mm) in MuJoCo, "
    told += f"its model by {1e3 * own:.3g}"
    if file <= FAR * own:
        return (told,)
    if not options.force:
        raise LossyExport(
            f"{path}: not written, {told}; fit what MuJoCo applies, `friction` viscous+mujoco with `rotor_inertia`, or "
            "write it all the same with `force`"
        )
    return (f"simulates far worse than its model: {told}",)


def _error(arm: Rollable, model: IdentifiedModel, samples: Samples) -> float:
    """RMS error (rad or m) over windows, all joints together."""
    windows = window_starts(samples, HORIZON)
    chosen = np.unique(np.linspace(0, len(windows.starts) - 1, N_WINDOWS).round().astype(int))
    few = Windows(tuple(windows.starts[k] for k in chosen), windows.n_samples)
    found = open_loop(arm, model.model, samples, few, diverging=False)
    return float(np.sqrt(np.mean(found.rms(float(found.t[-1])) ** 2)))


def asset_edits(document: Markup, source: Path, path: Path) -> tuple[list[Edit], list[str]]:
    """What makes a copy of an MJCF file in another folder find its meshes and textures, and where they are."""
    here, there = source.resolve().parent, path.resolve().parent
    files = [element for element in document.root.iter("mesh", "texture", "hfield", "skin") if element.get("file")]
    if here == there or not files:
        return [], []
    compiler = document.root.find("compiler")
    given = {name: (compiler.get(name) if compiler is not None else None) for name in FOLDERS}
    both = given["assetdir"] or ""
    values = {}
    for name in ("meshdir", "texturedir"):
        own = given[name]
        folder = here / (both if own is None else own)
        values[name] = Path(os.path.relpath(folder, there)).as_posix()
    told = f"meshes and textures stay where they are; the file looks for them in {values['meshdir']}"
    if compiler is None:
        return [InsertChild(document.root, NewElement("compiler", values))], [told]
    return [SetAttribute(compiler, name, value) for name, value in values.items()], [told]


def compilable(data: bytes, path: Path) -> bytes:
    """An MJCF file that is not on disk yet, with its folders as MuJoCo finds them from anywhere."""
    folder = path.resolve().parent

    def absolute(match: re.Match[bytes]) -> bytes:
        there = (folder / match.group(2).decode()).as_posix().encode()
        return match.group(1) + there + match.group(3)

    names = "|".join(FOLDERS).encode()
    if re.search(rb"\b(?:" + names + rb")\s*=", data):
        return re.sub(rb"(\b(?:" + names + rb')\s*=\s*")([^"]*)(")', absolute, data)
    place = folder.as_posix().encode()
    extra = b'<compiler meshdir="' + place + b'" texturedir="' + place + b'"/>'
    return re.sub(rb"(<mujoco\b[^>]*[^/]>)", lambda match: match.group(1) + extra, data, count=1)
