"""Hardened parsing and byte-exact edits of XML."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.chain.formats.edits import Edit, InsertChild, NewElement, SetAttribute, edited
from dynid.chain.formats.xml import (
    MAX_BYTES,
    parse_markup,
    read_markup,
)
from dynid.errors import ParameterError, RobotFileError

BILLION_LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">]>
<robot>&lol2;</robot>"""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BILLION_LAUGHS, r"arm\.urdf, line 2: DOCTYPE and entities are refused"),
        (b'<!DOCTYPE r SYSTEM "http://example.org/x.dtd"><r/>', r"arm\.urdf, line 1: DOCTYPE"),
        (b"<robot>\n<link>\n</robot>", r"arm\.urdf, line 3: not well-formed XML: mismatched tag"),
        (b"<robot>&unknown;</robot>", r"arm\.urdf, line 1: not well-formed XML: undefined entity"),
        (b"<robot/><robot/>", r"arm\.urdf, line 1: not well-formed XML: junk after"),
        (b"solid ascii-stl", r"arm\.urdf, line 1: not well-formed XML"),
        (b"", r"arm\.urdf: the file is empty"),
        (b" \n ", r"arm\.urdf: the file is empty"),
        (b"<r\0obot/>", r"arm\.urdf: binary, not XML text"),
        (b'<?xml version="1.0" encoding="klingon"?><robot/>', r"arm\.urdf: encoding klingon is not supported"),
        (b'<?xml version="1.0" encoding="zlib"?><robot/>', r"arm\.urdf: not zlib text"),
        pytest.param(b"<a>" * (MAX_BYTES // 3 + 1), r"arm\.urdf: larger than 64 MB", id="too large"),
    ],
)
def test_untrusted_text_is_refused_with_file_and_line(data, message):
    with pytest.raises(RobotFileError, match=message):
        parse_markup(data, "arm.urdf")


@pytest.mark.parametrize(
    "data",
    [
        '<robot name="é"/>'.encode("utf-16"),
        '<?xml version="1.0" encoding="utf-16"?><robot name="é"/>'.encode("utf-16"),
        '<?xml version="1.0" encoding="Windows-1252"?><robot name="é"/>'.encode("cp1252"),
        '<?xml version="1.0" encoding="utf8"?><robot name="é"/>'.encode(),
        b'<robot name="\xe9"/>',
        b'<?xml version="1.0" encoding="UTF-8"?><robot name="\xe9"/>',
        b'\n <!-- first -->\n<?xml version="1.0" encoding="latin-1"?><robot name="\xe9"/>',
    ],
)
def test_any_encoding_is_read_and_what_is_none_is_latin1(data):
    assert parse_markup(data, "arm.urdf").root.get("name") == "é"


SLIPS = {
    "dashes in a comment": b'<robot><!-- -- a -- b ---><mass value="1"/></robot>',
    "declaration in line 2": b'\n<?xml version="1.0"?>\n<robot><mass value="1"/></robot>',
    "undeclared prefixes": b'<!-- <b:c/> --><robot><x:y z:w="1"/><mass value="1"/></robot>',
    "prefix declared elsewhere": b'<robot><a xmlns:x="u"><x:y/></a><x:y/><mass value="1"/></robot>',
    "xacro": b'<robot xmlns:xacro="x"><xacro:property name="a"/><mass value="1"/></robot>',
}


@pytest.mark.parametrize("case", SLIPS)
def test_slips_that_lenient_parsers_overlook_are_overlooked_and_stay_in_the_file(case):
    document = parse_markup(SLIPS[case], "arm.urdf")
    mass = document.elements[-1]
    assert mass.tag == "mass"
    assert edited(document, [SetAttribute(mass, "value", "2")]) == SLIPS[case].replace(b'value="1"', b'value="2"')
    assert document.macros == (("<xacro:property> in line 1",) if case == "xacro" else ())


def test_a_missing_file_is_named():
    with pytest.raises(RobotFileError, match=r"nowhere\.urdf: cannot be read: No such file"):
        read_markup(Path("nowhere.urdf"))


def test_a_thousand_nested_elements_are_read():
    depth = 1000
    document = parse_markup(b"<a>" * depth + b"</a>" * depth, "deep.xml")
    assert len(document.elements) == depth


def test_latin1_text_is_read_and_edited_in_its_own_encoding():
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>\n<robot name="bras d\'été"><mass value="1"/></robot>'
    document = parse_markup(text.encode("latin-1"), "arm.urdf")
    assert document.root.get("name") == "bras d'été"
    result = edited(document, [SetAttribute(document.elements[1], "value", "ü €")])
    assert result == text.replace('value="1"', 'value="ü &#8364;"').encode("latin-1")


def test_a_byte_order_mark_survives():
    document = parse_markup(b'\xef\xbb\xbf<robot><mass value="1"/></robot>', "arm.urdf")
    edit = SetAttribute(document.elements[1], "value", "2")
    assert edited(document, [edit]) == b'\xef\xbb\xbf<robot><mass value="2"/></robot>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nan", "not finite"),
        ("-inf", "not finite"),
        ("1e999", "too large"),
        ("1_000", "not a number: '1_000'"),
        ("0x10", "not a number"),
        ("1,5", "not a number"),
        ("", "attribute 'value' is empty"),
        ("${m}", "unexpanded xacro expression"),
        ("1 2", "needs 1 number"),
    ],
)
def test_what_is_not_one_finite_number_is_refused_by_line(text, message):
    document = parse_markup(f'<robot>\n<mass value="{text}"/></robot>'.encode(), "arm.urdf")
    with pytest.raises(RobotFileError, match=rf"arm\.urdf, line 2, <mass>: .*{message}"):
        document.number(document.elements[1], "value")


