"""What was measured as lines of a terminal and as a page of the documentation: ratios, never seconds."""

import os
import platform
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import Item, Line, Note, Table
from dynid.disk import write_whole

TIMES = ("s", "ms", "/s", "thousand samples/s")
"""Units that say as much about the machine as about the program; shown as a ratio to what was asked."""

INTRODUCTION = """# Benchmarks

Written by `python -m benchmarks --page docs/benchmarks.md`; do not edit. Every time is a ratio to another one of the
same run on the same machine, or to what was asked for; the other figures are errors and properties of the results. What
misses its figure is listed like the rest. `make bench` prints the same page; `make peers` first sets up the environment
of the peer (FIGAROH 1.0.2), which is no dependency of dynid. Benchmarks named on the command line replace their own
sections only.
"""


def machine() -> str:
    """Date, processor family, cores and Python of this run; nothing that names the machine."""
    date = datetime.now(UTC).date().isoformat()
    return f"{date}, {processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def processor() -> str:
    """The family of the processor as the system calls it, without clock and model number."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    name = re.sub(r"\((R|TM)\)|CPU|@.*|\s\d\S*", "", found[1]) if found else ""
    return " ".join(f"{platform.machine()} {name}".split())


def figure(line: Line) -> tuple[str, str]:
    """Value and target as text; times and rates as multiples of their target."""
    if line.unit in TIMES and line.target is not None:
        return f"{line.value / line.target:.3g} ×", f"{line.bound} 1 × {line.target:g} {line.unit}"
    if line.unit in TIMES:
        return "", ""
    target = "" if line.target is None else f"{line.bound} {line.target:g} {line.unit}".rstrip()
    value = f"{line.value}" if isinstance(line.value, int) else f"{line.value:.3g}"  # counts are exact
    return f"{value} {line.unit}".rstrip(), target


def verdict(line: Line) -> str:
    """Whether the figure is on the right side of its target."""
    return "" if line.target is None else "met" if line.met else "MISSED"


def as_text(item: Item) -> str:
    """One item for a terminal."""
    if isinstance(item, Note):
        return f"  {item.text}"
    if isinstance(item, Line):
        value, target = figure(item)
        return f"  {item.name:<66} {value:>12} {target:<28} {verdict(item)}".rstrip()
    widths = [max(len(row[k]) for row in (item.header, *item.rows)) for k in range(len(item.header))]
    lines = [
        "  " + "  ".join(f"{text:<{width}}" if k == 0 else f"{text:>{width}}" for k, (text, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in (item.header, *item.rows))
    ]
    return "\n".join([f"  {item.title}", *("  " + line.rstrip() for line in lines)])


@dataclass(frozen=True)
class Page:
    """All items of a run, by benchmark."""

    quick: bool
    items: dict[str, list[Item]] = field(default_factory=dict)

    def add(self, name: str, item: Item) -> None:
        """One more item of a benchmark."""
        self.items.setdefault(name, []).append(item)

    def text(self, before: str = "") -> str:
        """The page in Markdown; sections of the page `before` that were not measured now stay as they are."""
        sections = {part.splitlines()[0]: part for part in before.split("\n## ")[1:]}
        warning = "**A quick run: the figures only show that the benchmarks work.**\n\n" if self.quick else ""
        for name, items in self.items.items():
            title = name.capitalize()
            sections[title] = f"{title}\n\n{warning}Measured: {machine()}.\n{''.join(_section(items))}"
        return "\n".join([INTRODUCTION, *(f"## {sections[title].rstrip()}\n" for title in sorted(sections))])

    def write(self, path: Path) -> None:
        """Write the page, whole or not at all, into what it holds of other benchmarks."""
        write_whole(path, self.text(path.read_text(encoding="utf-8") if path.exists() else ""))


def _section(items: list[Item]) -> list[str]:
    lines = [item for item in items if isinstance(item, Line) and figure(item)[0]]
    parts = [] if not lines else ["\n", _row(("Figure", "Measured", "Asked", "")), _row(("---", "---:", "---", "---"))]
    parts += [_row((line.name.strip(), *figure(line), verdict(line))) for line in lines]
    for item in items:
        if isinstance(item, Note):
            parts.append(f"\n{item.text}\n")
        elif isinstance(item, Table):
            parts.append(f"\n{item.title}:\n\n")
            parts.append(_row(item.header))
            parts.append(_row(("---", *("---:" for _ in item.header[1:]))))
            parts += [_row(row) for row in item.rows]
    return parts


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
