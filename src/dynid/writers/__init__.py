"""What leaves the program: reports, model files and exports."""

from dynid.writers.report import Figure, Report, Section, Table

MODULES = ("report",)
"""The order of this folder: a module imports only those before it."""

__all__ = ["Figure", "Report", "Section", "Table"]
