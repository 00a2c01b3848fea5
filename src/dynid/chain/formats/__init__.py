"""Robot files: XML read as untrusted input, URDF and MJCF body by body, and the robot made of them."""

MODULES = ("xml", "bodies", "urdf", "mjcf_parts", "mjcf", "assembly")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
