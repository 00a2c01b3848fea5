"""Solids that hold a centre of mass: inside and outside, gradients, hulls of meshes."""

import struct

import numpy as np
import pytest

from dynid.chain.consistency import Box, Ellipsoid
from dynid.errors import ParameterError, UnknownName
from dynid.regression import link_hull, read_constraints
from dynid.regression.constraints.regions import Frustum, Hull, Region, RegionUnion, Sphere, outside, span

CORNERS = np.array([[x, y, z] for x in (0.0, 0.1) for y in (-0.2, 0.2) for z in (0.0, 0.3)])
SHAPES: dict[str, Region] = {
    "box": Box(np.array([-0.1, -0.2, 0.0]), np.array([0.1, 0.1, 0.4])),
    "ellipsoid": Ellipsoid(np.array([0.1, 0.0, 0.0]), np.array([0.1, 0.2, 0.3])),
    "sphere": Sphere(np.array([0.0, 0.1, 0.0]), 0.15),
    "cylinder": Frustum.cylinder([0.0, 0.0, 0.0], [0.1, 0.2, 0.3], 0.08),
    "frustum": Frustum(np.zeros(3), np.array([0.3, 0.0, 0.0]), 0.1, 0.02),
    "cone": Frustum(np.zeros(3), np.array([0.0, -0.3, 0.0]), 0.1, 0.0),
    "union": RegionUnion((Sphere(np.zeros(3), 0.1), Box(np.array([0.1, 0.0, 0.0]), np.array([0.3, 0.1, 0.1])))),
    "hull": Hull.of(CORNERS),
}


@pytest.mark.parametrize("name", SHAPES)
def test_gradient_is_that_of_the_distance(name, rng):
    shape, step = SHAPES[name], 1e-7
    for point in rng.uniform(-0.5, 0.5, (40, 3)):
        value, gradient = outside(shape, point)
        differences = [(outside(shape, point + step * e)[0] - outside(shape, point - step * e)[0]) for e in np.eye(3)]
        np.testing.assert_allclose(gradient, np.array(differences) / (2.0 * step), atol=1e-5)
        assert np.isfinite(value)


@pytest.mark.parametrize("name", SHAPES)
def test_what_lies_outside_the_span_lies_outside_the_shape(name, rng):
    shape = SHAPES[name]
    lower, upper = span(shape)
    points = rng.uniform(-0.6, 0.6, (2000, 3))
    inside = np.array([outside(shape, point)[0] <= 0.0 for point in points])
    assert inside.any()
    assert np.all(points[inside] >= lower - 1e-12)
    assert np.all(points[inside] <= upper + 1e-12)


@pytest.mark.parametrize(
    ("name", "lower", "upper"),
    [
        ("box", [-0.1, -0.2, 0.0], [0.1, 0.1, 0.4]),
        ("ellipsoid", [0.0, -0.2, -0.3], [0.2, 0.2, 0.3]),
        ("sphere", [-0.15, -0.05, -0.15], [0.15, 0.25, 0.15]),
        ("frustum", [0.0, -0.1, -0.1], [0.3, 0.1, 0.1]),
        ("cone", [-0.1, -0.3, -0.1], [0.1, 0.0, 0.1]),
        ("union", [-0.1, -0.1, -0.1], [0.3, 0.1, 0.1]),
        ("hull", [0.0, -0.2, 0.0], [0.1, 0.2, 0.3]),
    ],
)
def test_the_span_is_the_smallest_box(name, lower, upper):
    np.testing.assert_allclose(span(SHAPES[name]), [lower, upper], atol=1e-12)


def test_the_span_of_a_tilted_cylinder_touches_its_rims():
    axis = np.array([0.1, 0.2, 0.3]) / np.linalg.norm([0.1, 0.2, 0.3])
    across = np.linalg.svd(axis[None])[2][1:]
    turn = np.linspace(0.0, 2.0 * np.pi, 5001)
    rim = 0.08 * np.column_stack([np.cos(turn), np.sin(turn)]) @ across
    points = np.vstack([rim, rim + np.array([0.1, 0.2, 0.3])])
    np.testing.assert_allclose(span(SHAPES["cylinder"]), [points.min(axis=0), points.max(axis=0)], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "point", "distance"),
    [
        ("sphere", [0.0, 0.1, 0.0], -0.15),
        ("box", [0.3, 0.0, 0.1], 0.2),
        ("box", [0.4, 0.5, 0.1], 0.5),
        ("box", [0.09, 0.0, 0.1], -0.01),
        ("box", [0.0, 0.0, 0.01], -0.01),
        ("ellipsoid", [0.1, 0.0, 0.0], -0.1),
        ("ellipsoid", [0.1, 0.0, 0.6], 0.1),
        ("cylinder", [-0.1, -0.2, -0.3], 0.14**0.5),
        ("cylinder", [0.05, 0.1, 0.15], -0.08),
        ("hull", [0.05, 0.0, 0.15], -0.05),
        ("hull", [-0.2, 0.0, 0.15], 0.2),
    ],
)
def test_how_far_outside_is_in_metres(name, point, distance):
    value, gradient = outside(SHAPES[name], np.array(point))
    assert value == pytest.approx(distance, abs=1e-12)
    assert np.linalg.norm(gradient) == pytest.approx(1.0) or name == "ellipsoid"


