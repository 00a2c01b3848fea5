"""Impossible and suspicious inertias are told apart, and the repair changes nothing but them."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.chain.formats.assembly import read_bodies
from dynid.chain.formats.xml import parse_markup
from dynid.chain.inertia import InertialParameters
from dynid.chain.library import BUILT_IN, load_robot
from dynid.chain.lint import LintReport, lint, repair
from dynid.errors import OutputError, RobotFileError
from tests.chain.test_formats import read_robot_file

GOOD = (2.0, "0 0 0.2", (0.03, 0.03, 0.005))
"""A rod of 0.4 m."""


def inertial(mass: float, com: str, diagonal: tuple[float, ...], rpy: str = "0 0 0") -> str:
    names = zip(("ixx", "iyy", "izz"), diagonal, strict=True)
    tensor = " ".join(f'{name}="{value!r}"' for name, value in names)
    return (
        f'<inertial><origin xyz="{com}" rpy="{rpy}"/><mass value="{mass!r}"/>'
        f'<inertia {tensor} ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def arm(*links: str, limit: str = '<limit lower="-1" upper="1" velocity="2" effort="30"/>') -> str:
    """A chain of links 0.4 m apart; the first argument is `link1`."""
    text = '<link name="base"/>\n'
    for index, content in enumerate(links, start=1):
        parent = "base" if index == 1 else f"link{index - 1}"
        text += (
            f'<link name="link{index}">{content}</link>\n<joint name="joint{index}" type="revolute">'
            f'<origin xyz="0 0 {0 if index == 1 else 0.4}"/><parent link="{parent}"/><child link="link{index}"/>{limit}'
            "</joint>\n"
        )
    return f'<robot name="arm">\n{text}</robot>'


def lint_text(folder: Path, text: str) -> LintReport:
    path = folder / "arm.xml"
    path.write_text(text, encoding="utf-8")
    return lint(path)


def codes(report: LintReport, link: str | None = None) -> set[str]:
    return {finding.code for finding in report.findings if link in (None, finding.link)}


def test_a_sound_robot_has_no_findings(tmp_path):
    other = (1.0, "0 0 0.15", (0.012, 0.013, 0.002))
    assert lint_text(tmp_path, arm(inertial(*GOOD), inertial(*other))).findings == ()


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_robots_have_no_findings(name):
    assert lint(load_robot(name)).findings == ()


@pytest.mark.data
def test_the_ur10e_has_no_findings(data_dir):
    report = lint(data_dir / "ur10e" / "ur10e.urdf")
    assert report.n_links == 11
    assert report.findings == ()


BOX = '<collision><geometry><box size="0.1 0.1 0.4"/></geometry><origin xyz="0 0 0.2"/></collision>'

CASES = {
    "mass-not-positive": (inertial(-2.0, *GOOD[1:]), "impossible", r"mass is -2 kg"),
    "inertia-not-positive": (
        inertial(2.0, "0 0 0", (0.03, 0.03, -0.01)),
        "impossible",
        r"-0\.01 kg·m².*axis \[0\. 0\.",
    ),
    "triangle-violated": (inertial(2.0, "0 0 0", (0.01, 0.02, 0.05)), "impossible", r"0\.05 kg·m².*by 0\.02 kg·m²"),
    "missing-inertial": ("", "suspicious", r"without inertia"),
    "placeholder-inertia": (inertial(2.0, "0 0 0", (1.0, 1.0, 1.0)), "suspicious", r"1 kg·m² about every axis"),
    "inertia-too-large": (inertial(2.0, "0 0 0.2", (3e4, 3e4, 5e3)), "suspicious", r"gyration is 122 m.*spans 0\.4 m"),
    "inertia-too-small": (inertial(2.0, "0 0 0.2", (3e-8, 3e-8, 1e-8)), "suspicious", r"gyration is 0\.000122 m"),
    "com-outside": (inertial(2.0, "0 0 200", (0.03, 0.03, 0.005)), "suspicious", r"lies 200 m outside"),
    "inertia-about-origin": (inertial(2.0, "0 0 0.2", (0.11, 0.11, 0.005)), "suspicious", r"0\.08 of the 0\.11 kg·m²"),
    "flat-inertia": (inertial(2.0, "0 0 0", (0.02, 0.03, 0.05)), "suspicious", r"only .* of it \(0\.05 kg·m²\)"),
    "total-mass": (inertial(2e5, *GOOD[1:]), "suspicious", r"weighs 2e\+05 kg"),
    "mass-spread": (inertial(2e-5, "0 0 0.2", (3e-7, 3e-7, 5e-8)), "suspicious", r"2e-05 kg beside 2 kg of 'link2'"),
}


@pytest.mark.parametrize("code", CASES)
def test_each_mistake_is_found_with_its_number(code, tmp_path):
    content, severity, evidence = CASES[code]
    report = lint_text(tmp_path, arm(content, inertial(*GOOD)))
    found = [finding for finding in report.findings if finding.code == code]
    assert len(found) == 1, report.findings
    assert found[0].severity == severity
    assert found[0].link == ("arm" if code == "total-mass" else "link1")
    assert re.search(evidence, found[0].evidence), found[0].evidence
    assert found[0].fix
    assert report.consistent == (severity == "suspicious")


def test_shapes_give_the_extent_of_a_link_without_further_joints(tmp_path):
    wide = inertial(2.0, "0 0 0.2", (3.6, 3.6, 0.5))  # 1.34 m of gyration: just possible, but not in 0.42 m
    assert "inertia-too-large" not in codes(lint_text(tmp_path, arm(wide)))
    assert "inertia-too-large" in codes(lint_text(tmp_path, arm(wide + BOX)))


def test_a_triangle_missed_by_rounding_is_flat_and_not_impossible(tmp_path):
    rounded = inertial(2.0, "0 0 0", (0.02, 0.03, 0.0500000000001))
    assert codes(lint_text(tmp_path, arm(rounded))) == {"flat-inertia"}


def test_small_round_inertias_are_placeholders_only_in_company(tmp_path):
    small = inertial(0.1, "0 0 0", (0.001, 0.001, 0.001))
    assert codes(lint_text(tmp_path, arm(small, inertial(*GOOD)))) == set()
    assert codes(lint_text(tmp_path, arm(small, inertial(*GOOD), small))) == {"placeholder-inertia"}


def test_the_same_tensor_on_different_masses_is_suspicious_and_on_equal_masses_is_not(tmp_path):
    assert codes(lint_text(tmp_path, arm(inertial(*GOOD), inertial(*GOOD)))) == set()
    report = lint_text(tmp_path, arm(inertial(*GOOD), inertial(3.0, *GOOD[1:])))
    assert [(finding.link, finding.code) for finding in report.findings] == [
        ("link1", "copied-inertia"),
        ("link2", "copied-inertia"),
    ]


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ('<limit lower="1" upper="-1"/>', "limits-reversed"),
        ('<limit lower="0" upper="0"/>', "limits-empty"),
        ('<limit effort="0"/>', "effort-zero"),
        ('<limit velocity="0"/>', "velocity-zero"),
        ("", None),
        ('<limit lower="0" upper="1"/>', None),
    ],
)
def test_limits_that_no_motion_keeps_are_suspicious(limit, code, tmp_path):
    report = lint_text(tmp_path, arm(inertial(*GOOD), limit=limit))
    assert codes(report) == ({code} if code else set())
    assert all("joint1" in finding.evidence for finding in report.findings)


def test_fixed_links_are_examined_one_by_one(tmp_path):
    text = arm(inertial(*GOOD), inertial(1.0, "0 0 0", (0.01, 0.01, 0.05))).replace(
        'joint2" type="revolute"', 'w" type="fixed"'
    )
    report = lint_text(tmp_path, text)
    assert [(finding.link, finding.code) for finding in report.findings] == [("link2", "triangle-violated")]


def test_a_dummy_whose_body_is_welded_to_it_and_an_empty_fixed_frame_are_fine(tmp_path):
    frame = inertial(0.0, "0 0 0", (0.0, 0.0, 0.0))
    text = arm("", inertial(*GOOD), frame)
    for name in ("joint2", "joint3"):
        text = text.replace(f'"{name}" type="revolute"', f'"{name}" type="fixed"')
    assert lint_text(tmp_path, text).findings == ()


def test_mjcf_bodies_are_examined(tmp_path):
    text = (
        '<mujoco><worldbody><body name="a"><joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 5"/>'
        '<body name="b"><joint name="k"/><geom size="0.1"/></body><body name="c"><joint/><geom type="mesh" mesh="m"/>'
        "</body></body></worldbody></mujoco>"
    )
    report = lint_text(tmp_path, text)
    assert ("a", "triangle-violated") in {(finding.link, finding.code) for finding in report.findings}
    assert codes(report, "b") == set()
    assert codes(report, "c") == {"missing-inertial"}


def test_a_robot_value_is_examined_by_its_nominal_parameters():
    robot = load_robot("planar2r")
    flipped = InertialParameters.from_com(1.0, np.zeros(3), np.diag([0.1, 0.1, 0.5]))
    report = lint(robot.with_nominal({"link2": flipped, "link1": None}))
    assert {(finding.link, finding.code) for finding in report.findings} >= {
        ("link1", "missing-inertial"),
        ("link2", "triangle-violated"),
    }
    assert report.n_links == 2


def test_a_file_that_cannot_be_read_is_an_error_with_its_line(tmp_path):
    with pytest.raises(RobotFileError, match=r"arm\.xml, line 3, <link name=.link1.> <mass>: attribute 'value' is"):
        lint_text(tmp_path, arm(inertial(float("nan"), *GOOD[1:])))


ODD_FILE = (
    b"<?xml version='1.0'?>\r\n<!-- <mass value=\"-1\"/> & all -->\r\n<robot name='arm'\r\n\txmlns:xacro=\"x\">\r\n"
    b"\t<link name = 'base' />\r\n"
    b"\t<link name='bad'>\t<inertial>\r\n\t\t<origin rpy = '0.3 -0.2 0.9'\txyz='0 0\t0.1'/>\r\n"
    b"\t\t<mass\tvalue = 'MASS'/> <!--odd-->\r\n"
    b"\t\t<inertia iyy=\"0.02\" ixx='IXX'\r\n\t\t\tizz = \"IZZ\" ixy='0.000' iyz=\"0.0e0\" ixz='-0.001' />\r\n"
    b"\t</inertial></link>\r\n"
    b"\t<link name=\"good\"><inertial><mass value=\"1.0000\"/><inertia ixx='0.010' ixy='0' ixz='0' iyy='0.01' iyz='0' "
    b"izz='1e-2'/></inertial></link>\r\n"
    b"\t<joint name='j1' type='revolute'><parent link='base'/><child link='bad'/></joint>\r\n"
    b"\t<joint name='j2' type='revolute'><parent link='bad'/><child link='good'/></joint>\r\n"
    b"</robot>  \r\n<!-- the end -->"
)
NUMBERS = re.compile(rb"""(?:value|i[xyz][xyz])\s*=\s*("[^"]*"|'[^']*')""")


