"""The recipe for an exporter works as it is written: its code, its line in the table, and the battery over it."""

import re
from pathlib import Path

import numpy as np
import pytest

from dynid import load_robot
from dynid.errors import ExportError
from dynid.writers import EXPORTERS, ModelExporter
from dynid.writers.export import export
from tests.writers import test_export as battery
from tests.writers.exported import model_of

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "exporter.md"


@pytest.fixture
def yaml(monkeypatch) -> dict[str, object]:
    """The module of the recipe, with its line in the table."""
    code, line = re.findall(r"```python\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)
    module: dict[str, object] = {"__name__": "yaml_parameters"}
    exec(compile(code, str(RECIPE), "exec"), module)
    entry = eval(line.strip(), {"ModelExporter": ModelExporter, **module})
    monkeypatch.setitem(EXPORTERS, entry.name, entry)
    return module


@pytest.mark.parametrize("robot", ["planar2r", "spatial2r"])
def test_the_exporter_of_the_recipe_passes_the_battery(yaml, robot, rng, tmp_path):
    assert "yaml" in EXPORTERS
    battery.check_round_trip("yaml", model_of(load_robot(robot), rng, "viscous+coulomb+offset"), tmp_path)
    battery.check_inconsistent_links("yaml", rng, tmp_path)


def test_its_file_says_every_parameter_to_the_last_digit(yaml, rng, tmp_path):
    model = model_of(load_robot("spatial2r"), rng)
    done = export(model, "yaml", tmp_path / "arm.yaml")
    assert done.error == 0.0
    lines = (tmp_path / "arm.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"m1: {model.theta[0]!r}  # kg".replace("np.float64(", "").replace(")", "")
    np.testing.assert_array_equal([float(line.split()[1]) for line in lines], model.theta)


def test_a_number_that_is_lost_on_the_way_is_found(yaml, rng, tmp_path, monkeypatch):
    monkeypatch.setitem(yaml, "float", lambda text: 1.001 * float(text) if isinstance(text, str) else float(text))
    with pytest.raises(ExportError, match="read back its torque is off"):
        export(model_of(load_robot("planar2r"), rng), "yaml", tmp_path / "arm.yaml")
    assert not (tmp_path / "arm.yaml").exists()
