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
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Item, Line
from dynid.dynamics import TorqueModel, base_parameters, friction_models
from dynid.regression import IdentifiedModel
from dynid.tracking import Sample, SampleIntake, TrackingOptions, pack_message
from dynid.tracking.sources.messages import StreamMessages
from dynid.tracking.sources.udp import UdpFeed
from dynid.workflow import LiveRun
from tests.writers.live_logs import LOAD, NOISE, PANDA, THETA, swinging

SECONDS = float(os.environ.get("DYNID_LIVE_SECONDS", "600"))
"""Length of the run with the page open, s."""
RATE = 1000.0
"""Samples per second of the source, Hz."""
N_WARM = 1600
"""Samples before anything is measured, while everything is compiled."""
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


def watched(known: IdentifiedModel, rows: list[bytes], seconds: float, *, page: bool) -> dict[str, float]:
    """One run: what was lost, how late estimates are, how often the page was renewed, what it cost."""
    latencies: list[float] = []
    feed = UdpFeed(0, StreamMessages(7), patient=True)
    intake = SampleIntake(feed)

    def hears(sample: Sample) -> None:
        if len(latencies) < 2_000_000:
            latencies.append(time.monotonic() - sample.t)

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
        with _browser(Path(folder), shown) as tab:
            n_before, lost_before, updates = run.view.counts.n_samples, run.view.counts.n_lost, _updates(shown)
            latencies.clear()
            began, cpu = time.monotonic(), time.process_time()
            thread_cpu = run.cpu_seconds()
            sender = [sys.executable, "-c", SENDER, str(feed.port), str(seconds), str(RATE), str(path), str(N_WARM)]
            sent = int(subprocess.run(sender, capture_output=True, text=True, check=True).stdout)
            elapsed = time.monotonic() - began
            _drained(run)
            seen = _seen(tab)
            counts = run.view.counts
            found = {
                "sent": sent,
                "lost": sent - (counts.n_samples - n_before),
                "counted lost": counts.n_lost - lost_before,
                "latency ms": 1e3 * float(np.median(latencies)),
                "latency p99 ms": 1e3 * float(np.percentile(latencies, 99)),
                "updates": (_updates(shown) - updates) / elapsed,
                "browser updates": seen,
                "process": 100.0 * (time.process_time() - cpu) / elapsed,
                "estimation": 100.0 * (run.cpu_seconds() - thread_cpu) / elapsed,
            }
    if shown is not None:
        shown.stop()
    run.stop()
    return found


def _drained(run: LiveRun) -> None:
    """Wait until everything that has come is in the estimate: on a busy machine that is late, and not lost."""
    before = -1
    while run.intake.counts.n_samples != before:
        before = run.intake.counts.n_samples
        time.sleep(2.0)


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


def _browser(folder: Path, page: Any) -> Any:
    from tests.browser import browser, chromium

    if page is None or chromium() is None or os.environ.get("DYNID_LIVE_BROWSER") == "0":
        return nullcontext(None)
    return _Opened(browser(folder), page)


class _Opened:
    """A tab with the page, which counts how often its figures change."""

    def __init__(self, opening: Any, page: Any) -> None:
        self._opening, self._page = opening, page

    def __enter__(self) -> Any:
        tab = self._opening.__enter__()
        tab.call("Page.navigate", url=self._page.address)
        tab.wait("document.querySelector('#dynid-source') !== null")
        tab.run(
            "window.changes = 0; window.began = performance.now();"
            "new MutationObserver(() => { window.changes += 1; }).observe("
            "document.body, {subtree: true, childList: true, characterData: true}); 0"
        )
        return tab

    def __exit__(self, *given: object) -> None:
        self._opening.__exit__(*given)


def _seen(tab: Any) -> float:
    if tab is None:
        return float("nan")
    return float(tab.run("1000 * window.changes / (performance.now() - window.began)"))