ODD_LAYOUT = (
    b'<?xml version="1.0"?>\r\n<!-- <mass value="0"/> -->\r\n<robot name="r">\r\n'
    b"\t<link\r\n\t\tname = 'a'>\r\n\t\t<mass\tvalue  =\r\n '1.0' note=\"a > b 'x'\" /><!--keep-->\r\n"
    b'\t</link>\r\n\t<![CDATA[<mass value="0"/>]]>\r\n</robot>\r\n<!-- end -->\r\n'
)


def test_an_edit_changes_the_value_and_no_other_byte():
    document = parse_markup(ODD_LAYOUT, "arm.urdf")
    mass = document.elements[2]
    assert mass.tag == "mass"
    assert edited(document, [SetAttribute(mass, "value", "2.5")]) == ODD_LAYOUT.replace(b"'1.0'", b"'2.5'")
    assert edited(document, []) == ODD_LAYOUT


def test_a_missing_attribute_is_added_behind_the_last_one():
    document = parse_markup(ODD_LAYOUT, "arm.urdf")
    link, mass = document.elements[1:3]
    result = edited(document, [SetAttribute(mass, "unit", "kg"), SetAttribute(link, "x", "1")])
    assert result == ODD_LAYOUT.replace(b"\"a > b 'x'\" />", b'"a > b \'x\'" unit="kg" />').replace(
        b"'a'>", b"'a' x=\"1\">"
    )


@given(value=st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20), quote=st.sampled_from("\"'"))
def test_any_text_written_into_an_attribute_is_read_back(value, quote):
    document = parse_markup(f"<robot><mass value={quote}1{quote}/></robot>".encode(), "arm.urdf")
    result = parse_markup(edited(document, [SetAttribute(document.elements[1], "value", value)]), "arm.urdf")
    assert result.elements[1].get("value") == value


def test_setting_an_attribute_twice_is_an_error():
    document = parse_markup(b'<robot>\n<mass value="1"/></robot>', "arm.urdf")
    edit = SetAttribute(document.elements[1], "value", "2")
    with pytest.raises(ParameterError, match=r"arm\.urdf, line 2, <mass>: attribute 'value' set twice"):
        edited(document, [edit, edit])


INERTIAL = NewElement("inertial", {}, (NewElement("mass", {"value": "1"}),))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            '<robot>\n  <link name="a"/>\n</robot>',
            '<robot>\n  <link name="a">\n    <inertial>\n      <mass value="1"/>\n    </inertial>\n  </link>\n</robot>',
            id="self-closed",
        ),
        pytest.param(
            '<robot>\r\n\t<link name="a" />\r\n</robot>',
            '<robot>\r\n\t<link name="a" >\r\n\t\t<inertial>\r\n\t\t\t<mass value="1"/>\r\n\t\t</inertial>\r\n\t</link>'
            "\r\n</robot>",
            id="tabs and CRLF",
        ),
        pytest.param(
            '<robot>\n <link name="a">\n    <visual/>\n </link>\n</robot>',
            '<robot>\n <link name="a">\n    <inertial>\n       <mass value="1"/>\n    </inertial>\n'
            "    <visual/>\n </link>\n</robot>",
            id="indented as its siblings",
        ),
        pytest.param(
            '<robot>\n  <link name="a"></link>\n</robot>',
            '<robot>\n  <link name="a">\n    <inertial>\n      <mass value="1"/>\n    </inertial>\n  </link>\n</robot>',
            id="empty",
        ),
        pytest.param(
            '<robot>\n  <link name="a">\n  </link>\n</robot>',
            '<robot>\n  <link name="a">\n    <inertial>\n      <mass value="1"/>\n    </inertial>\n  </link>\n</robot>',
            id="empty on two lines",
        ),
        pytest.param(
            '<robot><link name="a"/></robot>',
            '<robot><link name="a"><inertial><mass value="1"/></inertial></link></robot>',
            id="one line",
        ),
    ],
)
def test_a_new_child_takes_the_layout_around_it(before, after):
    document = parse_markup(before.encode(), "arm.urdf")
    result = edited(document, [InsertChild(document.elements[1], INERTIAL)])
    assert result.decode() == after


def test_a_self_closed_element_takes_attributes_and_several_children_at_once():
    document = parse_markup(b'<robot>\n  <joint name="j"/>\n</robot>', "arm.urdf")
    joint = document.elements[1]
    edits: list[Edit] = [
        InsertChild(joint, NewElement("dynamics", {"damping": "1"})),
        SetAttribute(joint, "type", "fixed"),
        InsertChild(joint, NewElement("limit")),
    ]
    expected = (
        '<robot>\n  <joint name="j" type="fixed">\n    <dynamics damping="1"/>\n    <limit/>\n  </joint>\n</robot>'
    )
    assert edited(document, edits).decode() == expected