@given(
    mass=st.sampled_from([-1.0, 0.0, 0.5, 3.0]),
    ixx=st.floats(-0.1, 0.3, allow_subnormal=False).map(lambda x: round(x, 5)),
    izz=st.floats(-0.1, 0.3, allow_subnormal=False).map(lambda x: round(x, 5)),
)
def test_repair_changes_only_the_numbers_of_the_impossible_link(mass, ixx, izz, tmp_path_factory):
    folder = tmp_path_factory.mktemp("repair")
    before = ODD_FILE
    for name, value in (("MASS", mass), ("IXX", ixx), ("IZZ", izz)):
        before = before.replace(name.encode(), repr(value).encode())
    (folder / "arm.urdf").write_bytes(before)
    bad = not lint(folder / "arm.urdf").consistent
    result = repair(folder / "arm.urdf", folder / "out.urdf")
    after = (folder / "out.urdf").read_bytes()
    assert lint(folder / "out.urdf").consistent
    assert [link.link for link in result.links] == (["bad"] if bad else [])
    # Outside the numbers of the bad link not one byte differs; inside, both files have as many numbers.
    start, end = before.index(b"<link name='bad'>"), before.index(b"</inertial></link>")
    tail = len(before) - end
    assert after[:start] == before[:start]
    assert after[len(after) - tail :] == before[end:]
    inside_before, inside_after = before[start:end], after[start : len(after) - tail]
    assert NUMBERS.sub(b"#", inside_after) == NUMBERS.sub(b"#", inside_before)
    if not bad:
        assert after == before
    assert (b"'-0.001'" in after) or bad


