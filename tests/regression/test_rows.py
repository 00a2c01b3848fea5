"""Rows of a regression: the torque through the low-pass, slow rows left out, blocks in order."""

from __future__ import annotations

import numpy as np
import pytest

from dynid import load_robot
from dynid.recording import Conditioning, Samples, Segment
from dynid.regression.rows import block_length, in_order, rows_of_segment, visible_columns
from tests.regression.logs import truth


@pytest.mark.parametrize("every", [1, 3])
def test_rows_are_those_whose_middle_sample_is_fast_enough(every, rng):
    case = truth(load_robot("planar2r"), rng, duration=5.0)
    recording = case.recording()
    slow, fast = (
        Conditioning(cutoff_hz=7.0, decimate=every, min_velocity=least).plan(recording) for least in (0.0, 0.3)
    )
    segment = Segment(case.motion, case.tau)
    visible = visible_columns(case.model, case.base)
    everything, some = (rows_of_segment(case.model, case.base, segment, plan, visible) for plan in (slow, fast))
    half = slow.low_pass.half_length
    assert half > 1
    assert slow.every == every
    for j, (rows, kept) in enumerate(zip(everything, some, strict=True)):
        middle = case.motion.dq[half : len(case.motion.t) - half : every, j]
        assert len(rows.tau) == len(middle)
        chosen = np.abs(middle) >= 0.3
        assert 0 < np.count_nonzero(chosen) < len(chosen)
        np.testing.assert_array_equal(kept.tau, rows.tau[chosen])
        np.testing.assert_array_equal(kept.Y, rows.Y[chosen])
        # What is exact before the low-pass is exact behind it.
        np.testing.assert_allclose(rows.Y @ case.beta[visible[j]], rows.tau, atol=1e-9)


def test_blocks_are_long_against_the_filter_and_some_dozen(rng):
    case = truth(load_robot("planar2r"), rng, duration=5.0)
    recording = case.recording()
    lengths = {}
    for cutoff in (5.0, 50.0, np.inf):
        plan = Conditioning(cutoff_hz=cutoff).plan(recording)
        samples = Samples(recording.joint_names, (Segment(case.motion, case.tau),), plan)
        lengths[cutoff] = block_length(samples)
        assert lengths[cutoff] >= 8 * plan.every
        chunks = list(samples.chunks(lengths[cutoff]))
        assert len(chunks) >= 2
    assert lengths[5.0] > 200.0 / 5.0
    assert lengths[5.0] >= lengths[50.0] >= lengths[np.inf] >= 32


def test_results_come_in_the_order_of_the_items(monkeypatch):
    for threads in ("1", "2"):
        monkeypatch.setenv("DYNID_THREADS", threads)
        assert list(in_order(lambda k: k * k, range(50))) == [k * k for k in range(50)]
