"""Robot files: XML read as untrusted input, URDF and MJCF body by body, and the robot made of them."""

MODULES = (
    "decoding",
    "xml",
    "includes",
    "edits",
    "angles",
    "body_shapes",
    "bodies",
    "urdf",
    "mesh_mass",
    "mjcf_parts",
    "mjcf_ties",
    "replicas",
    "mjcf",
    "locks",
    "assembly",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
