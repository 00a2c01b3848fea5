"""The page of a friction refit: friction over velocity, its values, and the other model's beside them."""

from __future__ import annotations

from pathlib import Path

from dynid.workflow.friction import FrictionRefit
from dynid.writers.report.friction_charts import friction_figures
from dynid.writers.report.page import Report, Section, Table

__all__ = ["friction_report"]


def friction_report(result: FrictionRefit) -> Report:
    """The whole page (N·m or N) as a value."""
    found = result.fit
    verdict = (
        f"Friction lowers the relative torque error of the known links from {found.without.relative_percent:.2f} % to "
        f"{found.fit.relative_percent:.2f} % on {', '.join(Path(log).name for log in result.logs)}."
    )
    others = [] if result.other is None else [("other model", result.other.model, result.other.parameters)]
    figures = friction_figures(found.model, found.theta, found.velocity, found.residual, others)
    values, compared = result.values(), result.compared()
    sections = [
        Section("Friction over velocity", found.choice.reasons, figures=figures),
        Section("Values", (), (Table(values.headers, values.rows),)),
    ]
    if result.comparisons:
        text = "Steady friction at shares of the largest speed, forwards."
        sections.append(Section("Beside the other model", (text,), (Table(compared.headers, compared.rows),)))
    return Report(f"Friction of {result.model.robot.name}", verdict, tuple(sections))
