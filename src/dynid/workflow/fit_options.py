"""What `identify` fits and how."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from dynid.chain.robot import Robot
from dynid.dynamics.drives import RotorInertia
from dynid.dynamics.friction.table import AUTO, friction_models, needs_search
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.model import TorqueModel
from dynid.errors import ConfigError
from dynid.regression.constraints.constraints import Constraints, ParameterBounds
from dynid.regression.estimate import Estimate, Estimator
from dynid.regression.estimators import ESTIMATORS, EstimatorOptions, make_estimator
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.feasible.prior import NOMINAL_STD, Prior
from dynid.regression.problem import Regression

if TYPE_CHECKING:
    from dynid.regression.friction.choice import FrictionChoice

__all__ = ["DEFAULT_FRICTION", "ConditionChoice", "FitOptions", "PriorRule", "Purpose"]

DEFAULT_FRICTION = "viscous+coulomb+offset"
"""Friction of jobs that do not choose it, and of the fit that an automatic choice starts from."""
ConditionChoice = Literal["triangle", "inertia"]
Purpose = Literal["torque", "simulator"]
PriorRule = Literal["map", "auto", "nominal", "entropic", "centred"]


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What to fit and how."""

    estimator: str | Estimator = "feasible"
    """A name of `ESTIMATORS`, or an estimator; feasible gives full, physically consistent parameters."""
    friction: str = AUTO
    """none, names joined by +, or auto: what predicts best, joint by joint."""
    rotor_inertia: bool | None = None
    """Whether every joint gets a rotor inertia; None chooses with friction auto, and is no where friction is given."""
    bounds: Path | None = None
    """CSV with parameter,lower,upper, or TOML with any constraint: shapes, densities, symmetries, known values."""
    total_mass: tuple[float, float] | None = None
    """Least and largest mass of all links, kg."""
    condition: ConditionChoice = "triangle"
    """triangle: full consistency; inertia: the papers' weaker 6×6."""
    prior: PriorRule = "map"
    """map: what is known of the links counts beside the data; the others choose among parameters that fit alike."""
    prior_std: float | None = None
    """Spread of links about their nominal ones, relative, for map; None: 0.3, or more where the logs ask for it."""
    widened: bool = False
    """Whether links may be further off than `prior_std`, by the evidence of the logs."""
    ranges: bool = False
    """Whether to find between which values the links may lie without a worse fit."""
    reduce: bool = False
    """Whether to look for the smallest set of base parameters that predicts as well."""
    delay: str | None = None
    """Seconds by which torque lags behind position, or auto; None chooses with friction auto, and is 0 where friction
    is given."""
    refine: str | None = None
    """rollout: Gauss–Newton on rollouts after the linear fit; none: the linear fit alone; None: as the purpose asks."""
    purpose: Purpose | None = None
    """What the model is judged by: torque, or rollouts for a simulator; None: simulator where it is refined on them."""
    min_velocity: str = "0"
    """Rows slower than this are masked, rad/s, or auto."""

    def __post_init__(self) -> None:
        names = {"estimator": tuple(ESTIMATORS), "condition": get_args(ConditionChoice), "prior": get_args(PriorRule)}
        for name, known in names.items():
            value = getattr(self, name)
            if value not in known and not (name == "estimator" and isinstance(value, Estimator)):
                raise ConfigError(f"{name}: no {value!r}; known: {', '.join(known)}")
        if self.refine not in (None, "rollout", "none"):
            raise ConfigError(f"refine: no {self.refine!r}; known: rollout, none")
        if self.purpose not in (None, *get_args(Purpose)):
            raise ConfigError(f"purpose: no {self.purpose!r}; known: {', '.join(get_args(Purpose))}")
        if not isinstance(self.friction, str):
            raise ConfigError(f"friction: expected names joined by +, got {type(self.friction).__name__}")
        if not 0.0 < self.least_spread < math.inf:
            raise ConfigError(f"`prior_std` {self.least_spread:g}: give a relative spread above 0, such as 0.3")
        if self.total_mass is not None and not 0.0 <= min(self.total_mass) < math.inf:
            told = " ".join(f"{mass:g}" for mass in self.total_mass)
            raise ConfigError(f"`total_mass` {told}: give the least and the largest mass of all links, kg")
        least_speed = self.chosen_min_velocity
        if least_speed is not None and not 0.0 <= least_speed < math.inf:
            raise ConfigError(f"`min_velocity` {self.min_velocity}: give a speed of 0 rad/s or more, or auto")

    @classmethod
    def of(
        cls,
        estimator: str | Estimator,
        friction: str,
        rotor_inertia: bool | None,
        bounds: str | PathLike[str] | None,
        total_mass: tuple[float, float] | None,
        condition: ConditionChoice,
        prior: PriorRule,
        prior_std: float | None,
        delay: float | str | None,
        min_velocity: float | str,
    ) -> FitOptions:
        """From what people give: paths as texts, numbers or auto (s, rad/s)."""
        return cls(
            estimator=estimator,
            friction=friction,
            rotor_inertia=rotor_inertia,
            bounds=None if bounds is None else Path(bounds),
            total_mass=total_mass,
            condition=condition,
            prior=prior,
            prior_std=prior_std,
            delay=None if delay is None else str(delay),
            min_velocity=str(min_velocity),
        )

    def with_links(
        self, *, ranges: bool, reduce: bool, refine: str | None = None, purpose: Purpose | None = None
    ) -> FitOptions:
        """The same with what more is asked of links and base parameters (SI), and what for."""
        return replace(self, ranges=ranges, reduce=reduce, refine=refine, purpose=purpose)

    @property
    def is_for_simulator(self) -> bool:
        """Whether rollouts decide."""
        return self.refine == "rollout" if self.purpose is None else self.purpose == "simulator"

    @property
    def refines(self) -> bool:
        """Whether the linear fit is refined on rollouts: where it is asked for, or links are meant for a simulator."""
        return self.refine == "rollout" or (
            self.refine is None and self.purpose == "simulator" and self.made_estimator().name == Feasible.name
        )

    @property
    def is_automatic(self) -> bool:
        """Whether friction is chosen, and with it what was not typed."""
        return self.friction.strip() == AUTO

    @property
    def searches_friction(self) -> bool:
        """Whether friction is chosen, or has curves whose shape is searched for."""
        return needs_search(self.friction)

    @property
    def chooses_rotors(self) -> bool:
        """Whether rotor inertias are chosen with the friction."""
        return self.rotor_inertia is None and self.is_automatic

    @property
    def chooses_delay(self) -> bool:
        """Whether the delay is chosen with the friction."""
        return self.is_automatic and self.delay in (None, "auto")

    @property
    def typed_delay(self) -> float | None:
        """The delay in s, 0 where it is chosen later or not asked for; None where the model's residual tells it."""
        if self.delay is None or self.chooses_delay:
            return 0.0
        return _number_or_auto("delay", self.delay)

    @property
    def least_spread(self) -> float:
        """Spread of links about their nominal ones, relative, before the logs."""
        return NOMINAL_STD if self.prior_std is None else self.prior_std

    @property
    def link_prior(self) -> Prior | None:
        """What is known of the links before the data; None where it decides among equal fits alone."""
        return Prior(rule="map", std=self.least_spread) if self.prior == "map" else None

    @property
    def chosen_min_velocity(self) -> float | None:
        """The velocity in rad/s below which rows are masked; None for auto."""
        return _number_or_auto("min_velocity", self.min_velocity)

    @property
    def drives(self) -> tuple[JointModel, ...]:
        """Drive models to fit."""
        return (RotorInertia(),) if self.rotor_inertia else ()

    @property
    def first_friction(self) -> str:
        """The friction to start with: the simplest, where its curves are searched for."""
        return DEFAULT_FRICTION if self.searches_friction else self.friction

    def torque_model(self, robot: Robot, choice: FrictionChoice | None = None) -> TorqueModel:
        """The columns to fit: with the friction to start with, or with what was chosen."""
        friction = friction_models(self.first_friction) if choice is None else choice.models
        return TorqueModel(robot, (*self.drives, *friction))

    def constraints(self) -> Constraints:
        """What is asked of the full parameters (SI)."""
        bounds = ParameterBounds()
        if self.bounds is not None:
            from dynid.regression.constraints.files import read_bounds, read_constraints

            if self.bounds.suffix.lower() == ".toml":
                asked = read_constraints(self.bounds)
                total = asked.total_mass if self.total_mass is None else self.total_mass
                return replace(asked, triangle=asked.triangle and self.condition == "triangle", total_mass=total)
            bounds = read_bounds(self.bounds)
        return Constraints(
            triangle=self.condition == "triangle",
            bounds=bounds,
            total_mass=self.total_mass,
        )

    def made_estimator(self, seed: int = 0) -> Estimator:
        """The estimator itself, made with these options where it was given by name."""
        if not isinstance(self.estimator, str):
            return self.estimator
        options = EstimatorOptions(
            constraints=self.constraints(),
            prior=Prior(rule=self.prior, std=self.least_spread, widened=self.widened),
            seed=seed,
        )
        return make_estimator(self.estimator, options)

    def fit(self, regression: Regression, seed: int = 0) -> Estimate:
        """The estimate by the chosen estimator."""
        return self.made_estimator(seed).fit(regression)


def _number_or_auto(name: str, text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError as error:
        raise ConfigError(f"`{name}` {text}: give a number or auto") from error
