"""The live page: the arm, its load and contacts in a browser of this machine, while it moves."""

MODULES = (
    "shapes",
    "meshes",
    "guard",
    "background",
    "shown",
    "calibration",
    "panel",
    "scene",
    "server",
    "messages",
    "process",
    "page",
    "serve",
)
"""The order of this room: a module imports only those before it."""

__all__: list[str] = []
