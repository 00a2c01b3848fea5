"""The recipe for an estimator, followed to the letter: its file, its line, and the battery for any estimator."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynid import load_robot
from dynid.errors import UnknownName
from dynid.recording import Conditioning, Samples, Segment, write_csv
from dynid.regression import (
    ESTIMATORS,
    OLS,
    Estimator,
    EstimatorOptions,
    Regression,
    SampleRows,
    bootstrap,
    compress,
    make_estimator,
)
from tests.processes import ENVIRONMENT, PATIENCE
from tests.regression.logs import Truth, truth

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "estimator.md"
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory) -> Path:
    """A folder with the module that the recipe tells to write."""
    folder = tmp_path_factory.mktemp("recipe")
    written, line = FENCE.findall(RECIPE.read_text(encoding="utf-8"))
    (folder / "ridge_of_the_recipe.py").write_text(written, encoding="utf-8")
    (folder / "line_of_the_recipe.py").write_text(
        f"from dynid.regression.estimators import ESTIMATORS\nfrom ridge_of_the_recipe import Ridge\n{line}",
        encoding="utf-8",
    )
    return folder


@pytest.fixture
def ridge(recipe, monkeypatch) -> Estimator:
    """The toy, made through the table with the line of the recipe."""
    monkeypatch.syspath_prepend(str(recipe))
    monkeypatch.setitem(ESTIMATORS, "ridge", ESTIMATORS["ols"])  # so that the line is undone afterwards
    module = sys.modules.get("line_of_the_recipe")
    importlib.reload(module) if module else importlib.import_module("line_of_the_recipe")
    return make_estimator("ridge")


def exact(case: Truth) -> Regression:
    """The exact motion as conditioned samples: no interpolation or differentiation error."""
    recording = case.recording()
    plan = Conditioning(cutoff_hz=np.inf).plan(recording)
    samples = Samples(recording.joint_names, (Segment(case.motion, case.tau),), plan)
    return compress(SampleRows(case.model, case.base, (samples,)))


def noisy(case: Truth, rng: np.random.Generator) -> Regression:
    recording = case.recording(rng, 0.05)
    plan = Conditioning(cutoff_hz=np.inf).plan(recording)
    return compress(SampleRows(case.model, case.base, (plan.apply(recording),)))


def test_the_toy_is_an_estimator_and_a_frozen_value(ridge: Any):
    assert (ridge.name, ridge.label, ridge.gives_links, ridge.needs_rows) == ("ridge", "ridge regression", False, False)
    assert replace(ridge, strength=1e-3) != ridge
    with pytest.raises(FrozenInstanceError):
        ridge.strength = 1.0
    assert isinstance(ridge, Estimator)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_of_the_table_says_what_it_promises(name):
    estimator = make_estimator(name, EstimatorOptions(seed=3))
    assert isinstance(estimator, Estimator)
    assert estimator.name == name
    assert estimator.label
    assert estimator.gives_links == (name in ("feasible", "retrieval"))
    assert estimator.needs_rows == (name == "robust")
    if any(field.name == "seed" for field in fields(estimator)):  # type: ignore[arg-type]
        assert estimator.seed == 3  # type: ignore[attr-defined]


def test_a_name_that_is_not_in_the_table_is_told_the_nearest():
    with pytest.raises(UnknownName, match="no estimator 'feasable'; did you mean 'feasible'"):
        make_estimator("feasable")


def test_the_toy_recovers_the_truth_from_an_exact_log(ridge, rng):
    case = truth(load_robot("planar2r"), rng, duration=12.0, rate_hz=100.0)
    estimate = type(ridge)(strength=1e-12).fit(exact(case))
    np.testing.assert_allclose(estimate.beta, case.beta, rtol=1e-5, atol=1e-6 * np.abs(case.beta).max())
    plain, drawn = OLS().fit(exact(case)), type(ridge)(strength=0.1).fit(exact(case))
    columns = np.linalg.norm(exact(case).stacked().R, axis=0)
    assert np.linalg.norm(columns * drawn.beta) < np.linalg.norm(columns * plain.beta)  # what the price is on


def test_the_reported_deviation_of_the_toy_is_the_spread_of_repeated_fits(ridge, rng):
    case = truth(load_robot("planar2r"), rng, duration=10.0, rate_hz=100.0)
    strong = type(ridge)(strength=0.01)
    fits = [strong.fit(noisy(case, rng)) for _ in range(150)]
    spread = np.std([fit.beta for fit in fits], axis=0, ddof=1)
    reported = np.mean([fit.std for fit in fits], axis=0)
    np.testing.assert_allclose(reported, spread, rtol=0.25)  # 4 sigma of 150 draws


def test_the_toy_is_resampled_and_printed_like_any_other(ridge, rng):
    regression = noisy(truth(load_robot("planar2r"), rng, duration=20.0), rng)
    draws = bootstrap(regression, ridge.fit, n_draws=20)
    estimate = ridge.fit(regression)
    assert np.all((draws.lower <= draws.upper) & (draws.std > 0.0))
    lines = str(estimate).splitlines()
    assert lines[0].startswith("Estimate(ridge estimate of planar2r: ")
    assert lines[1].split() == ["base", "parameter", "value", "±", "1σ", "σ", "/", "%", "unit", "trust"]
    assert len(lines) == 2 + len(estimate.beta)
    assert "\n" not in repr(estimate)
    assert not estimate.full
    assert not estimate.gives_links


def test_the_command_line_finds_the_toy_in_the_table(recipe, tmp_path, rng):
    case = truth(load_robot("planar2r"), rng, duration=20.0)
    write_csv(case.recording(rng, 0.01), tmp_path / "log.csv")
    command = ["identify", "planar2r", "log.csv", "--estimator", "ridge", "--out", "result", "--json"]
    program = f"import sys, line_of_the_recipe\nfrom dynid.cli import main\nsys.exit(main({command!r}))"
    path = f"{recipe}:{ENVIRONMENT['PYTHONPATH']}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**ENVIRONMENT, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["estimator"] == "ridge"
    assert content["status"] == "converged"
    assert content["train"]["relative_error_percent"] < 2.0
    assert json.loads((tmp_path / "result" / "model.json").read_text(encoding="utf-8"))["estimator"] == "ridge"
