"""What describes the package elsewhere agrees with pyproject.toml."""

import importlib
import re
import tomllib
from pathlib import Path

from dynid.version import VERSION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OTHER_NAMES = {"pin": "pinocchio"}
"""What conda-forge calls what the Python index calls otherwise."""


def spelled(requirement: str) -> str:
    name, bound = re.fullmatch(r"([\w.-]+)(?:\[\w+\])?(.*)", requirement).groups()
    return f"{OTHER_NAMES.get(name, name)} {bound}"


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe[recipe.index("  run:") : recipe.index("tests:")]
    listed = [line.strip()[2:] for line in run.splitlines() if line.strip().startswith("- ")]
    assert sorted(listed) == sorted(["python >=3.11", *map(spelled, PROJECT["dependencies"])])


def test_every_file_that_names_the_version_names_the_same():
    assert PROJECT["version"] == VERSION
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'version: "{VERSION}"' in (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def test_the_citation_names_the_three_papers():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert all(f"family-names: {name}" in text for name in ("Gaz", "Sousa", "Joukov"))


def test_the_changelog_keeps_the_sections_of_keep_a_changelog():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(VERSION)} - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    sections = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert len(sections) == len(set(sections))


def test_names_that_the_changelog_gives_for_renamed_ones_exist():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+) \| (`.+) \|$", text[text.index("#### Renamed") :], re.MULTILINE)
    assert len(rows) > 10
    for old, new in rows:
        stage = re.search(r"dynid\.\w+", old)
        for name in re.findall(r"`([\w.]+)`", new):
            places = [name] if name.startswith("dynid.") else [f"{stage.group()}.{name}", f"dynid.writers.{name}"]
            assert any(_exists(place) for place in places), name


def _exists(path: str) -> bool:
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False
