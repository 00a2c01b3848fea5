"""``dynid identify MANIFEST``: many identifications, told as one table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dynid
from dynid.cli.console import emit_json, say, show, warn
from dynid.cli.progress import progress

__all__ = ["run_campaign"]


def run_campaign(manifest: Path, asked: Mapping[str, Any], out: Path, workers: str, *, json: bool) -> int:
    """Identify everything in a manifest; 0 when every run is good, 1 when one is not (the others are done)."""
    with progress("") as step:
        done = dynid.campaign(manifest, out, workers=workers, progress=step, **asked)
    if json:
        emit_json({**done.json(), "files": {name: str(path) for name, path in done.files.items()}})
    else:
        show(done.document())
        for path in done.files.values():
            say("wrote", str(path))
    if done.not_good:
        warn(f"{len(done.not_good)} of {len(done.runs)} runs are not good: {', '.join(done.not_good)}")
        return 1
    return 0
