"""``dynid identify MANIFEST``: many identifications on many workers; a kill costs only what was under way."""

from __future__ import annotations

import fcntl
import hashlib
import json as json_format
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dynid import __version__
from dynid.cli.console import emit_json, kept_warnings, note, plain, say, table, warn
from dynid.cli.identify import identified, verdict
from dynid.cli.identify_job import IdentifyJob
from dynid.cli.manifest import is_manifest, read_manifest
from dynid.cli.pipeline import hashed
from dynid.cli.progress import Step, progress
from dynid.cli.workers import Workers
from dynid.disk import read_json, write_whole
from dynid.dynamics.threads import with_threads
from dynid.errors import ConfigError, DynidError, OutputError
from dynid.writers import CampaignRow, campaign_page

__all__ = ["campaign", "is_manifest"]

STATUS_FILE = "status.json"
PARTIAL = "partial"
"""Folders of runs under way are called .NAME.partial-xxxxxxxx."""
GIVEN_UP = "its worker was killed twice; is there enough memory? run it alone with dynid identify to see"
# What a single run may raise without taking the others along; anything else is a fault of dynid itself.
FAILURES = (DynidError, ArithmeticError, LookupError, MemoryError, OSError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True)
class Task:
    """One run as a worker gets it."""

    name: str
    job: IdentifyJob
    folder: Path
    """Of the campaign."""
    key: str
    """Hash of the job and of every input file."""
    threads: int | None
    """Threads the run may use; None for as many as there are processors."""


def campaign(manifest: Path, given: IdentifyJob, out: Path, workers: Workers, *, json: bool) -> int:
    """Identify everything in a manifest; 0 when every run is good, 1 when one is not (the others are done).

    Runs whose files, options and version are those of an earlier campaign in `out` are not done again.
    """
    runs = read_manifest(manifest, given)
    with _locked(out) as folder:
        for run in runs:
            _sweep(folder, run.name)
        tasks = [Task(run.name, run.job, folder, key_of(run.job), workers.threads) for run in runs]
        ready = {task.name for task in tasks if _is_done(task)}
        for task in tasks:
            if task.name not in ready:
                _refuse_others(folder / task.name)
        with progress("") as step:
            _work([task for task in tasks if task.name not in ready], workers, _counter(step, len(tasks), len(ready)))
        for task in tasks:
            _sweep(folder, task.name)
        results = [_status(folder / task.name) or _lost(task) for task in tasks]
        content = _summary(manifest, results)
        write_whole(folder / "campaign.json", json_format.dumps(content, indent=1, ensure_ascii=False) + "\n")
        campaign_page(f"Campaign {manifest.name}", [_row(result) for result in results]).write(folder / "campaign.html")
    if json:
        emit_json(content | {"files": {"campaign": str(out / "campaign.json"), "page": str(out / "campaign.html")}})
    else:
        _show(results, len(ready), out)
    bad = [result["name"] for result in results if result["status"] != "done"]
    if bad:
        warn(f"{len(bad)} of {len(results)} runs are not good: {', '.join(bad)}")
    return 1 if bad else 0


@contextmanager
def _locked(out: Path) -> Iterator[Path]:
    """The folder of a campaign, with nobody else working in it; the lock dies with its process."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        # Nothing is written into the lock, and a link in its place is not followed.
        file = os.fdopen(os.open(out / "campaign.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "rb")
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL in it
        place, reason = getattr(error, "filename", None) or out, getattr(error, "strerror", None) or error
        raise OutputError(f"{place}: cannot be written: {reason}; choose another place") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigError(
                f"{out}: another campaign is running there; wait for it, or give another --out"
            ) from error
        yield out.resolve()


def _refuse_others(place: Path) -> None:
    """Refuse to put a run in the place of what no campaign has written: the old folder is deleted with all it holds."""
    if not place.is_symlink() and not place.exists():
        return
    names = sorted(path.name for path in place.iterdir()) if place.is_dir() and not place.is_symlink() else None
    if names is None or (names and _status(place) is None):
        raise OutputError(f"{place}: is no result of a campaign; rename the run or give another --out")
    strange = [name for name in names if name not in (STATUS_FILE, *_FILES.values())]
    if strange:
        raise OutputError(f"{place}: would be replaced, but holds {strange[0]}, which no campaign wrote; move it away")


def key_of(job: IdentifyJob) -> str:
    """The hash of all that a run's result depends on: options, version, and the content of its files."""
    files = {str(path): hashed(path) if path.exists() else "missing" for path in job.inputs}
    text = json_format.dumps([__version__, asdict(job), files], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _work(tasks: list[Task], workers: Workers, heard: Callable[[str], None]) -> None:
    """Do the tasks, in any order; what was under way when a worker died is done again, alone, once."""
    from joblib import Parallel, delayed

    def done(some: list[Task]) -> bool:
        results: Iterable[str] = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")(
            delayed(run_task)(task) for task in some
        )
        try:
            for name in results:
                heard(name)
        except workers.deaths:
            return False
        return True

    if workers.alone:
        for task in tasks:
            heard(run_task(task))
        return
    with workers.active():
        suspects: list[Task] = []
        while tasks and not done(tasks):
            left = [task for task in tasks if not _is_told(task)]
            caught = [task for task in left if _partial(task.folder, task.name)] or left[:1]
            suspects += caught
            tasks = [task for task in left if task not in caught]
            for task in caught:
                _sweep(task.folder, task.name)
        for task in suspects:
            # Alone, so that a run that kills its worker every time takes no other along.
            if not done([task]):
                _finish(task, {"status": "failed", "reason": GIVEN_UP})
                heard(task.name)


