"""Rows of runs with a load: the ten load parameters stand behind the base parameters of the arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dynid.arrays import Array, Float, Int, Transform
from dynid.chain.inertia import INERTIAL_NAMES, INERTIAL_UNITS, InertialParameters
from dynid.dynamics.base_parameters import BaseParameters
from dynid.dynamics.model import Column, TorqueModel
from dynid.recording.conditioning import Samples, Segment
from dynid.regression.noise_colour import RowColour
from dynid.regression.problem import Factor, Regression
from dynid.regression.residuals import ResidualStatistics
from dynid.regression.rows import JointRows, chunks_of, rows_of_segment, visible_columns

__all__ = ["LOAD", "N_LOAD", "load_transform", "loaded_regression"]

LOAD = "load"
"""Owner of the ten load parameters in tables."""
N_LOAD = len(INERTIAL_NAMES)


def load_transform(T_link_flange: Transform) -> Float[Array, "10 10"]:
    """What turns ten numbers about the flange frame into ten about the link frame (SI)."""
    unit = [InertialParameters(e).moved(T_link_flange).pi for e in np.eye(N_LOAD)]
    return np.array(unit).T


def loaded_regression(
    model: TorqueModel,
    base: BaseParameters,
    loaded: Sequence[Samples],
    unloaded: Sequence[Samples] = (),
    *,
    carried: Float[Array, " 10"] | None = None,
    T_link_flange: Transform | None = None,
    noise: ResidualStatistics | None = None,
) -> Regression:
    """Rows (N·m or N) of runs with and without load; the ten numbers of the load are the last columns.

    Args:
        model: the arm with its friction.
        base: its base parameters.
        loaded: conditioned logs with the load.
        unloaded: conditioned logs without it.
        carried: the load (SI, link frame) that gears are taken to feel where friction depends on it.
        T_link_flange: flange frame in the last link's frame; the load is expressed in it.
        noise: of the rows, to whiten them by; they then have no unit.
    """
    to_link = load_transform(np.eye(4) if T_link_flange is None else T_link_flange)
    visible = visible_columns(model, base)
    load_columns = base.n_base + np.arange(N_LOAD)
    carriers = set(model.robot.path_to[model.n_dof - 1])
    blocks: list[tuple[Factor, ...]] = []
    for logs, with_load in ((unloaded, False), (loaded, True)):
        feeling = model if not with_load or carried is None else _feeling(model, carried)
        for log in logs:
            colour = None if noise is None else noise.row_colour(log.plan.every, log.plan.low_pass.rate_hz)
            for gapless in _segments(feeling, base, log, visible, to_link if with_load else None, carriers):
                whole = gapless if colour is None else _whitened(gapless, colour)
                blocks += [tuple(Factor.of(rows) for rows in block) for block in whole]
    everything = tuple(
        np.concatenate([columns, load_columns]) if j in carriers else columns for j, columns in enumerate(visible)
    )
    return Regression(model, _extended(base), everything, tuple(blocks))


def _segments(
    model: TorqueModel,
    base: BaseParameters,
    log: Samples,
    visible: tuple[Int[Array, " ..."], ...],
    to_link: Float[Array, "10 10"] | None,
    carriers: set[int],
) -> Iterator[list[tuple[JointRows, ...]]]:
    """The blocks of each gapless segment; `to_link` is None in a run without load."""
    for segment in log.segments:
        blocks = []
        for chunk, extra in chunks_of(model, replace(log, segments=(segment,))):
            rows = rows_of_segment(model, base, chunk, log.plan, visible, extra)
            load = _load_rows(model, chunk, log, to_link) if to_link is not None else None
            blocks.append(
                tuple(_widened(r, load[j] if load is not None else None, j in carriers) for j, r in enumerate(rows))
            )
        yield blocks


def _whitened(blocks: list[tuple[JointRows, ...]], colour: RowColour) -> list[tuple[JointRows, ...]]:
    """The rows of a gapless segment with unit white noise, in the same blocks."""
    joints = []
    for j, own in enumerate(zip(*blocks, strict=True)):
        stacked = np.vstack([np.column_stack([rows.Y, rows.tau]) for rows in own])
        ends = np.cumsum([len(rows.tau) for rows in own])[:-1]
        pieces = np.split(colour.whitened(j, stacked), ends)
        joints.append([JointRows(piece[:, :-1], piece[:, -1]) for piece in pieces])
    return list(zip(*joints, strict=True))


def _extended(base: BaseParameters) -> BaseParameters:
    n_params = len(base.columns)
    K = np.zeros((base.n_base + N_LOAD, n_params + N_LOAD))
    K[: base.n_base, :n_params] = base.K
    K[base.n_base :, n_params:] = np.eye(N_LOAD)
    columns = tuple(Column(LOAD, name, unit) for name, unit in zip(INERTIAL_NAMES, INERTIAL_UNITS, strict=True))
    symbols = tuple(f"load.{name}" for name in INERTIAL_NAMES)
    independent = np.concatenate([base.independent, n_params + np.arange(N_LOAD)])
    return BaseParameters((*base.columns, *columns), (*base.symbols, *symbols), independent, K, base.tolerance)


def _feeling(model: TorqueModel, carried: Float[Array, " 10"]) -> TorqueModel:
    """The model whose gears feel the load as well, where their friction depends on it."""
    models = []
    for joint_model in model.joint_models:
        links = joint_model.load_links(model.robot)
        if links is not None:
            loaded = np.array(links)
            loaded[-1] += carried
            joint_model = joint_model.referred(loaded)
        models.append(joint_model)
    return replace(model, joint_models=tuple(models))


def _load_rows(
    model: TorqueModel, segment: Segment, log: Samples, to_link: Float[Array, "10 10"]
) -> list[Float[Array, "n_rows 10"]]:
    """Columns of the ten load numbers for every joint, low-passed, at the rows that the regression keeps."""
    plan = log.plan
    Y = TorqueModel(model.robot).regressor(segment.motion)[:, :, -N_LOAD:] @ to_link
    found = []
    for j in range(model.n_dof):
        filtered = plan.low_pass.thinned(np.ascontiguousarray(Y[:, j]), plan.every)
        centres = plan.low_pass.half_length + plan.every * np.arange(len(filtered))
        found.append(filtered[np.abs(segment.motion.dq[centres, j]) >= plan.min_velocity])
    return found


def _widened(rows: JointRows, load: Float[Array, "n_rows 10"] | None, carries: bool) -> JointRows:
    if not carries:
        return rows
    return JointRows(np.hstack([rows.Y, np.zeros((len(rows.tau), N_LOAD)) if load is None else load]), rows.tau)
