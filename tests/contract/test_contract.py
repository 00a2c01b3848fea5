"""Nothing that users of version 0.1 type, read or script against is lost: it is run, and compared with the record."""

import copy

import pytest

from tests.contract.intended import INTENDED, amended
from tests.contract.measured import MEASURED
from tests.contract.record import COMMANDS, DATA, RUNS_FILE, load, lost, lost_keys, lost_options, worse
from tests.contract.runs import RUNS
from tests.contract.workshop import Workshop, every_command, help_of
from tests.processes import finished, started

RECORDED_COMMANDS, RECORDED_RUNS, RECORDED_DATA = load(COMMANDS), load(RUNS_FILE), load(DATA)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("contract"))


def test_every_command_of_the_record_is_still_listed(workshop):
    assert sorted(set(RECORDED_COMMANDS) - set(every_command(workshop.folder))) == []


@pytest.mark.parametrize("command", RECORDED_COMMANDS)
def test_every_option_and_choice_of_the_record_is_still_there(command, workshop):
    assert lost_options(command, RECORDED_COMMANDS[command], help_of(command, workshop.folder)) == []


def test_what_changed_on_purpose_is_a_run_of_the_record_and_did_change():
    assert sorted(set(INTENDED) - set(RECORDED_RUNS)) == []
    assert [name for name in INTENDED if amended(name, RECORDED_RUNS[name]) == RECORDED_RUNS[name]] == []


def test_every_recorded_run_is_still_run():
    assert sorted(set(RECORDED_RUNS) - set(RUNS)) == []
    assert {name: f"dynid {RUNS[name].words}" for name in RECORDED_RUNS} == {
        name: recorded["command"] for name, recorded in RECORDED_RUNS.items()
    }


MAY_FALL = {"demo": ("validation/0/relative_error_percent",)}
"""Errors that are lower since links have a prior, in runs that take no option for it; they must not rise."""


@pytest.mark.parametrize("name", RECORDED_RUNS)
def test_a_run_keeps_its_exit_code_files_keys_figures_and_findings(name, workshop):
    recorded, present = copy.deepcopy(amended(name, RECORDED_RUNS[name])), workshop.outcome(name)
    for path in MAY_FALL.get(name, ()):
        was, now = recorded["figures"][path], present["figures"][path]
        was["value"] = min(was["value"], now["value"])
    assert lost(recorded, present) == []


def test_the_module_runs_as_a_process_with_the_same_exit_codes(workshop):
    for name in ("info planar2r", "bad input: no such robot"):
        process = started(RUNS[name].words.split(), workshop.folder)
        finished(process)
        assert process.returncode == RECORDED_RUNS[name]["code"], name


@pytest.mark.data
@pytest.mark.parametrize("name", RECORDED_DATA)
def test_measured_data_are_fitted_at_least_as_well_as_recorded(name, data_dir, tmp_path):
    assert worse(RECORDED_DATA[name], MEASURED[name].outcome(data_dir, tmp_path)) == []


def test_a_loss_of_each_kind_is_noticed_and_named():
    recorded = RECORDED_RUNS["identify"]
    assert lost(recorded, recorded) == []
    changes = {
        "exit code is 1, was 0": lambda seen: seen.update(code=1),
        "file identify/run.json is not written": lambda seen: seen["files"].remove("identify/run.json"),
        "JSON key train/rmse is missing": lambda seen: seen["json"]["train"].pop("rmse"),
        "JSON robot: is number, was a string": lambda seen: seen["json"].update(robot="number"),
        "JSON key links[]/mass is missing": lambda seen: seen["json"]["links"][0].pop("mass"),
        "JSON list parameters is empty": lambda seen: seen["json"]["parameters"].clear(),
        "identify/model.json: as a whole: is missing, was an object": lambda seen: seen["inside"].pop(
            "identify/model.json"
        ),
        "figure n_base is 17, was 16 (relative tolerance 1e-06)": lambda seen: seen["figures"]["n_base"].update(
            value=17
        ),
        "figure condition_number is missing": lambda seen: seen["figures"].pop("condition_number"),
    }
    for sentence, change in changes.items():
        present = copy.deepcopy(recorded)
        change(present)
        assert lost(recorded, present) == [f"{recorded['command']}: {sentence}"]


def test_findings_may_be_added_to_a_fault_but_not_to_a_healthy_log():
    fault, healthy = RECORDED_RUNS["doctor flipped"], RECORDED_RUNS["doctor train"]
    assert lost(fault, {**fault, "findings": [*fault["findings"], ["new", "warning"]]}) == []
    assert "finding flipped-torque (error) is missing" in lost(fault, {**fault, "findings": []})[0]
    assert lost(healthy, {**healthy, "findings": [["new", "info"]]}) == []
    assert len(lost(healthy, {**healthy, "findings": [["new", "warning"]]})) == 1


def test_what_is_added_is_no_loss():
    assert list(lost_keys({"a": "null", "b": []}, {"a": "number", "b": [{"c": "string"}], "d": "null"})) == []
    assert list(lost_keys({"sentences": ["string"]}, {"sentences": []})) == []
    assert lost_options("x", {"--to": ["c"]}, {"--to": ["c", "urdf"], "--new": []}) == []
    assert lost_options("x", {"--to": ["c"]}, {"--to": []}) == ["dynid x: --to c is no choice any more"]
    assert lost_options("x", {"--to": ["c"]}, {}) == ["dynid x: option --to is missing"]


def test_an_error_on_measured_data_may_fall_but_not_rise():
    recorded = {"command": "dynid x", "equal": {"n_base": 64}, "at_most": {"error": 1.0}}
    assert worse(recorded, recorded | {"at_most": {"error": 0.5}}) == []
    assert len(worse(recorded, recorded | {"at_most": {"error": 1.01}})) == 1
    assert len(worse(recorded, recorded | {"at_most": {"error": None}})) == 1
    assert len(worse(recorded, recorded | {"equal": {"n_base": 63}})) == 1