def faults(known: IdentifiedModel, rows: list[bytes], *, quick: bool) -> Iterator[Item]:
    """A source that does everything wrong, one thing after the other; the run must go on and count right."""
    feed = UdpFeed(0, StreamMessages(7), patient=True)
    intake = SampleIntake(feed)
    run = LiveRun(known, intake, TrackingOptions(payload=True, rate=RATE), measured_rate=False)
    run.start()
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    address = ("127.0.0.1", feed.port)
    rng = np.random.default_rng(7)

    def send(some: list[bytes]) -> int:
        before = run.view.counts.n_samples
        for k, row in enumerate(some):
            out.sendto(row, address)
            if k % 20 == 19:
                time.sleep(0.02)
        time.sleep(0.3)
        return run.intake.counts.n_samples - before

    def again(first: int, count: int, shift: float = 0.0, numbers: int = 0) -> list[bytes]:
        found = []
        for k in range(first, first + count):
            row = bytearray(rows[k % len(rows)])
            row[8:24] = (k - numbers).to_bytes(8, "little") + np.float64(k / RATE + shift).tobytes()
            found.append(bytes(row))
        return found

    send(again(0, 500))
    time.sleep(1.2)
    silent = run.view.state == "silent"
    got = send(again(0, 1000))
    yield Line("source killed and restarted: samples taken of 1000", got, 1000, "")
    yield Line("silence noticed within a second", float(silent), 1, "")
    got = send(again(1000, 500, shift=1e5)) + send(again(1500, 500, shift=-50.0)) + send(again(2000, 500))
    yield Line("clock jumps (+100 000 s, −50 s, back): samples taken of 1500", got, 1500, "")
    garbage = [bytes(rng.integers(0, 256, rng.integers(1, 300), dtype=np.uint8)) for _ in range(1000)]
    n_garbage, taken, place = (2_000 if quick else 100_000), 0, 2500
    before = run.intake.counts.n_garbage
    for _ in range(0, n_garbage, 1000):
        for start in range(0, 1000, 100):
            for junk in garbage[start : start + 100]:
                out.sendto(junk, address)
            out.sendto(again(place, 1)[0], address)
            place += 1
            time.sleep(0.004)
    time.sleep(1.0)
    taken = run.intake.counts.n_samples
    heard = run.intake.counts.n_garbage - before
    yield Line(f"garbage datagrams refused of {n_garbage}", heard, 0.98 * n_garbage, "")
    got = send(again(place, 500))
    yield Line("samples taken of 500 after the garbage", got, 500, "")
    del taken
    yield Line("estimation alive at the end", float(run.running), 1, "")
    run.stop()
    out.close()


def memory(known: IdentifiedModel, rows: list[bytes], n_samples: int) -> float:
    """Growth of the resident memory (MB) over many samples, after the memory for the log has filled."""
    decoded = StreamMessages(7)
    feed = _Endless([decoded.of_bytes(row, "x").sample for row in rows], n_samples)
    run = LiveRun(known, SampleIntake(feed), TrackingOptions(payload=True, rate=RATE), measured_rate=False)
    run.start()
    half = 0.0
    while run.view.state != "ended":
        time.sleep(0.2)
        if not half and feed.n_given > n_samples // 2:
            half = _resident()
    grown = _resident() - half
    run.stop()
    return grown


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
    seconds = 3.0 if quick else SECONDS
    found = watched(known, rows, seconds, page=not quick)
    yield Line(f"samples lost of {found['sent']:.0f} at 1 kHz", found["lost"], 0, "", "at most")
    yield Line("latency source → estimate, median", found["latency ms"], 2.0, "milliseconds", "at most")
    yield Line("latency, 99 %", found["latency p99 ms"], unit="milliseconds")
    if not quick:
        yield Line("page renewed by the server", found["updates"], 20, "1/s")
        yield Line("figures changed in the browser (software rendering)", found["browser updates"], unit="1/s")
    yield Line("CPU of the estimation, of one core", found["estimation"], 60, "%", "at most")
    yield Line("CPU of the whole process, of one core", found["process"], unit="%")
    yield from faults(known, rows, quick=quick)
    n_samples = 4_000 if quick else 1_000_000
    yield Line(
        f"memory growth over the second half of {n_samples} samples",
        memory(known, rows, n_samples),
        20,
        "MB",
        "at most",
    )
