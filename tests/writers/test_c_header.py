"""The C header, compiled as C and as C++ with every warning an error, against dynid's own numbers."""

import shutil
import subprocess

import numpy as np
import pytest

from dynid import Robot, TorqueModel, load_robot
from dynid.dynamics import RotorInertia, random_motion
from dynid.dynamics.friction.table import friction_models
from dynid.errors import ExportError
from dynid.writers import write_c_header
from dynid.writers.c import check as c_check
from dynid.writers.c.check import differences, evaluate, expected, harness, run_header
from dynid.writers.c.code import Code, Scalar, c_comment, c_name
from dynid.writers.c.header import HeaderSource
from dynid.writers.exported import ExportOptions, export_motion
from tests.processes import PATIENCE
from tests.robots import BATTERY
from tests.writers.exported import inconsistent, loaded, model_of, sliding_arm, with_terms

C = ("gcc", "-std=c99")
CPP = ("g++", "-std=c++11")
STRICT = ("-O1", "-Wall", "-Wextra", "-pedantic", "-Werror")
FIGURE = 1e-6
"""What exports must meet, relative to the largest value; round-off gives 1e-15."""
SMALL = ("inverse_dynamics", "gravity", "coriolis", "friction", "mass_matrix")
"""All but the regressor, whose numbers take a compiler and a printer the longest; every export compares it anyway."""


def compiler(command):
    found = shutil.which(command[0])
    if found is None:
        pytest.skip(f"{command[0]} is not installed, so the header cannot be compiled")
    return found


def arm(name, rng, data_dir=None):
    if name == "sliding arm":
        return sliding_arm(rng)
    if name == "ur10e":
        return load_robot(data_dir / "ur10e" / "ur10e.urdf")
    return load_robot(name)


def agree(robot: Robot, rng, n_states):
    compiler(C)
    model = model_of(robot, rng)
    source = HeaderSource(model.model, model.theta, "arm")
    motion = random_motion(robot, n_states, rng, speed=2.0)
    mine = expected(model.model, model.theta, motion)
    theirs = run_header(source.text(), "arm", model.model, motion, compiler(C), SMALL)
    for name, error in differences(mine, theirs):
        assert error < FIGURE, name


@pytest.mark.parametrize("name", ["panda", "wam7", "sliding arm"])
def test_the_compiled_header_agrees_on_a_thousand_random_states(name, rng):
    agree(arm(name, rng), rng, 1000)


