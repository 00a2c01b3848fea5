"""Friction models by the name users type."""

from __future__ import annotations

from importlib import import_module

from dynid.dynamics.joint_model import JointModel
from dynid.errors import ParameterError, UnknownName

__all__ = ["AUTO", "FRICTION", "friction_models", "needs_search"]

AUTO = "auto"
"""The name that asks for the friction that predicts best, joint by joint."""

_FOLDER = __name__.rpartition(".")[0]
_FILES = tuple(name for name in import_module(_FOLDER).MODULES if name != "table")
_MODELS: tuple[JointModel, ...] = tuple(import_module(f"{_FOLDER}.{name}").MODEL for name in _FILES)
FRICTION: dict[str, JointModel] = {model.name: model for model in _MODELS}
"""Friction models by the name users type, in the order that the folder lists them."""


def friction_models(names: str) -> tuple[JointModel, ...]:
    """The models of a text such as ``viscous+coulomb+offset``; ``none`` is no friction.

    Raises:
        UnknownName: listing the models that exist.
        ParameterError: for a model named twice, or columns that would be the same.
    """
    if names.strip() == "none":
        return ()
    wanted = [name.strip() for name in names.split("+")]
    for name in wanted:
        if name not in FRICTION:
            raise UnknownName(name, known=("none", *FRICTION), kind="friction model")
        if wanted.count(name) > 1:
            raise ParameterError(f"friction {names!r} names {name!r} twice; its columns would be identical")
    models = tuple(FRICTION[name] for name in wanted)
    for model in models:
        doubled = [name for name in model.contains if name in wanted]
        if doubled:
            raise ParameterError(
                f"friction {names!r}: {model.name} contains {' and '.join(doubled)} already; leave one of them out"
            )
    return models


def needs_search(names: str) -> bool:
    """Whether friction of this text has shape numbers, a load, or is to be chosen."""
    if names.strip() == AUTO:
        return True
    return any(model.shapes or model.needs_load for model in friction_models(names))
