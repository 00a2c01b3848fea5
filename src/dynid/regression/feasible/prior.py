"""Where θ is measured from when the data do not decide: the nominal model, or a plain body for every link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import linalg, sparse

from dynid.arrays import Array, Float, Vector3, freeze_arrays
from dynid.chain.consistency import consistency
from dynid.chain.inertia import InertialParameters
from dynid.chain.robot import BASE, Robot
from dynid.dynamics.model import TorqueModel
from dynid.errors import ParameterError
from dynid.regression.constraints.cones import PSEUDO_INERTIA, smat, svec
from dynid.regression.constraints.constraints import Constraints
from dynid.regression.constraints.parameter_names import find_parameter
from dynid.regression.constraints.regions import span

__all__ = [
    "NOMINAL_STD",
    "Prior",
    "Reference",
    "Rule",
    "nominal_reference",
    "plain_bodies",
    "plain_reference",
    "reference_of",
]

Rule = Literal["map", "auto", "nominal", "entropic", "centred"]

NOMINAL_STD = 0.3
"""Spread of a link about its nominal one, relative: a mass may be 30 % off, and a centre of mass by a fifth of the
link's radius of gyration."""
MIN_RADIUS = 0.05
"""m; smallest radius of the plain body of a link."""
MIN_REACH = 0.3
"""m; smallest length of the whole arm when masses are guessed from moments."""
_MIN_MASS = 1e-2
"""kg; a smaller guess of the mass of the whole arm is no guess."""
TAPER = 1.5
"""Power of the distance to the tip with which the mass of links falls along an arm; UR10e, Panda and KR300 lie between
1.2 and 2."""
_SHORTEST = 0.05
"""Share of the whole reach that a link's distance to the tip, and the radius of its plain body, is at least."""
FLATNESS = 3.0
"""Fraction of the mean second moment added in every direction of the length scale of a link.

Near-round scales: were a thin direction of the nominal link measured by its own thinness, the nearest robot would
rather have a heavy link than a product of inertia there (84 kg for the upper arm of a UR10e).
"""


