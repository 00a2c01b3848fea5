"""Values of the input stages print as what a person wants to see: one line as `repr`, a table as `str`."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from dynid.chain import Limits, Link, LintFinding, consistency, lint, load_robot
from dynid.dynamics import LagrangianModel, TorqueModel, base_parameters
from dynid.errors import DynidError, WrongType
from dynid.excitation import Information, design_poses, sinusoids, sufficiency
from dynid.prose import PrintsAsDocument
from dynid.recording import DATA_SETS, ColumnMap, Conditioning, RawLog
from dynid.simulation import smooth_motion, synthesise
from tests.processes import ENVIRONMENT, PATIENCE

ROBOT = load_robot("planar2r")
MODEL = TorqueModel(ROBOT)
RNG = np.random.default_rng(0)
LOG = synthesise(MODEL, smooth_motion(ROBOT, RNG, duration=5.0, rate_hz=200.0), RNG)
SAMPLES = Conditioning().plan(LOG.recording).apply(LOG.recording)
BASE = base_parameters(MODEL)
INFORMATION = Information.of(MODEL, LOG.motion, noise_std=0.1, base=BASE)
SWING = sinusoids(ROBOT, duration=5.0)
VALUES = {
    "Robot": ROBOT,
    "Joint": ROBOT.joints[0],
    "Limits": ROBOT.joints[0].limits,
    "Link": ROBOT.joints[0].link,
    "InertialParameters": ROBOT.joints[0].link.nominal,
    "Consistency": consistency(ROBOT.joints[0].link.nominal),
    "LintReport": lint(ROBOT),
    "Motion": LOG.motion,
    "BaseParameters": BASE,
    "LagrangianModel": LagrangianModel(MODEL, BASE, BASE.project(MODEL.nominal())),
    "Recording": LOG.recording,
    "RawLog": RawLog.of(LOG.recording),
    "Conditioning": Conditioning(cutoff_hz=8.0),
    "Plan": SAMPLES.plan,
    "Samples": SAMPLES,
    "Segment": SAMPLES.segments[0],
    "ColumnMap": ColumnMap(rate_hz=500.0),
    "DataSet": DATA_SETS["panda"],
    "Trajectory": SWING.trajectory,
    "LimitCertificate": SWING.certificate,
    "PoseDesign": design_poses(ROBOT, 6, exchanges=10),
    "Information": INFORMATION,
    "Sufficiency": sufficiency(None, INFORMATION, 0.01),
    "Synthetic": LOG,
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_is_one_line_that_starts_with_its_type(name):
    text = repr(VALUES[name])
    assert text.startswith(f"{name}(")
    assert "\n" not in text
    assert "array(" not in text
    assert len(text) < 200


@pytest.mark.parametrize("name", VALUES)
def test_what_a_value_prints_has_no_array_in_it(name):
    text = str(VALUES[name])
    assert "array(" not in text
    assert len(text.splitlines()) <= 20


TABLES = [
    name for name, value in VALUES.items() if hasattr(value, "_repr_html_") and not isinstance(value, PrintsAsDocument)
]


@pytest.mark.parametrize("name", TABLES)
def test_a_notebook_shows_a_table(name):
    text = getattr(VALUES[name], "_repr_html_")()  # noqa: B009
    assert text.startswith("<table>")
    assert text.count("<tr>") == text.count("</tr>")


def test_a_notebook_shows_a_document_line_by_line_with_its_table():
    clean = lint(ROBOT)
    assert clean._repr_html_().startswith("<div><b>robot</b> planar2r")
    finding = LintFinding("link1", "mass-negative", "impossible", "mass is -1 kg < 0", "give a mass above 0 kg")
    text = replace(clean, findings=(finding,))._repr_html_()
    assert text.startswith("<div><b>robot</b> planar2r")
    assert text.count("<tr>") == text.count("</tr>") == 2
    assert "mass is -1 kg &lt; 0" in text
    assert text.endswith("<div><b>verdict</b> 1 impossible, 0 suspicious</div>")


def test_a_robot_tells_its_joints_and_its_mass():
    assert repr(load_robot("panda")) == "Robot('panda': 7 joints, 16.1 kg nominal)"
    assert repr(load_robot("planar2r", inertials="ignore")) == "Robot('planar2r': 2 joints, no nominal inertias)"
    lines = str(load_robot("panda")).splitlines()
    assert len(lines) == 2 + 7
    assert " ".join(lines[2].split()) == "joint1 revolute -2.897 … 2.897 rad 2.175 rad/s 87 N·m link1 4.971 kg"


def test_a_robot_with_some_nominal_inertias_says_so():
    some = load_robot("planar2r").with_nominal({"link2": None})
    assert repr(some) == "Robot('planar2r': 2 joints, nominal inertias incomplete)"


def test_limits_show_only_what_is_known():
    assert repr(Limits()) == "Limits(none)"
    assert repr(Limits(velocity=2.0)) == "Limits(velocity 2)"
    assert repr(Limits(-1.0, 1.0)) == "Limits(range [-1, 1])"


def test_a_welded_link_names_what_it_includes():
    assert repr(Link("wrist", includes=("tool",))) == "Link('wrist': no nominal inertia, with tool)"


DOORS = (
    ("load_robot(3)", "name_or_path must be the path of a robot file, or one of panda"),
    ("load_robot(None)", "name_or_path must be the path of a robot file"),
    ("load_robot('panda', lock=['joint7'])", "lock must be a mapping from joint names"),
    ("load_robot('panda', inertials='no')", "known: check, ignore, keep"),
    ("read_recording(None, ['a'])", "path must be the path of a log file; got None"),
    ("read_recording('log.csv', 'joint1')", "joint_names must be a sequence of names"),
    ("read_recording('log.csv', ['a'], columns='map.toml')", "columns must be a ColumnMap"),
    ("Recording('a', [0.0], [[0.0]])", "joint_names must be a sequence of names"),
    ("Recording(('a',), [0.0], 'x')", "q must be an array of numbers of shape (n_samples, n_dof); got 'x' (str)"),
    ("Robot('arm', [1])", "joints must be a tuple of Joint"),
)
AT_THE_DOOR = """
from dynid import Recording, load_robot, read_recording
from dynid.chain import Robot
from dynid.errors import DynidError
for call in CALLS:
    try:
        eval(call)
    except DynidError as error:
        print(error)
"""


def test_a_wrong_type_at_a_door_is_told_what_was_expected():
    # In a process of its own: here the tests' own check of annotations would come first.
    script = f"CALLS = {[call for call, _ in DOORS]!r}\n{AT_THE_DOOR}"
    run = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert run.returncode == 0, run.stderr
    for (call, message), said in zip(DOORS, run.stdout.splitlines(), strict=True):
        assert message in said, call


def test_a_wrong_type_is_also_what_python_and_dynid_call_it():
    error = WrongType("path", "the path of a log file", 3)
    assert isinstance(error, DynidError)
    assert isinstance(error, TypeError)
    assert isinstance(error, ValueError)
    assert (error.parameter, error.expected) == ("path", "the path of a log file")
