"""The soak of the benchmarks, scaled down: memory stays flat, bad data leaves no trace."""

import pytest

from benchmarks.bench_soak import bounded, consistent, identified_in, soaked, write_long_log


@pytest.mark.slow
@pytest.mark.parametrize("options", [bounded, consistent], ids=["bounds", "log-Cholesky"])
def test_the_filter_outlives_drop_outs_spikes_and_nans(options):
    found = soaked(options(), 200_000)
    assert found.finite
    assert found.feasible
    assert found.missing > 200
    assert found.skipped == 0
    # Two hundred thousand states of ten numbers alone would be 16 MB.
    assert found.growth_mb < 10.0
    # The steady state of a filter with this process noise scatters by 2 %.
    assert found.mass_error < 0.08


@pytest.mark.slow
def test_the_memory_of_identify_does_not_grow_with_the_log(tmp_path):
    peaks = []
    for times in (1, 4):
        log = tmp_path / f"log{times}.parquet"
        write_long_log(log, "planar2r", times * 200_000)
        peak, content = identified_in(log, "planar2r", streamed_bytes=2**20)
        assert content["train"]["relative_error_percent"] < 2.0
        peaks.append(peak)
    # Held as a whole, the other 600 000 samples take 200 MB more; streamed, they take 28 MB.
    assert peaks[1] - peaks[0] < 60.0
