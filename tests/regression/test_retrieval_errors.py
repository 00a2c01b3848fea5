"""What a retrieval refuses: each message names the thing at fault."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.chain.consistency import Box, Ellipsoid
from dynid.errors import ContradictoryBounds, ParameterError, UnknownName
from dynid.regression import (
    Constraints,
    Frustum,
    Hull,
    MultiStart,
    ParameterBounds,
    RegionUnion,
    Retrieval,
    RetrievalObjective,
    SimulatedAnnealing,
    Sphere,
    Symmetry,
    Tie,
    UserFunction,
    UserFunctionError,
    read_bounds,
    read_constraints,
)


@pytest.fixture(scope="module")
def arm():
    model = TorqueModel(load_robot("spatial2r"))
    base = base_parameters(model)
    return model, base, RetrievalObjective.coefficients(base, base.project(model.nominal()))


def solve(arm, constraints, **options):
    model, base, objective = arm
    return Retrieval(constraints=constraints, runs=2, **options).solve(model, base, objective)


def limits(**bounds):
    return Constraints(bounds=ParameterBounds.of(bounds))


def test_masses_that_do_not_add_up_are_named(arm):
    constraints = Constraints(bounds=ParameterBounds.of({"m1": (0.0, 2.0), "m2": (0.0, 3.0)}), total_mass=(6.0, 9.0))
    with pytest.raises(ContradictoryBounds, match=r"m1 ≤ 2.*m2 ≤ 3.*total mass ≥ 6|total mass ≥ 6.*m1 ≤ 2.*m2 ≤ 3"):
        solve(arm, constraints)


def test_a_shape_beyond_the_bounds_is_named(arm):
    cone = Frustum(np.array([0.5, 0.0, 0.0]), np.array([0.9, 0.0, 0.0]), 0.1, 0.02)
    constraints = replace(limits(c2x=(-0.8, 0.0)), com_regions={"link2": cone})
    with pytest.raises(ContradictoryBounds, match=r"c2x|centre of mass of link2"):
        solve(arm, constraints)


def test_a_function_that_clashes_with_a_bound_is_named(arm):
    constraints = replace(
        limits(m2=(0.0, 2.0)), functions=(UserFunction("heavy", lambda links: 4.0 - links["link2"].mass),)
    )
    with pytest.raises(ContradictoryBounds, match=r"heavy\(links\) ≤ 0, m2 ≤ 2") as caught:
        solve(arm, constraints, engine=MultiStart(evaluations=20))
    assert caught.value.clashing == ("heavy(links) ≤ 0", "m2 ≤ 2")


def test_ties_that_contradict_each_other_are_named(arm):
    constraints = Constraints(ties=(Tie("m1", "m2"), Tie("m1", "m2", 1.0, 2.0)))
    with pytest.raises(ContradictoryBounds, match=r"m1 = m2, m1 = m2 \+ 2"):
        solve(arm, constraints)


def raises(links):
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (raises, r"constraint 'mine' raised ZeroDivisionError: by nothing; it got link1: m = .* kg, c = .*link2: m = "),
        (lambda links: math.nan, r"constraint 'mine' returned nan, not a finite number; it got link1: m = "),
        (lambda links: math.inf, r"constraint 'mine' returned inf, not a finite number; it got link1: m = "),
        (lambda links: None, r"constraint 'mine' raised TypeError"),
        (
            lambda links: links["link9"].mass,
            r"constraint 'mine' raised KeyError: .*no link 'link9'; known: link1, link2",
        ),
    ],
)
@pytest.mark.parametrize("engine", [MultiStart(), SimulatedAnnealing(steps=2, iterations=1)], ids=lambda e: e.name)
def test_a_function_that_fails_is_named_with_what_it_got(arm, function, message, engine):
    constraints = Constraints(functions=(UserFunction("mine", function),))
    with pytest.raises(UserFunctionError, match=message):
        solve(arm, constraints, engine=engine)


def test_a_function_that_fails_in_another_process_is_named_too(arm):
    constraints = Constraints(functions=(UserFunction("mine", raises),))
    with pytest.raises(UserFunctionError, match="constraint 'mine' raised ZeroDivisionError"):
        solve(arm, constraints, workers=2)


def test_bounds_upside_down_are_refused(arm, tmp_path):
    file = tmp_path / "bounds.csv"
    file.write_text("parameter,lower,upper\nm1,3,2\n")
    with pytest.raises(ContradictoryBounds, match=r"bounds.csv:2: .*m1 ≥ 3, m1 ≤ 2"):
        read_bounds(file)
    with pytest.raises(ContradictoryBounds, match="m1 ≥ 5, m1 ≤ 4"):
        solve(arm, Constraints(bounds=ParameterBounds.of({"m1": (0.0, 4.0)}), pinned={"m1": 5.0}))


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            Constraints(bounds=ParameterBounds.of({"link2.com.w": (0.0, 1.0)})),
            r"'link2.com.w'; did you mean 'link2\.com\.[xyz]'",
        ),
        (Constraints(pinned={"link2.mas": 1.0}), "did you mean 'link2.mass'"),
        (Constraints(ties=(Tie("m1", "m3"),)), "no parameter 'm3'"),
        (Constraints(com_regions={"lnk2": Sphere(np.zeros(3), 1.0)}), "no link 'lnk2'; did you mean 'link2'"),
        (Constraints(symmetries=(Symmetry("link3", axis="x"),)), "no link 'link3'; did you mean"),
    ],
)
def test_an_unknown_name_offers_the_nearest(arm, constraints, message):
    with pytest.raises(UnknownName, match=message):
        solve(arm, constraints)


def test_coefficients_of_another_robot_are_refused(arm):
    _, base, _ = arm
    panda = base_parameters(TorqueModel(load_robot("panda")))
    with pytest.raises(ParameterError, match="43 base parameters for a robot with 8: they belong to another robot"):
        RetrievalObjective.coefficients(base, np.zeros(panda.n_base))
    with pytest.raises(UnknownName, match="no base parameter 'J1zz'; did you mean"):
        RetrievalObjective.coefficients(base, dict.fromkeys(panda.leading, 0.0))
    with pytest.raises(ParameterError, match=r"missing J2yz.* another robot"):
        RetrievalObjective.coefficients(base, dict.fromkeys(base.leading[:4], 0.0))
    with pytest.raises(ParameterError, match="43×43 for 8 base parameters: it belongs to another robot"):
        RetrievalObjective.one_step(base, np.eye(43), np.zeros(43))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda base: RetrievalObjective.coefficients(base, np.full(8, math.nan)), "must be finite"),
        (lambda base: RetrievalObjective.coefficients(base, np.zeros(8), np.eye(3)), "covariance must be 8×8"),
        (
            lambda base: RetrievalObjective.coefficients(base, np.zeros(8), np.full((8, 8), np.inf)),
            "no finite positive",
        ),
        (
            lambda base: RetrievalObjective.coefficients(base, np.zeros(8), np.ones((8, 8)) - 0.9 * np.eye(8)),
            "definite",
        ),
        (lambda base: Retrieval(runs=0), "at least one run"),
        (lambda base: Retrieval(time_budget=-1.0), "time budget must be positive"),
        (lambda base: Retrieval(workers=0), "number of workers"),
        (lambda base: SimulatedAnnealing(steps=0), "at least one step"),
        (lambda base: MultiStart(passes=0), "at least one pass"),
        (lambda base: Symmetry("link1"), "give a plane .* or an axis"),
    ],
)
def test_options_that_make_no_sense_are_refused(arm, make, message):
    with pytest.raises(ParameterError, match=message):
        make(arm[1])


CONFIG = """
total_mass = [1.0, 15.0]
functions = ["my_rules:low"]
[known]
m1 = 8.0
[bounds]
m2 = [0.0, 5.0]
[[tie]]
parameter = "I1xx"
equals = "I1yy"
[[symmetry]]
link = "link2"
plane = "xy"
[shape.link1]
type = "hull"
points = [[-0.2,-1.5,-0.2],[0.2,-1.5,-0.2],[0.0,-1.5,0.2],[-0.2,0.0,-0.2],[0.2,0.0,-0.2],[0.0,0.0,0.2]]
[shape.link2]
type = "union"
of = [
  {type = "cylinder", start = [-0.8, 0, 0], end = [-0.2, 0, 0], radius = 0.08},
  {type = "frustum", start = [-0.2, 0, 0], end = [0, 0, 0], start_radius = 0.08, end_radius = 0.02},
  {type = "box", lower = [0, 0, 0], upper = [0.1, 0.1, 0.1]},
  {type = "sphere", centre = [0, 0, 0], radius = 0.1},
  {type = "ellipsoid", centre = [0, 0, 0], semi_axes = [0.1, 0.1, 0.1]},
]
"""


def test_a_configuration_file_says_all_that_code_can_say(arm, tmp_path):
    (tmp_path / "my_rules.py").write_text("def low(links):\n    return links['link1'].com[1] + 0.5\n")
    file = tmp_path / "retrieval.toml"
    file.write_text(CONFIG)
    constraints = read_constraints(file, allow_code=True)
    assert isinstance(constraints.com_regions["link1"], Hull)
    union = constraints.com_regions["link2"]
    assert isinstance(union, RegionUnion)
    assert [type(part) for part in union.parts] == [Frustum, Frustum, Box, Sphere, Ellipsoid]
    found = solve(arm, constraints, workers=2)
    assert found.met
    assert found.links[0].com[1] <= -0.5 + 1e-6
    assert found.links[0].mass == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('functions = ["my_rules:low"]', r"retrieval.toml: names code to run \(my_rules:low\).*allow_code=True"),
        ("total_mas = [1, 2]", "retrieval.toml: total_mas: extra inputs are not permitted"),
        ("total_mass = [5, 2]", "total mass ≥ 5 kg"),
        ("[shape.link1]\ntype = 'torus'", r"shape.link1: .*'torus'"),
        ("[shape.link1]\ntype = 'sphere'\ncentre = [0, 0, 0]\nradius = -1", "radius of a sphere must be positive"),
        ("[shape.link1]\ntype = 'hull'", "the hull of link1 needs points, a mesh, or robot = "),
        ("[[symmetry]]\nlink = 'link1'", "give a plane"),
        ("x = [", "not valid TOML"),
    ],
)
def test_a_wrong_configuration_file_names_the_key(tmp_path, text, message):
    file = tmp_path / "retrieval.toml"
    file.write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_constraints(file)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("no_such_module_here:low", "constraint 'no_such_module_here:low' cannot be imported"),
        ("math:nothing", "constraint 'math:nothing' cannot be imported"),
        ("math:pi", "constraint 'math:pi' is not a function"),
        ("math", "must be module:function"),
    ],
)
def test_code_that_is_not_there_is_named(tmp_path, reference, message):
    file = tmp_path / "retrieval.toml"
    file.write_text(f'functions = ["{reference}"]')
    with pytest.raises(ParameterError, match=message):
        read_constraints(file, allow_code=True)


def test_a_missing_configuration_file_is_named(tmp_path):
    with pytest.raises(ParameterError, match=r"none\.toml: cannot be read"):
        read_constraints(tmp_path / "none.toml")
