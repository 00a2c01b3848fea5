"""What fits print: one line as `repr`, the table a paper would show as `str`, with units and no arrays."""

import numpy as np
import pytest

from dynid import TorqueModel, base_parameters, load_robot
from dynid.chain.inertia import InertialParameters
from dynid.recording import Conditioning
from dynid.regression import (
    WLS,
    Bootstrap,
    Constraints,
    DriveGains,
    Feasible,
    FitError,
    ParameterBounds,
    Payload,
    Retrieval,
    RetrievalObjective,
    ReverseEstimate,
    SampleRows,
    Status,
    compress,
)
from dynid.regression.feasible.certificate import ProvenFeasible, ProvenInfeasible, is_feasible
from dynid.regression.feasible.solver import SolverSettings
from tests.regression.logs import truth


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(5)
    case = truth(load_robot("planar2r"), rng, duration=12.0)
    recording = case.recording(rng, 0.02)
    return compress(SampleRows(case.model, case.base, (Conditioning().plan(recording).apply(recording),)))


def short(value) -> str:
    text = repr(value)
    assert "\n" not in text
    assert "array" not in text
    assert len(text) < 250
    return text


def test_an_estimate_is_a_headline_and_a_table(regression):
    estimate = WLS().fit(regression)
    assert short(estimate).startswith("Estimate(wls estimate of planar2r: 12 base parameters from ")
    lines = str(estimate).splitlines()
    assert "condition number" in lines[0]
    assert "% of the torque left unexplained" in lines[0]
    assert [line.split()[0] for line in lines[2:]] == list(estimate.base.leading)
    assert lines[2].split()[-2:] == ["kg·m²", estimate.trust[0]]
    assert estimate._repr_html_().count("<tr>") == 13
    assert "12 base parameters" in short(estimate.uncertainty)
    again = ReverseEstimate(estimate, ("g1",), regression.stacked())
    assert "gravity rows not used: g1" in short(again)
    assert str(again) == str(estimate)


def test_an_estimate_that_ended_badly_prints_its_advice(regression):
    masses = ParameterBounds.of({"m1": (0.4, 0.5), "m2": (0.4, 0.5)})  # too light: the unconstrained fit is no answer
    hurried = Feasible(constraints=Constraints(bounds=masses), solver=SolverSettings(max_iterations=1))
    stopped = hurried.fit(regression)
    assert stopped.status is Status.STOPPED_EARLY
    assert "raise max_iterations" in str(stopped).splitlines()[0]


def test_a_bootstrap_says_how_many_refits():
    assert short(Bootstrap(np.zeros((7, 3)), 2)) == "Bootstrap(7 refits of 3 base parameters, 2 more failed)"


def test_a_payload_and_gains_print_with_deviation_and_unit():
    body = InertialParameters.from_com(2.0, [0.0, 0.0, 0.1], 0.01 * np.eye(3))
    error = FitError(1.5, np.ones(2), np.ones(2))
    load = Payload(body, 1e-4 * np.eye(10), body.pi, error, error, Status.CONVERGED)
    assert short(load).startswith("Payload(2 ± 0.01 kg at (0.0000, 0.0000, 0.1000) m of the flange")
    rows = [line.split() for line in str(load).splitlines()[2:]]
    assert [row[0] for row in rows] == ["m", "cx", "cy", "cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"]
    assert rows[0][1:] == ["2.0000e+00", "1.0e-02", "0.5", "kg"]
    gains = DriveGains(
        ("a", "b"), np.array([10.0, 20.0]), np.array([0.1, 0.4]), np.diag([0.01, 0.16]), body.pi, (), Status.CONVERGED
    )
    assert short(gains) == "DriveGains(a 10 ± 0.1, b 20 ± 0.4; N·m/A or N/A)"
    assert str(gains).splitlines()[1].split() == ["a", "1.0000e+01", "1.0e-01", "1.0"]


def test_a_retrieval_prints_its_links_and_a_certificate_what_it_proves():
    model = TorqueModel(load_robot("planar2r"))
    base = base_parameters(model)
    beta = base.project(model.nominal())
    found = Retrieval(runs=1).solve(model, base, RetrievalObjective.coefficients(base, beta))
    assert "all constraints met; 1 runs" in short(found)
    assert len(str(found).splitlines()) == 4
    proof = is_feasible(model, base, beta)
    assert isinstance(proof, ProvenFeasible)
    assert "margin" in short(proof)
    refuted = is_feasible(model, base, -beta)
    assert isinstance(refuted, ProvenInfeasible)
    assert "excluded" in short(refuted)
    assert "multipliers" in short(refuted.certificate)
