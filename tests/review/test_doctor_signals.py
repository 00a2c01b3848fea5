"""The doctor on signals alone: clean logs pass in silence, every fault is named, and its lines repair the log."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dynid import load_robot
from dynid.recording import (
    ColumnMap,
    RawLog,
    Recording,
    apply_map,
    join_maps,
    read_raw,
    read_recording,
    stream_recording,
    write_csv,
)
from dynid.recording.raw import increasing
from dynid.review import Finding, Look, Severity, overlap_findings, review_log
from dynid.review.checks.overlap import overlap
from dynid.review.checks.table import SIGNAL_CHECKS
from dynid.review.checks.values import step_of
from dynid.review.examination import run_checks
from tests.review.doctor_faults import FAULTS, clean_case, limited_arm, other_cut, spoilt

N_PANDA, N_WAM = 0, 1


def signal_findings(robot, raw: RawLog) -> tuple[Finding, ...]:
    """What the signals alone show."""
    return run_checks(Look.at(robot, raw), SIGNAL_CHECKS).findings


def codes(robot, log) -> set[str]:
    raw = RawLog.of(log) if isinstance(log, Recording) else log
    return {finding.code for finding in signal_findings(robot, raw)}


@pytest.fixture(scope="module")
def clean():
    return clean_case(3, index=N_PANDA, velocity="measured")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_clean_log_passes_in_silence(seed):
    case = clean_case(seed + 900)
    assert signal_findings(case.robot, RawLog.of(case.log)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_random_strength_is_named(name):
    for seed in (101, 102):
        case, raw = spoilt(name, seed)
        assert codes(case.robot, raw) & set(FAULTS[name].codes), (seed, case.robot.name)


def mapped(findings: tuple[Finding, ...]) -> ColumnMap:
    columns = ColumnMap()
    for finding in findings:
        columns = columns if finding.repair is None else join_maps(columns, finding.repair)
    return columns


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.cured])
def test_the_lines_of_a_fix_repair_the_log(name, tmp_path):
    case, raw = spoilt(name, 11, index=N_WAM)
    path = tmp_path / "spoilt.csv"
    content = {"t": raw.t}
    for signal in raw.signals:
        content |= {f"{signal}{k + 1}": column for k, column in enumerate(getattr(raw, signal).T)}
    table = np.column_stack(list(content.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(content), comments="", fmt="%.17g")
    found = signal_findings(case.robot, read_raw(path, case.robot.joint_names))
    assert {f.code for f in found} & set(FAULTS[name].codes)
    repaired = read_raw(path, case.robot.joint_names, columns=mapped(found))
    after = signal_findings(case.robot, repaired)
    # Rows that were left out leave single gaps, which is good to know.
    assert {f.code for f in after if f.severity is not Severity.INFO} == set()
    read_recording(path, case.robot.joint_names, columns=mapped(found))
    in_memory = apply_map(mapped(found), read_raw(path, case.robot.joint_names))
    for signal in ("t", "places", *repaired.signals):
        np.testing.assert_array_equal(getattr(in_memory, signal), getattr(repaired, signal))


def test_findings_tell_number_cause_and_fix(clean):
    (finding,) = signal_findings(clean.robot, replace(RawLog.of(clean.log), dq=-clean.log.dq))[:1]
    assert finding.code == "flipped-velocity"
    assert finding.severity is Severity.ERROR
    assert "-1.000" in finding.evidence
    assert finding.mapping == f"signs.{finding.joint}.dq = -1"
    assert finding.mapping in finding.fix


def test_rows_that_no_recording_holds_are_named_by_number(clean):
    tau, t = np.array(clean.log.tau), np.array(clean.log.t)
    tau[17, 2] = np.nan
    t[40] = t[39]
    t[90] = t[70]
    raw = replace(RawLog.of(clean.log), tau=tau, t=t)
    found = {f.code: f for f in signal_findings(clean.robot, raw)}
    assert "samples 17;" in found["not-finite"].evidence
    assert found["not-finite"].joint == clean.log.joint_names[2]
    assert "samples 40;" in found["repeated-stamps"].evidence
    assert "at samples 90;" in found["backward-stamps"].evidence


def test_a_column_without_any_number_is_no_end(clean):
    raw = replace(RawLog.of(clean.log), tau=np.full_like(clean.log.tau, np.nan))
    look = run_checks(Look.at(clean.robot, raw), SIGNAL_CHECKS)
    assert look.log is None
    assert {f.code for f in look.findings} == {"not-finite"}
    assert all("log tau again" in f.fix for f in look.findings)


def test_degrees_are_told_without_velocities(clean):
    log = replace(clean.log, q=np.degrees(clean.log.q), dq=None)
    assert "degrees" in codes(clean.robot, log)


def test_a_joint_beyond_the_limits_of_another_is_not_in_degrees(rng):
    robot = load_robot("planar2r")
    wide, narrow = (
        replace(joint, limits=replace(joint.limits, lower=-reach, upper=reach, velocity=3.0))
        for joint, reach in zip(robot.joints, (6.3, 3.1), strict=True)
    )
    robot = replace(robot, joints=(wide, narrow))
    t = np.arange(4000) / 200.0
    q = np.column_stack([2.0 * np.sin(1.3 * t), 4.2 * np.sin(t + 1.0)])
    dq = np.column_stack([2.6 * np.cos(1.3 * t), 4.2 * np.cos(t + 1.0)])
    log = Recording(robot.joint_names, t, q, dq=dq)
    assert "degrees" not in codes(robot, log)
    assert "outside-limits" in codes(robot, log)
    assert "degrees" in codes(robot, replace(log, q=5.0 * q, dq=5.0 * dq))


def test_one_joint_in_degrees_is_told_from_its_velocity(clean):
    q = np.array(clean.log.q)
    q[:, 3] = np.degrees(q[:, 3])
    (finding,) = signal_findings(clean.robot, RawLog.of(replace(clean.log, q=q)))
    assert finding.code == "degrees"
    assert finding.joint == clean.log.joint_names[3]


def test_a_sliding_joint_keeps_its_unit():
    rng = np.random.default_rng(5)
    robot = limited_arm(rng, 3, prismatic=1.0)
    t = np.arange(2000) / 200.0
    q = 0.2 * np.sin(np.outer(t, [2.0, 3.0, 4.0]))
    dq = 0.2 * np.array([2.0, 3.0, 4.0]) * np.cos(np.outer(t, [2.0, 3.0, 4.0]))
    assert "degrees" not in codes(robot, Recording(robot.joint_names, t, 1000.0 * q, dq=1000.0 * dq))
    found = signal_findings(robot, RawLog.of(Recording(robot.joint_names, t, q, dq=1000.0 * dq)))
    assert [f.mapping for f in found if f.code == "velocity-unit"] == ['units.dq = "mm/s"']


def test_steps_of_quantised_and_continuous_values_are_told_apart(rng):
    values = np.cumsum(rng.normal(size=3000))
    assert step_of(values) == 0.0
    assert step_of(np.round(values / 0.25) * 0.25) == pytest.approx(0.25)
    assert step_of(np.zeros(10)) == 0.0


def test_rest_with_exact_numbers_is_neither_frozen_nor_clipped(clean):
    log = clean.log
    order = np.concatenate([np.zeros(400, dtype=int), np.arange(log.n_samples)])
    t = np.arange(len(order)) * log.jitter.median
    dq = np.array(log.dq)[order]
    dq[:400] = 0.0
    paused = Recording(log.joint_names, t, log.q[order], dq=dq, tau=log.tau[order])
    assert not codes(clean.robot, paused) & {"frozen", "clipping", "saturation", "held", "repeated-rows"}


def test_steady_velocity_is_not_clipped():
    robot = load_robot("planar2r")
    t = np.arange(4000) / 500.0
    phase = 2.0 * np.pi * 0.5 * t
    dq = np.clip(1.5 * np.sin(np.column_stack([phase, phase + 1.0])), -1.0, 1.0)
    q = np.concatenate([np.zeros((1, 2)), np.cumsum(0.5 * (dq[1:] + dq[:-1]), axis=0) / 500.0])
    assert "clipping" not in codes(robot, Recording(robot.joint_names, t, q, dq=dq))
    sine = 1.5 * np.sin(np.column_stack([phase, phase + 1.0]))
    q = np.concatenate([np.zeros((1, 2)), np.cumsum(0.5 * (sine[1:] + sine[:-1]), axis=0) / 500.0])
    assert "clipping" in codes(robot, Recording(robot.joint_names, t, q, dq=dq))


def test_a_log_shares_its_samples_with_every_copy_of_itself(rng, clean):
    for _ in range(10):
        copy = other_cut(clean, rng)
        assert overlap(clean.log, copy) > 0.9
        (finding,) = overlap_findings(copy, [clean.log])
        assert finding.code == "same-log"
        assert finding.severity is Severity.ERROR


def test_two_runs_of_one_motion_are_not_the_same_log(rng, clean):
    noise = rng.normal(size=clean.log.tau.shape) * 0.01 * np.std(clean.log.tau, axis=0)
    assert overlap(clean.log, replace(clean.log, tau=clean.log.tau + noise)) < 0.01
    other = clean_case(4, index=N_PANDA, velocity="measured")
    assert overlap(clean.log, other.log) == 0.0


def test_torque_is_not_looked_at_behind_a_wrong_motion(clean):
    found = review_log(clean.robot, replace(clean.log, q=np.degrees(clean.log.q)))
    assert [f.code for f in found] == ["degrees", "not-compared"]


def test_the_fewest_rows_are_dropped_to_make_time_increase():
    t = np.array([0.0, 1.0, 99.0, 2.0, 3.0, 2.5, 4.0, 4.0])
    np.testing.assert_array_equal(t[increasing(t)], [0.0, 1.0, 2.0, 2.5, 4.0])
    np.testing.assert_array_equal(increasing(t, 3.5), [6])
    assert len(increasing(np.empty(0))) == 0


def test_bad_rows_and_segments_are_left_out_alike_read_whole_or_in_pieces(tmp_path, clean):
    t, tau = np.array(clean.log.t), np.array(clean.log.tau)
    t[40], t[205], tau[99, 0] = t[39], t[100], np.nan
    path = tmp_path / "log.csv"
    content = {"t": t} | {f"q{k + 1}": c for k, c in enumerate(clean.log.q.T)}
    content |= {f"tau{k + 1}": c for k, c in enumerate(tau.T)}
    rows = np.column_stack(list(content.values()))
    np.savetxt(path, rows, delimiter=",", header=",".join(content), comments="", fmt="%.17g")
    columns = ColumnMap(drop_bad_rows=True, exclude=((float(t[300]), float(t[310])),))
    whole = read_recording(path, clean.log.joint_names, columns=columns)
    assert whole.n_samples == len(t) - 3 - 10
    pieces = list(stream_recording(path, clean.log.joint_names, columns=columns, chunk_samples=64))
    np.testing.assert_array_equal(Recording.concatenated(pieces).t, whole.t)
    np.testing.assert_array_equal(Recording.concatenated(pieces).tau, whole.tau)


def test_the_raw_log_of_a_file_is_its_recording_where_it_is_good(tmp_path, clean):
    path = tmp_path / "log.csv"
    write_csv(clean.log, path)
    raw = read_raw(path, clean.log.joint_names)
    np.testing.assert_array_equal(raw.recording().tau, clean.log.tau)
    assert raw.whole
    assert raw.column("dq", clean.log.joint_names[2]) == "dq3"
    first = read_raw(path, clean.log.joint_names, most_samples=100)
    assert first.n_samples == 100
    assert not first.whole
    later = read_raw(path, clean.log.joint_names, most_samples=100, t_from=float(clean.log.t[250]))
    assert later.places[0] == 200


@pytest.mark.data
def test_measured_logs_show_nothing_worse_than_information(data_dir):
    panda = load_robot("panda")
    raw = read_raw(data_dir / "panda" / "excitation_log.csv.gz", panda.joint_names)
    counts = Counter(f.severity for f in signal_findings(panda, raw))
    assert set(counts) <= {Severity.INFO}
    folder = data_dir / "ur10e"
    arm = load_robot(str(folder / "ur10e.urdf"))
    gains = np.array(json.loads((folder / "facts.json").read_text())["torque_constants"]["controller_Nm_per_A"])
    for name in ("30s12h", "20s8h", "14h", "14hLoad"):
        log = read_recording(folder / f"{name}.csv.gz", arm.joint_names)
        assert codes(arm, replace(log, tau=log.current * gains)) == set(), name
