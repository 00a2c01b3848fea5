"""The recipe for a friction model, followed to the letter: the battery runs over the models of its examples."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dynid
from dynid.dynamics import FRICTION, JointModel, friction_models
from dynid.regression.friction.choice import _candidates
from tests.dynamics.friction_battery import BATTERY, Fact

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "friction.md"
FILES = [
    block for block in re.findall(r"```python\n(.*?)```", RECIPE.read_text("utf-8"), re.DOTALL) if "MODEL =" in block
]
NAMES = [re.findall(r'name = "(\w+)"', block)[0] for block in FILES]


def made(name: str, folder: Path) -> JointModel:
    """The model of a file of the recipe."""
    path = folder / f"{name}.py"
    path.write_text(FILES[NAMES.index(name)], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up the module that their annotations belong to.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.MODEL


@pytest.fixture
def model(request, tmp_path, monkeypatch) -> JointModel:
    """A model of the recipe, in the table for the time of a test."""
    found = made(request.param, tmp_path)
    monkeypatch.setitem(FRICTION, found.name, found)
    return found


@pytest.mark.parametrize("fact", BATTERY, ids=lambda fact: fact.__name__)
@pytest.mark.parametrize("model", NAMES, indirect=True)
def test_a_model_of_the_recipe_keeps_every_promise(model: JointModel, fact: Fact, rng, tmp_path):
    fact(model, rng, tmp_path)


@pytest.mark.parametrize("model", NAMES, indirect=True)
def test_users_can_name_it_and_the_automatic_choice_tries_it(model: JointModel):
    assert friction_models(f"viscous+{model.name}")[1] is model
    assert model in _candidates("auto", True)


def test_one_file_and_one_line_make_it_a_choice_of_the_command(tmp_path):
    source = Path(dynid.__file__).parent
    shutil.copytree(source, tmp_path / "dynid", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "dynid" / "dynamics" / "friction"
    (folder / "drag.py").write_text(FILES[NAMES.index("drag")], encoding="utf-8")
    table = (folder / "__init__.py").read_text("utf-8")
    assert table.count('    "table",\n') == 1
    (folder / "__init__.py").write_text(
        table.replace('    "table",\n', '    "drag",\n    "table",\n'), encoding="utf-8"
    )
    command = [sys.executable, "-m", "dynid", "info", "planar2r", "--friction", "viscous+drag", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "fq2" in done.stdout
