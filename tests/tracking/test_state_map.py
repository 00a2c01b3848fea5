"""State maps: bounds, exact derivatives, physically consistent links."""

import numpy as np
import pytest

from dynid.chain import InertialParameters, consistency, load_robot
from dynid.dynamics import RotorInertia, TorqueModel, friction_models
from dynid.errors import ParameterError, TrackingError, UnknownName
from dynid.tracking import LOAD_LINK, Consistent, Entry, Principal, StateBound, StateMap

MODEL = TorqueModel(load_robot("panda"), (RotorInertia(), *friction_models("viscous+coulomb")))
THETA = MODEL.nominal() + np.where(np.arange(MODEL.n_params) >= MODEL.n_inertial, 0.3, 0.0)
LOADED = InertialParameters.from_com(2.0, (0.02, -0.01, 0.08), np.diag([0.02, 0.03, 0.025]))
WIDE = StateBound(-5.0, 5.0)


def principal(link, *, moment):
    positive = StateBound(0.0, 10.0)
    return Principal(link, positive, (positive,) * 3, (WIDE,) * 3 if moment else None)


PIECES = {
    "entries": [
        Entry("m3", StateBound(0.0, 9.0)),
        Entry("mc2x", WIDE),
        Entry("J4xy", WIDE),
        Entry("fv2", StateBound(0.0, 2.0)),
    ],
    "rotor": [Entry("Ia5", StateBound(0.0, 1.0)), Entry("mL", StateBound(-1.0, 5.0))],
    "principal": [principal("link3", moment=False), principal(LOAD_LINK, moment=False)],
    "moments": [principal("link3", moment=True), principal(LOAD_LINK, moment=True)],
    "log-Cholesky": [Consistent("link2"), Consistent(LOAD_LINK), Entry("fc1", StateBound(0.0, 2.0))],
    "free": [Entry("m3", StateBound(scale=0.5)), Entry("fc1", StateBound())],
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_the_start_is_reproduced_and_derivatives_match_finite_differences(pieces, rng):
    state = StateMap.of(MODEL, THETA, pieces, load=LOADED)
    np.testing.assert_allclose(state.at(state.x0).theta, np.concatenate([THETA, LOADED.pi]), rtol=1e-10, atol=1e-12)
    x = state.x0 + 0.3 * rng.standard_normal(state.n_state)
    J, h = state.at(x).jacobian, 1e-6
    for s in range(state.n_state):
        step = np.zeros(state.n_state)
        step[s] = h
        slope = (state.at(x + step).theta - state.at(x - step).theta) / (2.0 * h)
        np.testing.assert_allclose(J[:, s], slope, rtol=1e-5, atol=1e-8)  # h² and rounding over h


def test_a_sigmoid_stays_inside_its_bounds_however_far_the_state_goes(rng):
    state = StateMap.of(MODEL, THETA, PIECES["entries"])
    for x in 30.0 * rng.standard_normal((200, state.n_state)):
        values = state.at(x).values
        assert all(bound.lower <= value <= bound.upper for bound, value in zip(state.bounds, values, strict=True))


def test_log_cholesky_is_consistent_whatever_the_state(rng):
    state = StateMap.of(MODEL, THETA, [Consistent("link2")])
    for x in 3.0 * rng.standard_normal((200, state.n_state)):
        assert consistency(InertialParameters(state.at(x).theta[10:20])).margin > 0.0


def test_an_initial_value_outside_its_bounds_is_refused_by_name():
    with pytest.raises(ParameterError, match=r"m3 starts at 3\.2286 kg, outside its bounds \(0, 1\)"):
        StateMap.of(MODEL, THETA, [Entry("m3", StateBound(0.0, 1.0))])


@pytest.mark.parametrize(
    ("pieces", "error", "message"),
    [
        ([Entry("m33", WIDE)], UnknownName, "no parameter 'm33'; did you mean 'm3'"),
        ([principal("link9", moment=False)], UnknownName, "no link 'link9'"),
        ([Entry("m3", WIDE), Entry("m3", WIDE)], ParameterError, "m3 is named twice"),
        ([], TrackingError, "name at least one state"),
        ([Consistent(LOAD_LINK)], ParameterError, "load: does not start physically consistent"),
    ],
)
def test_states_that_make_no_sense_are_refused(pieces, error, message):
    with pytest.raises(error, match=message):
        StateMap.of(MODEL, THETA, pieces)


@pytest.mark.parametrize(
    ("lower", "upper", "slope", "message"),
    [(0.0, np.inf, 1.0, "both sides or none"), (1.0, 0.0, 1.0, "hold nothing"), (0.0, 1.0, 0.0, "hold nothing")],
)
def test_bounds_that_hold_nothing_are_refused(lower, upper, slope, message):
    with pytest.raises(ParameterError, match=message):
        StateBound(lower, upper, slope)