def test_repair_is_the_smallest_change_of_the_tensor(tmp_path):
    tensor = np.array([[0.01, 0.0, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.05]])
    path = tmp_path / "arm.urdf"
    path.write_text(arm(inertial(2.0, "0 0 0.1", (0.01, 0.02, 0.05), rpy="0.1 0.2 0.3")))
    repair(path, path)
    assert 'ixy="0" ixz="0" iyz="0"' in path.read_text()
    (_, body) = read_bodies(path).bodies
    assert body.inertial is not None
    change = np.linalg.norm(body.inertial.tensor - tensor)
    # On the plane λ1 + λ2 = λ3 the nearest point is 0.02/√3 away; the margin it keeps adds a little.
    assert 0.02 / np.sqrt(3) <= change < 1.02 * 0.02 / np.sqrt(3)
    assert body.inertial.mass == 2.0
    np.testing.assert_array_equal(body.inertial.com, [0.0, 0.0, 0.1])
    read_robot_file(path)


def test_a_repaired_mass_is_called_a_token(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(arm(inertial(0.0, "0 0 0", (0.0, 0.0, 0.0))))
    result = repair(path, tmp_path / "out.urdf")
    assert "true mass cannot be known" in result.links[0].note
    assert read_robot_file(tmp_path / "out.urdf").nominal[0, 0] == 1e-3


@pytest.mark.parametrize(
    ("attribute", "numbers"),
    [("diaginertia", "0.01 0.02 0.05"), ("fullinertia", "0.02 0.03 0.09 0.001 -0.002 0.003")],
)
def test_mjcf_is_repaired_in_its_own_notation(attribute, numbers, tmp_path):
    head = '<mujoco>\r\n <worldbody><body name="a" ><joint/>\r\n\t<inertial\tpos = "0 0 0.1" mass="1"\r\n'
    tail = " /><!-- x --></body></worldbody>\r\n</mujoco>"
    path = tmp_path / "arm.xml"
    path.write_bytes(f"{head} {attribute}='{numbers}'{tail}".encode())
    with pytest.raises(ValueError, match="inertia must satisfy A \\+ B >= C"):
        mujoco.MjModel.from_xml_path(str(path))
    repair(path, path)
    after = path.read_bytes().decode()
    assert after.startswith(f"{head} {attribute}='")
    assert after.endswith(f"'{tail}")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.body("a").mass == 1.0


def test_repair_into_a_folder_that_cannot_be_says_so(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(arm(inertial(*GOOD)))
    with pytest.raises(OutputError, match=r"arm\.urdf/out\.urdf: cannot be written"):
        repair(path, path / "out.urdf")
    assert list(tmp_path.iterdir()) == [path]


def test_a_repaired_document_parses_to_the_same_elements(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(arm(inertial(-1.0, "0 0 0", (1.0, 1.0, 5.0)), inertial(*GOOD)))
    repair(path, tmp_path / "out.urdf")
    before, after = (parse_markup((tmp_path / name).read_bytes(), name) for name in ("arm.urdf", "out.urdf"))
    assert [element.tag for element in before.elements] == [element.tag for element in after.elements]


def spun(gyration: float, mass: float = 2.0, com: str = "0 0 0.2") -> str:
    """An inertia with this radius of gyration (m) about x and y."""
    moment = mass * gyration**2
    return inertial(mass, com, (moment, moment, 0.5 * moment))


def box(size: float, com: float | None = None) -> str:
    middle = size / 2 if com is None else com
    return f'<collision><geometry><box size="{size} {size} {size}"/></geometry><origin xyz="0 0 {middle}"/></collision>'


ROOM = 0.4 * 3**0.5
"""Diagonal of a cube of 0.4 m."""

EDGES = [
    ("inertia-too-large", [spun(1.51 * ROOM) + box(0.2)], [spun(1.49 * ROOM) + box(0.2)]),
    ("inertia-too-large", [spun(1.51) + box(4.0)], [spun(1.49) + box(4.0)]),
    ("inertia-too-small", [spun(0.0199 * ROOM) + box(0.4)], [spun(0.0201 * ROOM) + box(0.4)]),
    ("inertia-too-small", [spun(4.9e-4, com="0 0 0") + box(0.01)], [spun(5.1e-4, com="0 0 0") + box(0.01)]),
    ("com-outside", [spun(0.2, com=f"0 0 {0.401 + 0.5 * ROOM}") + box(0.4)], [spun(0.2, com="0 0 0.74") + box(0.4)]),
    ("com-outside", [spun(0.2, com=f"{0.201 + 0.5 * ROOM} 0 0") + box(0.4)], [spun(0.2, com="0.54 0 0") + box(0.4)]),
    ("com-outside", [spun(0.2, com="0 0 0.801"), spun(0.1)], [spun(0.2, com="0 0 0.799"), spun(0.1)]),
    (
        "inertia-about-origin",
        [inertial(2.0, "0 0 0.2", (0.132, 0.132, 0.005)), spun(0.1)],
        [inertial(2.0, "0 0 0.2", (0.135, 0.135, 0.005)), spun(0.1)],
    ),
    (
        "inertia-about-origin",
        [inertial(2.0, "0 0 0.14", (0.0518, 0.0518, 0.005)), spun(0.1)],  # 0.161 m of gyration in 0.4 m
        [inertial(2.0, "0 0 0.14", (0.0506, 0.0506, 0.005)), spun(0.1)],
    ),
    (
        "inertia-about-origin",
        [inertial(2.0, "0 0 0.2", (0.081, 0.081, 0.001)), spun(0.1)],
        [inertial(2.0, "0 0 0.2", (0.079, 0.079, 0.001)), spun(0.1)],
    ),
    (
        "flat-inertia",
        [inertial(2.0, "0 0 0", (0.02, 0.03, 0.05 * (1 - 0.9e-6)))],
        [inertial(2.0, "0 0 0", (0.02, 0.03, 0.05 * (1 - 1.1e-6)))],
    ),
    (
        "triangle-violated",
        [inertial(2.0, "0 0 0", (0.02, 0.03, 0.05 * (1 + 1.1e-9)))],
        [inertial(2.0, "0 0 0", (0.02, 0.03, 0.05 * (1 + 0.9e-9)))],
    ),
    ("total-mass", [spun(0.1, 0.0099)], [spun(0.1, 0.0101)]),
    ("total-mass", [spun(0.1, 1001.0), spun(0.11, 1000.0)], [spun(0.1, 1000.0), spun(0.11, 999.0)]),
    ("mass-spread", [spun(0.1, 100.1), spun(0.11, 0.01)], [spun(0.1, 99.9), spun(0.11, 0.01)]),
    (
        "copied-inertia",
        [inertial(2.0, *GOOD[1:]), inertial(2.021, *GOOD[1:])],
        [inertial(2.0, *GOOD[1:]), inertial(2.019, *GOOD[1:])],
    ),
    (
        "placeholder-inertia",
        [inertial(2.0, "0 0 0", (0.01, 0.01, 0.01))] * 2,
        [inertial(2.0, "0 0 0", (0.02, 0.02, 0.02))] * 2,
    ),
    (
        "placeholder-inertia",
        [inertial(2.0, "0 0 0", (1.0, 1.0, 1.0))],
        [inertial(2.0, "0 0 0", (1.0, 1.0, 1.1))],
    ),
    ("mass-not-positive", [inertial(0.0, *GOOD[1:])], [inertial(1e-3, *GOOD[1:])]),
    ("inertia-not-positive", [inertial(2.0, "0 0 0", (0.0, 0.03, 0.03))], [spun(0.1)]),
]


@pytest.mark.parametrize(("code", "wrong", "right"), EDGES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_finding_begins_where_its_threshold_lies(code, wrong, right, tmp_path):
    assert code in codes(lint_text(tmp_path, arm(*wrong)))
    assert code not in codes(lint_text(tmp_path, arm(*right)))


def test_impossible_findings_come_first_then_the_order_of_the_links(tmp_path):
    odd, wrong = inertial(2.0, "0 0 0.2", (3e4, 3e4, 5e3)), inertial(-2.0, "0 0 0.2", (0.03, 0.03, 0.006))
    report = lint_text(tmp_path, arm(odd, inertial(*GOOD), wrong, ""))
    assert [(finding.link, finding.code) for finding in report.findings] == [
        ("link3", "mass-not-positive"),
        ("link1", "inertia-too-large"),
        ("link4", "missing-inertial"),
    ]
    assert [len(report.of(severity)) for severity in ("impossible", "suspicious")] == [1, 2]
    assert report.n_links == 5


def test_a_body_that_fills_its_axis_is_as_long_as_that(tmp_path):
    """A column before its joint, as in DH tables: the joint 0.5 m above the parent's origin."""
    text = arm(spun(0.25, com="0 0 -0.25")).replace('xyz="0 0 0"/><parent', 'xyz="0 0 0.5"/><parent')
    assert codes(lint_text(tmp_path, text)) == set()
