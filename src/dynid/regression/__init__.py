"""Parameters from measurements: rows, triangular factors, and the estimators that use them."""

from dynid.regression.auto_settings import ThresholdChoice, estimated_delay, velocity_threshold
from dynid.regression.bootstrap import Bootstrap, bootstrap
from dynid.regression.constraints.compiled import CompiledConstraints, ConstraintCheck
from dynid.regression.constraints.constraints import Constraints, ParameterBound, ParameterBounds, Symmetry, Tie
from dynid.regression.constraints.files import read_bounds, read_constraints
from dynid.regression.constraints.link_parameters import Links, RetrievedLink
from dynid.regression.constraints.meshes import link_hull
from dynid.regression.constraints.regions import Frustum, Hull, RegionUnion, Sphere
from dynid.regression.constraints.user_functions import CodeNotAllowed, UserFunction, UserFunctionError
from dynid.regression.drive_gains import DriveGains, identify_gains
from dynid.regression.estimate import Estimate, Estimator, FitError, estimate_of, full_estimate
from dynid.regression.estimators import ESTIMATORS, EstimatorOptions, make_estimator
from dynid.regression.feasible.feasible import Feasible
from dynid.regression.feasible.prior import Prior
from dynid.regression.friction.choice import FrictionChoice, choose_friction, needs_search
from dynid.regression.friction.fit import FrictionFit, JointFriction, fit_friction, friction_curve
from dynid.regression.friction.rows import FrictionRows, friction_rows, never_reversing
from dynid.regression.least_squares import OLS, WLS, Robust, unexcited
from dynid.regression.model import Compressed, IdentifiedModel
from dynid.regression.model_file import load_model, save_model
from dynid.regression.payload import KnownArm, Payload, identify_payload
from dynid.regression.problem import Regression, Stacked, compress
from dynid.regression.retrieval.lagrangian import RetrievalProblem, RetrievalRun
from dynid.regression.retrieval.objective import RetrievalObjective
from dynid.regression.retrieval.retrieval import Retrieval, RetrievalResult, SolutionSpread
from dynid.regression.retrieval.search import MultiStart, SearchEngine, SimulatedAnnealing
from dynid.regression.reverse import ControllerSamples, Reverse, ReverseEstimate, read_controller_samples
from dynid.regression.rows import JointRows, RowSource, SampleRows
from dynid.regression.status import Status
from dynid.regression.streamed_rows import StreamedRows
from dynid.regression.uncertainty import Uncertainty, uncertainty

MODULES = (
    "status",
    "rows",
    "streamed_rows",
    "triangle",
    "problem",
    "uncertainty",
    "estimate",
    "bootstrap",
    "least_squares",
    "auto_settings",
    "constraints",
    "feasible",
    "reverse",
    "retrieval",
    "estimators",
    "friction",
    "payload",
    "drive_gains",
    "model",
    "model_file",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "ESTIMATORS",
    "OLS",
    "WLS",
    "Bootstrap",
    "CodeNotAllowed",
    "CompiledConstraints",
    "Compressed",
    "ConstraintCheck",
    "Constraints",
    "ControllerSamples",
    "DriveGains",
    "Estimate",
    "Estimator",
    "EstimatorOptions",
    "Feasible",
    "FitError",
    "FrictionChoice",
    "FrictionFit",
    "FrictionRows",
    "Frustum",
    "Hull",
    "IdentifiedModel",
    "JointFriction",
    "JointRows",
    "KnownArm",
    "Links",
    "MultiStart",
    "ParameterBound",
    "ParameterBounds",
    "Payload",
    "Prior",
    "RegionUnion",
    "Regression",
    "Retrieval",
    "RetrievalObjective",
    "RetrievalProblem",
    "RetrievalResult",
    "RetrievalRun",
    "RetrievedLink",
    "Reverse",
    "ReverseEstimate",
    "Robust",
    "RowSource",
    "SampleRows",
    "SearchEngine",
    "SimulatedAnnealing",
    "SolutionSpread",
    "Sphere",
    "Stacked",
    "Status",
    "StreamedRows",
    "Symmetry",
    "ThresholdChoice",
    "Tie",
    "Uncertainty",
    "UserFunction",
    "UserFunctionError",
    "bootstrap",
    "choose_friction",
    "compress",
    "estimate_of",
    "estimated_delay",
    "fit_friction",
    "friction_curve",
    "friction_rows",
    "full_estimate",
    "identify_gains",
    "identify_payload",
    "link_hull",
    "load_model",
    "make_estimator",
    "needs_search",
    "never_reversing",
    "read_bounds",
    "read_constraints",
    "read_controller_samples",
    "save_model",
    "uncertainty",
    "unexcited",
    "velocity_threshold",
]
