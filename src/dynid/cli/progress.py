"""Progress of long work: a bar with share and time left on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dynid.workflow.progress import Progress, silent

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["progress"]

DELAY = 0.3
"""Seconds before anything is drawn: quick work stays silent."""


@contextmanager
def progress(first: str, *, quiet: bool = False) -> Iterator[Progress]:
    """Show what is being done while the block runs; the value given names the next step and its share.

    Nothing is written where stderr is no terminal, or with `quiet`. The bar disappears when the block ends.
    """
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from threading import Timer

    from dynid.cli.console import clean

    bar = _bar()
    task = bar.add_task(f"{first} …", total=None)
    named = ""

    def step(text: str, share: float | None = None) -> None:
        nonlocal named
        if share is None:
            bar.reset(task, total=None, description=f"{clean(text)} …")
            named = ""
            return
        if named != text.split(":")[0]:
            named = text.split(":")[0]
            bar.reset(task, total=1.0)
        bar.update(task, description=f"{clean(text)} …", completed=min(max(share, 0.0), 1.0))

    timer = Timer(DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield step
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(markup=False),
        TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
    )