def test_frustum_narrows_towards_its_end():
    cone = SHAPES["frustum"]
    assert outside(cone, np.array([0.01, 0.09, 0.0]))[0] < 0.0
    assert outside(cone, np.array([0.29, 0.09, 0.0]))[0] > 0.0
    assert outside(cone, np.array([0.15, 0.06, 0.0]))[0] == pytest.approx(0.0, abs=1e-12)
    assert outside(cone, np.array([0.31, 0.0, 0.0]))[0] == pytest.approx(0.01)


def test_union_holds_what_one_part_holds():
    union = SHAPES["union"]
    assert outside(union, np.array([0.25, 0.05, 0.05]))[0] < 0.0
    assert outside(union, np.array([0.0, 0.0, 0.09]))[0] < 0.0
    assert outside(union, np.array([0.2, -0.1, 0.0]))[0] > 0.0


def binary_stl(triangles):
    facets = b"".join(struct.pack("<12fH", *np.zeros(3), *triangle.ravel(), 0) for triangle in triangles)
    return b"\0" * 80 + struct.pack("<I", len(triangles)) + facets


def test_hull_of_a_mesh_is_that_of_its_vertices(tmp_path):
    triangles = np.concatenate([CORNERS, CORNERS[:1]]).reshape(3, 3, 3)
    (tmp_path / "a.stl").write_bytes(binary_stl(1000.0 * triangles))
    (tmp_path / "b.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "f 1 2 3\n")
    (tmp_path / "c.stl").write_text("solid x\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in CORNERS))
    hulls = [
        Hull.of_mesh(tmp_path / "a.stl", scale=1e-3),
        Hull.of_mesh(tmp_path / "b.obj"),
        Hull.of_mesh(tmp_path / "c.stl", offset=(0.0, 0.0, 0.0)),
    ]
    for hull in hulls:
        np.testing.assert_allclose(span(hull), span(SHAPES["hull"]), atol=1e-7)
        assert hull.outside(np.array([0.05, 0.0, 0.4]))[0] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: Sphere(np.zeros(3), 0.0), "radius of a sphere must be positive"),
        (lambda p: Frustum.cylinder([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], 0.1), "two different ends"),
        (lambda p: Frustum(np.zeros(3), np.ones(3), -0.1, 0.1), "must not be negative"),
        (lambda p: Frustum(np.zeros(3), np.ones(3), 0.1, -0.1), "must not be negative"),
        (lambda p: Frustum(np.zeros(3), np.ones(3), 0.0, 0.0), "one must be positive"),
        (lambda p: Sphere(np.zeros(3), -0.1), "radius of a sphere must be positive"),
        (lambda p: Sphere(np.zeros(3), np.inf), "radius of a sphere must be positive"),
        (lambda p: Hull.of(1.1e6 * CORNERS / 0.3), "below 1e"),
        (lambda p: Hull.of(np.zeros(3)), r"points \(n_points, 3\)"),
        (lambda p: RegionUnion(()), "at least one shape"),
        (lambda p: Hull.of(np.zeros((4, 3))), "span no volume"),
        (lambda p: Hull.of(np.zeros((4, 2))), r"points \(n_points, 3\)"),
        (lambda p: Hull.of_mesh(p / "none.stl"), "none.stl: the mesh cannot be read"),
        (lambda p: Hull.of_mesh(p / "wrong.obj"), "wrong.obj: is not a valid mesh"),
        (lambda p: Hull.of_mesh(p / "mesh.dae"), "STL or OBJ"),
    ],
)
def test_a_shape_that_is_none_is_refused(make, message, tmp_path):
    (tmp_path / "wrong.obj").write_text("v 1 2 three\n")
    (tmp_path / "mesh.dae").write_text("")
    with pytest.raises(ParameterError, match=message):
        make(tmp_path)


URDF = """<robot name="arm"><link name="base"/><link name="a"><collision>
<origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/>
<geometry><mesh filename="package://my_arm/a.obj" scale="2 2 2"/></geometry></collision>
<visual><geometry><mesh filename="a.dae"/></geometry></visual></link>
<link name="tip"><visual><geometry><mesh filename="a.obj"/></geometry></visual></link>
<link name="bare"><visual><geometry><box size="1 1 1"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
<joint name="k" type="fixed"><parent link="a"/><child link="tip"/><origin xyz="1 0 0"/></joint></robot>"""


def test_hull_of_a_link_holds_its_meshes_and_what_is_fixed_to_it(tmp_path):
    (tmp_path / "my_arm").mkdir()
    corners = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)
    for folder in (tmp_path, tmp_path / "my_arm"):
        (folder / "a.obj").write_text(corners)
    (tmp_path / "arm.urdf").write_text(URDF)
    lower, upper = span(link_hull(tmp_path / "arm.urdf", "a"))
    np.testing.assert_allclose(lower, [-0.4, -0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(upper, [1.1, 0.2, 1.6], atol=1e-12)
    with pytest.raises(UnknownName, match="no link 'aa'; did you mean 'a'"):
        link_hull(tmp_path / "arm.urdf", "aa")
    with pytest.raises(ParameterError, match="link 'bare' has no STL or OBJ mesh"):
        link_hull(tmp_path / "arm.urdf", "bare")
    with pytest.raises(ParameterError, match=r"none\.urdf: cannot be read: No such file"):
        link_hull(tmp_path / "none.urdf", "a")
    (tmp_path / "c.toml").write_text('robot = "arm.urdf"\n[shape.a]\ntype = "hull"\n')
    shape = read_constraints(tmp_path / "c.toml").com_regions["a"]
    np.testing.assert_allclose(span(shape), (lower, upper))
