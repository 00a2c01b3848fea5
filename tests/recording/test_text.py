"""Text logs as people have them: any separator, decimal mark, encoding and packing, and whatever stands before them."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pytest

from dynid.errors import RecordingError
from dynid.recording import Recording, read_recording, stream_recording
from tests.recording.logs import JOINTS, columns_of, csv_text, make_recording

SIGNALS = ("t", "q", "dq", "tau")
PREAMBLE = (
    "Data logger 3.1\nRobot: arm of 3 joints, rate 500\nrate;500\nOperator,7,8\nStart 2024-05-06 10:11:12,345\n\n"
)


def same(found: Recording, expected: Recording) -> None:
    for name in SIGNALS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def with_lines(text, *lines):
    header, _, rows = text.partition("\n")
    return "\n".join([header, *lines, rows])


def indexed(text, name):
    header, *rows = text.splitlines()
    return "\n".join([name + header, *(f"{k},{row}" for k, row in enumerate(rows))]) + "\n"


WRITTEN = {
    "decimal commas between semicolons": lambda c: csv_text(c, delimiter=";", decimal=","),
    "decimal commas between tabs": lambda c: csv_text(c, delimiter="\t", decimal=","),
    "decimal commas between blanks": lambda c: csv_text(c, delimiter=" ", decimal=","),
    "aligned by blanks": lambda c: "  " + csv_text(c, delimiter="   ").replace("\n", "  \n  "),
    "a preamble": lambda c: PREAMBLE + csv_text(c),
    "a preamble before semicolons": lambda c: PREAMBLE + csv_text(c, delimiter=";", decimal=","),
    "a preamble of comments": lambda c: "# rate 500\n# joints,3\n" + csv_text(c),
    "a header in a comment": lambda c: "# made by savetxt\n# " + csv_text(c),
    "comments of other kinds": lambda c: with_lines(csv_text(c), "% a note, with a comma", "// another"),
    "a separator at the end of rows": lambda c: csv_text(c).replace("\n", ",\n").replace(",\n", "\n", 1),
    "a separator at the end of all lines": lambda c: csv_text(c).replace("\n", ";,\n").replace(";", ""),
    "empty columns at the end": lambda c: csv_text(c).replace("\n", ",,,\n"),
    "an index without a name": lambda c: indexed(csv_text(c), ","),
    "an index without a header": lambda c: indexed(csv_text(c), ""),
    "quoted names": lambda c: csv_text({f'"{name}"': values for name, values in c.items()}),
    "blanks behind commas": lambda c: csv_text(c, delimiter=", "),
    "lines of Windows": lambda c: csv_text(c).replace("\n", "\r\n"),
    "units of SI below": lambda c: with_lines(
        csv_text(c), ",".join(["[s]", *["[rad]"] * 3, *["[rad/s]"] * 3, *["(Nm)"] * 3])
    ),
    "bare units below": lambda c: with_lines(csv_text(c), ",".join(["s", *["rad"] * 3, *["rad/s"] * 3, *["Nm"] * 3])),
    "a second header where files were joined": lambda c: joined(csv_text(c)),
    "a column of text": lambda c: with_mode(csv_text(c)),
}


def joined(text):
    header, *rows = text.splitlines()
    return "\n".join([header, *rows[:20], header, *rows[20:]]) + "\n"


def with_mode(text):
    header, *rows = text.splitlines()
    return "\n".join([header + ",mode", *(f"{row},AUTO" for row in rows)]) + "\n"


@pytest.mark.parametrize("kind", WRITTEN)
def test_text_is_read_however_it_is_written(tmp_path, rng, kind):
    recording = make_recording(rng)
    path = tmp_path / "log.csv"
    path.write_bytes(WRITTEN[kind](columns_of(recording)).encode())
    same(read_recording(path, JOINTS), recording)
    same(Recording.concatenated(stream_recording(path, JOINTS, chunk_samples=7)), recording)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1", "cp1252"])
def test_text_is_read_in_any_encoding(tmp_path, rng, encoding):
    recording = make_recording(rng)
    path = tmp_path / "log.csv"
    note = "# Prüfstand, 20 °C\n" if encoding not in ("utf-16-le", "utf-16-be") else ""
    path.write_bytes((note + csv_text(columns_of(recording))).encode(encoding))
    same(read_recording(path, JOINTS), recording)


def test_units_below_the_header_are_applied(tmp_path, rng):
    recording = make_recording(rng)
    units = ",".join(["[ms]", *["[deg]"] * 3, *["[deg/s]"] * 3, *["[Nm]"] * 3])
    columns = columns_of(recording)
    scaled = {
        name: values * 1e3 if name == "t" else np.rad2deg(values) if "q" in name else values
        for name, values in columns.items()
    }
    (tmp_path / "log.csv").write_text(with_lines(csv_text(scaled), units))
    found = read_recording(tmp_path / "log.csv", JOINTS)
    for name in SIGNALS:
        np.testing.assert_allclose(getattr(found, name), getattr(recording, name), rtol=1e-12, atol=1e-15)


def zipped(path, text):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("run/log.csv", text)
        archive.writestr("run/readme.md", "a log")


PACKED = {
    "log.csv.gz": lambda path, text: path.write_bytes(gzip.compress(text)),
    "log.csv.xz": lambda path, text: path.write_bytes(lzma.compress(text)),
    "log.csv.bz2": lambda path, text: path.write_bytes(bz2.compress(text)),
    "log.zip": zipped,
    "log.dat": lambda path, text: path.write_bytes(text),
}


@pytest.mark.parametrize("name", PACKED)
def test_packed_text_is_read(tmp_path, rng, name):
    recording = make_recording(rng)
    PACKED[name](tmp_path / name, csv_text(columns_of(recording)).encode())
    same(read_recording(tmp_path / name, JOINTS), recording)


@pytest.mark.parametrize("name", ["log.csv.xz", "log.csv.bz2", "log.zip"])
def test_packed_text_that_is_cut_off_is_refused(tmp_path, rng, name):
    PACKED[name](tmp_path / name, csv_text(columns_of(make_recording(rng))).encode())
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(RecordingError, match=r"not a readable text file|cut off or damaged"):
        read_recording(tmp_path / name, JOINTS)


def test_an_archive_of_several_logs_is_not_guessed_at(tmp_path):
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        archive.writestr("a.csv", "t,q1\n0,1\n")
        archive.writestr("b.csv", "t,q1\n0,1\n")
    with pytest.raises(RecordingError, match=r"runs\.zip: an archive of a\.csv, b\.csv; unpack it and give the one"):
        read_recording(tmp_path / "runs.zip", ("j",))


@pytest.mark.parametrize("cell", ["", "nan", "NaN", "null", "NA", "None", "-"])
def test_cells_without_a_value_are_missing_values(tmp_path, cell):
    (tmp_path / "log.csv").write_text(f"t,q1,q2\n0,1,2\n1,{cell},3\n2,1,2\n")
    with pytest.raises(RecordingError, match="q of joint 'a' is nan at sample 1"):
        read_recording(tmp_path / "log.csv", ("a", "b"))
