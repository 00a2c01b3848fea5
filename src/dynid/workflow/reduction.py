"""The reduced model: essential parameters beside all base parameters, and what each predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dynid.prose import Document, Grid, Line, PrintsAsDocument, with_std
from dynid.recording.conditioning import Samples
from dynid.regression.essential import EssentialParameters, essential_parameters
from dynid.regression.estimate import Estimate
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression
from dynid.validation.torque import compare_torque
from dynid.workflow.contract import ReducedJson

__all__ = ["ReducedModel", "reduce_model"]


@dataclass(frozen=True, eq=False)
class ReducedModel(PrintsAsDocument):
    """Base parameters that the data support, refitted alone; links and their consistency stay those of the model."""

    essential: EssentialParameters
    """Which they are, with σ."""
    validation_percent: tuple[tuple[float, float], ...]
    """For every held-out log the error of the model, and of the reduced one, %."""

    def json(self) -> ReducedJson:
        """What scripts read of it (SI, %)."""
        found = self.essential
        labels, columns = found.base.labels(), found.base.leading_columns
        return {
            "n_base": found.base.n_base,
            "n_essential": len(found.kept),
            "left_out_percent": list(found.left_out),
            "train_percent": list(found.train_percent),
            "validation_percent": [list(pair) for pair in self.validation_percent],
            "parameters": [
                {
                    "leading": found.base.leading[k],
                    "label": labels[k],
                    "value": float(found.beta[k]),
                    "std": float(found.std[k]),
                    "unit": columns[k].unit,
                }
                for k in found.kept
            ],
            "dropped": list(found.dropped),
        }

    def errors(self) -> Grid:
        """Errors (%) with all base parameters and with the essential ones."""
        found = self.essential
        pairs = [("rows of the fit", found.train_percent), ("left-out parts", found.left_out)]
        pairs += [(f"held-out log {k + 1}", pair) for k, pair in enumerate(self.validation_percent)]
        rows = tuple((name, f"{before:.3f}", f"{after:.3f}") for name, (before, after) in pairs)
        n_all, n_kept = found.base.n_base, len(found.kept)
        return Grid(("error / %", f"all {n_all}", f"essential {n_kept}"), rows, (1, 2))

    def parameters(self) -> Grid:
        """Essential parameters with σ, in the units of their leading parameters."""
        found = self.essential
        labels, columns = found.base.labels(), found.base.leading_columns
        rows = tuple((labels[k], with_std(found.beta[k], found.std[k]), columns[k].unit) for k in found.kept)
        return Grid(("essential parameter", "value", "unit"), rows)

    def document(self) -> Document:
        """What the terminal shows of it."""
        found = self.essential
        told = f"{len(found.kept)} of {found.base.n_base} base parameters predict as well"
        dropped = f"; left out: {', '.join(found.dropped)}" if found.dropped else ""
        return (Line("essential", told + dropped), self.errors())

    def __repr__(self) -> str:
        return f"ReducedModel({self.essential!r})"


def reduce_model(
    model: IdentifiedModel, estimate: Estimate, regression: Regression, unseen: Sequence[Samples], *, raw: bool
) -> ReducedModel | None:
    """The reduced model of an identification (SI); None where the logs are too short to leave parts out.

    Args:
        model: what was identified.
        estimate: its fit.
        regression: the rows of the fit.
        unseen: held-out logs.
        raw: whether predictions are compared with the unfiltered torque.
    """
    weights = np.ones(model.model.n_dof) if estimate.weights is None else estimate.weights
    found = essential_parameters(regression, weights, estimate.uncertainty.inflation)
    if found is None:
        return None
    errors = []
    for samples in unseen:
        pair = [
            compare_torque(model.model, theta, samples, raw=raw).error.relative_percent
            for theta in (model.parameters, model.base.lift(found.beta))
        ]
        errors.append((pair[0], pair[1]))
    return ReducedModel(found, tuple(errors))
