"""Live: a 1 kHz source of a 7-axis arm with all friction and the page open; and what may go wrong with a source."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Item, Line, Table
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.regression import IdentifiedModel
from dynid.tracking import Sample, SampleIntake, TrackingOptions, pack_message
from dynid.tracking.sources.messages import StreamMessages
from dynid.tracking.sources.udp import UdpFeed
from dynid.workflow import LiveRun
from dynid.writers.live.serve import SWITCH
from tests.writers.live_logs import LOAD, NOISE, PANDA, THETA, swinging

SECONDS = float(os.environ.get("DYNID_LIVE_SECONDS", "600"))
"""Length of the run with the page open, s."""
RATE = 1000.0
"""Samples per second of the source, Hz."""
N_WARM = 1600
"""Samples before anything is measured, while everything is compiled."""
QUIET, QUICK_QUIET = 2.0, 0.5
"""Silence behind which everything that was sent has been taken, s; the second in a quick run."""
N_SHOWN = 30_000
"""Samples that come while pages open and close."""
FRICTION = "viscous+coulomb+offset+tanh+stribeck+load+presliding"
"""What automatic settings take on an arm whose friction shows everything: the dearest case."""
SENDER = """
import socket, struct, sys, time
port, seconds, rate = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
path, first = sys.argv[4], int(sys.argv[5])
rows = open(path, "rb").read()
size = struct.unpack("<I", rows[:4])[0]
rows = [bytearray(rows[k : k + size]) for k in range(4, len(rows) - size + 1, size)]
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
start, k = time.monotonic(), 0
while True:
    now = time.monotonic()
    due = start + k / rate
    if now < due:
        time.sleep(min(0.0004, due - now))
        continue
    if k / rate > seconds:
        break
    row = rows[k % len(rows)]
    struct.pack_into("<Qd", row, 8, k + first, time.monotonic())
    out.sendto(row, ("127.0.0.1", port))
    k += 1
