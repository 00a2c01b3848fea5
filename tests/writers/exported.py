"""Models to export, without a fit: the robot's nominal inertias, or others, and some friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynid import Robot, TorqueModel, base_parameters
from dynid.arrays import Array
from dynid.chain import Joint, Link
from dynid.dynamics import LoadCoulomb, RotorInertia, friction_models
from dynid.regression import IdentifiedModel
from tests.robots import random_link, random_placement

LINEAR = "viscous+coulomb"


def model_of(
    robot: Robot, rng: np.random.Generator, friction: str = LINEAR, *, rotors: bool = True, links: Array | None = None
) -> IdentifiedModel:
    """A physically consistent robot with friction of every kind asked for, and rotors."""
    joint_models = (*friction_models(friction), *((RotorInertia(),) if rotors else ()))
    return with_terms(TorqueModel(robot, joint_models), rng, links)


def with_terms(model: TorqueModel, rng: np.random.Generator, links: Array | None = None) -> IdentifiedModel:
    theta = np.zeros(model.n_params)
    theta[: model.n_inertial] = (model.robot.nominal if links is None else links).ravel()
    theta[model.n_inertial :] = rng.uniform(0.1, 1.0, model.n_params - model.n_inertial)
    base = base_parameters(model)
    return IdentifiedModel(
        model=model,
        base=base,
        estimator="feasible",
        status="",
        beta=base.project(theta),
        covariance=0.01 * np.eye(base.n_base),
        theta=theta,
        labels=("identified",) * model.n_params,
        rule="as made",
        provenance={"dynid": "0", "inputs": {"log.csv": "00"}},
    )


def changed(model: IdentifiedModel, theta: Array) -> IdentifiedModel:
    """The same with other parameters."""
    return replace(model, theta=theta, beta=model.base.project(theta))


def inconsistent(model: IdentifiedModel) -> IdentifiedModel:
    """The same with a first link that no body is: its moments break the triangle inequality."""
    theta = np.array(model.theta)
    theta[9] += 10.0
    return changed(model, theta)


def sliding_arm(rng: np.random.Generator, n_dof: int = 5) -> Robot:
    """Prismatic and revolute joints in turn, arbitrary axes and frames, tilted gravity."""
    joints = tuple(
        Joint(
            name=f"j{i}",
            type="prismatic" if i % 2 else "revolute",
            parent=i - 1,
            T_parent_joint=random_placement(rng),
            axis=rng.normal(size=3),
            link=Link(f"body{i}", random_link(rng)),
            T_joint_link=random_placement(rng),
        )
        for i in range(n_dof)
    )
    return Robot("sliding arm", joints, gravity=rng.normal(size=3) * 9.81)


def loaded(robot: Robot, rng: np.random.Generator) -> TorqueModel:
    """Load-dependent friction on every joint but the first, with a reference of its own."""
    load = LoadCoulomb(reference=robot.nominal * 1.1)
    flags = (False, *(True,) * (robot.n_dof - 1))
    return TorqueModel(robot, (*friction_models("viscous"), load.only_on(flags), RotorInertia()))
