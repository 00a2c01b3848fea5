"""``dynid check``: whether any physically consistent robot has given base parameters, with a proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import tell
from dynid.cli.options import JsonFlag
from dynid.cli.progress import progress
from dynid.workflow.fit_options import ConditionChoice
from dynid.writers.savers.saved import Saved

__all__ = ["check"]


def check(
    model: Path,
    /,
    *,
    robot: str | None = None,
    condition: ConditionChoice = "triangle",
    total_mass: Annotated[tuple[float, float] | None, Parameter(negative="")] = None,
    out: Path | None = None,
    seed: int = 0,
    json: JsonFlag = False,
) -> int:
    """Say whether any physically consistent robot has these base parameters: margin, nearest one, proof, M(q).

    Example: dynid check result/model.json --out checked

    Exit 0: consistent, and M(q) positive definite in the worst pose found. Exit 1: not, or undecided.

    Parameters
    ----------
    model
        model.json of any job; or a CSV file with columns symbol and value: J2xx, mc3x, fv1, Ia4, … as dynid info names
        them, or L_2xx, l_3x, fv_1 as papers do.
    robot
        Built-in name or robot file, for a CSV file.
    condition
        triangle: full consistency (pseudo-inertia 4×4); inertia: the papers' weaker 6×6.
    total_mass
        Least and largest mass of all links, kg.
    out
        Folder for certificate.json and for the consistent, or nearest consistent, robot as model.json
        [default: nothing is written].
    seed
        Seed of the poses that are drawn.
    """
    with progress("checking") as step:
        result = dynid.check(model, robot=robot, condition=condition, total_mass=total_mass, seed=seed, progress=step)
        saved = Saved({}) if out is None else dynid.save(result, out)
    tell(result, saved, json=json)
    return 0 if result.good_enough else 1
