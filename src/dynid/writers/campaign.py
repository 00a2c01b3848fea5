"""`campaign`: many identifications on many workers, each written when done; a kill costs only what was under way."""

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

from dynid.disk import read_json, write_whole
from dynid.dynamics.threads import with_threads
from dynid.errors import ConfigError, DynidError, OutputError
from dynid.prose import Document, Grid, Line, PrintsAsDocument, plain
from dynid.version import VERSION
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.identify import run_identify
from dynid.workflow.identify_job import IdentifyJob
from dynid.workflow.manifest import read_manifest
from dynid.workflow.progress import Progress, silent
from dynid.workflow.provenance import hashed
from dynid.workflow.workers import Workers
from dynid.writers.report.campaign import CampaignRow, campaign_page
from dynid.writers.save import save

__all__ = ["Campaign", "campaign"]

STATUS_FILE = "status.json"
PARTIAL = "partial"
"""Folders of runs under way are called .NAME.partial-xxxxxxxx."""
GIVEN_UP = "its worker was killed twice; is there enough memory? identify it alone to see"
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


@dataclass(frozen=True)
class Campaign(PrintsAsDocument):
    """What became of every run of a manifest; the folder of each holds its files."""

    manifest: str
    folder: Path
    runs: tuple[Mapping[str, Any], ...]
    """The status of each run, as its status.json has it."""
    n_ready: int
    """Runs that an earlier campaign had done."""

    @property
    def not_good(self) -> tuple[str, ...]:
        """Names of the runs that failed, or whose model is not good enough."""
        return tuple(run["name"] for run in self.runs if run["status"] != "done")

    @property
    def files(self) -> dict[str, Path]:
        """The summary and its page."""
        return {"campaign": self.folder / "campaign.json", "page": self.folder / "campaign.html"}

    def json(self) -> dict[str, object]:
        """What scripts read of it."""
        counted = {status: sum(run["status"] == status for run in self.runs) for status in ("done", "weak", "failed")}
        runs = [{key: value for key, value in run.items() if key != "key"} for run in self.runs]
        return {"campaign": self.manifest, "dynid": VERSION, "counts": counted, "runs": runs}

    def document(self) -> Document:
        """The campaign from top to bottom, as the terminal shows it."""
        ready = f", {self.n_ready} of them done by an earlier campaign" if self.n_ready else ""
        headers = ("run", "robot", "status", "fit / %", "held out / %", "consistent", "why")
        rows = tuple(tuple(_row(run).cells) for run in self.runs)
        return Line("runs", f"{len(self.runs)}{ready}"), Grid(headers, rows, (3, 4))

    def __repr__(self) -> str:
        return f"Campaign({self.manifest!r}: {len(self.runs)} runs, {len(self.not_good)} not good)"


@checked_arguments
def campaign(
    manifest: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    workers: int | str = 1,
    progress: Progress = silent,
    **typed: Any,
) -> Campaign:
    """Identify everything in a manifest; each run gets a folder in `out`, written when it is done.

    Runs whose files, options and version are those of an earlier campaign in `out` are not done again.

    Args:
        manifest: TOML or CSV with many robots and logs.
        out: folder of the campaign.
        workers: number of processes, or the address of a dask scheduler.
        progress: hears how many runs are done.
        typed: keywords of `identify` that hold for every run, over what the manifest says.
    """
    path, helpers = Path(manifest), Workers.of(workers)
    runs = read_manifest(path, typed)
    with _locked(Path(out)) as folder:
        for run in runs:
            _sweep(folder, run.name)
        tasks = [Task(run.name, run.job, folder, key_of(run.job), helpers.threads) for run in runs]
        ready = {task.name for task in tasks if _is_done(task)}
        for task in tasks:
            if task.name not in ready:
                _refuse_others(folder / task.name)
        heard = _counter(progress, len(tasks), len(ready))
        _work([task for task in tasks if task.name not in ready], helpers, heard)
        for task in tasks:
            _sweep(folder, task.name)
        results = tuple(_status(folder / task.name) or _lost(task) for task in tasks)
        done = Campaign(path.name, Path(out), results, len(ready))
        write_whole(folder / "campaign.json", json_format.dumps(done.json(), indent=1, ensure_ascii=False) + "\n")
        campaign_page(f"Campaign {path.name}", [_row(run) for run in results]).write(folder / "campaign.html")
    return done


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
                f"{out}: another campaign is running there; wait for it, or give another folder"
            ) from error
        yield out.resolve()


