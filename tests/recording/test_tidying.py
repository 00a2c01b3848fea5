"""Rows that nobody measured are left out and said; everything that was measured stays."""

from dataclasses import replace

import numpy as np
import pytest

from dynid.recording import RawLog, read_raw, tidied
from dynid.recording.held_rows import holding_of
from dynid.recording.tidying import Tidying
from dynid.recording.wild_cells import wild_cells

JOINTS = ("shoulder", "elbow", "wrist")
RATE = 200.0


def smooth_log(rng, *, noise=1.0, n_samples=3000, rate=RATE):
    """An arm that moves, with the noise of real sensors."""
    t = np.arange(n_samples) / rate
    frequency, phase = rng.uniform(0.2, 0.8, 3), rng.uniform(0.0, 6.0, 3)
    angle = 2.0 * np.pi * frequency * t[:, None] + phase
    q, dq = np.sin(angle), 2.0 * np.pi * frequency * np.cos(angle)
    tau = 20.0 * q + 3.0 * np.sign(dq) + 8.0
    return RawLog(
        JOINTS,
        t,
        q + 1e-5 * noise * rng.normal(size=q.shape),
        dq=dq + 1e-3 * noise * rng.normal(size=q.shape),
        tau=tau + 0.2 * noise * rng.normal(size=q.shape),
        source="log.csv",
    )


def spoilt(raw, cells):
    """The log with other numbers in some cells: signal, sample, joint, value."""
    changed = {name: np.array(getattr(raw, name)) for name in raw.signals}
    for signal, sample, joint, value in cells:
        changed[signal][sample, joint] = value
    return replace(raw, **changed)


def said(log):
    return {(repair.code, repair.joint): repair for repair in log.repairs}


def held(raw, times):
    """The same robot, logged `times` as fast as it sends."""
    rate = times / np.median(np.diff(raw.t))
    t = np.arange(raw.t[0], raw.t[-1], 1.0 / rate)
    seen = np.searchsorted(raw.t, t + 1e-9, side="right") - 1
    return replace(raw, t=t, numbers=None, **{name: getattr(raw, name)[seen] for name in raw.signals})


@pytest.mark.parametrize("noise", [0.0, 1.0, 10.0])
def test_a_log_without_fault_stays_as_it_is(rng, noise):
    raw = smooth_log(rng, noise=noise)
    assert tidied(raw).n_samples == raw.n_samples
    assert tidied(raw).repairs == ()


@pytest.mark.parametrize("value", [1e6, -1e9, 1e38, 1e300, np.inf, np.nan])
@pytest.mark.parametrize("signal", ["q", "dq", "tau"])
def test_a_single_wild_cell_is_named_and_its_row_left_out(rng, signal, value):
    raw = smooth_log(rng)
    log = tidied(spoilt(raw, [(signal, 700, 1, value)]))
    assert log.n_samples == raw.n_samples - 1
    assert 700 not in log.places
    (repair,) = log.repairs
    assert repair.joint == "elbow"
    assert repair.samples == (700,)
    assert f"column {signal}2, sample 700" in repair.evidence
    assert repair.code == ("jump" if signal == "q" else "wild-cell") if np.isfinite(value) else "not-finite"
    log.recording()


@pytest.mark.parametrize("sample", [0, 1, 2, 1500, -2, -1])
def test_a_value_that_drops_out_is_found_wherever_it_is(rng, sample):
    raw = smooth_log(rng, noise=0.3)
    raw = replace(raw, q=raw.q + 3.0, tau=raw.tau + 100.0)
    for signal in ("q", "tau"):
        found = wild_cells(getattr(spoilt(raw, [(signal, sample, 2, 0.0)]), signal))
        assert np.argwhere(found).tolist() == [[sample % raw.n_samples, 2]]


