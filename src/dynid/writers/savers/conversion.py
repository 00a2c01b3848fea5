"""Published logs, converted: CSV."""

from __future__ import annotations

from pathlib import Path

from dynid.disk import refuse_replacing
from dynid.errors import DataSetError
from dynid.recording.datasets.fetched import ConvertedLogs
from dynid.recording.formats.text import write_csv
from dynid.writers.savers.saved import Saved, Saver

__all__: list[str] = []


def _write(result: ConvertedLogs, path: Path) -> Saved:
    single = path.name.endswith((".csv", ".csv.gz"))
    if single and len(result.logs) > 1:
        names = ", ".join(result.logs)
        raise DataSetError(f"`out` {path}: the files hold {len(result.logs)} logs, {names}; name a folder instead")
    files = {name: path if single else path / f"{name}.csv.gz" for name in result.logs}
    refuse_replacing(result.inputs, files.values())
    for name, file in files.items():
        write_csv(result.logs[name], file)
    return Saved(files)


SAVER = Saver(_write, one_file=True)