@dataclass(frozen=True)
class Prior:
    """How to choose among parameters that the data do not tell apart, and whether to pull the fit towards it."""

    rule: Rule = "auto"
    """``map``: one programme of data and links, each link spread about its nominal by `std`, or about a plain body
    where it has none; rows must then be in units of their noise. The others decide among equal fits alone.
    ``nominal``: closest to the nominal model; ``entropic``: the same by the divergence of [Lee2020]_;
    ``centred``: closest, by that divergence, to a plain body per link; ``auto``: nominal where the robot has a
    consistent one, else centred."""
    weight: float = 0.0
    """Weight of the squared (dimensionless) distance beside ‖RKθ − ρ‖²; 0 decides only among equal fits."""
    std: float = NOMINAL_STD
    """Standard deviation of a link about its nominal one, relative, for ``map``."""
    widened: bool = False
    """Whether links may be further off than `std`, each by the spread that maximises the evidence."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0.0):
            raise ParameterError(f"the weight of a prior must be finite and ≥ 0, got {self.weight}")
        if not (math.isfinite(self.std) and self.std > 0.0):
            raise ParameterError(f"the spread of a prior must be finite and > 0, got {self.std}")


@dataclass(frozen=True, eq=False)
class Reference:
    r"""Coordinates in which a reference robot is the identity.

    With :math:`J_k^0 = L_k L_k^T` the pseudo-inertia of the reference, the ten numbers of link k become the symmetric
    4×4 matrix :math:`X_k = L_k^{-1} J_k L_k^{-T}`, stored as `svec`: distances do not depend on units or on the size
    of a link, and :math:`\|X_k - 1\|_F` is to second order the entropic distance.
    """

    S: Float[Array, "n_params n_params"]
    """θ = S x, with x dimensionless for links; joint terms are scaled one by one."""
    S_inverse: Float[Array, "n_params n_params"]
    factors: Float[Array, "n_links 4 4"]
    """L of every link, SI."""
    x_target: Float[Array, " n_params"]
    """What is asked to be near."""
    rule: Rule
    """Never ``auto``."""
    text: str
    """The rule as a sentence."""

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @cached_property
    def sparse(self) -> sparse.csr_array:
        """S without its zeros, dimensions as S; small products then stay out of BLAS, whose threads cost more."""
        return sparse.csr_array(self.S)

    def congruence(self, link: int) -> Float[Array, "10 10"]:
        """The matrix from svec(J) to svec(X) of one link."""
        return _congruence(np.linalg.inv(self.factors[link]))


_BASIS = np.array([smat(unit) for unit in np.eye(10)])


def _congruence(L: Float[Array, "4 4"]) -> Float[Array, "10 10"]:
    """The matrix of svec(X) ↦ svec(L X Lᵀ)."""
    return svec(L @ _BASIS @ L.T).T


def reference_of(
    model: TorqueModel,
    bodies: Float[Array, "n_links 10"],
    target: Float[Array, "n_links 10"],
    rule: Rule,
    text: str,
    *,
    triangle: bool,
) -> Reference:
    """Coordinates of consistent `bodies`, with `target` (SI) as the place to be near.

    Without the triangle condition a mass and a length scale each link: principal axes mean nothing to a 6×6 matrix.
    """
    blocks, inverses, factors, x_target = [], [], [], []
    from_pseudo = np.linalg.inv(PSEUDO_INERTIA)
    for body, wanted in zip(bodies, target, strict=True):
        J = InertialParameters(body).pseudo_inertia
        # The mass distribution about its own centre decides how flat the body is.
        com = J[:3, 3] / J[3, 3]
        about_com = J[:3, :3] - J[3, 3] * np.outer(com, com)
        J = J + np.diag([FLATNESS * np.trace(about_com) / 3.0] * 3 + [0.0])
        if not triangle:
            J = np.diag([np.trace(J[:3, :3]) / 3.0] * 3 + [J[3, 3]])
        L = np.linalg.cholesky(J)
        factors.append(L)
        blocks.append(from_pseudo @ _congruence(L))
        inverses.append(_congruence(np.linalg.inv(L)) @ PSEUDO_INERTIA)
        x_target.append(inverses[-1] @ wanted)
    scales = np.ones(model.n_dof * len(model.terms))
    for k, column in enumerate(model.columns[model.n_inertial :]):
        if k % len(model.terms) in model.inertia_terms:
            link = bodies[k // len(model.terms)]
            scales[k] = float(link[4] + link[6] + link[9]) if column.unit == "kg·m²" else float(link[0])
    return Reference(
        S=linalg.block_diag(*blocks, np.diag(scales)) if len(scales) else linalg.block_diag(*blocks),
        S_inverse=linalg.block_diag(*inverses, np.diag(1.0 / scales)) if len(scales) else linalg.block_diag(*inverses),
        factors=np.array(factors),
        x_target=np.concatenate([*x_target, np.zeros(len(scales))]),
        rule=rule,
        text=text,
    )


def nominal_reference(
    model: TorqueModel,
    constraints: Constraints,
    prior: Prior,
    beta_size: Float[Array, " n_params"],
    *,
    own_coordinates: bool = True,
) -> Reference:
    """Near the nominal model of the robot; dimensionless distances.

    Args:
        model: whose robot has nominal parameters.
        constraints: whether the triangle condition is asked.
        prior: ``nominal`` or ``entropic``.
        beta_size: rough θ (SI) from the data, used for links whose nominal inertias are not physically consistent.
        own_coordinates: False measures in the coordinates of plain links, for a nominal model far from the data.

    Raises:
        ParameterError: when there is no nominal model, or an inconsistent one where a divergence is asked for.
    """
    robot = model.robot
    if not robot.has_nominal:
        raise ParameterError(
            f"{robot.source}: rule {prior.rule!r} needs nominal inertias for every link; use rule 'centred'"
        )
    nominal = robot.nominal
    inconsistent = [
        name
        for name, pi in zip(robot.link_names, nominal, strict=True)
        if not consistency(InertialParameters(pi)).holds
    ]
    if inconsistent and prior.rule == "entropic":
        raise ParameterError(
            f"{robot.source}: nominal inertia of {', '.join(inconsistent)} is not physically consistent, so no "
            "divergence from it exists; use rule 'nominal' or 'centred', or repair it"
        )
    bodies = nominal.copy()
    if inconsistent or not own_coordinates:
        plain = plain_bodies(model, constraints, beta_size)
        for k, name in enumerate(robot.link_names):
            bodies[k] = plain[k] if name in inconsistent or not own_coordinates else bodies[k]
    size = "relative to the size of each nominal link" if own_coordinates else "relative to the size of plain links"
    how = "entropic divergence" if prior.rule == "entropic" else size
    rule: Rule = "entropic" if prior.rule == "entropic" else "nominal"
    text = f"closest to the nominal model ({how})"
    return reference_of(model, bodies, nominal, rule, text, triangle=constraints.triangle)


def plain_reference(model: TorqueModel, constraints: Constraints, beta_size: Float[Array, " n_params"]) -> Reference:
    """Near a plain ball per link, sized by the distances between joints and the moments seen (SI)."""
    bodies = plain_bodies(model, constraints, beta_size)
    if not constraints.triangle:
        text = "best centred: closest to a uniform ball per link, sized by kinematics and bounds"
        return reference_of(model, bodies, bodies, "nominal", text, triangle=False)
    text = "best centred: closest in entropic divergence to a uniform ball per link, sized by kinematics and bounds"
    return reference_of(model, bodies, bodies, "centred", text, triangle=True)


def plain_bodies(
    model: TorqueModel, constraints: Constraints, beta_size: Float[Array, " n_params"], *, tapered: bool = False
) -> Float[Array, "n_links 10"]:
    """A uniform ball per link (SI), all of one mass or, `tapered`, lighter towards the tip."""
    robot = model.robot
    points = _points(robot)
    reach = max(MIN_REACH, max(sum(_length(points[j]) for j in path) for path in robot.path_to))
    links = np.abs(beta_size[: model.n_inertial].reshape(-1, 10))
    # A mass seen by itself is best; else an arm of uniform mass and this reach has first moment m·reach/2 and inertia
    # m·reach²/3 about its foot. Regrouped inertias can be far larger than any link's: they come last.
    guesses = (np.max(links[:, 0]), 2.0 * np.max(links[:, 1:4]) / reach, 3.0 * np.max(links[:, 4:]) / reach**2)
    guess = next((float(value) for value in guesses if value > _MIN_MASS), _MIN_MASS)
    radii = np.array([max(MIN_RADIUS, 0.5 * _length(own)) for own in points])
    masses = np.full(model.n_dof, guess / model.n_dof)
    if tapered:
        radii = np.array([max(_SHORTEST * reach, 0.5 * _length(own)) for own in points])
        shares = (_beyond(robot, points) + _SHORTEST * reach) ** TAPER
        masses = guess * shares / np.sum(shares)
    centres = np.array([np.mean(own, axis=0) for own in points])
    masses, centres = _inside_bounds(model, constraints, masses, centres)
    if constraints.total_mass is not None and np.all(np.isfinite(constraints.total_mass)):
        masses *= np.mean(constraints.total_mass) / np.sum(masses)
    return np.array(
        [
            InertialParameters.from_com(mass, centre, 0.4 * mass * radius**2 * np.eye(3)).pi
            for mass, centre, radius in zip(masses, centres, radii, strict=True)
        ]
    )


def _inside_bounds(
    model: TorqueModel, constraints: Constraints, masses: Float[Array, " n_links"], centres: Float[Array, "n_links 3"]
) -> tuple[Float[Array, " n_links"], Float[Array, "n_links 3"]]:
    """Masses (kg) and centres (m) moved to the middle of what bounds and regions allow."""
    masses, centres = masses.copy(), centres.copy()
    for bound in constraints.bounds.entries:
        parameter = find_parameter(bound.name, model, where=bound.where)
        if parameter is None or not (math.isfinite(bound.lower) and math.isfinite(bound.upper)):
            continue
        middle = 0.5 * (bound.lower + bound.upper)
        if parameter.kind == "com":
            centres[parameter.link, parameter.index % 10 - 1] = middle
        elif parameter.is_mass and middle > 0.0:
            masses[parameter.link] = middle
    for link, region in constraints.com_regions.items():
        centres[model.robot.link_names.index(link)] = 0.5 * np.sum(span(region), axis=0)
    return masses, centres


def _points(robot: Robot) -> list[Float[Array, "n_points 3"]]:
    """For every link, in its frame (m), the origins of the joint that carries it and of the joints on it."""
    own: list[list[Vector3]] = [[np.linalg.inv(joint.T_joint_link)[:3, 3]] for joint in robot.joints]
    for joint in robot.joints:
        if joint.parent != BASE:
            own[joint.parent].append(joint.T_parent_joint[:3, 3])
    for index, joint in enumerate(robot.joints):
        if len(own[index]) == 1:
            own[index].append(np.zeros(3) if np.any(joint.T_joint_link[:3, 3]) else own[index][0])
    return [np.array(points) for points in own]


def _beyond(robot: Robot, points: list[Float[Array, "n_points 3"]]) -> Float[Array, " n_links"]:
    """For every link how far (m) the arm goes on from its joint, along the longest branch."""
    beyond = np.zeros(robot.n_dof)
    for path in robot.path_to:
        lengths = [_length(points[j]) for j in path]
        for place, j in enumerate(path):
            beyond[j] = max(beyond[j], sum(lengths[place:]))
    return beyond


def _length(points: Float[Array, "n_points 3"]) -> float:
    """Largest distance (m) from the first point."""
    return float(np.max(np.linalg.norm(points - points[0], axis=1)))
