"""Runs on measured data sets, whose errors may fall but not rise."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.contract.workshop import number, spoken, typed

UR10E_GAINS = "11.976,11.976,9.8387,10.763,10.763,10.763"


@dataclass(frozen=True)
class Measured:
    """A command as it is typed, without ``dynid``; DATA stands for the folder of the data sets."""

    words: str
    equal: tuple[str, ...]
    """Figures that must stay as they are."""
    at_most: tuple[str, ...]
    """Figures that must not grow."""

    def outcome(self, data: Path, folder: Path) -> dict[str, Any]:
        """Exit code and figures of the run, done in a folder."""
        code, text = typed(self.words.replace("DATA", shlex.quote(str(data))), folder)
        content = spoken(text)
        return {
            "command": f"dynid {self.words}",
            "equal": {"exit code": code} | {path: number(content, path) for path in self.equal},
            "at_most": {path: number(content, path) for path in self.at_most},
        }


TRAIN, HELD_OUT = "train/relative_error_percent", "validation/0/relative_error_percent"
MEASURED = {
    "panda": Measured(
        "identify panda DATA/panda/excitation_log.csv.gz --friction viscous+coulomb+offset --delay 0"
        " --out panda --json",
        equal=("n_dof", "n_parameters", "n_base", "rank"),
        at_most=(TRAIN, "condition_number"),
    ),
    "panda bounds": Measured(
        "identify panda DATA/panda/excitation_log.csv.gz --friction viscous+coulomb+offset --delay 0"
        " --bounds DATA/panda/bounds.csv --total-mass 16 20 --out bounds --json",
        equal=("n_base",),
        at_most=(TRAIN,),
    ),
    "panda controller": Measured(
        "reverse panda DATA/panda/controller_model_1010.csv.gz --out controller --json",
        equal=("n_base", "rank"),
        at_most=(TRAIN, "condition_number"),
    ),
    "ur10e": Measured(
        "identify DATA/ur10e/ur10e.urdf DATA/ur10e/30s12h.csv.gz --friction auto --rotor-inertia --delay 0"
        f" --gains {UR10E_GAINS} --validate DATA/ur10e/20s8h.csv.gz --out ur10e --json",
        equal=("n_dof",),
        at_most=(HELD_OUT,),
    ),
    "ur10e plain friction": Measured(
        "identify DATA/ur10e/ur10e.urdf DATA/ur10e/30s12h.csv.gz --friction viscous+coulomb+offset --rotor-inertia"
        f" --delay 0 --gains {UR10E_GAINS} --validate DATA/ur10e/20s8h.csv.gz --out ur10e-plain --json",
        equal=("n_dof", "n_base", "rank"),
        at_most=(TRAIN, HELD_OUT),
    ),
}
