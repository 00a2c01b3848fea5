"""Densities: all mass of a link inside a solid."""

import numpy as np
import pytest

import dynid
from dynid import TorqueModel, base_parameters, load_robot
from dynid.chain import Box, Ellipsoid, InertialParameters
from dynid.regression import Constraints, Feasible, Frustum, Hull, Prior, RegionUnion, SampleRows, Sphere, compress
from dynid.regression.constraints.density import density_quadrics
from dynid.regression.constraints.files import read_constraints
from tests.regression.arms import conditioned, exciting_motion, log_of
from tests.workflow.small_arm import ARM, run

CUBE = np.array([[x, y, z] for x in (-0.1, 0.3) for y in (-0.2, 0.2) for z in (0.0, 0.5)])
REGIONS = [
    Box(CUBE.min(axis=0), CUBE.max(axis=0)),
    Ellipsoid(np.array([0.1, 0.0, 0.2]), np.array([0.2, 0.3, 0.4])),
    Sphere(np.array([0.0, 0.1, 0.0]), 0.3),
    Frustum(np.zeros(3), np.array([0.1, 0.2, 0.4]), 0.1, 0.05),
    Hull.of(CUBE),
    Hull.of(np.random.default_rng(0).normal(size=(200, 3))),
    RegionUnion((Sphere(np.zeros(3), 0.1), Box(np.zeros(3), np.ones(3)))),
]


def pseudo_inertia(points, masses):
    lifted = np.column_stack([points, np.ones(len(points))])
    return (lifted.T * masses) @ lifted


def points_in(region, rng, n=60):
    """Points inside a region, by rejection."""
    found: list[np.ndarray] = []
    while len(found) < n:
        point = rng.uniform(-2.5, 2.5, 3) * rng.uniform(0.0, 1.0)
        distance = region.margin(point) if isinstance(region, Box | Ellipsoid) else -region.outside(point)[0]
        if distance >= 0.0:
            found.append(point)
    return np.array(found)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: type(region).__name__)
def test_any_mass_inside_meets_every_condition(region, rng):
    quadrics = density_quadrics(region)
    for _ in range(20):
        points = points_in(region, rng, 8)
        J = pseudo_inertia(points, rng.uniform(0.0, 1.0, len(points)))
        assert np.min(np.einsum("kij,ij->k", quadrics, J)) > -1e-9


@pytest.mark.parametrize("region", REGIONS[:3], ids=lambda region: type(region).__name__)
def test_a_centre_inside_with_mass_outside_does_not(region):
    centre = 0.5 * (CUBE.min(axis=0) + CUBE.max(axis=0)) if isinstance(region, Box) else region.centre
    away = np.array([2.0, 0.0, 0.0])
    far = np.array([centre + away, centre - away])
    J = pseudo_inertia(far, np.ones(2))
    assert np.min(np.einsum("kij,ij->k", density_quadrics(region), J)) < 0.0


def test_one_quadric_is_enough_for_an_ellipsoid(rng):
    # Sufficient: a J on the boundary is that of mass on the surface, so shells have ⟨Q, J⟩ = 0.
    ball = Sphere(np.array([0.1, 0.0, -0.2]), 0.3)
    away = rng.normal(size=(50, 3))
    shell = ball.centre + 0.3 * away / np.linalg.norm(away, axis=1)[:, None]
    J = pseudo_inertia(shell, rng.uniform(0.0, 1.0, 50))
    assert np.sum(density_quadrics(ball)[0] * J) == pytest.approx(0.0, abs=1e-9)


def test_a_fit_keeps_the_mass_of_a_link_inside_its_box(rng):
    robot = load_robot("spatial2r")
    model = TorqueModel(robot)
    log = log_of(model, model.nominal(), exciting_motion(robot, rng, seconds=10.0), rng)
    regression = compress(SampleRows(model, base_parameters(model), (conditioned(log),)))
    box = Box(np.array([-0.9, -0.02, -0.02]), np.array([0.1, 0.02, 0.02]))
    link = robot.link_names[1]
    free = Feasible(prior=Prior("map")).fit(regression)
    held = Feasible(prior=Prior("map"), constraints=Constraints(density_regions={link: box})).fit(regression)

    def room(estimate):
        J = InertialParameters(estimate.theta[10:20]).pseudo_inertia
        return np.min(np.einsum("kij,ij->k", density_quadrics(box), J))

    assert room(free) < -1e-4, "the case shall need the constraint"
    assert room(held) > -1e-9


def test_a_file_asks_for_densities(tmp_path):
    path = tmp_path / "constraints.toml"
    path.write_text(
        '[density.link2]\ntype = "ellipsoid"\ncentre = [0.25, 0, 0]\nsemi_axes = [0.5, 0.2, 0.2]\n',
        encoding="utf-8",
    )
    assert isinstance(read_constraints(path).density_regions["link2"], Ellipsoid)
    result = dynid.identify(ARM, run(1), friction="viscous+coulomb", bounds=path)
    J = result.model.links[1].pseudo_inertia
    quadric = density_quadrics(Ellipsoid(np.array([0.25, 0.0, 0.0]), np.array([0.5, 0.2, 0.2])))[0]
    assert np.sum(quadric * J) > -1e-9