def _refuse_others(place: Path) -> None:
    """Refuse to put a run in the place of what no campaign has written: the old folder is deleted with all it holds."""
    if not place.is_symlink() and not place.exists():
        return
    names = sorted(path.name for path in place.iterdir()) if place.is_dir() and not place.is_symlink() else None
    if names is None or (names and _status(place) is None):
        raise OutputError(f"{place}: is no result of a campaign; rename the run or give another folder")
    strange = [name for name in names if name not in (STATUS_FILE, *_FILES.values())]
    if strange:
        raise OutputError(f"{place}: would be replaced, but holds {strange[0]}, which no campaign wrote; move it away")


def key_of(job: IdentifyJob) -> str:
    """The hash of all that a run's result depends on: options, version, and the content of its files."""
    files = {str(path): hashed(path) if path.exists() else "missing" for path in job.files}
    text = json_format.dumps([VERSION, asdict(job), files], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _work(tasks: list[Task], workers: Workers, heard: Callable[[str], None]) -> None:
    """Do the tasks, in any order; what was under way when a worker died is done again, alone, once."""
    if workers.alone:
        for task in tasks:
            heard(run_task(task))
        return
    done = _done_on_cluster if workers.address else _done_by_processes
    suspects = list(done(tasks, workers, heard))
    for task in suspects:
        _sweep(task.folder, task.name)
    for task in suspects:
        # Alone, so that a run that kills its worker every time takes no other along.
        if list(done([task], workers, heard)):
            _finish(task, {"status": "failed", "reason": GIVEN_UP})
            heard(task.name)


def _done_on_cluster(tasks: list[Task], workers: Workers, heard: Callable[[str], None]) -> Iterator[Task]:
    """Do the tasks on a dask cluster; those whose workers died."""
    for task, lived in workers.on_cluster(run_task, tasks):
        if lived:
            heard(task.name)
        else:
            yield task


def _done_by_processes(tasks: list[Task], workers: Workers, heard: Callable[[str], None]) -> Iterator[Task]:
    """Do the tasks in processes of this machine; those that were under way when one died, which ends them all."""
    from joblib import Parallel, delayed

    with workers.active():
        while tasks:
            results: Iterable[str] = Parallel(return_as="generator_unordered", batch_size=1)(
                delayed(run_task)(task) for task in tasks
            )
            try:
                for name in results:
                    heard(name)
            except workers.deaths:
                left = [task for task in tasks if not _is_told(task)]
                caught = [task for task in left if _partial(task.folder, task.name)] or left[:1]
                tasks = [task for task in left if task not in caught]
                yield from caught
            else:
                return


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
    with parallel_config(backend="sequential"), limit:
        try:
            partial.mkdir(parents=True)
            result = run_identify(task.job)
            saved = save(result, partial)
        except FAILURES as error:
            told = str(error) if isinstance(error, DynidError | OSError) else f"{type(error).__name__}: {error}"
            told = told.replace(str(partial), str(task.folder / task.name))
            shutil.rmtree(partial, ignore_errors=True)
            _finish(task, {"status": "failed", "reason": told, "warnings": []})
            return task.name
    warnings = [*saved.warnings, *result.warnings]
    if not result.verdict.good_enough:
        warnings.append(f"not good enough: {'; '.join(str(criterion) for criterion in result.verdict.failed)}")
    good = result.verdict.good_enough or task.job.force
    content = {key: value for key, value in {**result.json(), **saved.json()}.items() if key not in _LONG}
    content["n_links"] = len(result.model.links)
    files = {kind: f"{task.name}/{file}" for kind, file in _FILES.items() if (partial / file).exists()}
    ending = {"status": "done", "reason": ""} if good else {"status": "weak", "reason": "; ".join(warnings)}
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


def _counter(step: Progress, n_runs: int, n_ready: int) -> Callable[[str], None]:
    finished = [n_ready]
    step(f"{n_ready} of {n_runs} runs done already" if n_ready else f"{n_runs} runs")

    def heard(name: str) -> None:
        finished[0] += 1
        step(f"identifying: {finished[0]} of {n_runs} runs done, last {name}", finished[0] / n_runs)

    return heard


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
