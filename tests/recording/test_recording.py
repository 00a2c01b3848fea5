"""A recording is finite, ordered in time, and cut and joined without loss."""

import gzip

import numpy as np
import pytest

from dynid.errors import DynidError, OutputError, RecordingError
from dynid.recording import Recording, read_recording, write_csv
from tests.recording.logs import JOINTS, make_recording


def test_a_recording_says_its_length_rate_and_jitter():
    recording = Recording(("a",), np.array([1.0, 1.1, 1.2, 1.5]), np.zeros((4, 1)))
    assert (recording.n_samples, recording.n_dof, recording.signals) == (4, 1, ("q",))
    assert recording.duration == pytest.approx(0.5)
    assert recording.rate_hz == pytest.approx(10.0)
    assert recording.jitter == pytest.approx((0.1, 0.1, 0.3))


def test_the_rate_of_one_sample_is_not_a_number():
    assert np.isnan(Recording(("a",), np.zeros(1), np.zeros((1, 1))).rate_hz)


def test_arrays_are_read_only_copies():
    q = np.ones((3, 1))
    recording = Recording(("a",), np.arange(3.0), q)
    q[:] = 7
    assert np.all(recording.q == 1.0)
    with pytest.raises(ValueError, match="read-only"):
        recording.q[0, 0] = 2.0


def test_parts_meet_without_overlap_and_know_where_they_stand(rng):
    recording = make_recording(rng)
    middle = float(recording.t[20])
    before, after = recording.part(t_until=middle), recording.part(t_from=middle)
    assert (before.n_samples, after.n_samples, after.first_sample) == (20, 30, 20)
    joined = Recording.concatenated([before, after])
    for name in ("t", "q", "dq", "tau"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(recording, name))


def test_a_part_outside_of_the_log_names_what_the_log_covers(rng):
    with pytest.raises(RecordingError, match=r"no sample from 5 s until its end; the log covers 0\.000000 s to 0\.098"):
        make_recording(rng).part(t_from=5.0)


def test_recordings_with_other_signals_are_not_joined(rng):
    recording = make_recording(rng)
    motion_only = Recording(JOINTS, recording.t + 1.0, recording.q, source="b.csv")
    with pytest.raises(RecordingError, match=r"b\.csv does not continue memory: it has q of joints shoulder"):
        Recording.concatenated([recording, motion_only])
    with pytest.raises(RecordingError, match="nothing to join"):
        Recording.concatenated([])
    with pytest.raises(RecordingError, match="time does not increase after sample 49"):
        Recording.concatenated([recording, recording])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named_by_file_signal_joint_and_sample(rng, value):
    tau = rng.normal(size=(20, 3))
    tau[7, 1] = value
    with pytest.raises(RecordingError, match=rf"run\.csv: tau of joint 'elbow' is {value} at sample 107; delete that"):
        Recording(JOINTS, np.arange(20.0), np.zeros((20, 3)), tau=tau, source="run.csv", first_sample=100)
    tau[9:, 0] = value
    with pytest.raises(RecordingError, match="the first of 12 such values"):
        Recording(JOINTS, np.arange(20.0), np.zeros((20, 3)), tau=tau)
    with pytest.raises(RecordingError, match=rf"base_wrench \(fy\) is {value} at sample 0"):
        Recording(JOINTS, np.zeros(1), np.zeros((1, 3)), base_wrench=np.array([[0.0, value, 0.0, 0.0, 0.0, 0.0]]))


@pytest.mark.parametrize("third", [0.1, 0.05])
def test_time_that_stands_still_or_runs_backwards_is_refused(third):
    with pytest.raises(RecordingError, match=r"time does not increase after sample 1 \(0\.100000 s then 0\.\d+ s\)"):
        Recording(("a",), np.array([0.0, 0.1, third, 0.3]), np.zeros((4, 1)))


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(DynidError, match=r"q has shape \(4, 2\), not \(4, 3\)"):
        Recording(JOINTS, np.arange(4.0), np.zeros((4, 2)))
    with pytest.raises(RecordingError, match="holds no samples"):
        Recording(JOINTS, np.empty(0), np.empty((0, 3)))
    with pytest.raises(RecordingError, match="named twice"):
        Recording(("a", "a"), np.zeros(1), np.zeros((1, 2)))
    with pytest.raises(RecordingError, match="at least one joint"):
        Recording((), np.zeros(1), np.zeros((1, 0)))


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_a_written_recording_is_read_back_bit_for_bit(tmp_path, rng, name):
    # Numbers of every size, so that no fixed count of digits could do.
    values = rng.normal(size=(7, 50, 3)) * 10.0 ** rng.integers(-300, 49, size=(7, 50, 3))
    t = np.cumsum(rng.uniform(0.001, 0.002, 50))
    wrenches = np.concatenate([values[5], values[6]], axis=1)
    q, dq, ddq, tau, current = values[:5]
    full = Recording(JOINTS, t, q, dq, ddq, tau, current, base_wrench=wrenches, tool_wrench=wrenches[::-1])
    write_csv(full, tmp_path / name)
    back = read_recording(tmp_path / name, JOINTS)
    assert back.signals == full.signals
    for signal in ("t", *full.signals):
        np.testing.assert_array_equal(getattr(back, signal), getattr(full, signal))


def test_numbers_are_written_with_the_fewest_digits(tmp_path):
    path = tmp_path / "log.csv"
    write_csv(Recording(("a",), np.array([0.0, 0.1]), np.array([[1.0], [1.0 / 3.0]])), path)
    assert path.read_text(encoding="utf-8") == "t,q1\n0,1\n0.1,0.3333333333333333\n"
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


def test_the_same_recording_gives_the_same_compressed_file(tmp_path, rng):
    recording = make_recording(rng)
    for name in ("a.csv.gz", "b.csv.gz"):
        write_csv(recording, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"t,q1,q2,q3,dq1")


def test_a_file_is_written_whole_or_not_at_all(tmp_path, rng, monkeypatch):
    path = tmp_path / "log.csv"
    path.write_text("what was there", encoding="utf-8")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.csv.write_csv", full_disk)
    with pytest.raises(OutputError, match=r"log\.csv: cannot be written: No space left on device"):
        write_csv(make_recording(rng), path)
    assert path.read_text(encoding="utf-8") == "what was there"
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


def test_a_folder_that_does_not_exist_is_made_and_a_file_in_its_place_is_named(tmp_path, rng):
    write_csv(make_recording(rng), tmp_path / "new" / "log.csv")
    assert (tmp_path / "new" / "log.csv").is_file()
    with pytest.raises(OutputError, match=r"cannot be written: (Not a directory|File exists)"):
        write_csv(make_recording(rng), tmp_path / "new" / "log.csv" / "log.csv")
