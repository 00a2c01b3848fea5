"""Every file is read once, every log parsed once, and base parameters are computed once a model."""

import sys
from collections import Counter

import pytest

import dynid
from dynid.recording import write_csv
from tests.workflow.small_arm import FRICTION, controller, known, run, write_controller

COUNTED = {
    "base parameters": ("dynid.dynamics.base_parameters", "base_parameters"),
    "robot": ("dynid.chain.library", "load_robot"),
    "model": ("dynid.regression.model_file", "load_model"),
    "log": ("dynid.recording.readers", "read_raw"),
    "samples": ("dynid.regression.reverse", "read_controller_samples"),
}


@pytest.fixture
def counts(monkeypatch) -> Counter:
    """How often each function was called, wherever a module of dynid has imported it to."""
    found: Counter = Counter()
    for name, (home, attribute) in COUNTED.items():
        original = getattr(sys.modules[home], attribute)

        def counted(*args, _name=name, _original=original, **keywords):
            found[_name] += 1
            return _original(*args, **keywords)

        for module in [m for key, m in sys.modules.items() if key.startswith("dynid.")]:
            if vars(module).get(attribute) is original:
                monkeypatch.setattr(module, attribute, counted)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("reads")
    dynid.save(known(), root)
    write_csv(run(2), root / "b.csv")
    write_csv(run(3, load=True), root / "load.csv")
    write_controller(controller(), root / "controller.csv")
    return root


def test_reverse(folder, counts):
    dynid.reverse("planar2r", folder / "controller.csv")
    assert counts == {"robot": 1, "samples": 1, "base parameters": 1}


def test_retrieve(folder, counts):
    dynid.retrieve(folder / "model.json", runs=1)
    assert counts == {"model": 1, "base parameters": 1}


def test_friction(folder, counts):
    dynid.friction(folder / "model.json", folder / "b.csv", friction=FRICTION)
    # Of the model, and of that with the new friction.
    assert counts == {"model": 1, "log": 1, "base parameters": 2}


def test_payload(folder, counts):
    dynid.payload(folder / "model.json", folder / "load.csv", unloaded=folder / "b.csv")
    assert counts == {"model": 1, "log": 2, "base parameters": 1}
