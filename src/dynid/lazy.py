"""Names of a package whose modules are imported on first use: what a command does not need costs it nothing.

The table of a package is what it imports for type checkers: each ``from module import name as name`` of its own source.
"""

from __future__ import annotations

import ast
import functools
import importlib.abc
import importlib.util
from collections.abc import Callable, Mapping

__all__ = ["exported_names", "lazy_names"]


@functools.cache
def _homes(package: str) -> Mapping[str, str]:
    """The module of each name that a package gives on, as its source says."""
    spec = importlib.util.find_spec(package)
    source = spec.loader.get_source(package) if spec and isinstance(spec.loader, importlib.abc.InspectLoader) else None
    nodes = [node for node in ast.walk(ast.parse(source or "")) if isinstance(node, ast.ImportFrom) and node.module]
    return {part.name: str(node.module) for node in nodes for part in node.names if part.asname == part.name}


def exported_names(package: str) -> list[str]:
    """The `__all__` of a package."""
    return sorted(_homes(package))


def lazy_names(package: str) -> Callable[[str], object]:
    """The `__getattr__` of a package: imports a name's module when the name is first asked for."""

    def find(name: str) -> object:
        if name not in _homes(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_homes(package)[name]), name)

    return find
