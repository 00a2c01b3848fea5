"""Parameters from measurements: rows, triangular factors, and the estimators that use them."""

from dynid.regression.constraints import Constraints, read_bounds
from dynid.regression.estimate import Estimate, FitError, Uncertainty, uncertainty
from dynid.regression.feasible import Feasible
from dynid.regression.least_squares import OLS, WLS, Robust, unexcited
from dynid.regression.problem import Regression, Stacked, compress
from dynid.regression.reference import Prior
from dynid.regression.reverse import ControllerSamples, Reverse, ReverseEstimate, read_controller_samples
from dynid.regression.rows import JointRows, RowSource, SampleRows
from dynid.regression.status import Status
from dynid.regression.streamed import StreamedRows
from dynid.regression.tuning import ThresholdChoice, estimated_delay, velocity_threshold

MODULES = (
    "status",
    "rows",
    "streamed",
    "problem",
    "estimate",
    "least_squares",
    "tuning",
    "constraints",
    "cones",
    "conditions",
    "reference",
    "scaled",
    "programme",
    "feasibility",
    "feasible",
    "reverse",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "OLS",
    "WLS",
    "Constraints",
    "ControllerSamples",
    "Estimate",
    "Feasible",
    "FitError",
    "JointRows",
    "Prior",
    "Regression",
    "Reverse",
    "ReverseEstimate",
    "Robust",
    "RowSource",
    "SampleRows",
    "Stacked",
    "Status",
    "StreamedRows",
    "ThresholdChoice",
    "Uncertainty",
    "compress",
    "estimated_delay",
    "read_bounds",
    "read_controller_samples",
    "uncertainty",
    "unexcited",
    "velocity_threshold",
]
