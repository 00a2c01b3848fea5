"""A manifest: many robots and logs to identify, with the options of each, from TOML or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from dynid.disk import read_text, read_toml
from dynid.errors import ConfigError
from dynid.regression.estimators import ESTIMATORS
from dynid.workflow.doors import RobotOptions, as_seed
from dynid.workflow.fit_options import FitOptions
from dynid.workflow.identify_job import IdentifyJob, LogOptions

__all__ = ["ManifestRun", "is_manifest", "read_manifest"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
"""Names of runs: they are folders, on any system, and stand in addresses."""
TAKEN = ("campaign.json", "campaign.html", "campaign.lock")
WHAT = "manifest or robot file"
GROUPS: dict[str, type] = {"fit": FitOptions, "log": LogOptions, "options": RobotOptions}
PLAIN = {"raw": bool, "force": bool, "seed": int, "bootstrap": int}
"""Options of `identify` that belong to no group."""
FILES = ("bounds", "columns")
"""Options that name a file."""


@dataclass(frozen=True)
class ManifestRun:
    """One entry of a manifest."""

    name: str
    job: IdentifyJob


def is_manifest(text: str) -> bool:
    """Whether a command-line argument names a manifest: a CSV file, or a TOML file with runs rather than joints."""
    path = Path(text)
    if path.suffix.lower() == ".csv":
        return True
    return path.suffix.lower() == ".toml" and not {"run", "defaults"}.isdisjoint(read_toml(path, ConfigError, WHAT))


def read_manifest(path: Path, typed: Mapping[str, object] | None = None) -> tuple[ManifestRun, ...]:
    """The runs of a manifest; what was typed wins over an entry's own options, these over ``[defaults]``.

    Files that the manifest names are relative to it.

    Args:
        path: the manifest, TOML or CSV.
        typed: keywords of `identify` that hold for every run.

    Raises:
        ConfigError: naming the file, the run and the key.
    """
    defaults, entries = _csv(path) if path.suffix.lower() == ".csv" else _tables(path)
    if not entries:
        raise ConfigError(f"{path}: no runs; write a table [[run]] with name, robot and logs for each")
    common = _validated(path, "defaults", defaults, required=False)
    runs = []
    for k, entry in enumerate(entries, start=1):
        label = f"run {k} ({entry['name']})" if isinstance(entry.get("name"), str) else f"run {k}"
        runs.append(_run(path, typed or {}, common, _validated(path, label, entry, required=True)))
    seen: dict[str, str] = {}
    for run in runs:
        if run.name.lower() in seen:
            raise ConfigError(f"{path}: name: two runs are called {run.name}; each needs a folder of its own")
        seen[run.name.lower()] = run.name
    return tuple(runs)


def _tables(path: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    content = read_toml(path, ConfigError, WHAT)
    unknown = set(content) - {"run", "defaults"}
    if unknown:
        raise ConfigError(f"{path}: {sorted(unknown)[0]}: unknown table; a manifest has [defaults] and [[run]]")
    defaults, entries = content.get("defaults", {}), content.get("run", [])
    if not isinstance(defaults, dict):
        raise ConfigError(f"{path}: defaults: expected a table, [defaults]")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"{path}: run: expected tables, [[run]] with two brackets")
    return defaults, entries


def _csv(path: Path) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """Rows of a CSV manifest; several logs in one cell are separated by semicolons, empty cells are left out."""
    reader = csv.DictReader(io.StringIO(read_text(path, ConfigError, WHAT)), strict=True)
    lists = {"logs", "validate", "total-mass", "total_mass", "gravity", "mount", "lock"}
    entries: list[Mapping[str, Any]] = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise ConfigError(f"{path}: line {reader.line_num}: more or fewer cells than the header has")
            cells = {key.strip(): (value or "").strip() for key, value in row.items()}
            entries.append(
                {
                    key: [part.strip() for part in value.split(";") if part.strip()] if key in lists else value
                    for key, value in cells.items()
                    if value
                }
            )
    except csv.Error as error:
        raise ConfigError(f"{path}: line {reader.line_num}: not valid CSV: {error}") from error
    titles = [title.strip() for title in reader.fieldnames or ()]
    doubled = sorted({title for title in titles if titles.count(title) > 1})
    if doubled:
        raise ConfigError(f"{path}: {doubled[0]}: two columns have this name; delete one of them")
    if "robot" not in titles:
        raise ConfigError(f"{path}: robot: no such column; a manifest has name, robot, logs and options of identify")
    return {}, entries


@cache
def _entry_type(required: bool) -> type[BaseModel]:
    """A checked entry, whose keys are the options of `identify` as they are typed, without the dashes."""
    keys: dict[str, Any] = {name: (kind, None) for name, kind in PLAIN.items()}
    for group in GROUPS.values():
        hints = get_type_hints(group)
        keys |= {field.name: (hints[field.name], None) for field in fields(group)}
    # A manifest names files and estimators, never values.
    keys |= {"columns": (Path, None), "estimator": (Literal[tuple(ESTIMATORS)], None)}
    missing = ... if required else None
    keys |= {"name": (str, missing), "robot": (str, missing), "logs": (list[Path] | Path, missing)}
    keys["validate_"] = (list[Path] | Path, None)
    config = ConfigDict(
        extra="forbid",
        frozen=True,
        coerce_numbers_to_str=True,
        alias_generator=lambda name: name.rstrip("_").replace("_", "-"),
        validate_by_name=True,
        validate_by_alias=True,
    )
    return create_model("Entry", __config__=config, **keys)


def _validated(path: Path, label: str, content: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    """What an entry sets, and nothing else."""
    try:
        entry = _entry_type(required).model_validate(dict(content))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"][:1]) or "entry"
        if first["type"] == "extra_forbidden":
            known = sorted(name.rstrip("_").replace("_", "-") for name in _entry_type(required).model_fields)
            raise ConfigError(f"{path}: {label}: {key}: no such key; known: {', '.join(known)}") from error
        raise ConfigError(f"{path}: {label}: {key}: {first['msg']}") from error
    return {name: getattr(entry, name) for name in entry.model_fields_set}


def _run(path: Path, typed: Mapping[str, Any], common: Mapping[str, Any], own: Mapping[str, Any]) -> ManifestRun:
    folder = path.resolve().parent
    values = {**_resolved(folder, {**common, **own}), **typed}
    name = values["name"]
    if not NAME.fullmatch(name) or name.lower() in TAKEN or name.endswith("."):
        raise ConfigError(
            f"{path}: name: {name!r} cannot be a folder; use letters, digits, dots, dashes and underscores, at most 100"
        )
    logs, unseen = _paths(folder, values["logs"]), _paths(folder, values.get("validate_", []))
    if not logs:
        raise ConfigError(f"{path}: run {name}: logs: none given")
    beside = folder / values["robot"]
    groups = {
        group: kind(**{field.name: values[field.name] for field in fields(kind) if field.name in values})
        for group, kind in GROUPS.items()
    }
    plain = {key: values[key] for key in PLAIN if key in values}
    as_seed(plain.get("seed", 0))
    robot = str(beside) if beside.is_file() else values["robot"]
    return ManifestRun(name, IdentifyJob(robot=robot, logs=logs, validate_on=unseen, **plain, **groups))


def _paths(folder: Path, value: list[Path] | Path) -> tuple[Path, ...]:
    return tuple(folder / path for path in (value if isinstance(value, list) else [value]))


def _resolved(folder: Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """Options that name files, relative to the manifest; logs are named so elsewhere."""
    return {key: folder / value if key in FILES and value is not None else value for key, value in values.items()}
