"""The compiled recursions: batched regressor and torque, their adjoint, forward dynamics, and friction formulas."""

MODULES = (
    "chains",
    "stored",
    "batch",
    "paths",
    "machine_code",
    "translation",
    "bound",
    "ready",
    "forward",
    "adjoint",
    "formulas",
)
"""The order of this folder: a module imports only those before it."""

__all__: list[str] = []
