"""A headless Chromium for tests, driven over its DevTools pipe: nothing beyond the standard library is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "headless_shell")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
SOFTWARE_WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
NO_WEBGL = ("--disable-3d-apis",)
PATIENCE = 180.0
"""Seconds to wait for any answer; a machine that is busy with other tests is slow to draw dozens of charts."""


def chromium() -> str | None:
    """The browser of this system, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Page:
    """One tab of a browser: everything it said, asked from the network or failed at is kept."""

    def __init__(self, process: subprocess.Popen[bytes], write: int, read: int) -> None:
        self._process, self._write, self._read = process, write, read
        self._buffer, self._next, self._session = b"", 0, ""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command of the DevTools protocol."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._message(deadline)
            if answer.get("id") == self._next:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._keep(answer)

    def _message(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            assert left > 0.0, "the browser does not answer"
            if select.select([self._read], [], [], min(left, 1.0))[0]:
                part = os.read(self._read, 2**20)
                assert part, f"the browser ended with code {self._process.poll()}"
                self._buffer += part
        first, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(first)

    def _keep(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry']['source']}: {params['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {params['message']}")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + PATIENCE
        while not self.run(expression):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            time.sleep(0.05)

    def size(self, width: int, height: int = 900) -> None:
        """The window in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str) -> None:
        """What the system prefers: light or dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path: Path) -> None:
        """Load a file and wait until every chart is drawn."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")
        self.wait("document.documentElement.dataset.charts === 'drawn'")

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(answer["data"]))

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}}

    def pdf(self) -> bytes:
        """The page as it would be printed on A4."""
        answer = self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        return base64.b64decode(answer["data"])

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag the mouse from one point of the window to another (pixels)."""
        mouse = {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=start[0], y=start[1])
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **mouse)
        for share in (0.3, 0.6, 1.0):
            x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **mouse)


@contextlib.contextmanager
def browser(folder: Path, *, webgl: bool = True, nice: int = 0) -> Iterator[Page]:
    """A tab of a new browser with an empty profile in `folder`, as much less urgent as `nice` says."""
    path = chromium()
    assert path is not None
    to_child, write = os.pipe()
    read, from_child = os.pipe()
    graphics = SOFTWARE_WEBGL if webgl else NO_WEBGL
    command = ["nice", "-n", str(nice), path, *FLAGS, *graphics, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    # The browser reads commands from descriptor 3 and writes answers to descriptor 4; a shell puts them there.
    script = f'exec "$@" 3<&{to_child} 4>&{from_child}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, "browser", *command],
        pass_fds=(to_child, from_child),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(folder), "DBUS_SESSION_BUS_ADDRESS": "disabled:"},
    )
    os.close(to_child)
    os.close(from_child)
    try:
        yield Page(process, write, read)
    finally:
        os.close(write)
        os.close(read)
        try:
            process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=10.0)
