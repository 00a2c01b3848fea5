"""Which friction each joint has: curves fitted together with the links, chosen by what they predict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dynid.arrays import Array, Float, freeze_arrays
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.friction.table import AUTO, FRICTION, friction_models
from dynid.dynamics.joint_model import JointModel
from dynid.regression.friction.refine import Picked, picked_columns, picked_models, refined
from dynid.regression.friction.rotors import RotorChoice, rotor_choice
from dynid.regression.friction.rows import FrictionRows, check_reversals, never_reversing
from dynid.regression.friction.search import (
    FREE,
    HELD,
    MIN_GAIN,
    SILENT_TORQUE,
    Dictionary,
    LeaveOut,
    dictionary,
    leave_out,
    shared_information,
)
from dynid.regression.friction.springs import Elsewhere, holds_elsewhere, is_sprung

__all__ = ["FrictionChoice", "choose_friction"]

START = "viscous+coulomb+offset"
"""Friction of the first fit, which tells the noise of each joint and the load of its gear."""
PASSES = 2
"""Times that all joints are gone through: the choice of one changes what the others' rows say about the links."""
LARGEST_TERM = 2.0
"""Torque of one term over that of its joint, root mean squares, beyond which terms are taken to cancel. Rotor and
spring of a wrist of an LWR4+ did at seven times: 2 % of error on left-out segments, 11 % on another motion."""
AUTO_START = "viscous+coulomb"
"""What a joint starts from."""


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """Friction models of an arm with their shape numbers, and why each joint has which."""

    models: tuple[JointModel, ...]
    """For a `TorqueModel`, after the drive models."""
    names: tuple[tuple[str, ...], ...]
    """Names of the models of each joint."""
    reasons: tuple[str, ...]
    """One sentence a joint."""
    left_out_percent: Float[Array, " n_dof"]
    """Relative error of each joint on segments left out of the fit, percent."""
    start_percent: Float[Array, " n_dof"]
    """The same with viscous, Coulomb and offset, percent."""
    weights: Float[Array, " n_dof"]
    """One over the noise of each drive, 1/(N·m)."""
    rotors: RotorChoice | None = None
    """Whether every joint has a rotor inertia; None where that was not asked."""

    def __post_init__(self) -> None:
        freeze_arrays(self)


def choose_friction(
    rows: FrictionRows,
    friction: str | Sequence[JointModel],
    *,
    reference: Float[Array, "n_links 10"] | None = None,
    rotors: bool = False,
    simulator: str | None = None,
    simulated: bool = False,
) -> FrictionChoice:
    """Friction of every joint: the models named, with their shape numbers fitted, or those that predict best.

    With ``auto`` a joint starts with viscous and Coulomb friction. Models are added, exchanged or dropped one by one,
    each time so that the squared error on left-out folds of the log falls most for the numbers it costs, as long as
    the gain exceeds its own standard error over the folds.

    Args:
        rows: conditioned rows of the logs.
        friction: such as ``viscous+tanh+load``, ``auto``, or models.
        reference: inertial parameters (SI) that give the load of the gears; from the fit itself when None.
        rotors: whether ``auto`` gives every joint a rotor inertia too, where logs are predicted better with them.
        simulator: friction as a simulator applies it, ``mujoco``, that ``auto`` tries too; None for none.
        simulated: whether the arm is to be simulated: it then has rotors unless the logs are predicted worse with them.

    Raises:
        RegressionError: a joint never reverses, so that dry friction and offset cannot be told apart.
    """
    automatic = isinstance(friction, str) and friction.strip() == AUTO
    given = {model.name for model in rows.model.joint_models}
    candidates = tuple(model for model in _candidates(friction, automatic) if model.name not in given)
    if automatic and simulator is not None:
        candidates = (*candidates, *friction_models(simulator))
    if not automatic:
        check_reversals(rows.samples, candidates)
    still = never_reversing(rows.samples)
    search = _Search(rows, automatic, tuple(name in still for name in rows.model.robot.joint_names), simulated)
    columns = search.start_columns(())
    weights = search.weights(columns)
    if rows.prior is not None:
        rows = replace(rows, prior=np.sqrt(search.rows_as_one(columns, weights)) * rows.prior)
        search = replace(search, rows=rows)
    rotors_choice = None
    if rotors:
        candidates, columns, rotors_choice = search.with_rotors(candidates, columns, weights)
        weights = search.weights(columns)
    start, picked, models = np.zeros(rows.n_dof), list[Picked](), candidates
    book: Dictionary | None = None
    for sweep in range(PASSES):
        if rows.base is not None:
            reference = search.links(columns, weights)
        if reference is not None:
            models = tuple(model.referred(reference) for model in candidates)
        book = dictionary(rows, models, book)
        shared = shared_information(rows, columns, weights)
        if sweep == 0:
            start = np.array([search.start_errors(j, columns[j], shared, weights[j]).sum() for j in range(rows.n_dof)])
        picked = [
            search.pick(
                j,
                book,
                leave_out(rows, j, book.D[j], book.parent, shared, weights[j]),
                partial(holds_elsewhere, rows, j, book, shared, weights[j]),
            )
            for j in range(rows.n_dof)
        ]
        picked = refined(rows, models, picked, shared, weights)
        columns = picked_columns(rows, models, picked)
        weights = search.weights(columns)
    chosen = picked_models(rows, models, picked)
    if rows.base is not None:
        links = search.links(columns, weights)
        chosen = tuple(model.referred(links) for model in chosen)
    return FrictionChoice(
        models=chosen,
        names=tuple(tuple(models[k].name for k in pick.models) for pick in picked),
        reasons=tuple(pick.reason for pick in picked),
        left_out_percent=np.array([100.0 * np.sqrt(pick.error) for pick in picked]),
        start_percent=100.0 * np.sqrt(start),
        weights=weights,
        rotors=rotors_choice,
    )


