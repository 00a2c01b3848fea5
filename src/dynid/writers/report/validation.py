"""The page of a validation: measured and predicted torque of every log, model by model."""

from __future__ import annotations

from dynid.workflow.validate import ModelValidation
from dynid.writers.report.charts import torque_figures, torque_units
from dynid.writers.report.page import Report, Section

__all__ = ["validation_report"]


def validation_report(result: ModelValidation) -> Report:
    """The whole page (N·m or N) as a value."""
    units = torque_units(result.models[0].model.robot)
    sections = tuple(
        Section(
            f"{known.name}: {v.log}",
            (f"Relative error {v.error.relative_percent:.2f} %",),
            figures=torque_figures(v, units, link=f"{k}"),
        )
        for known in result.models
        for k, v in enumerate(known.validation)
    )
    errors = "; ".join(f"{v.log}: {v.error.relative_percent:.2f} %" for v in result.validation)
    return Report(f"Validation of {result.models[0].name}", f"Relative torque error, {errors}.", sections)
