"""Run every benchmark, or those named on the command line, and print one page."""

import importlib
import os
import pkgutil
import platform
import sys

import benchmarks
from benchmarks import Line

PREFIX = "bench_"


def names() -> list[str]:
    """The benchmarks that exist, without their prefix."""
    modules = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return [name.removeprefix(PREFIX) for name in modules if name.startswith(PREFIX)]


def formatted(line: Line) -> str:
    """One row of the page."""
    target = "" if line.target is None else f"{line.bound} {line.target:g} {line.unit}"
    verdict = "" if line.target is None else ("met" if line.met else "MISSED")
    return f"  {line.name:<62} {line.value:>10.3g} {line.unit:<4} {target:<18} {verdict}".rstrip()


def main(arguments: list[str]) -> int:
    """0 when every target is met, 1 when one is missed, 2 for a benchmark that does not exist."""
    known = names()
    unknown = [name for name in arguments if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known) or 'none yet'}", file=sys.stderr)
        return 2
    print(f"python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    missed = 0
    for name in arguments or known:
        print(f"\n{name}", flush=True)
        for line in importlib.import_module(f"benchmarks.{PREFIX}{name}").run():
            print(formatted(line), flush=True)
            missed += not line.met
    if not known:
        print("no benchmarks yet")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
