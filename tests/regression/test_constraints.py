import numpy as np
import pytest

from dynid import InertialParameters, TorqueModel, load_robot
from dynid.chain import Box, Ellipsoid
from dynid.dynamics import friction_models
from dynid.errors import ContradictoryBounds, ParameterError, UnknownName
from dynid.regression.constraints.cones import slack, smat, svec
from dynid.regression.constraints.constraints import Constraints, ParameterBound, ParameterBounds
from dynid.regression.constraints.files import read_bounds
from dynid.regression.constraints.parameter_names import known_parameters
from dynid.regression.feasible.solver import SolverSettings, solve_cones
from tests.robots import random_link

PANDA = TorqueModel(load_robot("panda"), friction_models("viscous+coulomb+offset"))


def holds(model, constraints, theta):
    wanted = constraints.compile(model)
    pins = np.abs(wanted.pins.at(theta)).max(initial=0.0) < 1e-9
    return pins and all(slack(block, theta) >= 0.0 for block in wanted.blocks)


def test_svec_keeps_inner_products_and_is_inverted_by_smat(rng):
    A, B = (M + M.T for M in rng.normal(size=(2, 5, 5)))
    assert svec(A) @ svec(B) == pytest.approx(np.sum(A * B))
    np.testing.assert_allclose(smat(svec(A)), A)


def test_the_solver_takes_matrices_in_our_order(rng):
    M = rng.normal(size=(4, 4))
    M = M + M.T
    wanted = Constraints(margin=0.0).compile(TorqueModel(load_robot("planar2r"))).blocks[0]
    block = type(wanted)("psd", np.eye(10), np.zeros(10), ("X",))
    found = solve_cones(-svec(M), [block], SolverSettings(), quadratic=np.ones(10))
    values, vectors = np.linalg.eigh(M)
    np.testing.assert_allclose(smat(found.x), (vectors * np.maximum(values, 0.0)) @ vectors.T, atol=1e-7)


def test_published_bounds_are_read_and_all_understood(data_dir):
    bounds = read_bounds(data_dir / "panda" / "bounds.csv", PANDA)
    assert len(bounds.entries) == 91
    assert bounds.entries[6] == ParameterBound("m7", 0.0, 10.0, str(data_dir / "panda" / "bounds.csv") + ":8")
    # The same file serves the rigid model: its friction bounds are left aside.
    assert Constraints(bounds=bounds).compile(TorqueModel(load_robot("panda"))).blocks
    assert holds(PANDA, Constraints(bounds=bounds, total_mass=(16.0, 20.0), margin=0.0), PANDA.nominal())


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("m1,0,10\n", ParameterError, "first line must be"),
        ("parameter,lower,upper\nm1,0\n", ParameterError, "bounds.csv:2: 2 cells"),
        ("parameter,lower,upper\nm1,0,1\n\nm2,zero,1\n", ParameterError, "bounds.csv:4: 'zero' is not a number"),
        ("parameter,lower,upper\nm1,3,1\n", ContradictoryBounds, "bounds.csv:2: .*m1 ≥ 3, m1 ≤ 1"),
        ("parameter,lower,upper\nm1,0,1\nm1,0,2\n", ParameterError, "bounds.csv:3: m1 is bounded twice"),
        ("parameter,lower,upper\nI1xxx,0,1\n", UnknownName, "bounds.csv:2: no parameter 'I1xxx'; did you mean 'I1xx'"),
        ("parameter,lower,upper\nm1,nan,1\n", ParameterError, "bounds.csv:2: bound of m1 is not a number"),
    ],
)
def test_a_wrong_bounds_file_is_refused_with_its_line(tmp_path, text, error, message):
    (tmp_path / "bounds.csv").write_text(text, encoding="utf-8")
    with pytest.raises(error, match=message):
        read_bounds(tmp_path / "bounds.csv", PANDA)


def test_a_missing_or_binary_bounds_file_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read"):
        read_bounds(tmp_path / "none.csv")
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ParameterError, match="not a text file in UTF-8"):
        read_bounds(tmp_path / "b.csv")


def test_empty_cells_and_comments_bound_nothing(tmp_path):
    (tmp_path / "bounds.csv").write_text("parameter,lower,upper\n# masses\nm1,,10\nm2,1,\n", encoding="utf-8")
    bounds = read_bounds(tmp_path / "bounds.csv", PANDA)
    assert bounds.entries[0].lower == -np.inf
    assert bounds.entries[1].upper == np.inf


