"""The page of a reverse identification: base parameters of the model inside a controller, and how well they show."""

from __future__ import annotations

from pathlib import Path

from dynid.prose import counted
from dynid.workflow.reverse import ReverseIdentification
from dynid.writers.report.charts import correlation_figure
from dynid.writers.report.page import Report, Section, Table, Tile
from dynid.writers.report.tables import provenance_tables

__all__ = ["reverse_report"]


def reverse_report(result: ReverseIdentification) -> Report:
    """The whole page (SI) as a value."""
    estimate, robot = result.estimate, result.model.robot
    samples, error = Path(result.samples).name, f"{estimate.fit.relative_percent:.4f} %"
    verdict = (
        f"{estimate.rank} of {len(estimate.beta)} base parameters follow from {estimate.n_rows} rows of {samples}: "
        f"relative error {error}, condition number {estimate.condition_number:.4g}."
    )
    dropped = f"Gravity rows dropped because they are always zero: {', '.join(result.dropped) or 'none'}."
    tiles = (
        Tile("Robot", robot.name, f"{counted(robot.n_dof, 'joint')}"),
        Tile("Relative error", error),
        Tile("Condition number", f"{estimate.condition_number:.4g}", f"rank {estimate.rank} of {len(estimate.beta)}"),
        Tile("Rows", f"{estimate.n_rows}", samples),
    )
    grid = result.base_parameters()
    correlation = correlation_figure(estimate.base.leading, estimate.correlation)
    sections = (
        Section("At a glance", (dropped,), tiles=tiles),
        Section("Base parameters", (), (Table(grid.headers, grid.rows, badges=(5,)),)),
        Section("Conditioning of the problem", (), figures=(correlation,)),
        Section("Where it comes from", (), provenance_tables(result.model.provenance)),
    )
    return Report(f"Model inside the controller of {robot.name}", verdict, sections, "Written by dynid reverse.")
