import json

from dynid.cli import main


def test_demo_writes_a_report_that_needs_no_network(tmp_path, capsys):
    assert main(["demo", "--out", str(tmp_path / "demo"), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert content["n_base"] == 64
    assert "J2xx" in page
    body = page[page.index("<body>") :]
    assert "http" not in body
    assert len(page) < 8_000_000
