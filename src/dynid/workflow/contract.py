"""The JSON contract: what scripts read of a result, as types; every key is here, and none is ever renamed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import numpy as np

from dynid.arrays import Array
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.regression.bootstrap import Bootstrap
from dynid.regression.estimate import Estimate, FitError
from dynid.regression.feasible.link_spread import LinkSpread
from dynid.regression.model import IdentifiedModel
from dynid.review.findings import Finding
from dynid.validation.torque import Validation
from dynid.validation.verdict import Verdict
from dynid.workflow.rollout_result import ModelRolloutJson

__all__ = [
    "BaseParameterJson",
    "ChosenJson",
    "ErrorJson",
    "FindingJson",
    "IdentificationJson",
    "LinkJson",
    "ParameterJson",
    "ValidationJson",
    "VerdictJson",
    "base_parameters_json",
    "error_json",
    "findings_json",
    "links_json",
    "parameters_json",
    "validation_json",
    "verdict_json",
]

Numbers = list[float] | Array
"""Numbers of each joint or axis (SI); JSON has them as a list, what is not finite as null."""


class ErrorJson(TypedDict):
    """How far predicted and measured torques are apart."""

    relative_error_percent: float
    rmse: Numbers
    """N·m or N, by joint."""
    relative_error_percent_joint: Numbers


class BandJson(TypedDict, total=False):
    """The torque band, by joint; not there where noise is unknown."""

    predicted_std: Numbers
    """RMS σ of the prediction, N·m or N."""
    noise: Numbers
    """σ of the residual in the fit, N·m or N."""
    coverage_95_joint: Numbers
    """Share of the measured torque inside the 95 % band."""
    coverage_95: float
    """The same of all joints together."""
    coverage_95_standstill: float
    """The same of rows at standstill; null where there are none."""
    band_std: Numbers
    """RMS σ of a measured torque about the predicted one, N·m or N: a quarter of the width of the 95 % band."""


class ValidationJson(ErrorJson, BandJson):
    """One log, predicted."""

    log: str
    r_squared: NotRequired[Numbers]
    whiteness: NotRequired[Numbers]
    raw: NotRequired[bool]


class BaseParameterJson(TypedDict):
    """One base parameter."""

    label: str
    leading: str
    value: float
    std: float
    std_white: float
    unit: str
    trust: str
    origin: str
    interval_95: NotRequired[list[float]]


class ParameterJson(TypedDict):
    """One entry of the full parameters."""

    symbol: str
    value: float
    std: float
    unit: str
    owner: str
    origin: str


class LinkStdJson(TypedDict):
    """Standard deviations of one link, SI; null where links had no prior."""

    mass: float
    com: Numbers
    inertia_com: Numbers


class LinkRangeJson(TypedDict):
    """Smallest and largest values among equal fits, SI; null where nothing bounds them."""

    mass: Numbers
    com: Numbers
    inertia: Numbers
    """Ixx Ixy Iyy Ixz Iyz Izz about the origin of the link frame."""


class LinkSourceJson(TypedDict):
    """Where each number of a link comes from: the share of the data, 0 to 1; the rest is prior."""

    mass: float
    com: Numbers
    inertia_com: Numbers


class LinkJson(TypedDict):
    """One link, SI, about its own frame."""

    name: str
    mass: float
    com: Numbers
    inertia_com: Numbers
    margin: float
    std: LinkStdJson
    data_share: float
    """Of the whole link, 0 to 1; the rest of what is known of it is prior."""
    data_shares: LinkSourceJson
    range: NotRequired[LinkRangeJson]


class CriterionJson(TypedDict):
    """One thing a result is judged by."""

    name: str
    mark: str
    found: str
    asked: str


class VerdictJson(TypedDict):
    """The mark and what it follows from."""

    mark: str
    criteria: list[CriterionJson]


class FindingJson(TypedDict):
    """One thing that is wrong with a log."""

    code: str
    severity: str
    joint: str | None
    evidence: str
    cause: str
    fix: str
    mapping: str
    log: str | None
    probability: float | None


class ComparisonJson(TypedDict):
    """Errors of another parameter set on the same rows."""

    name: str
    relative_error_percent: float
    validation_relative_error_percent: float


class ChosenJson(TypedDict):
    """One setting that was chosen by prediction of left-out segments."""

    setting: str
    """friction, rotor inertia, delay, motion (how positions are smoothed), encoders, or refine (judged by rollouts)."""
    joint: str | None
    """None where it is chosen for the arm as a whole."""
    value: str | float | bool
    """Names of the friction models joined by +, a delay in s, or whether there are rotor inertias."""
    change_percent: float | None
    """What the choice (or, where it was not taken, the alternative) makes of the left-out error: negative is a gain;
    None where nothing was compared, or `reason` compares several."""
    reason: str
    """The same as a sentence."""


class EssentialJson(TypedDict):
    """One essential parameter."""

    leading: str
    label: str
    value: float
    std: float
    unit: str


class ReducedJson(TypedDict):
    """The smallest set of base parameters that predicts as well; errors with all of them, then with these, %."""

    n_base: int
    n_essential: int
    left_out_percent: list[float]
    train_percent: list[float]
    validation_percent: list[list[float]]
    parameters: list[EssentialJson]
    dropped: list[str]


class IdentificationJson(TypedDict):
    """All that `identify` tells."""

    robot: str
    n_dof: int
    n_parameters: int
    n_base: int
    rank: int
    n_rows: int
    condition_number: float
    estimator: str
    status: str
    advice: str
    consistent: bool
    verdict: VerdictJson
    rule: str
    conditioning: list[str]
    friction: list[str]
    chosen: list[ChosenJson]
    train: ValidationJson
    validation: list[ValidationJson]
    parameters: list[BaseParameterJson]
    full_parameters: list[ParameterJson]
    links: list[LinkJson]
    findings: list[FindingJson]
    compared: list[ComparisonJson]
    reduced: NotRequired[ReducedJson]
    rollouts: NotRequired[list[ModelRolloutJson]]


def error_json(error: FitError) -> ErrorJson:
    """An error as scripts read it: percent, and N·m or N."""
    return {
        "relative_error_percent": error.relative_percent,
        "rmse": error.rmse,
        "relative_error_percent_joint": error.relative_percent_joint,
    }


def validation_json(validation: Validation, *, details: bool = False) -> ValidationJson:
    """A predicted log as scripts read it (%, N·m or N); with `details`, what the residual looks like."""
    error = error_json(validation.error)
    content: ValidationJson = {
        "log": validation.log,
        "relative_error_percent": error["relative_error_percent"],
        "rmse": error["rmse"],
        "relative_error_percent_joint": error["relative_error_percent_joint"],
    }
    if details:
        content["r_squared"] = validation.r_squared
        content["whiteness"] = validation.whiteness
        content["raw"] = validation.raw
    band = validation.band
    if band is not None:
        content["predicted_std"] = np.sqrt(np.mean(band.std**2, axis=0))
        content["noise"] = band.noise
        content["coverage_95_joint"] = validation.coverage
        content["coverage_95"] = float(np.mean(validation.coverage))
        content["coverage_95_standstill"] = validation.coverage_at_rest
        content["band_std"] = np.sqrt(np.mean(band.prediction_std**2, axis=0))
    return content


def base_parameters_json(estimate: Estimate, resampled: Bootstrap | None = None) -> list[BaseParameterJson]:
    """Base parameters with standard deviations (and intervals), in the units of their leading parameters."""
    base = estimate.base
    entries: list[BaseParameterJson] = [
        {
            "label": label,
            "leading": leading,
            "value": float(value),
            "std": float(std),
            "std_white": float(white),
            "unit": column.unit,
            "trust": trust,
            "origin": origin,
        }
        for label, leading, value, std, white, column, trust, origin in zip(
            base.labels(),
            base.leading,
            estimate.beta,
            estimate.std,
            estimate.uncertainty.white_std,
            base.leading_columns,
            estimate.trust,
            estimate.origins,
            strict=True,
        )
    ]
    if resampled is not None:
        for entry, low, high in zip(entries, resampled.lower, resampled.upper, strict=True):
            entry["interval_95"] = [float(low), float(high)]
    return entries


def parameters_json(model: IdentifiedModel, estimate: Estimate) -> list[ParameterJson]:
    """Full parameters (SI) with σ where they show by themselves; empty without a full set."""
    if model.theta is None:
        return []
    columns = zip(
        model.model.symbols, model.theta, estimate.full_std, model.model.columns, estimate.full_origins, strict=True
    )
    return [
        {
            "symbol": symbol,
            "value": float(value),
            "std": float(std),
            "unit": column.unit,
            "owner": column.owner,
            "origin": origin,
        }
        for symbol, value, std, column, origin in columns
    ]


def links_json(model: IdentifiedModel) -> list[LinkJson]:
    """Links of a full parameter set (SI), each with its margin, its σ and its source; empty without one."""
    spreads = model.spreads.links if model.spreads is not None else (None,) * len(model.links)
    entries = [
        _link_json(name, link, spread)
        for name, link, spread in zip(model.robot.link_names, model.links, spreads, strict=False)
    ]
    for entry, known in zip(entries, model.ranges or (), strict=False):
        entry["range"] = {"mass": known.mass, "com": known.com, "inertia": known.inertia}
    return entries


def _link_json(name: str, link: InertialParameters, spread: LinkSpread | None) -> LinkJson:
    three, square = np.full(3, np.nan), np.full((3, 3), np.nan)
    return {
        "name": name,
        "mass": link.mass,
        "com": link.com,
        "inertia_com": link.inertia_com,
        "margin": consistency(link).margin,
        "std": {
            "mass": np.nan if spread is None else spread.mass_std,
            "com": three if spread is None else spread.com_std,
            "inertia_com": square if spread is None else spread.inertia_com_std,
        },
        "data_share": np.nan if spread is None else spread.data_share,
        "data_shares": {
            "mass": np.nan if spread is None else spread.mass_share,
            "com": three if spread is None else spread.com_share,
            "inertia_com": square if spread is None else spread.inertia_com_share,
        },
    }


def verdict_json(verdict: Verdict) -> VerdictJson:
    """The mark and what it follows from (errors in %)."""
    return {
        "mark": verdict.mark,
        "criteria": [{"name": c.name, "mark": c.mark, "found": c.found, "asked": c.asked} for c in verdict.criteria],
    }


def findings_json(findings: Sequence[Finding]) -> list[FindingJson]:
    """Findings as scripts read them."""
    return [
        {
            "code": finding.code,
            "severity": finding.severity.value,
            "joint": finding.joint,
            "evidence": finding.evidence,
            "cause": finding.cause,
            "fix": finding.fix,
            "mapping": finding.mapping,
            "log": finding.log,
            "probability": finding.probability,
        }
        for finding in findings
    ]
