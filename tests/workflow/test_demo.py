import json

import pytest

import dynid
from dynid.cli import main
from dynid.prose import plain
from dynid.writers.demo import demo


@pytest.mark.whole
def test_the_call_and_the_command_give_the_same_bytes(tmp_path, monkeypatch, capsys):
    for name in ("call", "command"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "call")
    result = demo(seed=4)
    monkeypatch.chdir(tmp_path / "command")
    assert main(["demo", "--seed", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == plain({**result.json(), **result.saved.json()})
    for path in sorted((tmp_path / "call" / "demo").iterdir()):
        assert path.read_bytes() == (tmp_path / "command" / "demo" / path.name).read_bytes(), path.name
    assert repr(result).startswith("Demonstration('panda': feasible ")
    assert "intervals hold the true value" in str(result)
    assert "<table>" in result._repr_html_()
    log = tmp_path / "command" / "demo" / "train.csv"
    assert "fitted to" in dynid.validate(log.with_name("model.json"), log).warnings[0]