def test_real_peaks_of_several_samples_are_kept(rng):
    raw = smooth_log(rng)
    for shape in ([30.0, 80.0, 40.0], [60.0, 60.0], [-20.0, 90.0, -50.0, 20.0], [120.0, 80.0, 50.0, 30.0, 20.0]):
        tau = np.array(raw.tau)
        tau[800 : 800 + len(shape), 0] += shape
        assert tidied(replace(raw, tau=tau)).repairs == ()


def test_a_step_of_a_position_is_no_wild_cell(rng):
    raw = smooth_log(rng)
    q = np.array(raw.q)
    q[900:, 1] += 2.0 * np.pi
    assert tidied(replace(raw, q=q)).n_samples == raw.n_samples


def test_what_is_wild_too_often_is_a_signal(rng):
    raw = smooth_log(rng)
    places = rng.choice(raw.n_samples, raw.n_samples // 20, replace=False)
    assert tidied(spoilt(raw, [("tau", k, 0, 1e7) for k in places])).n_samples == raw.n_samples


@pytest.mark.parametrize("times", [1.25, 1.5, 2.0, 4.0, 500.0 / 30.0])
def test_held_rows_are_thinned_to_what_is_new_at_its_own_rate(rng, times):
    raw = smooth_log(rng, n_samples=1200)
    log = tidied(held(raw, times))
    assert abs(log.n_samples - raw.n_samples) <= 2
    assert log.recording().rate_hz == pytest.approx(RATE, rel=1e-3)
    (repair,) = log.repairs
    assert repair.code == "repeated-rows"
    assert f"measured at {RATE:.4g} Hz and logged at {times * RATE:.4g} Hz" in repair.evidence
    # The clock is the controller's, not that of the log, save for one common delay.
    late = log.t - raw.t[: log.n_samples]
    assert np.ptp(late) < 0.25 / (times * RATE)


def test_messages_that_are_lost_do_not_hide_that_rows_are_held(rng):
    raw = smooth_log(rng, n_samples=2000)
    kept = np.sort(rng.choice(2000, 1960, replace=False))
    log = tidied(held(raw.rows(kept), 5.0))
    assert abs(log.n_samples - 1960) <= 2


def test_a_robot_at_rest_and_coarse_encoders_are_not_held(rng):
    raw = smooth_log(rng)
    rest = np.arange(raw.n_samples) % 1500 > 700
    for noise in (0.0, 1.0):
        still = {name: np.where(rest[:, None], 0.3, getattr(raw, name)) for name in raw.signals}
        if noise:
            still["tau"] = still["tau"] + 0.1 * rng.normal(size=still["tau"].shape)
        assert holding_of(replace(raw, **still)) is None
    # Slowly, with encoders of 12 bit, velocities from their counts, and torques of 0.5 N·m.
    slow = replace(raw, q=np.round(raw.q * 100.0) / 100.0, dq=np.round(raw.dq * 5.0) / 5.0, tau=np.round(raw.tau))
    assert holding_of(slow) is None
    line = raw.t[:, None] * np.array([1.0, 1.3, 0.4])
    steady = replace(raw, q=np.round(line * 40.0) / 40.0, dq=np.ones_like(line), tau=5.0 * np.ones_like(line))
    assert holding_of(steady) is None


def test_repeated_stamps_and_rows_out_of_order_are_left_out(rng):
    raw = smooth_log(rng)
    order = np.sort(np.concatenate([np.arange(raw.n_samples), [5, 900, 901]]))
    log = tidied(replace(raw.rows(order), numbers=None))
    np.testing.assert_array_equal(log.t, raw.t)
    assert said(log).keys() == {("repeated-stamps", None)}
    mixed = np.arange(raw.n_samples)
    mixed[300:303] = mixed[300:303][::-1]
    log = tidied(raw.rows(mixed))
    assert log.n_samples == raw.n_samples - 2
    assert said(log).keys() == {("backward-stamps", None)}


def test_stamps_of_a_slow_clock_become_even(rng):
    raw = smooth_log(rng)
    log = tidied(replace(raw, t=np.floor(raw.t * RATE / 7.0) * 7.0 / RATE))
    assert np.max(np.abs(np.diff(log.t) * RATE - 1.0)) < 1e-3
    assert said(log).keys() == {("coarse-stamps", None)}


def test_two_logs_in_one_file_are_used_one_by_one(rng):
    one, two = smooth_log(rng), smooth_log(rng)
    both = replace(
        one,
        t=np.concatenate([one.t, two.t]),
        **{name: np.concatenate([getattr(one, name), getattr(two, name)]) for name in one.signals},
    )
    log = tidied(both)
    assert log.n_samples == both.n_samples
    steps = np.diff(log.t)
    assert np.argmax(steps) == one.n_samples - 1
    assert steps.max() >= 0.5
    assert "one by one" in said(log)["backward-stamps", None].done


@pytest.mark.parametrize("leap", [-2.5, -1e4, 1.7e9])
def test_a_clock_that_is_set_does_not_interrupt_the_motion(rng, leap):
    raw = smooth_log(rng)
    t = np.array(raw.t)
    t[1000:] += leap
    log = tidied(replace(raw, t=t))
    np.testing.assert_allclose(log.t, raw.t, atol=1e-6)
    assert said(log).keys() == {("backward-stamps" if leap < 0 else "clock-jump", None)}


def test_rows_that_stand_in_a_file_twice_are_used_once(rng):
    raw = smooth_log(rng)
    log = tidied(raw.rows(np.concatenate([np.arange(1500), np.arange(900, raw.n_samples)])))
    np.testing.assert_allclose(log.t, raw.t, atol=1e-9)
    assert "600 rows that stand there twice" in said(log)["backward-stamps", None].done


def test_a_log_that_is_mostly_damaged_is_left_to_its_owner(rng):
    raw = smooth_log(rng)
    tau = np.array(raw.tau)
    tau[::3, 1] = np.nan
    assert tidied(replace(raw, tau=tau)).n_samples == raw.n_samples
    assert tidied(replace(raw, t=rng.permutation(raw.t))).n_samples == raw.n_samples
    assert tidied(replace(raw, t=np.zeros(raw.n_samples))).repairs == ()


def test_a_log_in_pieces_is_tidied_like_the_whole(rng):
    raw = spoilt(held(smooth_log(rng), 3.0), [("tau", 4321, 0, 1e30), ("q", 10, 1, np.nan)])
    t = np.array(raw.t)
    t[5000:] -= 7.0
    raw = replace(raw, t=t)
    whole = tidied(raw)
    cuts = range(0, raw.n_samples, 2000)
    pieces = [raw.rows(np.arange(start, min(start + 2000, raw.n_samples))) for start in cuts]
    parts = list(Tidying.of(raw).stream(pieces))
    assert np.concatenate([part.places for part in parts]).tolist() == whole.places.tolist()
    times = np.concatenate([part.t for part in parts])
    assert np.diff(times).min() > 0.0


@pytest.mark.data
def test_measured_logs_without_fault_lose_no_more_than_a_glitch(data_dir):
    import dynid

    logs = {
        "panda": ("panda/excitation_log.csv.gz", "panda30/log.csv.gz"),
        "ur10e/ur10e.urdf": ("ur10e/30s12h.csv.gz", "ur10e/20s8h.csv.gz", "ur10e/collision_2link.csv.gz"),
        "ur10/robot.urdf": ("ur10/log.csv.gz",),
        "lwr4/robot.urdf": ("lwr4/run1.csv.gz", "lwr4/run2.csv.gz", "lwr4/run3.csv.gz"),
        "kr300/robot.toml": ("kr300/runA.csv.gz", "kr300/runB.csv.gz", "kr300/runC.csv.gz"),
        "med7/robot.urdf": ("med7/log.csv.gz",),
    }
    for robot, names in logs.items():
        joints = dynid.load_robot(robot if robot == "panda" else data_dir / robot).joint_names
        for name in names:
            raw = read_raw(data_dir / name, joints)
            assert raw.n_samples - tidied(raw).n_samples <= 1, name