def _candidates(friction: str | Sequence[JointModel], automatic: bool) -> tuple[JointModel, ...]:
    if automatic:
        return tuple(candidate for model in FRICTION.values() for candidate in model.candidates())
    return friction_models(friction) if isinstance(friction, str) else tuple(friction)


@dataclass(frozen=True, eq=False)
class _Search:
    rows: FrictionRows
    automatic: bool
    one_way: tuple[bool, ...]
    """For every drive whether its joint never reverses."""
    simulated: bool = False
    """Whether rotors are taken unless they do worse."""

    def weights(self, columns: Sequence[Float[Array, "_ _"]]) -> Float[Array, " n_dof"]:
        """One over the noise of each drive, 1/(N·m), iterated to agree with the joint fit."""
        size = np.sqrt(np.maximum(self.rows.power, SILENT_TORQUE))
        weights = 1.0 / size
        for _ in range(4):
            noise = np.array([np.sqrt(np.mean(r**2)) for r in self._residuals(columns, weights)])
            # Simulated data may fit exactly; a weight must stay finite then.
            weights = 1.0 / np.maximum(noise, 1e-6 * size)
        return weights

    def _solution(
        self, columns: Sequence[Float[Array, "_ _"]], weights: Float[Array, " n_dof"]
    ) -> Float[Array, " n_base"]:
        stacked = np.vstack([factors[-1] for factors in shared_information(self.rows, columns, weights)])
        A, b = stacked[:, :-1], stacked[:, -1]
        scale = np.linalg.norm(A, axis=0)
        scale = np.where(scale > 0.0, scale, 1.0)
        return np.linalg.lstsq(A / scale, b, rcond=1e-7)[0] / scale

    def _residuals(
        self, columns: Sequence[Float[Array, "_ _"]], weights: Float[Array, " n_dof"]
    ) -> list[Float[Array, " _"]]:
        beta = self._solution(columns, weights) if self.rows.base is not None else np.zeros(0)
        rest = [tau - Y @ beta for tau, Y in zip(self.rows.tau, self.rows.Y, strict=True)]
        return [r - F @ np.linalg.lstsq(F, r, rcond=1e-9)[0] for r, F in zip(rest, columns, strict=True)]

    def rows_as_one(self, columns: Sequence[Float[Array, "_ _"]], weights: Float[Array, " n_dof"]) -> float:
        """Rows that tell as much as one independent row (dimensionless), from the memory of the residuals.

        The variance of their mean over what independent rows would give, in the median of all drives.
        """
        counts = []
        for rest in self._residuals(columns, weights):
            power = np.fft.rfft(rest - np.mean(rest), 2 * len(rest))
            memory = np.fft.irfft(np.abs(power) ** 2)[: len(rest)]
            if memory[0] <= 0.0:
                continue
            memory = memory / memory[0]
            end = int(np.argmax(memory < 0.0)) or len(memory)
            counts.append(1.0 + 2.0 * float(np.sum(memory[1:end])))
        return float(np.median(counts)) if counts else 1.0

    def links(
        self, columns: Sequence[Float[Array, "_ _"]], weights: Float[Array, " n_dof"]
    ) -> Float[Array, "n_links 10"]:
        """Inertial parameters (SI) that give the torque of the links as fitted; hardly ever physically consistent."""
        assert self.rows.base is not None
        theta = self.rows.base.lift(self._solution(columns, weights))
        return theta[: self.rows.model.n_inertial].reshape(-1, 10)

    def start_columns(self, drives: tuple[JointModel, ...]) -> list[Float[Array, "_ _"]]:
        """Columns (SI) of the first fit for each drive, after those of `drives`."""
        models = (*drives, *friction_models(START))
        return [np.hstack(parts) for parts in zip(*(self.rows.columns(m) for m in models), strict=True)]

    def start_errors(
        self,
        j: int,
        columns: Float[Array, "n_rows n_columns"],
        shared: Sequence[Sequence[Float[Array, "_ _"]]],
        weight: float,
    ) -> Float[Array, " n_folds"]:
        """Left-out error of the first fit's columns, squared and relative to the power of the torque, by fold."""
        own = [HELD if term.nonnegative else FREE for model in friction_models(START) for term in model.terms]
        parent = np.array([HELD] * (columns.shape[1] - len(own)) + own)
        return leave_out(self.rows, j, columns, parent, shared, weight).left_out(range(len(parent)))

    def with_rotors(
        self,
        candidates: tuple[JointModel, ...],
        columns: list[Float[Array, "_ _"]],
        weights: Float[Array, " n_dof"],
    ) -> tuple[tuple[JointModel, ...], list[Float[Array, "_ _"]], RotorChoice]:
        """Candidates and first columns (SI), with rotor inertias where these are taken."""
        rotor = RotorInertia()
        wider = self.start_columns((rotor,))
        errors = []
        for own in (columns, wider):
            shared = shared_information(self.rows, own, weights)
            parts = [self.start_errors(j, own[j], shared, weights[j]) for j in range(self.rows.n_dof)]
            size = [self.rows.power[j] * len(self.rows.tau[j]) * weights[j] ** 2 for j in range(self.rows.n_dof)]
            errors.append(np.einsum("jf,j->f", np.array(parts), np.array(size)))
        choice = rotor_choice(errors[0], errors[1], simulated=self.simulated)
        return ((rotor, *candidates), wider, choice) if choice.taken else (candidates, columns, choice)

    def pick(self, j: int, book: Dictionary, problem: LeaveOut, elsewhere: Elsewhere) -> Picked:
        """The models of one drive, on the grid of shape numbers."""
        joint = self.rows.model.robot.joint_names[j]
        if not self.automatic:
            atoms = self._settled(book, problem, [book.of(k)[0] for k in range(len(book.models))])
            errors = problem.left_out(book.columns(atoms))
            reason = f"{joint}: as asked for; error on left-out segments {_percent(errors)}"
            return _picked(book, atoms, errors, reason)
        names = [model.name for model in book.models]
        drives = [book.of(k)[0] for k, model in enumerate(book.models) if model.name not in FRICTION]
        atoms = [*drives, *(book.of(names.index(model.name))[0] for model in friction_models(AUTO_START))]
        errors = problem.left_out(book.columns(atoms))
        trail = [f"{AUTO_START} {_percent(errors)}"]
        while True:
            best = self._best_move(j, book, problem, atoms, errors, elsewhere)
            if best is None:
                break
            text, atoms, errors = best
            trail.append(f"{text} {_percent(errors)}")
        return _picked(book, atoms, errors, f"{joint}: error on left-out segments, {' → '.join(trail)}")

    def _best_move(
        self,
        j: int,
        book: Dictionary,
        problem: LeaveOut,
        atoms: list[int],
        errors: Float[Array, " n_folds"],
        elsewhere: Elsewhere,
    ) -> tuple[str, list[int], Float[Array, " n_folds"]] | None:
        """The change of models that predicts best for its price, or None when none is sure to pay."""
        total, price = float(errors.sum()), MIN_GAIN * float(errors.sum())
        best: tuple[float, str, list[int], Float[Array, " n_folds"]] | None = None
        largest = max(LARGEST_TERM, self._largest(j, book, problem, atoms))
        for text, trial in self._moves(j, book, problem, atoms):
            found = problem.left_out(book.columns(trial))
            gain = errors - found
            more = _n_numbers(book, trial) - _n_numbers(book, atoms)
            # A model that is added must be sure to help; one that goes must not be sure to be missed.
            sure = float(np.std(gain, ddof=1)) * np.sqrt(len(gain)) if more > 0 else 0.0
            profit = total - float(found.sum()) - price * more
            if profit > 0.0 and gain.sum() > sure and (best is None or profit > best[0]):
                if is_sprung(book, trial) and not is_sprung(book, atoms) and not elsewhere(atoms, trial):
                    continue
                if not _allowed(book, problem, trial) or self._largest(j, book, problem, trial) > largest:
                    continue
                best = (profit, text, trial, found)
        return None if best is None else best[1:]

    def _largest(self, j: int, book: Dictionary, problem: LeaveOut, atoms: Sequence[int]) -> float:
        """Torque of the largest of these terms over that of the drive, root mean squares; terms may cancel."""
        columns = book.columns(atoms)
        alone = np.linalg.norm(book.D[j][:, columns], axis=0) * np.abs(problem.values(columns))
        whole = np.sqrt(max(float(self.rows.power[j]), SILENT_TORQUE) * len(self.rows.tau[j]))
        return float(np.max(alone, initial=0.0)) / float(whole)

    def _moves(self, j: int, book: Dictionary, problem: LeaveOut, atoms: list[int]) -> Iterator[tuple[str, list[int]]]:
        """Add a model, put one kind of dry friction in the place of another, or drop a model."""
        present = {a: book.models[book.atoms[a].model] for a in atoms}
        taken = {book.atoms[a].model for a in atoms}
        contained = {name for model in present.values() for name in model.contains}
        for k, model in enumerate(book.models):
            # On a joint that never reverses a constant could not be told from dry friction.
            blind = self.one_way[j] and "constant" in model.kinds
            if k in taken or blind or model.name in contained:
                continue
            if model.contains:
                rest = [a for a, other in present.items() if other.name not in model.contains]
                yield model.label, self._trial(book, problem, rest, k)
                continue
            same = [a for a, other in present.items() if other.name == model.name]
            if not same:
                yield f"with {model.label}", self._trial(book, problem, atoms, k)
            for a, other in present.items():
                if model.kinds == other.kinds == ("dry",) and same in ([], [a]):
                    rest = [kept for kept in atoms if kept != a]
                    yield f"{model.label} for {other.label}", self._trial(book, problem, rest, k)
        for a, model in present.items():
            # Viscous friction stays: it keeps the sense of the curve beyond the speeds of the log. So do rotors.
            if "viscous" not in model.kinds and model.name in FRICTION:
                yield f"without {model.label}", self._settled(book, problem, [kept for kept in atoms if kept != a])

    def _trial(self, book: Dictionary, problem: LeaveOut, atoms: Sequence[int], model: int) -> list[int]:
        return self._settled(book, problem, [*atoms, self._best(book, problem, atoms, model)])

    def _best(self, book: Dictionary, problem: LeaveOut, atoms: Sequence[int], model: int) -> int:
        candidates = book.of(model)
        kept = book.columns(atoms)
        sets = np.array([[*kept, *book.atoms[a].columns] for a in candidates], dtype=np.int64)
        return candidates[int(np.argmin(problem.costs(sets)))]

    def _settled(self, book: Dictionary, problem: LeaveOut, atoms: Sequence[int]) -> list[int]:
        """Shape numbers of each model moved to their best point on the grid until none moves."""
        kept = list(atoms)
        for _ in range(4):
            before = list(kept)
            for place, atom in enumerate(kept):
                model = book.atoms[atom].model
                if len(book.of(model)) > 1:
                    kept[place] = self._best(book, problem, [*kept[:place], *kept[place + 1 :]], model)
            if kept == before:
                break
        return kept


def _allowed(book: Dictionary, problem: LeaveOut, atoms: Sequence[int]) -> bool:
    """Whether every term of these atoms stays below what physics allows it."""
    found = dict(zip(book.columns(atoms), problem.values(book.columns(atoms)), strict=True))
    parts = [(book.atoms[atom], book.models[book.atoms[atom].model]) for atom in atoms]
    return all(
        abs(found[column]) <= term.most
        for atom, model in parts
        for column, term in zip(atom.columns, model.terms, strict=False)
    )


def _n_numbers(book: Dictionary, atoms: Sequence[int]) -> int:
    """Numbers that a set of models needs: values and shapes."""
    return sum(len(book.atoms[a].columns) for a in atoms)


def _picked(book: Dictionary, atoms: Sequence[int], errors: Float[Array, " n_folds"], reason: str) -> Picked:
    ordered = sorted((book.atoms[a] for a in atoms), key=lambda atom: atom.model)
    return Picked(
        tuple(atom.model for atom in ordered), tuple(atom.relative for atom in ordered), float(errors.sum()), reason
    )


def _percent(errors: Float[Array, " n_folds"]) -> str:
    return f"{100.0 * np.sqrt(errors.sum()):.3g} %"