def run_task(task: Task) -> str:
    """Do one run and put its folder in place, whole; its name. Failures are told in the folder, not raised."""
    partial = task.folder / f".{task.name}.{PARTIAL}-{secrets.token_hex(4)}"
    try:
        return _run_in(partial, task)
    finally:
        # Still there after Ctrl-C only, or a fault of dynid itself.
        shutil.rmtree(partial, ignore_errors=True)


def _run_in(partial: Path, task: Task) -> str:
    from joblib import parallel_config

    limit = nullcontext() if task.threads is None else with_threads(task.threads)
    with kept_warnings() as warnings, parallel_config(backend="sequential"), limit:
        try:
            partial.mkdir(parents=True)
            outcome = identified(task.job, partial, lambda text, share=None: None)
            code = verdict(outcome, task.job.force)
        except FAILURES as error:
            told = str(error) if isinstance(error, DynidError | OSError) else f"{type(error).__name__}: {error}"
            told = told.replace(str(partial), str(task.folder / task.name))
            shutil.rmtree(partial, ignore_errors=True)
            _finish(task, {"status": "failed", "reason": told, "warnings": warnings})
            return task.name
    content = {key: value for key, value in outcome.content.items() if key not in _LONG}
    content["n_links"] = len(outcome.result.links)
    files = {kind: f"{task.name}/{file}" for kind, file in _FILES.items() if (partial / file).exists()}
    ending = {"status": "done", "reason": ""} if code == 0 else {"status": "weak", "reason": "; ".join(warnings)}
    _finish(task, {**ending, "warnings": warnings, "result": content, "files": files}, partial)
    return task.name


_LONG = ("parameters", "full_parameters", "links", "files")
"""Parts of a result that stay in its own folder."""
_FILES = {"model": "model.json", "report": "report.html", "run": "run.json", "urdf": "robot.urdf"}


def _finish(task: Task, content: Mapping[str, object], partial: Path | None = None) -> None:
    """Put the folder of a run in place of an older one; a folder with a status is complete."""
    place = task.folder / task.name
    if partial is None:
        partial = task.folder / f".{task.name}.{PARTIAL}-{secrets.token_hex(4)}"
    whole = plain({"name": task.name, "robot": task.job.robot, "key": task.key, **content})
    write_whole(partial / STATUS_FILE, json_format.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    old = task.folder / f".{task.name}.{PARTIAL}-{secrets.token_hex(4)}"
    if place.exists():
        place.rename(old)
    partial.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _status(folder: Path) -> dict[str, Any] | None:
    """What a run's folder says of it; None where there is none, or a damaged one."""
    try:
        content = read_json(folder / STATUS_FILE, ConfigError)
    except ConfigError:
        return None
    return content if isinstance(content, dict) and {"name", "status", "key"} <= set(content) else None


def _is_told(task: Task) -> bool:
    status = _status(task.folder / task.name)
    return status is not None and status["key"] == task.key


def _is_done(task: Task) -> bool:
    """Whether an earlier campaign finished this very run; failed ones are tried again."""
    status = _status(task.folder / task.name)
    if status is None or status["key"] != task.key or status["status"] not in ("done", "weak"):
        return False
    files = status.get("files")
    return isinstance(files, dict) and all((task.folder / str(file)).is_file() for file in files.values())


def _lost(task: Task) -> dict[str, Any]:
    return {"name": task.name, "robot": task.job.robot, "key": task.key, "status": "failed", "reason": "no result"}


def _partial(folder: Path, name: str) -> list[Path]:
    pattern = re.compile(rf"\.{re.escape(name)}\.{PARTIAL}-[0-9a-f]{{8}}")
    return [path for path in folder.iterdir() if pattern.fullmatch(path.name)]


def _sweep(folder: Path, name: str) -> None:
    """Remove what a killed run left."""
    for path in _partial(folder, name):
        shutil.rmtree(path, ignore_errors=True)


def _counter(step: Step, n_runs: int, n_ready: int) -> Callable[[str], None]:
    finished = [n_ready]
    step(f"{n_ready} of {n_runs} runs done already" if n_ready else f"{n_runs} runs")

    def heard(name: str) -> None:
        finished[0] += 1
        step(f"identifying: {finished[0]} of {n_runs} runs done, last {name}", finished[0] / n_runs)

    return heard


def _summary(manifest: Path, results: list[dict[str, Any]]) -> dict[str, object]:
    counted = {status: sum(result["status"] == status for result in results) for status in ("done", "weak", "failed")}
    runs = [{key: value for key, value in result.items() if key != "key"} for result in results]
    return {"campaign": manifest.name, "dynid": __version__, "counts": counted, "runs": runs}


def _row(result: Mapping[str, Any]) -> CampaignRow:
    found = result.get("result") or {}
    held_out = [entry["relative_error_percent"] for entry in found.get("validation", ())]
    return CampaignRow(
        name=result["name"],
        robot=str(found.get("robot", result["robot"])),
        status=result["status"],
        reason=result.get("reason", ""),
        estimator=str(found.get("estimator", "")),
        condition_number=found.get("condition_number"),
        train_percent=found["train"]["relative_error_percent"] if found else None,
        worst_percent=max((value for value in held_out if value is not None), default=None),
        consistent=found["consistent"] if found.get("n_links") else None,
        warnings=tuple(result.get("warnings", ())),
        files=result.get("files", {}),
    )


def _show(results: list[dict[str, Any]], n_ready: int, out: Path) -> None:
    say("runs", f"{len(results)}" + (f", {n_ready} of them done by an earlier campaign" if n_ready else ""))
    note("")
    headers = ("run", "robot", "status", "fit / %", "unseen / %", "possible", "why")
    table(headers, [_row(result).cells for result in results], numeric=(3, 4))
    note("")
    for name in ("campaign.json", "campaign.html"):
        say("wrote", str(out / name))
