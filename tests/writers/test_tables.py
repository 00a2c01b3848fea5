"""Parameter tables for other programs."""

import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from dynid import load_robot
from dynid.errors import ExportError
from dynid.writers import parameter_rows, tables, write_csv_table, write_json_table
from tests.writers.exported import model_of


def renamed(robot, link):
    first = robot.joints[0]
    return replace(robot, joints=(replace(first, link=replace(first.link, name=link)), *robot.joints[1:]))


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_csv_holds_every_number_exactly_with_unit_and_trust(rng, tmp_path):
    model = model_of(load_robot("planar2r"), rng, "viscous+coulomb+offset")
    write_csv_table(model, tmp_path / "table.csv")
    rows = rows_of(tmp_path / "table.csv")
    base, full = ([row for row in rows if row["kind"] == kind] for kind in ("base", "full"))
    assert [float(row["value"]) for row in base] == model.beta.tolist()
    assert [float(row["value"]) for row in full] == model.theta.tolist()
    assert {row["std"] for row in base} == {"0.1"}
    assert {row["std"] for row in full} == {""}
    assert {row["trust"] for row in base} <= {"identified", "unreliable"}
    assert full[0]["unit"] == "kg"


def test_the_json_says_the_same_as_the_csv(rng, tmp_path):
    model = model_of(load_robot("planar2r"), rng)
    write_csv_table(model, tmp_path / "table.csv")
    write_json_table(model, tmp_path / "table.json")
    content = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    assert content["format"] == "dynid-parameters/1"
    told = [(row["symbol"], row["value"]) for row in content["parameters"]]
    assert told == [(row["symbol"], float(row["value"])) for row in rows_of(tmp_path / "table.csv")]


@pytest.mark.parametrize("name", ["=1+1", "+A1", "-A1", "@sum", "＝1", "'quoted", 'with,comma "and" quotes'])
def test_no_cell_is_a_formula_and_the_name_is_still_there(name, rng, tmp_path):
    model = model_of(renamed(load_robot("planar2r"), name), rng)
    write_csv_table(model, tmp_path / "table.csv")
    cells = [row["owner"] for row in rows_of(tmp_path / "table.csv")]
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)
    assert name in {cell.removeprefix("'") if cell[1:] == name else cell for cell in cells}


def test_a_model_without_a_full_set_has_only_coefficients(rng, tmp_path):
    model = replace(model_of(load_robot("planar2r"), rng), theta=None, labels=(), estimator="ols")
    write_csv_table(model, tmp_path / "table.csv")
    assert {row["kind"] for row in rows_of(tmp_path / "table.csv")} == {"base"}


def test_unseen_coefficients_have_no_standard_deviation(rng):
    model = model_of(load_robot("planar2r"), rng)
    covariance = np.array(model.covariance)
    covariance[0, 0] = np.inf
    row = parameter_rows(replace(model, covariance=covariance))[0]
    assert row.std is None
    assert row.trust == "unseen"


def test_a_table_that_loses_digits_does_not_appear(rng, tmp_path, monkeypatch):
    real = tables._cell
    monkeypatch.setattr(tables, "_cell", lambda value: f"{value:.3f}" if isinstance(value, float) else real(value))
    with pytest.raises(ExportError, match="read back its torque is off"):
        write_csv_table(model_of(load_robot("planar2r"), rng), tmp_path / "table.csv")
    assert not (tmp_path / "table.csv").exists()