print(k)
"""
"""The source, in a process of its own; each message carries the time at which it is sent."""


def known_arm() -> IdentifiedModel:
    """A Panda with every friction."""
    model = TorqueModel(PANDA.robot, friction_models(FRICTION))
    base = base_parameters(model)
    theta = np.concatenate([THETA[:70], np.full(model.n_params - 70, 0.1)])
    covariance = 1e-8 * np.eye(base.n_base)
    return IdentifiedModel(
        model, base, "feasible", "", base.project(theta), covariance, theta=theta, labels=(), sample_noise=NOISE
    )


def messages(known: IdentifiedModel, seconds: float) -> list[bytes]:
    """Binary messages of a motion that repeats itself, with a load in its second half."""
    motion = swinging(np.arange(round(seconds * RATE)) / RATE)
    theta = np.array(known.parameters)
    theta_load = theta.copy()
    theta_load[60:70] += LOAD.pi
    half = motion.t > seconds / 2.0
    tau = np.where(half[:, None], known.model.torque(motion, theta_load), known.model.torque(motion, theta))
    tau += NOISE * np.random.default_rng(3).standard_normal(tau.shape)
    samples = (Sample(float(motion.t[k]), motion.q[k], motion.dq[k], None, tau[k]) for k in range(motion.n_samples))
    return [pack_message(sample, number=k) for k, sample in enumerate(samples)]


def watched(known: IdentifiedModel, rows: list[bytes], seconds: float, quiet: float, *, page: bool) -> dict[str, float]:
    """One run: what was lost, how late estimates are, how often the page was renewed, what it cost."""
    latencies: list[float] = []
    feed = UdpFeed(0, StreamMessages(7), patient=True)
    intake = SampleIntake(feed)

    def hears(sample: Sample) -> None:
        if len(latencies) < 2_000_000:
            latencies.append(time.monotonic() - sample.t)

    sys.setswitchinterval(SWITCH)
    run = LiveRun(known, intake, TrackingOptions(payload=True, rate=RATE), measured_rate=False, hears=hears)
    shown = _page(run) if page else None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        path.write_bytes(len(rows[0]).to_bytes(4, "little") + b"".join(rows))
        warm = threading.Thread(target=_warm, args=(feed.port, rows))
        run.start()
        if shown is not None:
            shown.start()
        warm.start()
        while run.view.counts.n_samples < N_WARM - 100:
            time.sleep(0.05)
        warm.join(timeout=10.0)
        time.sleep(0.5)
        with _tab(shown) as tab:
            n_before, updates = run.view.counts.n_samples, _updates(shown)
            latencies.clear()
            began, cpu, waited = time.monotonic(), time.process_time(), _waited()
            thread_cpu = run.cpu_seconds()
            sender = [sys.executable, "-c", SENDER, str(feed.port), str(seconds), str(RATE), str(path), str(N_WARM)]
            sent = int(subprocess.run(sender, capture_output=True, text=True, check=True).stdout)
            elapsed = time.monotonic() - began
            seen, updates = _seen(tab), _updates(shown) - updates
            process, estimation = time.process_time() - cpu, run.cpu_seconds() - thread_cpu
            waited = _waited() - waited
            _drained(run, quiet)
            found = {
                "sent": sent,
                "lost": sent - (run.view.counts.n_samples - n_before),
                "latency ms": 1e3 * float(np.median(latencies)),
                "latency p99 ms": 1e3 * float(np.percentile(latencies, 99)),
                "latency worst ms": 1e3 * float(np.max(latencies)),
                "updates": updates / elapsed,
                "browser updates": seen,
                "process": 100.0 * process / elapsed,
                "estimation": 100.0 * estimation / elapsed,
                "waited": 100.0 * waited / elapsed,
            }
    if shown is not None:
        shown.stop()
    run.stop()
    return found


def _drained(run: LiveRun, quiet: float = QUIET) -> None:
    """Wait until nothing has come for `quiet` s: on a busy machine an estimate is late, and not lost."""
    before = -1
    while run.intake.counts.n_samples != before:
        before = run.intake.counts.n_samples
        time.sleep(quiet)


def _warm(port: int, rows: list[bytes]) -> None:
    """Everything is compiled before anything is measured."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for k in range(N_WARM):
            row = bytearray(rows[k % len(rows)])
            row[8:24] = k.to_bytes(8, "little") + np.float64(time.monotonic()).tobytes()
            out.sendto(row, ("127.0.0.1", port))
            time.sleep(0.001)


def _page(run: LiveRun) -> Any:
    from dynid.writers import LivePage
    from dynid.writers.live.guard import PageGuard

    return LivePage(run, guard=PageGuard("127.0.0.1", None), port=0, meshes=[], out=Path("live"))


def _updates(page: Any) -> int:
    return 0 if page is None else int(page.n_updates)


def _waited() -> float:
    """Time in s that threads of this process have waited for a core: on an idle machine almost none."""
    tasks = Path("/proc/self/task").glob("*/schedstat")
    return sum(1e-9 * float(task.read_text().split()[1]) for task in tasks)


@contextmanager
def _tab(page: Any) -> Iterator[Any]:
    """A tab with the page in a browser of its own, which counts how often something on it changes; None without one."""
    from tests.browser import browser, chromium

    if page is None or chromium() is None or os.environ.get("DYNID_LIVE_BROWSER") == "0":
        yield None
        return
    # A browser without a graphics card draws on the cores: what is measured comes first.
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder), nice=10) as tab:
        tab.size(1280, 800)
        tab.call("Page.navigate", url=page.address)
        tab.wait("document.querySelector('#dynid-source') !== null")
        tab.run(
            "window.changes = 0; window.began = performance.now();"
            "new MutationObserver(() => { window.changes += 1; }).observe("
            "document.body, {subtree: true, childList: true, characterData: true}); 0"
        )
        yield tab


def _seen(tab: Any) -> float:
    if tab is None:
        return float("nan")
    return float(tab.run("1000 * window.changes / (performance.now() - window.began)"))


