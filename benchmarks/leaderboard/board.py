"""All entries of a run: measured in processes of their own, kept in a file, and told as a page of the documentation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import BLAS_THREADS
from benchmarks.leaderboard.arms import Arm
from benchmarks.leaderboard.judge import Entry
from benchmarks.leaderboard.methods import CONSTANT_VELOCITY, DEFAULT
from benchmarks.leaderboard.run_one import stored

TIMEOUT = 900.0
"""s for one method on one arm; one that takes longer is told so."""
NEAR = 1.05
"""An error at most this many times the least is as good as it: what another draw of noise would change."""


@dataclass(frozen=True)
class Board:
    """Every entry, in the order of arms and methods."""

    arms: tuple[Arm, ...]
    entries: tuple[Entry, ...]

    def of(self, arm: str) -> tuple[Entry, ...]:
        """The models of one arm."""
        return tuple(entry for entry in self.entries if entry.arm == arm and entry.method != CONSTANT_VELOCITY)

    @property
    def methods(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(dict.fromkeys(entry.method for arm in self.arms for entry in self.of(arm.name)))

    def without_model(self, arm: str) -> float:
        """Rollout error of constant velocity on one arm, mrad; nan where it was not measured."""
        found = [entry.rollout for entry in self.entries if entry.arm == arm and entry.method == CONSTANT_VELOCITY]
        return found[0] if found else np.nan

    def best(self, arm: str, figure: str) -> float:
        """The least of a figure on one arm; nan where none has it."""
        values = [getattr(entry, figure) for entry in self.of(arm)]
        finite = [value for value in values if np.isfinite(value)]
        return min(finite) if finite else np.nan

    def over_best(self, arm: str, method: str, figure: str) -> float:
        """A method's figure over the least of all on one arm; nan where it has none."""
        own = [getattr(entry, figure) for entry in self.of(arm) if entry.method == method]
        return own[0] / self.best(arm, figure) if own else np.nan

    def standing(self, method: str, figure: str) -> float:
        """Geometric mean over the arms of a method's figure over the least; infinite where it failed on one."""
        ratios = [self.over_best(arm.name, method, figure) for arm in self.arms]
        known = [ratio for ratio in ratios if np.isfinite(ratio)]
        return float(np.exp(np.mean(np.log(known)))) if len(known) == len(ratios) and known else np.inf


def measure(
    arms: Sequence[Arm], names: Sequence[str], folder: Path, *, workers: int, heard: Callable[[Entry], None]
) -> Board:
    """Run every method on every arm, `workers` at a time; entries that `folder` holds already are not run again."""
    folder.mkdir(parents=True, exist_ok=True)
    for arm in arms:
        (folder / f"{arm.name}.arm.json").write_text(stored(arm), encoding="utf-8")

    def one(pair: tuple[Arm, str]) -> Entry:
        found = _entry(*pair, folder)
        heard(found)
        return found

    with ThreadPoolExecutor(workers) as pool:
        entries = tuple(pool.map(one, [(arm, name) for arm in arms for name in names]))
    return Board(tuple(arms), entries)


def _entry(arm: Arm, method: str, folder: Path) -> Entry:
    file = folder / f"{arm.name}.{method.replace(' ', '-').replace(',', '')}.json"
    if file.exists():
        return Entry.restored(json.loads(file.read_text(encoding="utf-8")))
    command = [sys.executable, "-m", "benchmarks.leaderboard.run_one", str(folder / f"{arm.name}.arm.json"), method]
    environment = {**os.environ, **dict.fromkeys(BLAS_THREADS, "1")}
    try:
        done = subprocess.run(
            [*command, str(file)], capture_output=True, text=True, timeout=TIMEOUT, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return Entry(arm.name, method, note=f"no model: nothing within {TIMEOUT:g} s")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return Entry(arm.name, method, note=f"no model: it failed: {last}")
    return Entry.restored(json.loads(file.read_text(encoding="utf-8")))


def complaints(board: Board, figures: Iterable[str], method: str = DEFAULT) -> tuple[str, ...]:
    """Where a method, dynid's default, is neither the best nor within 5 % of it, or not physically consistent."""
    told = []
    for arm in board.arms:
        for figure in figures:
            ratio = board.over_best(arm.name, method, figure)
            if np.isfinite(board.best(arm.name, figure)) and not ratio <= NEAR:
                best = min(board.of(arm.name), key=lambda entry: _or_inf(getattr(entry, figure)))
                told.append(f"{arm.name}, {figure}: {ratio:.2f} times that of {best.method}{_price(best, figure)}")
        own = [entry for entry in board.of(arm.name) if entry.method == method]
        if not own or own[0].consistent != "yes":
            told.append(f"{arm.name}: no physically consistent model")
    return tuple(told)


def _price(best: Entry, figure: str) -> str:
    """What the winner of a figure pays for it, in words."""
    paid = []
    if best.consistent in ("no", "none"):
        paid.append("not physically consistent")
    if figure == "rollout" and np.isfinite(best.unseen):
        paid.append(f"{best.unseen:.3g} % of unseen torque error")
    return f" ({', '.join(paid)})" if paid else ""


def _or_inf(value: float) -> float:
    return value if np.isfinite(value) else np.inf