def test_a_parameter_has_the_same_meaning_by_number_and_by_name():
    names = known_parameters(PANDA)
    link, joint = PANDA.robot.link_names[2], PANDA.robot.joint_names[1]
    for number, name in (("m3", "mass"), ("c3x", "com.x"), ("I3xy", "inertia.xy")):
        assert names[number] == names[f"{link}.{name}"]
    assert names["fv2"] == names[f"{joint}.Fv"]
    assert names["Ia2"] is None  # known, but this model has no rotors


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        ({"m1": (1.0, 3.0)}, 2.0, 4.0),
        ({"c1x": (-0.1, 0.3)}, 0.2, 0.4),
        ({"I1xx": (0.05, 9.0)}, 0.06, 0.04),
    ],
)
def test_convex_bounds_hold_exactly_where_the_physical_quantity_does(bound, inside, outside):
    model = TorqueModel(load_robot("planar2r"))
    (name,) = bound

    def theta(value):
        mass = value if name == "m1" else 2.0
        com = [value if name == "c1x" else 0.1, -0.05, 0.2]
        moment = value if name == "I1xx" else 0.1
        values = model.nominal()
        values[:10] = InertialParameters.from_com(mass, com, np.diag([moment, 0.1, 0.1])).pi
        return values

    constraints = Constraints(bounds=ParameterBounds.of(bound))
    assert holds(model, constraints, theta(inside))
    assert not holds(model, constraints, theta(outside))


def test_regions_hold_where_the_centre_of_mass_is_inside(rng):
    model = TorqueModel(load_robot("planar2r"))
    link = model.robot.link_names[0]
    for region in (
        Box(np.array([-0.1, -0.2, -0.3]), np.array([0.3, 0.2, 0.1])),
        Ellipsoid(np.full(3, 0.1), np.full(3, 0.3)),
    ):
        for _ in range(50):
            theta = model.nominal()
            com = rng.uniform(-0.4, 0.4, 3)
            theta[:10] = InertialParameters.from_com(1.5, com, 0.1 * np.eye(3)).pi
            assert holds(model, Constraints(com_regions={link: region}), theta) == (region.margin(com) >= 0.0)


def test_the_restriction_of_an_inertia_bound_is_sound_and_tight_at_its_centre(rng):
    model = TorqueModel(load_robot("planar2r"))
    bounds = ParameterBounds.of({"I1xx": (-9.0, 0.2), "I1xy": (-0.05, 0.05), "I1yz": (-0.02, 0.08)})
    for inertia in Constraints(bounds=bounds).compile(model).inertia_bounds:
        met = 0
        for _ in range(300):
            theta = model.nominal()
            theta[:10] = random_link(rng, scale=0.15).pi
            own = InertialParameters(theta[:10])
            elsewhere = own.com + rng.normal(size=3) * 0.05
            if all(slack(block, theta) >= 0.0 for block in inertia.restricted(elsewhere, model.n_params)):
                assert inertia.excess(own.inertia_com) <= 1e-12
                met += 1
            here = all(slack(block, theta) >= -1e-12 for block in inertia.restricted(own.com, model.n_params))
            assert here == (inertia.excess(own.inertia_com) <= 1e-12)
        assert met > 5


def test_pinned_values_become_equalities():
    link = PANDA.robot.link_names[1]
    wanted = Constraints(pinned={"m2": 1.0, f"{link}.com.x": 0.1, "c2y": 0.0, "c2z": 0.2, "I2xx": 0.3}).compile(PANDA)
    theta = PANDA.nominal()
    theta[10:20] = InertialParameters.from_com(1.0, [0.1, 0.0, 0.2], np.diag([0.3, 0.4, 0.2])).pi
    np.testing.assert_allclose(wanted.pins.at(theta), 0.0, atol=1e-15)
    with pytest.raises(ParameterError, match="pin the mass and the centre of mass"):
        Constraints(pinned={"I2xx": 0.3}).compile(PANDA).require_convex()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constraints(margin=-1.0), "margin must be"),
        (lambda: Constraints(total_mass=(5.0, 3.0)), "total mass ≥ 5 kg, total mass ≤ 3 kg"),
        (lambda: Constraints(total_mass=(-2.0, -1.0)), "total mass must be"),
        (lambda: Constraints(pinned={"m1": np.nan}), "pinned values must be finite"),
        (lambda: Constraints(pinned={"mm1": 1.0}).compile(PANDA), "no parameter 'mm1'"),
        (lambda: Constraints(pinned={"fv1": -1.0}).compile(PANDA), "fv1 = -1, fv1 ≥ 0"),
        (lambda: Constraints(com_regions={"lnk1": Box(np.zeros(3), np.ones(3))}).compile(PANDA), "no link 'lnk1'"),
    ],
)
def test_impossible_constraints_are_refused(make, message):
    with pytest.raises(ParameterError if "no " not in message else UnknownName, match=message):
        make()
