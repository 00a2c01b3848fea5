"""Fixtures of every test, and how many examples the property tests try."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

SEED = 20190725

settings.register_profile("default", deadline=None, derandomize=True, max_examples=30)
settings.register_profile(
    "fuzz", deadline=None, derandomize=False, max_examples=3000, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")


@pytest.fixture
def rng() -> np.random.Generator:
    """The same random numbers in every run and every test."""
    return np.random.default_rng(SEED)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of measured data sets; the test skips, and says so, where DYNID_DATA does not name one."""
    name = os.environ.get("DYNID_DATA")
    if not name:
        pytest.skip("DYNID_DATA is not set: the measured data sets are not here")
    folder = Path(name)
    if not folder.is_dir():
        pytest.fail(f"DYNID_DATA is {name}, which is not a folder; unset it or point it at the data sets")
    return folder
