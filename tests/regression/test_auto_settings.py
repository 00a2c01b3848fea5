import numpy as np
import pytest

from dynid import load_robot
from dynid.recording import Conditioning
from dynid.regression import estimated_delay, velocity_threshold
from dynid.regression.auto_settings import _costs
from dynid.regression.rows import rows_of_segment, visible_columns
from tests.regression.logs import truth


@pytest.mark.parametrize("delay", [-0.012, 0.0, 0.007])
def test_the_delay_is_found_from_the_full_model(delay, rng):
    case = truth(load_robot("planar2r"), rng, duration=20.0)
    recording = case.recording(rng, 0.02)
    late = type(recording)(
        recording.joint_names,
        recording.t,
        recording.q,
        recording.dq,
        tau=np.column_stack([np.interp(recording.t - delay, recording.t, column) for column in recording.tau.T]),
    )
    plan = Conditioning().plan(late)
    assert estimated_delay(case.model, case.base, late, plan) == pytest.approx(delay, abs=5e-4)


def test_the_threshold_masks_sticking_and_keeps_conditioning(rng):
    case = truth(load_robot("planar2r"), rng, duration=60.0)
    recording = case.recording(rng, 0.002)
    tau = recording.tau.copy()
    sticking = np.abs(recording.dq) < 0.03
    tau[sticking] += rng.normal(size=np.count_nonzero(sticking)) * 2.0
    stuck = type(recording)(recording.joint_names, recording.t, recording.q, recording.dq, tau=tau)
    plan = Conditioning(cutoff_hz=np.inf).plan(stuck)
    choice = velocity_threshold(case.model, case.base, plan.apply(stuck))
    assert choice.chosen >= 0.02
    chosen = int(np.argmin(np.abs(choice.thresholds - choice.chosen)))
    assert choice.relative_percent[chosen] < 0.5 * choice.relative_percent[0]
    assert choice.condition[chosen] <= 1.05 * choice.condition[0]


def test_a_delay_beyond_the_span_is_told_as_its_end(rng):
    case = truth(load_robot("planar2r"), rng, duration=10.0)
    recording = case.recording(rng, 0.02)
    tau = np.column_stack([np.interp(recording.t - 0.02, recording.t, column) for column in recording.tau.T])
    late = type(recording)(recording.joint_names, recording.t, recording.q, recording.dq, tau=tau)
    plan = Conditioning().plan(late)
    assert estimated_delay(case.model, case.base, late, plan, span=0.005, n_tried=3) == 0.005
    # Between the points of a coarse grid a parabola finds it.
    assert estimated_delay(case.model, case.base, late, plan, span=0.032, n_tried=5) == pytest.approx(0.02, abs=5e-4)


def test_the_threshold_is_the_best_of_those_that_keep_the_condition_number(rng):
    case = truth(load_robot("planar2r"), rng, duration=10.0)
    recording = case.recording(rng, 0.05)
    samples = Conditioning().plan(recording).apply(recording)
    choice = velocity_threshold(case.model, case.base, samples)
    fastest = max(np.max(np.abs(segment.motion.dq)) for segment in samples.segments)
    np.testing.assert_allclose(choice.thresholds / fastest, [0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1])
    allowed = choice.condition <= 1.05 * choice.condition[0]
    assert choice.chosen in choice.thresholds[allowed]
    chosen = choice.relative_percent[choice.thresholds == choice.chosen]
    assert np.all(choice.relative_percent[allowed] >= chosen)


def test_the_cost_of_a_delay_is_the_residual_of_its_own_fit(rng):
    case = truth(load_robot("planar2r"), rng, duration=10.0)
    recording = case.recording(rng, 0.05)
    plan = Conditioning(cutoff_hz=5.0, min_velocity=0.2).plan(recording)
    delays = np.array([-0.02, 0.0, 0.011])
    found = _costs(case.model, case.base, recording, plan, delays)
    visible = visible_columns(case.model, case.base)
    edge = int(np.ceil(0.02 * plan.low_pass.rate_hz / plan.every)) + 1
    for delay, cost in zip(delays, found, strict=True):
        (segment,) = plan.with_delay(plan.delay + delay, "").apply(recording).segments
        every = rows_of_segment(case.model, case.base, segment, plan.with_min_velocity(0.0, ""), visible)
        Y, y = [], []
        for j, own in enumerate(every):
            centres = plan.low_pass.half_length + plan.every * np.arange(len(own.tau))
            used = np.abs(segment.motion.dq[centres, j]) >= plan.min_velocity
            used[:edge] = used[len(used) - edge :] = False
            wide = np.zeros((np.count_nonzero(used), case.base.n_base))
            wide[:, visible[j]] = own.Y[used]
            Y.append(wide)
            y.append(own.tau[used])
        residual = np.linalg.lstsq(np.vstack(Y), np.concatenate(y), rcond=None)[1]
        assert cost == pytest.approx(float(residual[0]), rel=1e-6)
