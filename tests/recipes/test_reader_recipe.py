"""The recipe for a reader works as it is written: its code, its line in the table, and the battery over it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dynid.errors import RecordingError
from dynid.recording import ColumnMap, LogFormat, Recording, read_raw, read_recording, readers, stream_recording
from tests.recording.logs import JOINTS, columns_of, make_recording
from tests.recording.test_readers import assert_same

RECIPE = Path(__file__).parents[2] / "docs" / "recipes" / "reader.md"


@pytest.fixture
def json_lines(monkeypatch) -> LogFormat:
    """The format of the recipe, with its line in the table."""
    code = re.search(r"```python\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    module: dict[str, object] = {"__name__": "json_lines"}
    exec(compile(code[1], str(RECIPE), "exec"), module)
    added = module["JSON_LINES"]
    assert isinstance(added, LogFormat)
    monkeypatch.setattr(readers, "LOG_FORMATS", (*readers.LOG_FORMATS, added))
    return added


def write_json_lines(path: Path, recording: Recording) -> None:
    columns = columns_of(recording)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))


def test_the_recipe_names_every_format_of_the_table():
    line = re.search(r"LOG_FORMATS = \((.*), JSON_LINES\)", RECIPE.read_text(encoding="utf-8"))
    source = Path(readers.__file__).read_text(encoding="utf-8")
    assert line is not None
    assert f"({line[1]})" in source


@pytest.mark.usefixtures("json_lines")
def test_the_new_format_gives_the_recording_back(tmp_path, rng):
    recording = make_recording(rng)
    write_json_lines(tmp_path / "log.jsonl", recording)
    assert_same(read_recording(tmp_path / "log.jsonl", JOINTS), recording)
    np.testing.assert_array_equal(read_raw(tmp_path / "log.jsonl", JOINTS).q, recording.q)


@pytest.mark.usefixtures("json_lines")
@pytest.mark.parametrize("chunk_samples", [1, 7, 50, 1000])
def test_a_stream_of_the_new_format_equals_reading_at_once(tmp_path, rng, chunk_samples):
    recording = make_recording(rng)
    write_json_lines(tmp_path / "log.jsonl", recording)
    chunks = list(stream_recording(tmp_path / "log.jsonl", JOINTS, chunk_samples=chunk_samples))
    assert max(chunk.n_samples for chunk in chunks) <= chunk_samples
    assert_same(Recording.concatenated(chunks), recording)


@pytest.mark.usefixtures("json_lines")
def test_units_and_names_of_a_column_map_apply_to_the_new_format(tmp_path, rng):
    recording = make_recording(rng)
    write_json_lines(tmp_path / "log.jsonl", recording)
    columns = ColumnMap.model_validate({"units": {"q": "deg"}})
    found = read_recording(tmp_path / "log.jsonl", JOINTS, columns=columns)
    np.testing.assert_allclose(found.q, np.deg2rad(recording.q), rtol=1e-12)


@pytest.mark.usefixtures("json_lines")
@pytest.mark.parametrize("seed", range(20))
def test_damaged_files_of_the_new_format_raise_our_errors_alone(tmp_path, rng, seed):
    write_json_lines(tmp_path / "log.jsonl", make_recording(rng))
    data = bytearray((tmp_path / "log.jsonl").read_bytes())
    damage = np.random.default_rng(seed)
    data[damage.integers(len(data))] = 0xFF  # never part of UTF-8
    (tmp_path / "log.jsonl").write_bytes(bytes(data))
    with pytest.raises(RecordingError, match=r"log\.jsonl"):
        read_recording(tmp_path / "log.jsonl", JOINTS)
    (tmp_path / "log.jsonl").write_bytes(bytes(data[: damage.integers(100)]))
    with pytest.raises(RecordingError, match=r"log\.jsonl"):
        read_recording(tmp_path / "log.jsonl", JOINTS)


@pytest.mark.usefixtures("json_lines")
def test_the_error_for_an_unknown_ending_lists_the_new_one(tmp_path):
    (tmp_path / "log.xyz").write_text("nothing")
    with pytest.raises(RecordingError, match=r"no format of logs ends in '\.xyz'; known: .*\.mcap, \.jsonl"):
        read_recording(tmp_path / "log.xyz", JOINTS)
