import gzip
import hashlib
import http.server
import io
import json
import threading
import zipfile

import numpy as np
import pytest

from dynid.errors import DataSetError, UnknownName
from dynid.recording import DATA_SETS, DataFile, DataSet, SourceFile, convert, fetch_data, numbers_digest
from dynid.recording.datasets import fetch
from dynid.recording.datasets.fetch import archive_members
from dynid.recording.readers import read_recording

UR_JOINTS = tuple(f"joint{k}" for k in range(1, 7))


def ur_rows(rng, n_rows=50, n_columns=31):
    """A log as the UR authors publish it: no header, time of the controller, four decimals."""
    table = np.round(rng.normal(size=(n_rows, n_columns)), 4)
    table[:, 0] = 413.266 + 0.01 * np.arange(n_rows)
    return table, "\n".join(",".join(f"{x:.4f}" for x in row) for row in table).encode() + b"\n\n"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Server:
    """A web server on this machine with fixed answers."""

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.cut_at: int | None = None
        self.redirect = ""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                content = outer.files.get(self.path)
                if outer.redirect:
                    self.send_response(302)
                    self.send_header("Location", outer.redirect)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                if content is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content if outer.cut_at is None else content[: outer.cut_at])

            def log_message(self, *args):
                """Silent."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    """Plain HTTP is let through here, and only here."""
    monkeypatch.setattr(fetch, "SCHEMES", ("http",))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    running = Server()
    yield running
    running.server.shutdown()
    running.server.server_close()


@pytest.fixture
def published(server, monkeypatch, rng):
    """A small data set on the server: a robot file with a hash, and a log whose numbers are known."""
    _, content = ur_rows(rng)
    robot = b"<robot/>"
    server.files = {"/arm.urdf": robot, "/rows.csv": content}
    recording = convert("ur", {"rows.csv": content}, rows=(3, 40))["rows"]
    entry = DataSet(
        name="small",
        title="A small data set",
        robot="arm.urdf",
        source="https://example.org",
        licence="CC0",
        cite="Nobody",
        files=(
            DataFile(
                name="arm.urdf",
                what="robot file",
                sources=(SourceFile(address=f"{server.address}/arm.urdf", sha256=sha256(robot), n_bytes=len(robot)),),
            ),
            DataFile(
                name="log.csv.gz",
                what="log",
                numbers=numbers_digest(recording),
                sources=(SourceFile(address=f"{server.address}/rows.csv", n_bytes=len(content)),),
                converter="ur",
                rows=(3, 40),
            ),
        ),
        next=(("dynid identify {dir}/arm.urdf {dir}/log.csv.gz", ("arm.urdf", "log.csv.gz")),),
    )
    monkeypatch.setitem(DATA_SETS, "small", entry)
    return entry


def leftovers(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_fetch_leaves_logs_a_readme_and_the_next_command(published, tmp_path):
    told = []
    found = fetch_data("small", tmp_path / "out", progress=lambda *args: told.append(args))
    assert leftovers(tmp_path) == ["README.md", "arm.urdf", "dataset.json", "log.csv.gz", "out"]
    assert found.next == (f"dynid identify {tmp_path}/out/arm.urdf {tmp_path}/out/log.csv.gz",)
    assert found.unverified == ()
    log = read_recording(tmp_path / "out" / "log.csv.gz", UR_JOINTS)
    assert log.n_samples == 38
    assert log.t[0] == 0.0
    assert log.current is not None
    assert told[-1][0] == "rows.csv"
    assert told[-1][1] == told[-1][2]
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "CC0" in readme
    assert found.next[0] in readme
    facts = json.loads((tmp_path / "out" / "dataset.json").read_text(encoding="utf-8"))
    assert facts["files"]["arm.urdf"] == sha256(b"<robot/>")


def test_a_file_with_another_hash_is_refused_and_leaves_nothing(published, server, tmp_path):
    server.files["/arm.urdf"] = b"<robot>"
    with pytest.raises(DataSetError, match="SHA-256 is not"):
        fetch_data("small", tmp_path / "out")
    assert leftovers(tmp_path) == []


def test_a_log_with_other_numbers_is_refused_and_leaves_nothing(published, server, tmp_path):
    rows = server.files["/rows.csv"].split(b"\n")
    cells = rows[10].split(b",")
    rows[10] = b",".join([*cells[:13], b"9.9999", *cells[14:]])
    server.files["/rows.csv"] = b"\n".join(rows)
    with pytest.raises(DataSetError, match="the authors' file has changed"):
        fetch_data("small", tmp_path / "out")
    assert leftovers(tmp_path) == []


def test_an_interrupted_download_leaves_nothing(published, server, tmp_path):
    server.cut_at = 4
    with pytest.raises(DataSetError, match=r"could not be fetched .* nothing was kept"):
        fetch_data("small", tmp_path / "out")
    assert leftovers(tmp_path) == []


def test_a_missing_file_and_a_redirect_leave_nothing(published, server, tmp_path):
    del server.files["/rows.csv"]
    with pytest.raises(DataSetError, match="the server answers 404"):
        fetch_data("small", tmp_path / "out")
    server.redirect = "http://127.0.0.1:9/elsewhere"
    with pytest.raises(DataSetError, match="SHA-256 is not"):
        fetch_data("small", tmp_path / "out")
    assert leftovers(tmp_path) == []


def test_a_download_that_is_too_large_is_stopped(published, server, tmp_path):
    server.files["/arm.urdf"] = b" " * 600_000
    with pytest.raises(DataSetError, match="larger than"):
        fetch_data("small", tmp_path / "out")
    assert leftovers(tmp_path) == []


def test_only_https_is_fetched(published, monkeypatch, tmp_path):
    monkeypatch.setattr(fetch, "SCHEMES", ("https",))
    with pytest.raises(DataSetError, match="only HTTPS"):
        fetch_data("small", tmp_path / "out")
    assert leftovers(tmp_path) == []


def test_files_of_another_content_stay_unless_forced(published, tmp_path):
    out = tmp_path / "out"
    fetch_data("small", out)
    fetch_data("small", out)
    (out / "arm.urdf").write_text("mine", encoding="utf-8")
    with pytest.raises(DataSetError, match=r"arm\.urdf .*another content"):
        fetch_data("small", out)
    assert (out / "arm.urdf").read_text(encoding="utf-8") == "mine"
    fetch_data("small", out, force=True)
    assert (out / "arm.urdf").read_text(encoding="utf-8") == "<robot/>"


def mirror_of(entry, server, folder, monkeypatch):
    """The same data set with hashes of a mirror's files."""
    place = folder / entry.name
    place.mkdir(parents=True)
    content = gzip.compress(b"t,q1\n0,1\n", mtime=0)
    (place / "log.csv.gz").write_bytes(content)
    (place / "arm.urdf").write_bytes(server.files["/arm.urdf"])
    hashes = {"log.csv.gz": content, "arm.urdf": server.files["/arm.urdf"]}
    files = tuple(
        DataFile(name=file.name, what=file.what, sha256=sha256(hashes[file.name]), n_bytes=len(hashes[file.name]))
        for file in entry.files
    )
    changed = DataSet(**{**vars(entry), "files": files})
    monkeypatch.setitem(DATA_SETS, entry.name, changed)
    return place


