"""What fits are made of: values that do not change, but for the one that watches a run."""

from tests.values import ambiguous, changeable, dataclasses_of, given_by_name


def test_options_and_results_of_fits_cannot_be_changed():
    assert len(dataclasses_of("dynid.regression")) > 50
    assert changeable("dynid.regression") == ["Watch"]


def test_what_holds_arrays_is_compared_as_a_whole():
    assert ambiguous("dynid.regression") == []


def test_options_are_given_by_name():
    options = {"Constraints", "EstimatorOptions", "Feasible", "MultiStart", "Retrieval", "Robust", "SimulatedAnnealing"}
    assert given_by_name("dynid.regression") >= options | {"SolverSettings", "WLS"}
