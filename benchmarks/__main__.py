"""Run every benchmark, or those named on the command line, and print one page."""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

import benchmarks
from benchmarks import Item, Line
from benchmarks.page import Page, as_text, machine
from benchmarks.peers import PeerError, set_up

PREFIX = "bench_"
SET_UP = "peers-setup"


def names() -> list[str]:
    """The benchmarks that exist, without their prefix."""
    modules = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return [name.removeprefix(PREFIX) for name in modules if name.startswith(PREFIX)]


def measured(name: str, *, quick: bool) -> Iterator[Item]:
    """What one benchmark yields, as soon as it is known."""
    yield from importlib.import_module(f"benchmarks.{PREFIX}{name}").run(quick=quick)


def main(arguments: list[str]) -> int:
    """0 when every target is met, 1 when one is missed, 2 for a benchmark that does not exist."""
    known = names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(known)}; or {SET_UP}")
    parser.add_argument("--quick", action="store_true", help="sizes that only show that the benchmarks run")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the page of the documentation")
    options = parser.parse_args(arguments)
    if options.names == [SET_UP]:
        try:
            print(set_up())
        except PeerError as error:
            print(error, file=sys.stderr)
            return 1
        return 0
    options.names = [name.replace("-", "_") for name in options.names]
    unknown = [name for name in options.names if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    print(machine())
    missed, page = 0, Page(quick=options.quick)
    for name in options.names or known:
        print(f"\n{name}", flush=True)
        for item in measured(name, quick=options.quick):
            print(as_text(item), flush=True)
            page.add(name, item)
            missed += isinstance(item, Line) and not item.met
        if options.page is not None:
            page.write(options.page)  # after each one: a run that is stopped keeps what it has measured
    if options.page is not None:
        print(f"\nwrote {options.page}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