class _Source:
    """A sender of the binary layout into a run, which counts what is taken."""

    def __init__(self, known: IdentifiedModel, rows: list[bytes], quiet: float = QUIET) -> None:
        self._quiet = quiet
        feed = UdpFeed(0, StreamMessages(7), patient=True)
        self.run = LiveRun(known, SampleIntake(feed), TrackingOptions(payload=True, rate=RATE), measured_rate=False)
        self._rows, self._address = rows, ("127.0.0.1", feed.port)
        self._out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.place = 0
        self.run.start()
        self.send(100, settle=False)
        _until(lambda: self.run.intake.counts.n_samples >= 100, 300.0)  # by then everything is compiled

    def send(self, count: int, *, restart: bool = False, shift: float = 0.0, settle: bool = True) -> int:
        """Samples taken of `count` that go on from where the last were, or start again; clock shifted by s.

        What is under way is waited for, unless `settle` is False.
        """
        before = self.run.intake.counts.n_samples
        self.place = 0 if restart else self.place
        for k in range(count):
            row = bytearray(self._rows[self.place % len(self._rows)])
            row[8:24] = self.place.to_bytes(8, "little") + np.float64(self.place / RATE + shift).tobytes()
            self._out.sendto(row, self._address)
            self.place += 1
            if k % 20 == 19:
                time.sleep(20.0 / RATE)
        if settle:
            _drained(self.run, self._quiet)
        return self.run.intake.counts.n_samples - before

    def throw(self, junk: bytes) -> None:
        """Something that is no sample."""
        self._out.sendto(junk, self._address)

    def close(self) -> None:
        """End the run."""
        self.run.stop()
        self._out.close()


