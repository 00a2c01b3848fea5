"""What a fit predicts of segments of its own logs that are left out of it in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dynid.regression.estimate import Estimate, FitError
from dynid.regression.problem import Regression

__all__ = ["left_out_error"]

N_PARTS, LEAST_PARTS = 5, 3
"""Parts of the logs, one after the other in time, that are left out of the fit in turn, where they make so many blocks
of time; and the fewest from which anything can be left out."""


def left_out_error(regression: Regression, fit: Callable[[Regression], Estimate]) -> FitError | None:
    """Error in % and N·m (or N) on parts of the logs, each predicted by a fit of the others.

    None where the logs make too few blocks of time.

    Args:
        regression: rows in blocks of time.
        fit: an estimator's ``fit``, one that needs no rows.
    """
    blocks = regression.blocks
    n_parts = min(N_PARTS, len(blocks))
    if n_parts < LEAST_PARTS:
        return None
    part = np.arange(len(blocks)) * n_parts // len(blocks)
    residual = np.zeros(regression.model.n_dof)
    for left in range(n_parts):
        rest = tuple(block for block, number in zip(blocks, part, strict=True) if number != left)
        beta = fit(replace(regression, blocks=rest, source=None)).beta
        for block in (block for block, number in zip(blocks, part, strict=True) if number == left):
            for j, (factor, columns) in enumerate(zip(block, regression.visible, strict=True)):
                residual[j] += factor.residual_power(beta[columns])
    return FitError.of(residual, regression.power(), regression.rows_per_joint().astype(float))
