"""``python -m tests.contract`` rewrites the record in ``tests/contract/record`` from the present tree.

The record is that of version 0.1 and proves that nothing was lost since: rewrite it only when the contract itself is
meant to change. The figures on measured data are rewritten where ``DYNID_DATA`` names their folder, and left else.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tests.contract.measured import MEASURED
from tests.contract.record import COMMANDS, DATA, RUNS_FILE, store
from tests.contract.runs import RUNS
from tests.contract.workshop import Workshop, every_command, help_of


def record() -> None:
    """Run everything once and write down what a user sees of it."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        workshop = Workshop(Path(name))
        commands = {command: help_of(command, workshop.folder) for command in every_command(workshop.folder)}
        outcomes = {run: workshop.outcome(run) for run in RUNS}
        incomplete = [
            f"{run}: {path}"
            for run, outcome in outcomes.items()
            for path, figure in outcome.get("figures", {}).items()
            if figure["value"] is None
        ]
        if incomplete:
            sys.exit(f"nothing was recorded: no such figures: {'; '.join(incomplete)}")
        store(COMMANDS, commands)
        store(RUNS_FILE, outcomes)
        print(f"recorded {len(commands)} commands and {len(outcomes)} runs in {time.monotonic() - begin:.0f} s")
        if data := os.environ.get("DYNID_DATA"):
            store(DATA, {run: measured.outcome(Path(data), workshop.folder) for run, measured in MEASURED.items()})
            print(f"recorded {len(MEASURED)} runs on measured data")


if __name__ == "__main__":
    record()
