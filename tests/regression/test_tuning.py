import numpy as np
import pytest

from dynid import load_robot
from dynid.recording import Conditioning
from dynid.regression import estimated_delay, velocity_threshold
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
