"""``dynid demo``: the whole job on an embedded robot: simulate, check, identify, validate on another motion, report."""

from __future__ import annotations

from pathlib import Path

from dynid.cli.console import emit_json, note, show, warn
from dynid.cli.options import JsonFlag
from dynid.cli.progress import progress
from dynid.writers.demo import demo as run_demo

__all__ = ["demo"]


def demo(*, out: Path = Path("demo"), seed: int = 1, json: JsonFlag = False) -> int:
    """The whole job on an embedded robot, ending in a report to open.

    A Panda with friction and sensor noise is simulated on an exciting motion, its log checked and identified, and the
    result tried on another motion, against the known truth and against plain least squares.

    Example: dynid demo --out demo

    Parameters
    ----------
    out
        Folder for the logs, the model, the robot file and the report.
    seed
        Of the motion and the noise.
    """
    with progress("simulating the robot") as step:
        result = run_demo(out, seed=seed, progress=step)
    if json:
        emit_json({**result.json(), **result.saved.json()})
        return 0
    for sentence in result.warnings:
        warn(sentence)
    show(result.document())
    note("")
    note(f"Open {result.saved.files['report']} in a browser. Then try:")
    note(f"  dynid doctor panda {out / 'train.csv'}                      what a log shows before any fit")
    note(f"  dynid identify panda {out / 'train.csv'} --validate {out / 'unseen.csv'} --out result")
    note("  dynid info YOUR.urdf                                 joints, limits and what can be identified")
    note("  dynid excite YOUR.urdf --out trajectory.csv          a motion for your own arm")
    note("  dynid identify YOUR.urdf YOUR_LOG.csv --out result   (columns t, q1…, dq1…, tau1…)")
    return 0
