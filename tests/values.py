"""The dataclasses of a folder of dynid, and which of them hold arrays."""

import dataclasses
import importlib
import pkgutil
import re
from typing import Any

ARRAY = re.compile(r"\b(Array|Vector3|Matrix3|Matrix4|Transform)\b")


def dataclasses_of(package: str) -> list[type]:
    """Every dataclass that a module of the package or of its rooms defines."""
    path = importlib.import_module(package).__path__
    modules = [importlib.import_module(module.name) for module in pkgutil.walk_packages(path, f"{package}.")]
    return [
        made
        for module in modules
        for made in vars(module).values()
        if isinstance(made, type) and dataclasses.is_dataclass(made) and made.__module__ == module.__name__
    ]


def holds_arrays(made: type) -> bool:
    """Whether a field is annotated as an array or as something of arrays."""
    return any(ARRAY.search(str(field.type)) for field in dataclasses.fields(made))


def changeable(package: str) -> list[str]:
    """Those whose fields can be set."""
    return [made.__name__ for made in dataclasses_of(package) if not _asked(made).frozen]


def ambiguous(package: str) -> list[str]:
    """Those with arrays that compare field by field: the truth of such a comparison is an error."""
    return [made.__name__ for made in dataclasses_of(package) if holds_arrays(made) and _asked(made).eq]


def given_by_name(package: str) -> set[str]:
    """Those whose fields can only be given by name."""
    return {
        made.__name__
        for made in dataclasses_of(package)
        if dataclasses.fields(made) and all(field.kw_only for field in dataclasses.fields(made))
    }


def _asked(made: Any) -> Any:
    """The arguments of the decorator."""
    return made.__dataclass_params__
