"""Fixtures of every test, and how many examples the property tests try."""

import hashlib
import os
import signal
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

# A run that was started in the background ignores Ctrl-C, and so would the programs under test.
signal.signal(signal.SIGINT, signal.default_int_handler)


SOURCES = Path(__file__).parents[1] / "src"


def pytest_configure(config: pytest.Config) -> None:
    """Delete what numba keeps of other kernels: it knows when a kernel's file has changed, not one that it calls."""
    if hasattr(config, "workerinput") or config.cache is None:
        return
    sources = [path.read_bytes() for path in sorted(SOURCES.rglob("*.py"))]
    digest = hashlib.sha256(b"".join(source for source in sources if b"kernels.stored" in source)).hexdigest()
    if config.cache.get("dynid/kernels", "") != digest:
        for path in SOURCES.rglob("__pycache__/*.nb[ci]"):
            path.unlink(missing_ok=True)
        config.cache.set("dynid/kernels", digest)


STAGES = (
    "chain", "dynamics", "excitation", "properties", "recording", "regression", "review", "simulation", "tracking",
    "validation", "workflow", "writers",
)  # fmt: skip
"""Folders whose quick tests run with the checks of types and shapes; these double the time of what they check."""


LONG = (
    "test_allocations.py", "test_contact.py", "test_design.py", "test_doctor_model.py", "test_friction_fit.py",
    "test_least_squares.py", "test_live.py", "test_load.py", "test_real_logs.py", "test_report_browser.py",
    "test_retrieval.py", "test_wrong_calls.py",
)  # fmt: skip
"""Files of the stages that spend minutes in loops or in a browser, or count memory, which the checks take too: others
check the same types and shapes."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `whole` what tests the program as a whole, or takes long: it runs as users run it, unchecked."""
    here = Path(__file__).parent
    for item in items:
        quick = item.path.relative_to(here).parts[0] in STAGES and item.path.name not in LONG
        if not quick or item.get_closest_marker("slow") is not None:
            item.add_marker("whole")


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
