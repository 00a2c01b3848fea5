"""The compiled recursions: batched regressor and torque, their adjoint, and forward dynamics."""

MODULES = ("batch", "forward", "adjoint")
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
