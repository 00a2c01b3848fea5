"""Other parameter sets on the same rows: what the model of an identification is compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dynid.arrays import Array, Float
from dynid.dynamics.base_parameters import base_parameters
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.model import TorqueModel
from dynid.recording.conditioning import Samples
from dynid.regression.estimate import Estimate, FitError
from dynid.regression.feasible.certificate import ProvenFeasible, ProvenInfeasible, is_feasible
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.least_squares import OLS, WLS
from dynid.regression.model import IdentifiedModel
from dynid.regression.problem import Regression, compress
from dynid.regression.rows import SampleRows
from dynid.regression.status import Status
from dynid.validation.torque import compare_torque
from dynid.workflow.identification import Comparison

__all__ = ["compared_with_others", "rotor_hint"]

BAD = 15.0
"""%: the error of a joint from which on a reason is looked for."""
HELPED = 0.5
"""What rotor inertias must leave of the error of a joint at most, relative, to be worth a word."""


def compared_with_others(
    model: IdentifiedModel,
    estimate: Estimate,
    regression: Regression,
    unseen: Sequence[Samples],
    *,
    raw: bool = False,
) -> tuple[Comparison, ...]:
    """Errors (%) of the nominal robot and of other estimators on the same rows, and on held-out samples."""
    sets: list[tuple[str, Float[Array, " n_base"], Float[Array, " n_params"]]] = []
    if model.robot.has_nominal:
        theta = model.model.nominal()
        sets.append(("nominal inertias of the robot file, no friction", model.base.project(theta), theta))
    for estimator in (OLS(), WLS(), Feasible()):
        if estimate.estimator == estimator.name:
            continue
        words = estimator.label
        other = estimator.fit(regression)
        if other.status not in (Status.CONVERGED, Status.RANK_DEFICIENT):
            continue
        if other.theta is None:
            sets.append((f"{words} ({_consistency(model, other.beta)})", other.beta, model.base.lift(other.beta)))
        else:
            sets.append((words, other.beta, other.theta))
    comparisons = []
    for words, beta, theta in sets:
        errors = [compare_torque(model.model, theta, samples, raw=raw).error.relative_percent for samples in unseen]
        fitted = FitError.on(regression, beta).relative_percent
        comparisons.append(Comparison(words, fitted, max(errors, default=np.nan)))
    return tuple(comparisons)


def rotor_hint(model: TorqueModel, samples: Sequence[Samples], error: FitError) -> str:
    """What rotor inertias would do for a joint that is predicted badly without them (%); empty where little."""
    if model.inertia_terms or not np.any(error.relative_percent_joint >= BAD):
        return ""
    wider = TorqueModel(model.robot, (RotorInertia(), *model.joint_models))
    found = WLS().fit(compress(SampleRows(wider, base_parameters(wider), tuple(samples)))).fit
    left = found.relative_percent_joint / np.maximum(error.relative_percent_joint, 1e-12)
    helped = np.flatnonzero((error.relative_percent_joint > BAD) & (left < HELPED))
    if not len(helped):
        return ""
    told = ", ".join(
        f"{model.robot.joint_names[j]} from {error.relative_percent_joint[j]:.0f} to "
        f"{found.relative_percent_joint[j]:.2g} %"
        for j in helped
    )
    return f"rotor inertias (`rotor_inertia`) would cut the error of {told}"


def _consistency(model: IdentifiedModel, beta: Float[Array, " n_base"]) -> str:
    """Whether a physically consistent robot has these base parameters, decided by a semidefinite programme."""
    decided = is_feasible(model.model, model.base, beta)
    if isinstance(decided, ProvenFeasible):
        return "physically consistent"
    if isinstance(decided, ProvenInfeasible):
        return "of no physically consistent robot"
    return "consistency undecided"
