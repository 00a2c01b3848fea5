"""Options of `identify`: what to fit and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from dynid.chain import Robot
from dynid.cli.options import FrictionName
from dynid.dynamics import JointModel, RotorInertia, TorqueModel, friction_models
from dynid.regression import (
    ESTIMATORS,
    Constraints,
    Estimate,
    EstimatorOptions,
    FrictionChoice,
    ParameterBounds,
    Prior,
    Regression,
    make_estimator,
    needs_search,
    read_bounds,
)

__all__ = ["FitOptions"]

if TYPE_CHECKING:
    EstimatorName = str
else:
    EstimatorName = Literal[tuple(ESTIMATORS)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What to fit and how."""

    estimator: Annotated[EstimatorName, Parameter(help="feasible gives full, physically possible parameters.")] = (
        "feasible"
    )
    friction: Annotated[
        FrictionName, Parameter(help="none, names joined by +, or auto: what predicts best, joint by joint.")
    ] = "viscous+coulomb+offset"
    rotor_inertia: Annotated[bool, Parameter(negative="", help="Add a rotor inertia to every joint.")] = False
    bounds: Annotated[Path | None, Parameter(help="CSV with parameter,lower,upper.")] = None
    total_mass: Annotated[
        tuple[float, float] | None, Parameter(negative="", help="Least and largest mass of all links, kg.")
    ] = None
    condition: Annotated[
        Literal["triangle", "inertia"], Parameter(help="triangle: full consistency; inertia: the papers' weaker 6×6.")
    ] = "triangle"
    prior: Annotated[
        Literal["auto", "nominal", "entropic", "centred"],
        Parameter(help="How to choose among parameters that fit alike."),
    ] = "auto"
    delay: Annotated[str, Parameter(help="Seconds by which torque lags behind position, or auto.")] = "0"
    min_velocity: Annotated[str, Parameter(help="Mask rows slower than this, rad/s, or auto.")] = "0"

    def torque_model(self, robot: Robot, choice: FrictionChoice | None = None) -> TorqueModel:
        """The columns to fit; friction whose curves are searched for starts from the simplest one."""
        simple = "viscous+coulomb+offset" if needs_search(self.friction) else self.friction
        return TorqueModel(robot, (*self.drives, *(friction_models(simple) if choice is None else choice.models)))

    @property
    def drives(self) -> tuple[JointModel, ...]:
        """Drive models to fit."""
        return (RotorInertia(),) if self.rotor_inertia else ()

    def constraints(self) -> Constraints:
        """What is asked of the full parameters (SI)."""
        return Constraints(
            triangle=self.condition == "triangle",
            bounds=ParameterBounds() if self.bounds is None else read_bounds(self.bounds),
            total_mass=self.total_mass,
        )

    def fit(self, regression: Regression, seed: int = 0) -> Estimate:
        """The estimate by the chosen estimator."""
        options = EstimatorOptions(constraints=self.constraints(), prior=Prior(rule=self.prior), seed=seed)
        return make_estimator(self.estimator, options).fit(regression)
