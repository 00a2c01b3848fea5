import numpy as np
import pytest

from dynid import load_robot
from dynid.errors import RecordingError
from dynid.recording import Conditioning, Recording, stream_recording, write_csv
from dynid.regression import OLS, SampleRows, StreamedRows, compress
from tests.regression.logs import truth


def pieces(recording, n):
    """The log cut into consecutive parts of n samples."""

    def read():
        for start in range(0, recording.n_samples, n):
            cut = slice(start, start + n)
            yield Recording(
                recording.joint_names, recording.t[cut], recording.q[cut], recording.dq[cut], tau=recording.tau[cut]
            )

    return read


@pytest.mark.parametrize("n", [700, 3000, 100_000])
def test_a_streamed_log_gives_the_fit_of_the_whole(n, rng):
    case = truth(load_robot("planar2r"), rng, duration=60.0)
    recording = case.recording(rng, 0.02)
    plan = Conditioning().plan(recording)
    whole = compress(SampleRows(case.model, case.base, (plan.apply(recording),)))
    streamed = compress(StreamedRows(case.model, case.base, pieces(recording, n), plan))
    # Rows of a piece stand on the grid of that piece: not the same rows, but as many and as good.
    assert streamed.n_rows == pytest.approx(whole.n_rows, rel=0.06)
    difference = np.abs(OLS().fit(streamed).beta - OLS().fit(whole).beta)
    assert np.all(difference < 0.5 * OLS().fit(whole).std)


def test_a_file_is_streamed_in_constant_memory(tmp_path, rng):
    case = truth(load_robot("planar2r"), rng, duration=60.0)
    write_csv(case.recording(rng, 0.02), tmp_path / "log.csv")
    names = case.model.robot.joint_names

    def read():
        return stream_recording(tmp_path / "log.csv", names, chunk_samples=2000)

    plan = Conditioning().plan(next(read()))
    regression = compress(StreamedRows(case.model, case.base, read, plan))
    np.testing.assert_allclose(OLS().fit(regression).beta, case.beta, rtol=0.05, atol=0.02)


def test_a_log_without_a_usable_segment_is_an_error(rng):
    case = truth(load_robot("planar2r"), rng, duration=3.0)
    recording = case.recording()
    plan = Conditioning(cutoff_hz=0.2).plan(recording)
    with pytest.raises(RecordingError, match="no segment without a gap"):
        compress(StreamedRows(case.model, case.base, pieces(recording, 100), plan))
