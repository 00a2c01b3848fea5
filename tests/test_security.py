"""Files come from anywhere: what they could make dynid do, run, open, print or overwrite, and that they do not."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tomllib
import zipfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io

from dynid.chain import load_robot
from dynid.cli import main
from dynid.disk import write_whole
from dynid.errors import DynidError, ModelFileError, OutputError, ParameterError, RecordingError, RobotFileError
from dynid.recording import read_recording
from dynid.regression import load_model
from dynid.regression.constraints.files import read_constraints
from dynid.regression.constraints.meshes import link_hull
from dynid.regression.constraints.regions import Hull
from dynid.tracking import resume
from dynid.tracking.sources.udp import LOOPBACK, udp_samples
from tests.commands import WRITING, arguments, denavit, log_of, saved
from tests.fuzzing.targets import MESHED, STL, URDF, _filter

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "dynid").rglob("*.py"))
EVIL = "<img src=x onerror=alert(1)>"
FORMULAS = ("=1+1", "+1", "-1", "@SUM(1)")

# ---- XML


def nested_entities(depth: int) -> str:
    lines = ['<!ENTITY a0 "aaaaaaaaaa">']
    lines += [f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, depth)]
    return f"<!DOCTYPE robot [{''.join(lines)}]>" + URDF.replace('name="arm"', f'name="&a{depth - 1};"')


@pytest.mark.parametrize(
    "text",
    [
        nested_entities(12),
        f'<!DOCTYPE robot [<!ENTITY a "{"a" * 100_000}">]><robot name="{"&a;" * 10_000}"/>',
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="a">&x;</robot>',
        '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd"><robot name="a"/>',
        '<!DOCTYPE robot [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;]><robot name="a"/>',
    ],
    ids=["nested entities", "quadratic entity", "external entity", "external DTD", "parameter entity"],
)
def test_a_robot_file_with_a_document_type_is_refused_before_it_is_expanded(tmp_path, text):
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    with pytest.raises(RobotFileError, match=r"arm\.urdf.*DOCTYPE"):
        load_robot(path)
    with pytest.raises(ParameterError, match=r"arm\.urdf.*DOCTYPE"):
        link_hull(path, "a")


def test_other_files_are_not_included_into_a_robot_file(tmp_path):
    (tmp_path / "secret.xml").write_text('<link name="secret"/>')
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="secret.xml"/>'
    (tmp_path / "arm.urdf").write_text(URDF.replace("<link", include + "<link", 1))
    assert "secret" not in load_robot(tmp_path / "arm.urdf").link_names
    (tmp_path / "arm.xml").write_text(f"<mujoco>{include}<worldbody/></mujoco>")
    with pytest.raises(RobotFileError, match="no movable joint"):
        load_robot(tmp_path / "arm.xml")


@pytest.mark.parametrize("name", ["../outside.xml", "ABSOLUTE", "link.xml", "sub/../../outside.xml"])
@pytest.mark.parametrize("how", ['<include file="NAME"/>', '<asset><model name="m" file="NAME"/></asset>'])
def test_a_robot_file_includes_nothing_from_outside_its_folder(tmp_path, name, how):
    outside, folder = tmp_path / "outside.xml", tmp_path / "robot"
    folder.mkdir()
    outside.write_text('<mujoco><worldbody><body name="secret"><joint/></body></worldbody></mujoco>')
    (folder / "link.xml").symlink_to(outside)
    text = how.replace("NAME", name.replace("ABSOLUTE", str(outside)))
    (folder / "arm.xml").write_text(f'<mujoco>{text}<worldbody><attach model="m"/></worldbody></mujoco>')
    with pytest.raises(RobotFileError, match="lies outside the folder of the robot file"):
        load_robot(folder / "arm.xml")


def test_includes_are_limited_in_depth_and_number(tmp_path):
    for k in range(20):
        (tmp_path / f"{k}.xml").write_text(f'<mujoco><include file="{k + 1}.xml"/></mujoco>')
    with pytest.raises(RobotFileError, match="nested more than 10 deep"):
        load_robot(tmp_path / "0.xml")
    (tmp_path / "leaf.xml").write_text("<mujoco/>")
    (tmp_path / "wide.xml").write_text("<mujoco>" + 201 * '<include file="leaf.xml"/>' + "</mujoco>")
    with pytest.raises(RobotFileError, match="more than 200 files are included"):
        load_robot(tmp_path / "wide.xml")


# ---- paths


@pytest.mark.parametrize(
    "name",
    [
        "package://../../outside/part.stl",
        "package://arm/../../../outside/part.stl",
        "../../outside/part.stl",
        "ABSOLUTE",
        "file://ABSOLUTE",
    ],
)
def test_a_robot_file_cannot_name_meshes_elsewhere(tmp_path, name):
    outside, folder = tmp_path / "outside", tmp_path / "home" / "robot"
    folder.mkdir(parents=True)
    outside.mkdir()
    (outside / "part.stl").write_text(STL)
    name = name.replace("ABSOLUTE", str(outside / "part.stl"))
    (folder / "arm.urdf").write_text(MESHED.replace('filename="part.stl"', f'filename="{name}"'))
    with pytest.raises(ParameterError, match=r"arm\.urdf.*(lies elsewhere|leads out of its package)"):
        link_hull(folder / "arm.urdf", "a")


def test_a_mesh_beside_or_in_a_neighbour_folder_or_package_is_found(tmp_path):
    folder = tmp_path / "robot" / "urdf"
    (tmp_path / "robot" / "meshes").mkdir(parents=True)
    folder.mkdir()
    (tmp_path / "robot" / "meshes" / "part.stl").write_text(STL)
    for name in ("../meshes/part.stl", "package://robot/meshes/part.stl"):
        (folder / "arm.urdf").write_text(MESHED.replace('filename="part.stl"', f'filename="{name}"'))
        assert len(link_hull(folder / "arm.urdf", "a").points) >= 4


def test_a_mesh_that_is_no_file_is_refused_without_waiting_for_it(tmp_path):
    os.mkfifo(tmp_path / "part.stl")
    (tmp_path / "arm.urdf").write_text(MESHED)
    with pytest.raises(ParameterError, match=r"part\.stl: the mesh cannot be read \(not a file\)"):
        link_hull(tmp_path / "arm.urdf", "a")


@pytest.mark.parametrize(("name", "read"), [("arm.urdf", load_robot), ("arm.xml", load_robot), ("log.csv", None)])
def test_a_pipe_is_refused_without_waiting_for_what_comes_through_it(tmp_path, name, read):
    os.mkfifo(tmp_path / name)
    with pytest.raises(DynidError, match=f"{name}: a pipe"):
        read(tmp_path / name) if read else read_recording(tmp_path / name, ["hinge"])


def test_what_is_no_mesh_is_not_quoted(tmp_path):
    (tmp_path / "part.obj").write_text("v the secret word\n")
    with pytest.raises(ParameterError, match=r"part\.obj: is not a valid mesh") as caught:
        Hull.of_mesh(tmp_path / "part.obj")
    assert "secret" not in str(caught.value)


def test_names_inside_archives_are_never_paths(tmp_path):
    log = tmp_path / "in" / "log.npz"
    log.parent.mkdir()
    t = io.BytesIO()
    np.save(t, np.arange(5.0))
    with zipfile.ZipFile(log, "w") as archive:
        for name in ("t.npy", "q1.npy", "../../evil.npy", "/evil.npy"):
            archive.writestr(name, t.getvalue())
    assert read_recording(log, ["hinge"]).n_samples == 5
    zipped = gzip.GzipFile(tmp_path / "in" / "log.csv.gz", "wb")
    zipped.name = "../../evil.csv"
    with zipped:
        zipped.write(b"t,q1\n0,1\n1,2\n")
    assert read_recording(tmp_path / "in" / "log.csv.gz", ["hinge"]).n_samples == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in", "log.csv.gz", "log.npz"]


# ---- code


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self):
        return os.mkdir, (str(self.place),)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["npz", "npy in npz by another type", "mat", "h5", "checkpoint"])
def test_pickled_objects_are_never_loaded(tmp_path, kind):
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(sprung)] * 3, dtype=object)
    t = np.arange(3.0)
    if kind == "mat":
        scipy.io.savemat(tmp_path / "log.mat", {"t": t, "q1": np.array([b"x"], dtype=object)})
        name = "log.mat"
    elif kind == "h5":
        name = "log.h5"
        with h5py.File(tmp_path / name, "w") as file:
            file["t"] = t
            file["q1"] = np.void(b"\x80\x04\x95")
    else:
        name = "log.npz"
        np.savez(tmp_path / name, t=t, q1=trap, allow_pickle=True)
    if kind == "checkpoint":
        with pytest.raises(DynidError, match=r"log\.npz"):
            resume(_filter(), tmp_path / name)
    else:
        with pytest.raises(RecordingError, match=re.escape(name)):
            read_recording(tmp_path / name, ["hinge"])
    assert not sprung.exists()


def test_a_configuration_runs_code_only_when_allowed(tmp_path):
    (tmp_path / "rules.py").write_text(
        f"import os; os.mkdir({str(tmp_path / 'sprung')!r})\ndef low(links): return 0.0\n"
    )
    (tmp_path / "r.toml").write_text('functions = ["rules:low"]\n')
    with pytest.raises(ParameterError, match=r"r\.toml: names code to run \(rules:low\).*allow_code=True"):
        read_constraints(tmp_path / "r.toml")
    assert not (tmp_path / "sprung").exists()
    assert len(read_constraints(tmp_path / "r.toml", allow_code=True).functions) == 1
    assert (tmp_path / "sprung").exists()


@pytest.mark.parametrize("place", ["name", "source", "friction"])
def test_a_model_file_cannot_run_code(tmp_path, place):
    content = json.loads(saved(tmp_path / "model.json").read_text())
    code = f"__import__('os').mkdir({str(tmp_path / 'sprung')!r})"
    if place == "friction":
        content["joint_models"] = [{"name": "os:mkdir", "shape": [[code]]}]
    else:
        content["robot"][place] = f"{{{{ {code} }}}}"
    (tmp_path / "model.json").write_text(json.dumps(content))
    if place == "friction":
        with pytest.raises(ModelFileError, match=r"model\.json: damaged model file: unknown joint model 'os:mkdir'"):
            load_model(tmp_path / "model.json")
    else:
        assert main(["info", str(tmp_path / "model.json")]) == 2
        assert load_model(tmp_path / "model.json").estimator == "feasible"
    assert not (tmp_path / "sprung").exists()


BANNED = {"eval", "exec", "compile", "__import__"}
BANNED_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "yaml", "requests"}
BANNED_PARTS = {"http.client", "http.server", "urllib.request", "urllib.robotparser"}
"""Those that open addresses; urllib.parse and http.cookies only take texts apart."""
WRITERS = ROOT / "src" / "dynid" / "writers"
SUBPROCESS_ALLOWED = {
    WRITERS / "c" / "check.py", WRITERS / "c" / "load_filter.py", WRITERS / "live" / "background.py",
    WRITERS / "live" / "page.py",
}  # fmt: skip
"""Run the C compiler, or dynid itself, on what dynid wrote; without a shell."""


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src" / "dynid")))
def test_no_source_can_run_what_a_file_says(path):
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            names = [alias.name for alias in node.names] + [module]
            modules = {name.partition(".")[0] for name in names}
            found += sorted(modules & BANNED_MODULES)
            found += sorted({*names, *(f"{module}.{alias.name}" for alias in node.names)} & BANNED_PARTS)
            if "subprocess" in modules and path not in SUBPROCESS_ALLOWED:
                found.append("subprocess")
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in BANNED:
                found.append(called.id)
            if isinstance(called, ast.Attribute) and ast.unparse(called) in ("os.system", "os.popen", "yaml.load"):
                found.append(ast.unparse(called))
            for keyword in node.keywords:
                on = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
                if keyword.arg in ("shell", "allow_pickle") and on:
                    found.append(keyword.arg)
            if isinstance(called, ast.Attribute) and ast.unparse(called) in ("np.load", "numpy.load"):
                refused = [k for k in node.keywords if k.arg == "allow_pickle" and ast.unparse(k.value) == "False"]
                found += [] if refused else ["np.load without allow_pickle=False"]
    assert found == []


def test_dependencies_have_hashes_and_no_addresses():
    for path in sorted((ROOT / "requirements").glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        entries = [entry for entry in re.split(r"\n(?=\S)", text.replace("\\\n", " ").strip()) if entry[0] != "#"]
        assert entries
        assert all("==" in entry and "--hash=sha256:" in entry for entry in entries), path.name
        assert "://" not in text
        assert not re.search(r"^--(extra-)?index|^--find-links|^-e ", text, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not any("@" in name for name in project["dependencies"])


REPAIRED = {
    "distributed": "2026.1.1",  # CVE-2026-23528, scripts in the dashboard
    "jinja2": "3.1.6",  # CVE-2025-27516, out of the sandbox
    "lxml": "6.1.3",  # CVE-2026-41066, entities of files on the machine; CVE-2026-49825
    "msgpack": "1.2.1",  # CVE-2026-57585, a crash after an error
    "pyarrow": "23.0.1",  # CVE-2026-25087, use after free
    "requests": "2.33.0",  # CVE-2026-25645
    "tornado": "6.5.8",  # GHSA-wwv5-g3v4-889x, GHSA-8423-8fgw-73vq
    "urllib3": "2.7.0",  # CVE-2026-44431, CVE-2026-44432
}
"""First releases without what was published about a package, as looked up by hand on 2026-11-16; see `make audit`."""


def release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def test_no_locked_package_is_older_than_its_last_repair():
    locked: dict[str, set[str]] = {}
    for path in (ROOT / "requirements").glob("*.txt"):
        for name, version in re.findall(r"^([a-z0-9-]+)(?:\[[a-z,]+\])?==([0-9.]+)", path.read_text(), re.MULTILINE):
            locked.setdefault(name, set()).add(version)
    assert REPAIRED.keys() <= locked.keys()
    assert [name for name, first in REPAIRED.items() if min(map(release, locked[name])) < release(first)] == []


def test_no_older_release_can_be_installed_where_dynid_names_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *project["optional-dependencies"]["cluster"]]
    least = {re.split(r"[\[>]", entry)[0]: entry.partition(">=")[2] for entry in named}
    least["distributed"] = least.pop("dask")
    old = [name for name, first in REPAIRED.items() if name in least and release(least[name]) < release(first)]
    assert old == []


# ---- names that are markup, formulas or orders to a terminal


def every_report(folder: Path, joints: tuple[str, str], name: str) -> dict[str, Path]:
    """The pages that the commands write about a robot with these names."""
    robot = str(denavit(folder / "arm.toml", joints, name))
    model = str(saved(folder / "model.json", joints, robot_name=name))
    log = str(log_of(folder / f"{EVIL.replace('/', '')}.csv", Path(model)))
    runs = {
        "excite": ["excite", robot, "--out", str(folder / "traj.csv"), "--duration", "4", "--harmonics", "2",
                   "--time-budget", "1"],
        "identify": ["identify", robot, log, "--out", str(folder / "identify"), "--force", "--validate", log],
        "friction": ["friction", model, log, "--out", str(folder / "friction"), "--friction", "viscous+coulomb"],
        "retrieve": ["retrieve", model, "--out", str(folder / "retrieve"), "--runs", "1", "--force", "--total-mass",
                     "1", "30"],
        "track": ["track", model, log, "--out", str(folder / "track")],
    }  # fmt: skip
    for command, tokens in runs.items():
        assert main(tokens) in (0, 1), command
    pages = {command: folder / command / "report.html" for command in runs}
    return pages | {"excite": folder / "traj.html"}


@pytest.mark.slow
def test_names_are_text_in_every_report_and_table(tmp_path):
    pages = every_report(tmp_path, (EVIL, "</script><script>alert(2)</script>"), f"<b>{EVIL}")
    for command, page in pages.items():
        text = page.read_text(encoding="utf-8")
        assert EVIL not in text, command
        assert "<script>alert" not in text, command
        assert "onerror=alert" in text, f"{command}: the name should be there, as text"
    for path in tmp_path.rglob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file):
                for cell in row:
                    assert not cell.startswith(("=", "@", "\t", "\r", "+", "-")) or is_number(cell), path.name


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("formula", FORMULAS)
def test_joint_names_that_are_formulas_never_start_a_cell(tmp_path, formula):
    robot = str(denavit(tmp_path / "arm.toml", (formula, f"{formula}b")))
    log = tmp_path / "log.csv"
    assert main(["simulate", robot, "--out", str(log), "--duration", "2"]) == 0
    cells = log.read_text().splitlines()[0].split(",")
    assert cells[0] == "t"
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


@pytest.mark.parametrize("name", ["a\tb", "a\rb", "\x1b[2J", "a\u202eb", "\x07", "x" * 300, ""])
def test_names_that_cannot_be_printed_or_are_too_long_are_refused(tmp_path, name):
    path = denavit(tmp_path / "arm.toml", (name, "b"))
    with pytest.raises(RobotFileError, match=r"arm\.toml: the joint name .* rename it") as caught:
        load_robot(path)
    assert caught.value.args[0].isprintable()
    path = denavit(tmp_path / "arm.toml", ("a", "b"), name or "\x00")
    with pytest.raises(RobotFileError, match=r"arm\.toml: the robot name .* rename it"):
        load_robot(path)


def test_escape_sequences_from_files_never_reach_the_terminal(tmp_path, capsys):
    log = tmp_path / "log.csv"
    log.write_text("t,\x1b[2J\x1b]0;owned\x07,q\u202e1,\x9b31m\n0,1,2,3\n", encoding="utf-8")
    assert main(["identify", "planar2r", str(log), "--out", str(tmp_path / "out")]) == 2
    model = saved(tmp_path / "model.json", robot_name="plain")
    good = str(log_of(tmp_path / "good.csv", model))
    model.write_text(model.read_text().replace('"plain"', json.dumps("\x1b[31mred\x1b[0m")))
    assert main(["validate", str(model), good]) == 2
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert not set("\x1b\x07\x9b\u202e") & set(text)
    assert "\\x1b[2J" in said.err


# ---- sizes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start", "fill", "end"),
    [
        ("arm.urdf", b'<robot name="', b"a", b'"><link name="b"/></robot>'),
        ("arm.urdf", b"<robot>", b"<a>", b""),
        ("arm.toml", b'name = "', b"a", b'"\n'),
        ("arm.toml", b"a = ", b"[", b""),
        ("model.json", b'{"format": "', b"a", b'"}'),
        ("model.json", b"", b"[", b""),
        ("log.csv", b"t,", b"q", b"\n0,1\n"),
        ("log.csv", b"t,q1,q2\n0,1,", b"1", b"\n"),
        ("bounds.csv", b"parameter,lower,upper\n", b"m", b",1,2\n"),
    ],
)
def test_a_field_of_a_hundred_million_characters_is_refused(tmp_path, capsys, name, start, fill, end):
    path = tmp_path / name
    path.write_bytes(start + fill * (100_000_000 // len(fill)) + end)
    command = {
        "log.csv": ["identify", "planar2r", str(path), "--out", str(tmp_path / "out")],
        "model.json": ["validate", str(path), str(path)],
        "bounds.csv": ["retrieve", str(saved(tmp_path / "known.json")), "--bounds", str(path), "--out", str(tmp_path)],
    }.get(name, ["info", str(path)])
    assert main(command) == 2
    said = capsys.readouterr().err
    assert name in said
    assert len(said) < 10_000


def gzip_bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(bytes(1 << 24), 1) * 100)


def gzip_line_bomb(path: Path) -> None:
    path.write_bytes(gzip.compress(b"t,q1,q2\n0,1,") + gzip.compress(b"1" * (1 << 24), 1) * 100)


def npz_bomb(path: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': True, 'shape': (100000000, 2), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "w", 8, compresslevel=1) as archive, archive.open("q.npy", "w") as member:
        member.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
        for _ in range(100):
            member.write(bytes(16_000_000))


def mat_bomb(path: Path) -> None:
    squeeze = zlib.compressobj(1)
    data = squeeze.compress(struct.pack("<II", 14, 100 << 24)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(bytes(1 << 24)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    data += block * 100
    head = b"MATLAB 5.0".ljust(124) + b"\x00\x01IM"
    path.write_bytes(head + struct.pack("<II", 15, len(data)) + data)


BOMBS = {
    "gzip": ("log.csv.gz", gzip_bomb),
    "gzip line": ("log.csv.gz", gzip_line_bomb),
    "npz": ("log.npz", npz_bomb),
    "mat": ("log.mat", mat_bomb),
}
"""Small files that hold 1.6 GB."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_that_holds_gigabytes_ends_within_limited_memory(tmp_path, kind):
    name, make = BOMBS[kind]
    path = tmp_path / name
    make(path)
    assert path.stat().st_size < 20 * 2**20
    script = (
        "import resource, sys\nfrom dynid.cli import main\nimport dynid.cli.identify, pyarrow.csv, h5py, scipy.io\n"
        "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        f"resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 30), now + (1 << 30)))\n"
        f"sys.exit(main(['identify', 'planar2r', {str(path)!r}, '--out', {str(tmp_path / 'out')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr
    assert done.returncode == 2, done.stderr[-1000:]
    assert name in done.stderr