def faults(known: IdentifiedModel, rows: list[bytes], *, quick: bool) -> Iterator[Item]:
    """A source that does everything wrong, one thing after the other; the run must go on and count right."""
    source = _Source(known, rows, QUICK_QUIET if quick else QUIET)
    run = source.run
    source.send(500, settle=False)
    yield Line("source killed: shown after", _until(lambda: run.view.state == "silent"), 1, "s", "at most")
    yield Line("source restarted: samples taken of 1000", source.send(1000, restart=True), 1000, "")
    got = source.send(500, shift=1e5) + source.send(500, shift=-50.0) + source.send(500)
    yield Line("clock jumps (+100 000 s, −50 s, back): samples taken of 1500", got, 1500, "")
    rng, n_garbage = np.random.default_rng(7), 2_000 if quick else 100_000
    before, taken = run.intake.counts, 0
    for _ in range(n_garbage // 100):
        for _ in range(100):
            source.throw(_junk(rng, rows))
        time.sleep(0.005)
    taken = source.send(500)
    heard = run.intake.counts.n_garbage - before.n_garbage
    yield Line(f"fuzzed datagrams refused of {n_garbage}; others are left out as late or doubled", heard, unit="")
    yield Line("samples taken of 500 after the garbage", taken, 500, "")
    yield Line("estimation alive at the end", float(run.running), 1, "")
    source.close()


def _junk(rng: np.random.Generator, rows: list[bytes]) -> bytes:
    """Noise, a message with some bytes changed or cut short, or JSON that is no sample."""
    kind = int(rng.integers(4))
    if kind == 0:
        return bytes(rng.integers(0, 256, rng.integers(1, 300), dtype=np.uint8))
    row = bytearray(rows[int(rng.integers(len(rows)))])
    if kind == 1:
        return bytes(row[: rng.integers(len(row))])
    if kind == 2:
        # The kind of message, its number or its time.
        first = 8 * int(rng.integers(3))
        row[first : first + 8] = rng.bytes(8)
        return bytes(row)
    return [b"{", b"[]", b'{"t": 1}', b'{"t": "x", "q": []}', b'{"t": 1e400, "q": [1]}', b"null"][rng.integers(6)]


def _until(truth: Any, longest: float = 30.0) -> float:
    """Time in s until something is true, or the longest to wait."""
    began = time.monotonic()
    while not truth() and time.monotonic() - began < longest:
        time.sleep(0.01)
    return time.monotonic() - began


def pages(known: IdentifiedModel, rows: list[bytes]) -> Iterator[Item]:
    """Two pages open, one closed and opened again, while samples come."""
    source = _Source(known, rows)
    page = _page(source.run)
    page.start()
    source.send(1000)
    before = source.run.intake.counts.n_samples
    moving = "new Promise(done => { const place = document.querySelector('#dynid-source'); const before ="
    moving += " place.innerText; setTimeout(() => done(place.innerText !== before), 3000); })"
    shown = []

    with _tab(page) as first:
        sender = threading.Thread(target=source.send, args=(N_SHOWN,))
        sender.start()
        with _tab(page) as second:
            shown += [tab.run(moving) for tab in (first, second) if tab is not None]
        with _tab(page) as again:
            shown += [tab.run(moving) for tab in (first, again) if tab is not None]
        sender.join(timeout=600.0)
    taken = source.run.intake.counts.n_samples - before
    yield Line(f"two pages, one closed and reopened: samples taken of {N_SHOWN}", taken, N_SHOWN, "")
    yield Line("two pages, one closed and reopened: views that moved, of 4", float(sum(shown)), 4, "")
    page.stop()
    source.close()


def memory(known: IdentifiedModel, rows: list[bytes], n_samples: int) -> list[float]:
    """Resident memory (MB) at each tenth of many samples."""
    decoded = StreamMessages(7)
    feed = _Endless([decoded.of_bytes(row, "x").sample for row in rows], n_samples)
    run = LiveRun(known, SampleIntake(feed), TrackingOptions(payload=True, rate=RATE), measured_rate=False)
    run.start()
    found: list[float] = []
    while run.view.state != "ended":
        time.sleep(0.02)
        if feed.n_given >= (len(found) + 1) * n_samples // 10:
            found.append(_resident())
    run.stop()
    return found


class _Endless:
    """A source that hands over a motion again and again, as fast as it is taken."""

    label, real_time = "endless", False

    def __init__(self, samples: list[Sample], n_samples: int) -> None:
        self._samples, self._most, self.n_given = samples, n_samples, 0

    @property
    def ended(self) -> bool:
        return self.n_given >= self._most

    def receive(self, wait: float) -> Any:
        from dynid.tracking.sources.messages import StreamMessage

        del wait
        found = []
        for _ in range(200):
            k = self.n_given
            sample = self._samples[k % len(self._samples)]._replace(t=k / RATE)
            found.append((StreamMessage(sample, k), time.monotonic()))
            self.n_given += 1
        return found

    def close(self) -> None:
        pass


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * resource.getpagesize() / 2**20


def run(*, quick: bool = False) -> Iterator[Item]:
    """The page at 1 kHz, the fault table, and memory."""
    known = known_arm()
    rows = messages(known, 4.0 if quick else 20.0)
    seconds, quiet = (1.0, QUICK_QUIET) if quick else (SECONDS, QUIET)
    found = watched(known, rows, seconds, quiet, page=not quick)
    yield Line(f"samples lost of {found['sent']:.0f} at 1 kHz", found["lost"], 0, "", "at most")
    yield Line("latency source → estimate, median", found["latency ms"], 2.0, "milliseconds", "at most")
    yield Line("latency, 99 %", found["latency p99 ms"], unit="milliseconds")
    yield Line("latency, worst", found["latency worst ms"], unit="milliseconds")
    if not quick:
        yield Line("page renewed by the server", found["updates"], 20, "1/s")
        drawn = "page changed in the browser (1280 × 800, drawn without a graphics card)"
        yield Line(drawn, found["browser updates"], 20, "1/s")
    yield Line("CPU of the estimation, of one core", found["estimation"], 60, "%", "at most")
    yield Line("CPU of the whole process, of one core", found["process"], unit="%")
    yield Line("time that its threads waited for a core, of one core", found["waited"], unit="%")
    yield from faults(known, rows, quick=quick)
    if not quick:
        yield from pages(known, rows)
    n_samples = 4_000 if quick else 1_000_000
    sizes = memory(known, rows, n_samples)
    cells = tuple(f"{size:.0f}" for size in sizes)
    yield Table("resident memory", tuple(f"{k * n_samples // 10}" for k in range(1, len(sizes) + 1)), (cells,))
    kept = sizes[-1] - sizes[min(3, len(sizes) - 1)]  # by then the log that is kept has its full length
    yield Line(f"memory growth from four tenths of {n_samples} samples on", kept, 10, "MB", "at most")