def test_the_header_compiled_as_cpp_agrees_on_a_thousand_random_states(rng, tmp_path):
    path = compiler(CPP)
    model = model_of(load_robot("panda"), rng)
    motion = random_motion(model.model.robot, 1000, rng, speed=2.0)
    (tmp_path / "header.h").write_text(HeaderSource(model.model, model.theta, "arm").text())
    (tmp_path / "main.cpp").write_text(harness("arm", model.model, ["inverse_dynamics"]))
    subprocess.run([path, *CPP[1:], *STRICT, "main.cpp", "-o", "program"], cwd=tmp_path, check=True, timeout=PATIENCE)
    states = "\n".join(" ".join(map(repr, row)) for row in np.hstack([motion.q, motion.dq, motion.ddq]).tolist())
    done = subprocess.run(
        [tmp_path / "program"], input=states, capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    theirs = np.array(done.stdout.split(), dtype=float).reshape(1000, 7)
    mine = model.model.torque(motion, model.theta)
    np.testing.assert_allclose(theirs, mine, rtol=0.0, atol=FIGURE * np.abs(mine).max())


@pytest.mark.data
def test_the_compiled_header_of_a_ur10e_agrees_on_a_thousand_random_states(rng, data_dir):
    agree(arm("ur10e", rng, data_dir), rng, 1000)


@pytest.mark.parametrize("language", [C, CPP], ids=["C99", "C++11"])
@pytest.mark.parametrize("friction", ["viscous+coulomb+offset", "viscous+presliding"])
def test_the_header_compiles_without_a_warning_and_passes_its_own_test(language, friction, rng, tmp_path):
    path = compiler(language)
    model = model_of(load_robot("spatial2r"), rng, friction)
    write_c_header(model, tmp_path / "arm.h", ExportOptions(prefix="arm"))
    (tmp_path / "main.c").write_text('#include "arm.h"\n')
    kind = ("-x", "c++") if language is CPP else ()
    command = [path, *language[1:], *STRICT, "-DARM_SELF_TEST", *kind, "main.c", "-o", "test", "-lm"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert built.stderr == ""
    done = subprocess.run([tmp_path / "test"], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0
    assert float(done.stdout.split()[-1]) < 1e-12  # round-off of some hundred operations


@pytest.mark.parametrize("language", [C, CPP], ids=["C99", "C++11"])
def test_two_headers_live_in_one_program_as_c_and_as_cpp(language, rng, tmp_path):
    path = compiler(language)
    for name in ("planar2r", "spatial2r"):
        write_c_header(model_of(load_robot(name), rng), tmp_path / f"{name}.h")
    (tmp_path / "main.c").write_text(
        '#include "planar2r.h"\n#include "spatial2r.h"\n#include "planar2r.h"\n'
        "int main(void) { return planar2r_self_test() < 1e-12 && spatial2r_self_test() < 1e-12 ? 0 : 1; }\n"
    )
    kind = ("-x", "c++") if language is CPP else ()
    command = [path, *language[1:], *STRICT, *kind, "main.c", "-o", "test", "-lm"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert built.stderr == ""
    assert subprocess.run([tmp_path / "test"], timeout=PATIENCE).returncode == 0


FRICTIONS = [
    "none",
    "offset",
    "asymmetric",
    "viscous+tanh",
    "viscous+sigmoid",
    "coulomb+stribeck",
    "load",
    "presliding",
]


@pytest.mark.parametrize("friction", FRICTIONS)
def test_every_friction_model_is_written_down_exactly(friction, rng):
    model = model_of(load_robot("spatial2r"), rng, friction)
    codes = HeaderSource(model.model, model.theta, "arm").bodies
    motion = export_motion(model.model, 200)
    mine = expected(model.model, model.theta, motion)
    theirs = evaluate(codes, "arm", model.model, model.theta, motion)
    for name, error in differences(mine, theirs):
        assert error < 1e-12, name


@pytest.mark.parametrize("robot", [r for r in BATTERY if r.n_dof < 7], ids=lambda robot: robot.name)
def test_expressions_agree_for_every_robot(robot, rng):
    model = model_of(robot, rng)
    codes = HeaderSource(model.model, model.theta, "arm").bodies
    motion = random_motion(robot, 50, rng)
    mine = expected(model.model, model.theta, motion)
    theirs = evaluate(codes, "arm", model.model, model.theta, motion)
    assert set(theirs) == set(mine)
    for name, error in differences(mine, theirs):
        assert error < 1e-12, name


def test_the_load_of_gears_has_its_own_reference_and_joints_without_it_stay_without(rng, tmp_path):
    robot = load_robot("spatial2r")
    model = with_terms(loaded(robot, rng), rng)
    done = write_c_header(model, tmp_path / "arm.h")
    text = (tmp_path / "arm.h").read_text()
    assert done.error < 1e-12
    assert "spatial2r_load_reference" in text
    assert "forward_dynamics" not in text


@pytest.mark.parametrize("friction", ["viscous+coulomb", "viscous+presliding", "load"])
def test_coupled_drives_are_written_at_their_motors(friction, rng, tmp_path):
    free = load_robot("spatial2r")
    robot = Robot(free.name, free.joints, free.gravity, transmission=np.array([[1.0, 0.0], [-0.5, 2.0]]))
    model = model_of(robot, rng, friction)
    assert write_c_header(model, tmp_path / "arm.h").error < 1e-12


@pytest.mark.parametrize("friction", ["viscous+coulomb+offset", "viscous+presliding"])
def test_forward_dynamics_undoes_inverse_dynamics(friction, rng, tmp_path):
    path = compiler(C)
    model = model_of(sliding_arm(rng, 4), rng, friction)
    text = HeaderSource(model.model, model.theta, "arm").text()
    (tmp_path / "arm.h").write_text(text)
    state = "arm_state s; arm_state_reset(&s); arm_state_update(&s, q);" if "presliding" in friction else ""
    passed = ", &s" if state else ""
    (tmp_path / "main.c").write_text(
        f"""#include "arm.h"
int main(void)
{{
    const double q[4] = {{0.1, -0.2, 0.3, 0.4}}, dq[4] = {{0.5, -0.6, 0.7, -0.8}}, ddq[4] = {{1.0, -2.0, 3.0, -4.0}};
    double tau[4], found[4];
    int i;
    {state}
    arm_inverse_dynamics(q, dq, ddq{passed}, tau);
    if (arm_forward_dynamics(q, dq, tau{passed}, found)) return 2;
    for (i = 0; i < 4; ++i) if (fabs(found[i] - ddq[i]) > 1e-9) return 1;
    return arm_beyond_limits(q, dq, tau) == -1 ? 0 : 3;
}}
"""
    )
    subprocess.run([path, *C[1:], *STRICT, "main.c", "-o", "test", "-lm"], cwd=tmp_path, check=True, timeout=PATIENCE)
    assert subprocess.run([tmp_path / "test"], timeout=PATIENCE).returncode == 0


def test_without_a_compiler_the_expressions_are_evaluated_and_a_notice_says_so(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    done = write_c_header(model_of(load_robot("planar2r"), rng), tmp_path / "arm.h")
    assert done.checked_by == "its expressions evaluated"
    assert "never compiled" in done.notices[0]
    assert done.error < 1e-12


def test_a_broken_compiler_counts_as_none(tmp_path, monkeypatch):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(broken))
    assert c_check.find_compiler() is None


@pytest.mark.parametrize("with_compiler", [True, False])
def test_a_wrong_number_in_the_header_is_found(with_compiler, rng, tmp_path, monkeypatch):
    if with_compiler:
        compiler(C)
    else:
        monkeypatch.setattr(shutil, "which", lambda name: None)
    model = model_of(load_robot("planar2r"), rng)
    right = HeaderSource(model.model, model.theta, "arm")
    text, codes = right.text(), right.bodies
    assert "9.81" in text
    if with_compiler:
        text = text.replace("9.81", "9.82")
    else:
        heavier = TorqueModel(model.model.robot.with_gravity([0.0, -9.82, 0.0]), model.model.joint_models)
        codes = HeaderSource(heavier, model.theta, "arm").bodies
    with pytest.raises(
        ExportError, match=r"arm\.h: not written, read back its (inverse dynamics|rigid|gravity) is off"
    ):
        c_check.check_header(text, codes, "arm", model.model, model.theta, tmp_path / "arm.h")


def test_names_cannot_break_out_of_comments_or_identifiers(rng, tmp_path):
    compiler(C)
    free = load_robot("planar2r")
    robot = Robot('*/ int main(void) {} /* ??/ "7 Arm°', free.joints, free.gravity)
    done = write_c_header(model_of(robot, rng), tmp_path / "arm.h")
    text = (tmp_path / "arm.h").read_text()
    assert done.error < 1e-12
    assert text.isascii()
    assert "int_main_void_7_arm_theta" in text
    assert "*/ int" not in text
    assert c_name("7 of 9") == "robot_7_of_9"
    assert c_name("°") == "robot"
    assert c_comment("a */ b /* c\nd ??/") == "a * / b / * c d ? ?/"
    assert c_comment("**//") == "** //"


def test_an_inconsistent_robot_is_written_only_by_force_and_says_so(rng, tmp_path):
    model = inconsistent(model_of(load_robot("planar2r"), rng))
    with pytest.raises(ExportError, match="physically consistent: link1"):
        write_c_header(model, tmp_path / "arm.h")
    assert not (tmp_path / "arm.h").exists()
    done = write_c_header(model, tmp_path / "arm.h", ExportOptions(force=True))
    assert "NOT PHYSICALLY CONSISTENT: not physically consistent: link1" in (tmp_path / "arm.h").read_text()
    assert done.notices[0].startswith("not physically consistent")


def test_a_function_whose_meaning_is_not_known_is_refused():
    code = Code()
    code.put("tau[0]", code.call("arm_spline", Scalar(2.0, "x")))
    with pytest.raises(ExportError, match="arm_spline cannot be checked"):
        code.evaluated({"x": np.ones(3)}, {})
    np.testing.assert_allclose(code.evaluated({"x": np.ones(3)}, {"arm_spline": np.square})["tau[0]"], 4.0)


def test_zeros_and_constants_cost_nothing():
    code = Code()
    x, zero = Scalar(1.0, "x"), Scalar(0.0)
    assert code.sum((x, zero), (x, Scalar(2.0)), (x,)) == Scalar(3.0, "x")
    assert code.sum((Scalar(2.0), Scalar(3.0))) == Scalar(6.0)
    assert code.sum((x, x)) == code.sum((x, x))
    assert code.sum((-x, x)) == -code.sum((x, x))
    code.sum((x,), (Scalar(1.0, "unused"),))
    code.put("y[0]", code.sum((x, x)))
    assert list(code.lines()) == ["const double t0 = x*x;", "y[0] = t0;"]


def test_a_model_with_rotors_has_them_in_its_mass_matrix(rng):
    robot = load_robot("planar2r")
    model = TorqueModel(robot, (*friction_models("none"), RotorInertia()))
    assert "arm_theta[20]" in HeaderSource(model, np.ones(22), "arm").text().split("arm_mass_matrix(const")[1]
    assert "scanf" in harness("arm", model)