def test_a_mirror_comes_before_the_network_and_is_checked_too(published, server, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    place = mirror_of(published, server, mirror, monkeypatch)
    server.files = {}
    found = fetch_data("small", tmp_path / "out", mirror=mirror)
    assert found.origin == str(place)
    assert leftovers(tmp_path / "out") == ["README.md", "arm.urdf", "dataset.json", "log.csv.gz"]
    (place / "arm.urdf").write_bytes(b"<robot.>")
    with pytest.raises(DataSetError, match="it is not the published file"):
        fetch_data("small", tmp_path / "other", mirror=mirror)
    (place / "arm.urdf").write_bytes(b"")
    with pytest.raises(DataSetError, match="damaged"):
        fetch_data("small", tmp_path / "other", mirror=mirror)
    (place / "arm.urdf").unlink()
    with pytest.raises(DataSetError, match="missing in the mirror"):
        fetch_data("small", tmp_path / "other", mirror=mirror)
    assert not (tmp_path / "other").exists()


def zipped(members, link=""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            if name == link:
                entry.external_attr = 0o120777 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["../up.txt", "/root.txt", "a/../../up.txt", "..\\up.txt", "C:/up.txt"])
def test_archives_with_paths_that_leave_the_folder_are_refused(name):
    with pytest.raises(DataSetError, match="leaves the folder"):
        archive_members(zipped({"fine.txt": b"1", name: b"2"}), "a.zip")


def test_archives_with_links_bombs_and_rubbish_are_refused(monkeypatch):
    with pytest.raises(DataSetError, match="a link"):
        archive_members(zipped({"link": b"/etc/passwd"}, link="link"), "a.zip")
    with pytest.raises(DataSetError, match="is no zip archive"):
        archive_members(b"PK nonsense", "a.zip")
    monkeypatch.setattr(fetch, "MAX_BYTES", 1000)
    with pytest.raises(DataSetError, match="unpacks to more than 1000 bytes"):
        archive_members(zipped({"zeros": b"0" * 2000}), "a.zip")


def test_an_archive_without_a_hash_needs_consent_and_gives_its_logs(published, server, tmp_path, monkeypatch, rng):
    record = np.column_stack([5.0 + 0.001 * np.arange(30), rng.normal(size=(30, 14))])
    text = "\n".join(" ".join(f"{x:.6f}" for x in row) for row in record).encode()
    trajectory = "\n".join(" ".join(f"{x:.5f}" for x in row) for row in rng.normal(size=(20, 7))).encode()
    server.files["/all.zip"] = zipped(
        {
            "repo-abc/data/recdata/run1.dat": text,
            "repo-abc/data/recdata/columns.txt": b"time(secs), q1(rads)",
            "repo-abc/data/trajectories/traj1.dat": trajectory,
            "repo-abc/README.md": b"hello",
        }
    )
    entry = DataSet(
        **{
            **vars(published),
            "files": (),
            "archive": SourceFile(address=f"{server.address}/all.zip"),
            "members": DATA_SETS["wam7"].members,
        }
    )
    monkeypatch.setitem(DATA_SETS, "small", entry)
    with pytest.raises(DataSetError, match="unverified=True"):
        fetch_data("small", tmp_path / "out")
    assert leftovers(tmp_path) == []
    found = fetch_data("small", tmp_path / "out", unverified=True)
    assert found.files == ("run1_recorded.csv.gz", "traj1.csv.gz")
    assert found.unverified == found.files
    joints = tuple(f"joint{k}" for k in range(1, 8))
    log = read_recording(tmp_path / "out" / "run1_recorded.csv.gz", joints)
    np.testing.assert_allclose(log.tau, record[:, 8:], atol=1e-6)
    assert read_recording(tmp_path / "out" / "traj1.csv.gz", joints).tau is None


def test_every_data_set_says_source_licence_and_what_vouches_for_it(tmp_path):
    for entry in DATA_SETS.values():
        assert entry.source.startswith("https://")
        assert entry.licence
        assert entry.cite
        for file in entry.files:
            for digest in (file.sha256, file.numbers, *(source.sha256 for source in file.sources)):
                assert digest == "" or (len(digest) == 64 and int(digest, 16))
            assert all(source.address.startswith("https://") for source in file.sources)
            assert file.sha256 or file.sources
    with pytest.raises(UnknownName, match="did you mean 'panda'"):
        fetch_data("pandas", tmp_path)


@pytest.mark.parametrize(
    ("form", "files", "message"),
    [
        ("ur", {"a.csv": b"1,2,3\n"}, "3 columns"),
        ("ur", {"a.csv": b"one,two\n"}, "not a table of numbers"),
        ("ur", {"a.csv": b"\xff\n"}, "not a table of numbers"),
        ("ur", {"a.csv": b"1,2\n1\n"}, "not a table of numbers"),
        ("ur", {"a.csv": b""}, "no rows"),
        ("panda", {"time.txt": b"1\n"}, "no file whose name ends in positions"),
        ("panda", {"x.txt": b"1\n"}, "must end in one of"),
        ("wam-record", {"a.dat": b"1 2\n"}, r"q1…q7, tau1…tau7"),
        ("wam-reference", {"a.dat": b"1 2\n"}, r"q1…q7"),
        ("wam-series", {"a.json": b"[]"}, "no JSON of Fourier series"),
        ("nothing", {"a": b""}, "no converter"),
        ("ur", {}, "no file"),
    ],
)
def test_files_of_another_form_are_told(form, files, message):
    with pytest.raises(DataSetError, match=message):
        convert(form, files)


def test_rows_outside_a_log_are_told(rng):
    with pytest.raises(DataSetError, match="has 50 rows; rows 3 to 99"):
        convert("ur", {"a.csv": ur_rows(rng)[1]}, rows=(3, 99))


def test_a_series_becomes_a_motion_with_its_own_derivatives():
    series = {"one": {"a": [[0.3, 0.1]], "b": [[0.2, -0.4]], "q0": [0.5], "omega_f": 0.6}}
    motion = convert("wam-series", {"a.json": json.dumps(series).encode()})["one"]
    step = motion.t[1]
    # Central differences of a series of at most 1.2 rad/s: off by (ω h)²/6 of the amplitude.
    np.testing.assert_allclose(np.gradient(motion.q[:, 0], step)[1:-1], motion.dq[1:-1, 0], atol=1e-4)
    np.testing.assert_allclose(np.gradient(motion.dq[:, 0], step)[1:-1], motion.ddq[1:-1, 0], atol=1e-4)


@pytest.mark.data
def test_the_published_panda_texts_have_the_hashes_of_the_registry(data_dir):
    """The authors write one number a line; the mirror kept their digits, so their files can be written again."""
    lines = gzip.decompress((data_dir / "panda" / "excitation_log.csv.gz").read_bytes()).decode().splitlines()[1:]
    rows = [line.split(",") for line in lines]
    spans = {"time": (0, 1), "positions": (1, 8), "velocity": (8, 15), "torques": (15, 22)}
    log = DATA_SETS["panda"].files[0]
    texts = {}
    for source in log.sources:
        start, stop = next(span for part, span in spans.items() if part in source.name)
        content = ("\n".join(cell for row in rows for cell in row[start:stop]) + "\n").encode()
        assert len(content) == source.n_bytes
        assert sha256(content) == source.sha256
        texts[source.name] = content
    assert numbers_digest(convert("panda", texts)["excitation_log"]) == log.numbers


@pytest.mark.data
@pytest.mark.parametrize("name", ["30s12h", "20s8h", "14h", "14hLoad"])
def test_the_numbers_of_the_ur10e_logs_survive_their_published_form(data_dir, name, rng):
    file = next(file for file in DATA_SETS["ur10e"].files if file.name == f"{name}.csv.gz")
    recording = read_recording(data_dir / "ur10e" / file.name, UR_JOINTS)
    assert numbers_digest(recording) == file.numbers
    first, last = file.rows
    assert last - first + 1 == recording.n_samples
    part = np.column_stack([recording.t + 389.866, recording.q, recording.dq, recording.current])
    before = np.column_stack([np.arange(first - 1) * 0.01, rng.normal(size=(first - 1, 18))])
    content = "\n".join(",".join(f"{x:.6f}" for x in row) for row in np.vstack([before, part])).encode()
    assert numbers_digest(convert("ur", {"x.csv": content}, rows=file.rows)["x"]) == file.numbers


@pytest.mark.data
@pytest.mark.parametrize("name", ["panda", "ur10e", "wam7"])
def test_a_mirror_gives_the_whole_data_set(data_dir, tmp_path, name):
    found = fetch_data(name, tmp_path / name, mirror=data_dir)
    assert found.left_out == ()
    assert found.next
    assert set(leftovers(tmp_path / name)) == {*found.files, "README.md", "dataset.json"}
