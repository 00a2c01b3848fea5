"""A model remembers how its logs are read and conditioned: later jobs need no option typed again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynid
from dynid.cli import main
from dynid.workflow import Identification
from tests.workflow.small_arm import ARM, FRICTION, run

DELAY = 0.02
"""s by which torque lags in the logs of this vendor."""
SECONDS = 60.0
"""Of a log: so long that a fit to it is hardly closer to it than to another."""
GAINS = (4.0, 2.5)
"""N·m/A"""
MAP = f"""[columns]
t = "stamp"
q = "angle_{{n}}"
dq = "rate_{{n}}"
current = "drive_{{n}}"

[units]
t = "ms"
q = "deg"
dq = "deg/s"
current = "mA"

[signs]
{ARM.joint_names[1]}.current = -1
"""
WITHIN = 0.01
"""Relative: the same samples, conditioned alike, are predicted alike."""
FAR = 1.5
"""Times: how much larger the error is where the delay is forgotten, at least."""


def write_vendor(path: Path, seed: int, *, load: bool = False) -> Path:
    """Milliseconds, degrees, milliamperes, names of its own, a second drive that counts the other way."""
    log = run(seed, load=load, delay=DELAY, seconds=SECONDS)
    assert log.dq is not None
    assert log.tau is not None
    current = 1e3 * log.tau / np.array(GAINS) * np.array([1.0, -1.0])
    columns = {"stamp": 1e3 * log.t}
    for j in range(2):
        columns |= {f"angle_{j + 1}": np.degrees(log.q[:, j]), f"rate_{j + 1}": np.degrees(log.dq[:, j])}
        columns[f"drive_{j + 1}"] = current[:, j]
    table = np.column_stack(list(columns.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="", fmt="%.12g")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("memory")
    (root / "map.toml").write_text(MAP, encoding="utf-8")
    write_vendor(root / "a.csv", 1)
    write_vendor(root / "b.csv", 2)
    write_vendor(root / "load.csv", 3, load=True)
    return root


@pytest.fixture(scope="module")
def identified(folder) -> Identification:
    """Identified with a column map, gains and a delay, all typed once."""
    return dynid.identify(
        ARM,
        folder / "a.csv",
        validate=folder / "b.csv",
        columns=folder / "map.toml",
        gains=GAINS,
        delay=DELAY,
        friction=FRICTION,
    )


@pytest.fixture(scope="module")
def model_file(identified, folder) -> Path:
    """The model alone, as a file: all that later jobs get."""
    return dynid.save(identified.model, folder / "model").files["model"]


def held_out(identified: Identification) -> float:
    """The error (%) of the second log in the identification itself."""
    return identified.validation[0].error.relative_percent


def forgetful(identified: Identification) -> dynid.IdentifiedModel:
    """The same model without its delay: what version 0.1 kept of it."""
    return replace(identified.model, settings=replace(identified.model.settings, delay=None))


def test_validate_predicts_a_second_log_as_identify_did(identified, folder, model_file):
    found = dynid.validate(model_file, folder / "b.csv").validation[0].error.relative_percent
    assert found == pytest.approx(held_out(identified), rel=WITHIN)
    without = dynid.validate(forgetful(identified), folder / "b.csv").validation[0].error.relative_percent
    assert without > FAR * found


def test_friction_is_refitted_to_a_second_log_as_identify_read_it(identified, folder, model_file):
    log = folder / "b.csv"
    refit = dynid.friction(model_file, log, friction=FRICTION)
    # What is fitted to a log is closer to it than what was not.
    assert refit.fit.fit.relative_percent < (1.0 + WITHIN) * held_out(identified)
    assert dynid.friction(forgetful(identified), log, friction=FRICTION).fit.fit.relative_percent > FAR * held_out(
        identified
    )
    # The refitted model remembers the same; the first log is now one that its friction was not fitted to.
    assert refit.model.settings == dynid.load_model(model_file).settings
    first = dynid.validate(refit.model, folder / "a.csv").validation[0].error.relative_percent
    assert first == pytest.approx(identified.train.error.relative_percent, rel=0.05)


def test_payload_weighs_a_load_in_a_second_log_as_identify_read_it(identified, folder, model_file):
    empty = dynid.payload(model_file, folder / "b.csv").load
    assert empty.without.relative_percent < (1.0 + WITHIN) * held_out(identified)
    assert dynid.payload(forgetful(identified), folder / "b.csv").load.fit.relative_percent > FAR * held_out(identified)
    assert empty.mass == pytest.approx(0.0, abs=0.01)
    for unloaded in (None, folder / "b.csv"):
        loaded = dynid.payload(model_file, folder / "load.csv", unloaded=unloaded).load
        assert loaded.mass == pytest.approx(1.0, rel=WITHIN)


def test_gains_are_found_anew_with_the_remembered_map_and_delay(folder, model_file):
    found = dynid.payload(model_file, folder / "load.csv", unloaded=folder / "b.csv", known_mass=1.0, friction=FRICTION)
    np.testing.assert_allclose(found.gains, GAINS, rtol=0.02)


def test_what_is_typed_wins(identified, folder, model_file):
    doubled = dynid.validate(model_file, folder / "b.csv", gains=2.0 * np.array(GAINS)).validation[0]
    assert doubled.error.relative_percent == pytest.approx(50.0, abs=1.0)


def test_the_commands_need_no_option_either(folder, model_file, tmp_path, capsys):
    log = str(folder / "b.csv")
    assert main(["validate", str(model_file), log]) == 0
    assert main(["friction", str(model_file), log, "--friction", FRICTION, "--out", str(tmp_path)]) == 0
    # Two joints cannot show all ten numbers of a load.
    assert main(["payload", str(model_file), str(folder / "load.csv")]) == 1
    assert "error" not in capsys.readouterr().err