# ---- what is written over


def test_a_link_in_the_place_of_an_output_file_is_replaced_not_followed(tmp_path):
    precious, out = tmp_path / "precious.txt", tmp_path / "out"
    precious.write_text("precious")
    out.mkdir()
    (out / "model.json").symlink_to(precious)
    (out / "report.html").symlink_to(tmp_path / "not there")
    write_whole(out / "model.json", "new")
    write_whole(out / "report.html", "new")
    assert precious.read_text() == "precious"
    assert not (tmp_path / "not there").exists()
    assert not (out / "model.json").is_symlink()
    assert (out / "model.json").read_text() == (out / "report.html").read_text() == "new"


def test_a_folder_a_pipe_or_a_device_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    for name, what in (("folder", "it is a folder"), ("pipe", "it is a device"), ("null", "it is a device")):
        with pytest.raises(OutputError, match=f"{name}: cannot be written: {what}"):
            write_whole(tmp_path / name, "new")
    with pytest.raises(OutputError, match="it is a device"):
        write_whole(Path("/dev/null"), "new")
    assert not Path("/dev/null").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "null", "pipe"]


@pytest.mark.slow
@pytest.mark.parametrize("command", WRITING)
def test_every_command_refuses_an_output_it_cannot_make(tmp_path, capsys, command):
    (tmp_path / "file").write_text("a file")
    out = {"excite": "/dev/null", "simulate": str(tmp_path / "file" / "log.csv")}.get(command, str(tmp_path / "file"))
    assert main([*arguments(command, tmp_path), "--out", out]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "a file"
    assert Path("/dev/null").is_char_device()


# ---- network


def test_a_stream_listens_on_this_machine_only(monkeypatch):
    bound = []
    monkeypatch.setattr(socket.socket, "bind", lambda self, address: bound.append(address))
    next(udp_samples(5005, 2, timeout=0.01), None)
    assert bound == [(LOOPBACK, 5005)]
    assert LOOPBACK == "127.0.0.1"


@pytest.mark.slow
def test_no_command_opens_a_connection_nor_writes_a_page_that_would(tmp_path, monkeypatch):
    def refuse(*arguments: object, **_: object) -> None:
        raise AssertionError(f"a connection to {arguments[1:]}")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    pages = every_report(tmp_path, ("a", "b"), "arm")
    model, log = str(tmp_path / "model.json"), next(str(path) for path in tmp_path.glob("<*.csv"))
    assert main(["info", "panda"]) == 0
    assert main(["validate", model, log]) == 0
    assert main(["simulate", "planar2r", "--out", str(tmp_path / "s.csv"), "--duration", "2"]) == 0
    assert main(["lint", str(tmp_path / "identify" / "robot.urdf")]) in (0, 1)
    for page in pages.values():
        text = re.sub(r"<script>.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
