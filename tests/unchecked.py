"""Values built past the tests' own shape checks, to reach the library's."""

from typing import TypeVar

T = TypeVar("T")


def unchecked(kind: type[T], **fields: object) -> T:
    """A frozen dataclass with these fields, checked only by its `__post_init__`."""
    value = object.__new__(kind)
    for name, content in fields.items():
        object.__setattr__(value, name, content)
    value.__post_init__()  # type: ignore[attr-defined]
    return value
