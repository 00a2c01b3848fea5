"""Faults of rows, injected into measured logs, leave the error on held-out rows as it was."""

from dataclasses import replace

import numpy as np
import pytest

import dynid
from dynid.recording import RawLog, read_raw

SET = {"ur10": ("robot.urdf", 20.0), "panda30": ("panda", 16.0)}


def wild(log, rng):
    return cells(log, rng, lambda: rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(6.0, 300.0))


def dropout(log, rng):
    return cells(log, rng, lambda: 0.0)


def missing(log, rng):
    return cells(log, rng, lambda: np.nan)


def cells(log, rng, value):
    changed = {name: np.array(getattr(log, name)) for name in log.signals}
    for _ in range(12):
        values = changed[str(rng.choice(log.signals))]
        values[rng.integers(5, len(values) - 5), rng.integers(values.shape[1])] = value()
    return replace(log, **changed)


def held(log, rng):
    t = np.arange(log.t[0], log.t[-1], np.median(np.diff(log.t)) * 30.0 / 500.0)
    seen = np.searchsorted(log.t, t, side="right") - 1
    return replace(log, t=t, **{name: getattr(log, name)[seen] for name in log.signals})


def restarted(log, rng):
    t = np.array(log.t)
    t[len(t) // 2 :] -= t[len(t) // 2]
    return replace(log, t=t)


FAULTS = {
    wild: {"wild-cell", "jump"},
    dropout: {"wild-cell", "jump"},
    missing: {"not-finite"},
    held: {"repeated-rows"},
    restarted: {"backward-stamps"},
}


@pytest.fixture(scope="module", params=SET)
def case(request, data_dir):
    """Robot, training log, held-out log and the error of the clean log, in percent."""
    name, cut = SET[request.param]
    robot = dynid.load_robot(name if name == "panda" else data_dir / request.param / name)
    raw = read_raw(data_dir / request.param / "log.csv.gz", robot.joint_names)
    train, test = (replace(part, numbers=None) for part in (raw.part(None, cut), raw.part(cut, None)))
    return robot, train, test, unseen(robot, train, test)[0]


def unseen(robot, train: RawLog, test: RawLog):
    result = dynid.identify(robot, train, validate=test, friction="viscous+coulomb+offset", estimator="wls", force=True)
    return result.validation[0].error.relative_percent, result


@pytest.mark.data
@pytest.mark.slow  # minutes with the checks of types and shapes, seconds without
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_of_rows_is_named_and_does_no_harm(case, fault, rng):
    robot, train, test, clean = case
    error, result = unseen(robot, fault(train, rng), test)
    assert error < 1.1 * clean
    named = {finding.code: finding.severity.value for finding in result.findings}
    assert FAULTS[fault] & named.keys()
    assert all(named[code] == "info" for code in FAULTS[fault] & named.keys())
