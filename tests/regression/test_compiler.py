"""Every constraint, compiled, says of given links what it says itself: worked out from the links."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dynid import TorqueModel, load_robot
from dynid.arrays import Array
from dynid.chain.consistency import Box, Ellipsoid
from dynid.chain.inertia import InertialParameters
from dynid.dynamics import friction_models
from dynid.errors import ContradictoryBounds, ParameterError
from dynid.regression.constraints.cones import ConeBlock, clashing, slack, smat
from dynid.regression.constraints.constraints import Constraints, ParameterBounds, Symmetry, Tie
from dynid.regression.constraints.inertia_bounds import InertiaBound
from dynid.regression.constraints.regions import Frustum, Hull, RegionUnion, Sphere
from dynid.regression.constraints.user_functions import UserFunction
from tests.regression.arms import p_from_theta
from tests.robots import random_link

INF = math.inf
POSITIONS = {"xx": 4, "xy": 5, "yy": 6, "xz": 7, "yz": 8, "zz": 9}


@pytest.fixture
def model() -> TorqueModel:
    return TorqueModel(load_robot("spatial2r"), friction_models("viscous+coulomb"))


@pytest.fixture
def theta(model, rng) -> Array:
    links = [random_link(rng).pi for _ in range(2)]
    return np.concatenate([*links, rng.uniform(0.1, 0.5, model.n_params - 20)])


def link_of(theta: Array, number: int) -> InertialParameters:
    return InertialParameters(theta[10 * number - 10 : 10 * number])


def inertia(theta: Array, number: int, axes: str) -> float:
    return float(link_of(theta, number).inertia_com["xyz".index(axes[0]), "xyz".index(axes[1])])


def values(blocks: tuple[ConeBlock, ...], theta: Array) -> dict[str, float]:
    """By name, the slack of each linear row, of each ball what is left of its radius, the smallest eigenvalue."""
    found: dict[str, float] = {}
    for block in blocks:
        s = block.A @ theta + block.b
        if block.kind in ("nonnegative", "zero"):
            found |= dict(zip(block.names, s.tolist(), strict=True))
        elif block.kind == "second order":
            found[block.names[0]] = float(s[0] - np.linalg.norm(s[1:]))
        else:
            found[block.names[0]] = float(np.linalg.eigvalsh(smat(s))[0])
    return found


def test_linear_conditions_are_what_they_are_called(model, theta):
    asked = Constraints(
        margin=1e-3,
        bounds=ParameterBounds.of({"m1": (1.0, 5.0), "c2y": (-0.1, 0.3), "fv1": (0.0, 2.0), "m2": (-INF, 7.0)}),
        total_mass=(2.0, 9.0),
        com_regions={"link1": Box(np.array([-0.1, -0.2, -INF]), np.array([0.1, INF, 0.3]))},
    )
    found = values(asked.compile(model).blocks, theta)
    first, second = link_of(theta, 1), link_of(theta, 2)
    friction = dict(zip(model.symbols[20:], theta[20:].tolist(), strict=True))
    symbols = list(model.symbols[20:])
    expected = {
        "m1 ≥ 1": first.mass - 1.0,
        "m1 ≤ 5": 5.0 - first.mass,
        "m2 ≤ 7": 7.0 - second.mass,
        "c2y ≥ -0.1": second.mass * (second.com[1] + 0.1),
        "c2y ≤ 0.3": second.mass * (0.3 - second.com[1]),
        "link1.com.x ≥ -0.1": first.mass * (first.com[0] + 0.1),
        "link1.com.x ≤ 0.1": first.mass * (0.1 - first.com[0]),
        "link1.com.y ≥ -0.2": first.mass * (first.com[1] + 0.2),
        "link1.com.z ≤ 0.3": first.mass * (0.3 - first.com[2]),
        "fv1 ≥ 0": friction[symbols[0]],
        "fv1 ≤ 2": 2.0 - friction[symbols[0]],
        "total mass ≥ 2 kg": first.mass + second.mass - 2.0,
        "total mass ≤ 9 kg": 9.0 - first.mass - second.mass,
        "pseudo-inertia of link1 ≥ 0.001": float(np.linalg.eigvalsh(first.pseudo_inertia)[0]) - 1e-3,
        "pseudo-inertia of link2 ≥ 0.001": float(np.linalg.eigvalsh(second.pseudo_inertia)[0]) - 1e-3,
    }
    for name in ("link1.com.z ≥ -inf", "link1.com.y ≤ inf", "m2 ≥ -inf"):
        assert name not in found
    for name, value in expected.items():
        assert found.pop(name) == pytest.approx(value, abs=1e-12), name
    # What is left: friction that must not be negative, by the margin.
    terms = [symbol for symbol in symbols if f"{symbol} ≥ 0.001" in found]
    assert len(terms) == 4
    for symbol in terms:
        assert found.pop(f"{symbol} ≥ 0.001") == pytest.approx(friction[symbol] - 1e-3, abs=1e-12)
    assert found == {}


def test_the_weaker_condition_is_on_six_by_six_matrices(model, theta):
    found = values(Constraints(triangle=False, nonnegative_joint_terms=False).compile(model).blocks, theta)
    assert found == {
        f"6×6 inertia of link{i} ≥ 1e-08": pytest.approx(
            float(np.linalg.eigvalsh(link_of(theta, i).spatial_inertia)[0]) - 1e-8, abs=1e-9
        )
        for i in (1, 2)
    }


def test_an_open_side_of_the_total_mass_asks_for_nothing(model, theta):
    total = link_of(theta, 1).mass + link_of(theta, 2).mass
    below = values(Constraints(total_mass=(-INF, 9.0)).compile(model).blocks, theta)
    assert below.pop("total mass ≤ 9 kg") == pytest.approx(9.0 - total)
    above = values(Constraints(total_mass=(1.0, INF)).compile(model).blocks, theta)
    assert above.pop("total mass ≥ 1 kg") == pytest.approx(total - 1.0)
    assert not any("total mass" in name for name in (*below, *above))


def test_known_values_are_equations_that_the_links_solve(model, theta):
    second = link_of(theta, 2)
    pinned = {"m2": second.mass, **{f"c2{axis}": float(second.com[k]) for k, axis in enumerate("xyz")}}
    pinned |= {f"I2{axes}": inertia(theta, 2, axes) for axes in POSITIONS} | {"J1xx": float(theta[4])}
    first = link_of(theta, 1)
    total = first.mass + second.mass
    height = float(first.com[2])
    flat = Box(np.array([-5.0, -5.0, height]), np.array([5.0, 5.0, height]))
    made = Constraints(pinned=pinned, total_mass=(total, total), com_regions={"link1": flat}).compile(model)
    assert len(made.pins.b) == 13
    np.testing.assert_allclose(made.pins.A @ theta + made.pins.b, 0.0, atol=1e-12)
    moved = theta + 0.01
    assert np.all(np.abs(made.pins.A @ moved + made.pins.b)[:10] > 1e-4)
    assert made.pinned == (3, 4, *range(10, 20))
    loose = Constraints(pinned={"I2xx": 0.1, "m2": 1.0, "c2x": 0.0, "c2y": 0.0}).compile(model)
    with pytest.raises(ParameterError, match="I2xx is about the centre of mass: pin the mass and the centre of mass"):
        loose.require_convex()


@pytest.mark.parametrize("axes", ["xx", "yy", "zz"])
def test_a_floor_on_a_moment_is_exact(model, theta, axes):
    here = inertia(theta, 2, axes)
    for lower, holds in ((0.999 * here, True), (1.001 * here, False)):
        made = Constraints(bounds=ParameterBounds.of({f"I2{axes}": (lower, INF)})).compile(model)
        assert (values(made.blocks, theta)[f"I2{axes} ≥ {lower:g}"] >= 0.0) is holds
    # A moment that cannot be negative needs no floor of zero.
    assert len(Constraints(bounds=ParameterBounds.of({f"I2{axes}": (0.0, 1.0)})).compile(model).blocks) == 3


@pytest.mark.parametrize("axes", POSITIONS)
def test_a_bound_about_a_known_centre_is_exact_and_about_another_safe(theta, axes, rng):
    here, com = inertia(theta, 2, axes), link_of(theta, 2).com
    position = 10 + POSITIONS[axes]
    for limit, holds in ((here + 1e-3, True), (here - 1e-3, False)):
        bound = InertiaBound("I", -INF, limit, position)
        (block,) = bound.restricted(com, len(theta))
        assert (values((block,), theta)[f"I ≤ {limit:g}"] >= 0.0) is holds
        assert (bound.excess(link_of(theta, 2).inertia_com) <= 0.0) is holds
        if axes[0] != axes[1]:
            (block,) = InertiaBound("I", 2 * here - limit, INF, position).restricted(com, len(theta))
            assert (values((block,), theta)[f"I ≥ {2 * here - limit:g}"] >= 0.0) is holds
    for _ in range(20):
        limit = here + rng.normal() * 0.05
        (block,) = InertiaBound("I", -INF, limit, position).restricted(com + rng.normal(size=3), len(theta))
        if values((block,), theta)[f"I ≤ {limit:g}"] >= 0.0:
            assert here <= limit
    assert InertiaBound("I", -INF, INF, position).restricted(com, len(theta)) == ()


def test_an_ellipsoid_holds_what_lies_in_it(model, theta):
    com = link_of(theta, 2).com
    for shift, holds in ((0.99, True), (1.01, False)):
        for axis in range(3):
            semi = np.array([0.1, 0.2, 0.3])
            region = Ellipsoid(com - shift * semi * np.eye(3)[axis], semi)
            found = values(Constraints(com_regions={"link2": region}).compile(model).blocks, theta)
            assert (found["centre of mass of link2 in its ellipsoid"] >= 0.0) is holds


@pytest.mark.parametrize(
    "asked",
    [
        Constraints(pinned={"m1": 0.0}),
        Constraints(pinned={"m1": 1e-9}),
        Constraints(bounds=ParameterBounds.of({"m1": (-1.0, 0.0)})),
        Constraints(pinned={"fv1": -0.1}),
    ],
)
def test_known_values_that_physics_forbids_are_refused(model, asked):
    with pytest.raises(ContradictoryBounds):
        asked.compile(model)


def test_known_values_at_the_edge_of_physics_are_not(model):
    Constraints(pinned={"m1": 1e-8, "fv1": 0.0}).compile(model)


def test_only_those_with_weight_take_part_in_a_contradiction():
    rows = ConeBlock("nonnegative", np.zeros((3, 4)), np.zeros(3), ("a", "b", "c"))
    ball = ConeBlock("second order", np.zeros((3, 4)), np.zeros(3), ("d",))
    weights = [np.array([1.0, -2e-5, 0.5e-5]), np.array([0.3, 0.0, 0.4])]
    assert clashing((rows, ball), weights) == ("a", "b", "d")
    assert clashing((), ()) == ()


def heavy(links) -> float:
    return links.total_mass - 3.0


def margins(model: TorqueModel, theta: Array) -> tuple[dict[str, float], Array]:
    asked = Constraints(
        margin=1e-3,
        bounds=ParameterBounds.of(
            {"m1": (0.5, 5.0), "c1x": (-0.2, 0.3), "I2yy": (0.01, 2.0), "mc2x": (-1.0, 1.5), "J2xy": (0.1, 0.1)}
        ),
        pinned={"m2": 2.0},
        total_mass=(1.0, 6.0),
        com_regions={
            "link1": Box(np.full(3, -0.5), np.full(3, 0.5)),
            "link2": Sphere(np.array([0.1, 0.0, 0.0]), 0.4),
        },
        symmetries=(Symmetry("link2", axis="z"),),
        ties=(Tie("m1", "m2", 2.0, 0.5), Tie("mc1x", "c2y", 3.0)),
        functions=(UserFunction("heavy", heavy),),
    )
    p = p_from_theta(theta, 2)
    return {check.name: check.margin for check in asked.compile(model).check(p)}, p


def test_margins_of_constraints_are_those_of_the_links(model, theta):
    found, _ = margins(model, theta)
    first, second = link_of(theta, 1), link_of(theta, 2)

    def triangle(link: InertialParameters) -> float:
        moments = np.linalg.eigvalsh(link.inertia_com)
        return float(0.5 * np.sum(moments) - moments[2] - 4e-3)

    expected: dict[str, float] = {
        "m1 ≥ 0.5": first.mass - 0.5,
        "m1 ≤ 5": 5.0 - first.mass,
        "m2 = 2": -abs(second.mass - 2.0),
        "c1x ≥ -0.2": first.com[0] + 0.2,
        "c1x ≤ 0.3": 0.3 - first.com[0],
        "I2yy ≥ 0.01": inertia(theta, 2, "yy") - 0.01,
        "I2yy ≤ 2": 2.0 - inertia(theta, 2, "yy"),
        "mc2x ≥ -1": theta[11] + 1.0,
        "mc2x ≤ 1.5": 1.5 - theta[11],
        "J2xy = 0.1": -abs(theta[15] - 0.1),
        "total mass ≥ 1 kg": first.mass + second.mass - 1.0,
        "total mass ≤ 6 kg": 6.0 - first.mass - second.mass,
        "symmetry of link2: cx = 0": -abs(second.com[0]),
        "symmetry of link2: cy = 0": -abs(second.com[1]),
        "symmetry of link2: Ixy = 0": -abs(inertia(theta, 2, "xy")),
        "symmetry of link2: Ixz = 0": -abs(inertia(theta, 2, "xz")),
        "symmetry of link2: Iyz = 0": -abs(inertia(theta, 2, "yz")),
        "symmetry of link2: I2xx = I2yy": -abs(inertia(theta, 2, "xx") - inertia(theta, 2, "yy")),
        "m1 = 2·m2 + 0.5": -abs(first.mass - 2.0 * second.mass - 0.5),
        "mc1x = 3·c2y": -abs(theta[1] - 3.0 * second.com[1]),
        "centre of mass of link1 in its box": float(np.min(0.5 - np.abs(first.com))),
        "centre of mass of link2 in its sphere": 0.4 - float(np.linalg.norm(second.com - [0.1, 0.0, 0.0])),
        "heavy(links) ≤ 0": 3.0 - first.mass - second.mass,
        "triangle inequality of link1": triangle(first),
        "triangle inequality of link2": triangle(second),
    }
    for name, value in expected.items():
        if name == "centre of mass of link1 in its box" and value < 0.0:
            value = -float(np.linalg.norm(np.maximum(np.abs(first.com) - 0.5, 0.0)))
        assert found.pop(name) == pytest.approx(value, abs=1e-12), name
    # What is left: friction that must not be negative.
    assert len(found) == 4
    assert all(name.endswith("≥ 0.001") for name in found)


def test_what_the_programme_does_not_know_is_told_and_refused(model):
    asked = Constraints(
        bounds=ParameterBounds.of({"I1xx": (0.1, 0.1), "I1yy": (0.1, 0.2)}),
        pinned={"I2zz": 0.3, "m2": 1.0},
        com_regions={"link1": RegionUnion((Sphere(np.zeros(3), 0.1),)), "link2": Sphere(np.zeros(3), 0.1)},
        symmetries=(Symmetry("link2", plane="xy"),),
        ties=(Tie("m1", "m2"), Tie("c1x", "c2x")),
        functions=(UserFunction("heavy", heavy),),
    )
    made = asked.compile(model)
    assert made.left_out == ("I1xx = 0.1", "I2zz = 0.3", "union of link1 (its box counts)", "c1x = c2x", "heavy")
    with pytest.raises(ParameterError, match=r"I1xx is about.*I2zz is about.*union of.*c1x = c2x.*function heavy"):
        made.require_convex()
    assert [bound.name for bound in made.inertia_bounds] == ["I1yy"]
    assert {"m2 = 1", "m1 = m2", "symmetry of link2: cz = 0"} <= set(made.pins.names)
    assert made.n_links == 2
    Constraints(symmetries=asked.symmetries, ties=asked.ties[:1]).compile(model).require_convex()


@pytest.mark.parametrize("symmetry", [Symmetry("link2", plane="xz"), Symmetry("link2", axis="y")])
def test_a_symmetric_link_solves_the_equations_over_theta_and_another_does_not(model, theta, symmetry):
    zeros, pair = symmetry.zeros()
    link = link_of(theta, 2)
    com, tensor = np.array(link.com), np.array(link.inertia_com)
    for short in zeros:
        if short[0] == "c":
            com["xyz".index(short[1])] = 0.0
        else:
            a, b = "xyz".index(short[1]), "xyz".index(short[2])
            tensor[a, b] = tensor[b, a] = 0.0
    if pair is not None:
        tensor[2, 2] = tensor[0, 0]
    symmetric = theta.copy()
    symmetric[10:20] = InertialParameters.from_com(link.mass, com, tensor).pi
    pins = Constraints(symmetries=(symmetry,)).compile(model).pins
    assert len(pins.b) == len(zeros) + (pair is not None)
    np.testing.assert_allclose(pins.at(symmetric), 0.0, atol=1e-14)
    assert np.all(np.abs(pins.at(theta)) > 1e-4)


SOLIDS = (
    Sphere(np.array([0.1, -0.2, 0.3]), 0.25),
    Frustum(np.array([0.1, 0.0, -0.2]), np.array([0.3, 0.4, 0.5]), 0.3, 0.05),
    Frustum.cylinder([0.0, 0.0, 0.0], [0.0, -0.6, 0.0], 0.2),
    Hull.of(np.random.default_rng(3).normal(size=(30, 3))),
)


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda solid: solid.word)
def test_a_convex_solid_is_the_same_over_theta_as_over_centres_of_mass(model, theta, solid, rng):
    made = Constraints(com_regions={"link2": solid}).compile(model)
    assert made.left_out == ()
    blocks = [block for block in made.blocks if "centre of mass" in block.names[0]]
    inside = 0
    for _ in range(300):
        com = np.mean(solid.span(), axis=0) + 0.8 * rng.normal(size=3) * np.ptp(solid.span(), axis=0)
        body = theta.copy()
        body[10:20] = InertialParameters.from_com(rng.uniform(0.1, 9.0), com, 0.1 * np.eye(3)).pi
        holds = solid.outside(com)[0] <= 0.0
        inside += holds
        assert (min(slack(block, body) for block in blocks) >= 0.0) is holds
    assert 5 < inside < 295


@pytest.mark.parametrize(
    ("short", "make"),
    [
        (("cz", "Ixz", "Iyz"), lambda: Symmetry("l", plane="xy")),
        (("cy", "Ixy", "Iyz"), lambda: Symmetry("l", plane="xz")),
        (("cx", "Ixy", "Ixz"), lambda: Symmetry("l", plane="yz")),
        (("cy", "cz", "Ixy", "Ixz", "Iyz"), lambda: Symmetry("l", axis="x")),
    ],
)
def test_a_symmetry_makes_these_vanish(short, make: Callable[[], Symmetry]):
    zeros, pair = make().zeros()
    assert zeros == short
    assert pair == (("Iyy", "Izz") if len(short) == 5 else None)


@pytest.mark.parametrize(("low", "high"), [(6.0, 7.0), (-2.0, 0.0)])
def test_bounds_that_leave_nothing_are_named(model, low, high):
    asked = Constraints(bounds=ParameterBounds.of({"m1": (low, high)}), pinned={"m1": 5.0})
    with pytest.raises(ContradictoryBounds, match=r"m1 ≥ .*m1 ≤"):
        asked.compile(model)


def test_bounds_may_meet_in_one_value(model):
    made = Constraints(bounds=ParameterBounds.of({"m1": (5.0, 7.0)}), pinned={"m1": 5.0}).compile(model)
    assert (made.lower[0], made.upper[0]) == (5.0, 5.0)
    assert Constraints().compile(model).lower[0] == 1e-6


def test_sizes_are_a_kilogram_ten_centimetres_and_a_hundredth_of_inertia(model):
    made = Constraints().compile(model)
    expected = {"m": 1.0, "c": 0.1, "I": 0.01, "f": 1.0}
    assert made.sizes.tolist() == [expected[name[0]] for name in made.names_p]
