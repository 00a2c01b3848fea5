"""PageServer: the page of a live run as viser serves it, and what its buttons do."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from dynid.chain.robot import Robot
from dynid.errors import DynidError
from dynid.writers.live.background import BackgroundIdentification
from dynid.writers.live.calibration import WeightCalibration
from dynid.writers.live.guard import PageGuard, guarded_server
from dynid.writers.live.meshes import LinkMesh
from dynid.writers.live.panel import WIDTH, LivePanel, without_paths
from dynid.writers.live.scene import LiveScene
from dynid.writers.live.shown import ShownRun
from dynid.writers.save import save

__all__ = ["PageServer"]

UPDATES_PER_SECOND = 30.0
"""How often the arm and the numbers of the page are renewed."""
CHARTS_PER_SECOND = 8.0
"""How often the charts are."""
REPORTED = 15
"""Times the page is renewed before it says so."""


class PageServer:
    """A page on a server of this machine that shows a run, until it is stopped."""

    def __init__(
        self,
        run: ShownRun,
        robot: Robot,
        *,
        guard: PageGuard,
        port: int,
        meshes: list[LinkMesh],
        out: Path,
        shown: Callable[[PageServer], object] = lambda page: None,
    ) -> None:
        """Start the server.

        Args:
            run: what to show.
            robot: whose run it is.
            guard: who may see it.
            port: where to listen; the next free one where it is taken.
            meshes: of the links, where they are not to be capsules.
            out: folder in which Save makes a numbered one each time.
            shown: hears now and then that the page was renewed.
        """
        import viser
        import viser._messages as messages

        logging.getLogger("websockets").setLevel(logging.CRITICAL)  # refused requests are no news
        self.run, self._guard, self._out, self._shown = run, guard, out, shown
        with guarded_server(guard), redirect_stdout(io.StringIO()):  # what viser says belongs to nobody's result
            self.server: Any = viser.ViserServer(host=guard.host, port=port, verbose=False)
        self.port = int(self.server.get_port())
        """Where it listens."""
        guard.port = self.port
        # Its share button opens a tunnel through a relay of others, and so does the message behind the button.
        self.server._websock_server.unregister_handler(messages.ShareUrlRequest)
        self.server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
        self.server.gui.set_panel_label(f"dynid live: {robot.name[:40]}")
        self.server.gui.main_panel.dock_right()
        self.server.gui.main_panel.set_width(WIDTH)
        self.panel = LivePanel(
            self.server, robot.joint_names, tuple("N" if j.type == "prismatic" else "N·m" for j in robot.joints)
        )
        self.scene = LiveScene(self.server, robot, meshes)
        self.identification = BackgroundIdentification(self._identified)
        self.calibration = WeightCalibration(run)
        self.n_updates = 0
        """Times the page was renewed."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show, name="dynid page", daemon=True)
        self._wire()
        self.panel.say(self.calibration.status, where="calibration")

    def start(self) -> None:
        """Show the run as it goes."""
        self._thread.start()

    def stop(self) -> None:
        """Close the page."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)
        self.identification.stop()
        with redirect_stdout(io.StringIO()):
            self.server.stop()
            self.server._websock_server._server_thread.join(timeout=5.0)

    def _show(self) -> None:
        next_charts = 0.0
        while not self._stop.is_set():
            began = time.monotonic()
            view, charts = self.run.view, began >= next_charts
            if charts:
                next_charts = began + 1.0 / CHARTS_PER_SECOND
            with self.server.atomic():
                self.panel.show(view, charts=charts)
                self.scene.show(view)
            self.n_updates += 1
            if self.n_updates % REPORTED == 0:
                self._shown(self)
            self._stop.wait(max(0.001, 1.0 / UPDATES_PER_SECOND - (time.monotonic() - began)))

    def _wire(self) -> None:
        run, say = self.run, self.panel.say
        actions = {
            "Tare": run.tare,
            "Reset": run.reset,
            "Mark": run.mark,
            "Save": lambda: say(self._save()),
            "Record anew": run.record_anew,
            "Identify": self._identify,
            "Empty": self._calibrate(self.calibration.empty),
            "Loaded": self._calibrate(self.calibration.loaded),
            "Done": self._calibrate(self._calibrated),
        }
        self.panel.wire({name: self._told(action) for name, action in actions.items()})

    def _told(self, action: Callable[[], None]) -> Callable[[], None]:
        def clicked() -> None:
            try:
                action()
            except DynidError as error:
                self.panel.say(without_paths(str(error)))

        return clicked

    def _save(self) -> str:
        folder = _next_folder(self._out)
        saved = save(self.run.session(), folder)
        return f"Saved {folder.name}: {', '.join(path.name for path in saved.files.values())}"

    def _identify(self) -> None:
        session = self.run.session()
        self.identification.start(session.model, session.log)
        self.panel.say(self.identification.status, where="verdict")

    def _identified(self, mark: str) -> None:
        self.panel.say(without_paths(self.identification.status), where="verdict")
        self.run.mark(f"identified: {mark}")

    def _calibrate(self, step: Callable[[], None]) -> Callable[[], None]:
        def clicked() -> None:
            step()
            self.panel.say(self.calibration.status, where="calibration")

        return clicked

    def _calibrated(self) -> None:
        self.run.use(self.calibration.done(float(self.panel.weight.value)), "calibrated")


def _next_folder(place: Path) -> Path:
    """The first numbered folder in `place` that is not there yet."""
    number = 1
    while (folder := place / f"{number:03d}").exists():
        number += 1
    return folder
