"""Parameters from measurements: rows, triangular factors, and the estimators that use them."""

from dynid.regression.bootstrap import Bootstrap, bootstrap
from dynid.regression.constraints import Bounds, Constraints, read_bounds
from dynid.regression.demands import RetrievalConstraints, Symmetry, Tie, UserFunction, UserFunctionError
from dynid.regression.drive_gains import DriveGains, identify_gains
from dynid.regression.estimate import Estimate, FitError, Uncertainty, uncertainty
from dynid.regression.feasible import Feasible
from dynid.regression.friction_choice import FrictionChoice, choose_friction, needs_search
from dynid.regression.friction_fit import FrictionFit, JointFriction, fit_friction, friction_curve
from dynid.regression.friction_rows import FrictionRows, friction_rows, never_reversing
from dynid.regression.least_squares import OLS, WLS, Robust, unexcited
from dynid.regression.link_meshes import link_hull
from dynid.regression.parametrisation import Links, RetrievedLink
from dynid.regression.payload import KnownArm, Payload, identify_payload
from dynid.regression.penalties import ConstraintCheck, Penalties, compile_demands
from dynid.regression.problem import Regression, Stacked, compress
from dynid.regression.reference import Prior
from dynid.regression.retrieval import Retrieval, RetrievalResult, SolutionSpread
from dynid.regression.retrieval_config import read_retrieval
from dynid.regression.retrieval_engines import Annealing, MultiStart
from dynid.regression.retrieval_objective import RetrievalObjective
from dynid.regression.retrieval_problem import RetrievalProblem, RetrievalRun
from dynid.regression.reverse import ControllerSamples, Reverse, ReverseEstimate, read_controller_samples
from dynid.regression.rows import JointRows, RowSource, SampleRows
from dynid.regression.shapes import Frustum, Hull, Sphere, Union
from dynid.regression.status import Status
from dynid.regression.streamed import StreamedRows
from dynid.regression.tuning import ThresholdChoice, estimated_delay, velocity_threshold

MODULES = (
    "status",
    "rows",
    "streamed",
    "triangle",
    "problem",
    "estimate",
    "bootstrap",
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
    "shapes",
    "link_meshes",
    "parametrisation",
    "demands",
    "penalty_rows",
    "penalties",
    "retrieval_config",
    "retrieval_objective",
    "retrieval_problem",
    "retrieval_engines",
    "retrieval",
    "friction_rows",
    "friction_search",
    "friction_refine",
    "friction_choice",
    "friction_fit",
    "payload",
    "drive_gains",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "OLS",
    "WLS",
    "Annealing",
    "Bootstrap",
    "Bounds",
    "ConstraintCheck",
    "Constraints",
    "ControllerSamples",
    "DriveGains",
    "Estimate",
    "Feasible",
    "FitError",
    "FrictionChoice",
    "FrictionFit",
    "FrictionRows",
    "Frustum",
    "Hull",
    "JointFriction",
    "JointRows",
    "KnownArm",
    "Links",
    "MultiStart",
    "Payload",
    "Penalties",
    "Prior",
    "Regression",
    "Retrieval",
    "RetrievalConstraints",
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
    "SolutionSpread",
    "Sphere",
    "Stacked",
    "Status",
    "StreamedRows",
    "Symmetry",
    "ThresholdChoice",
    "Tie",
    "Uncertainty",
    "Union",
    "UserFunction",
    "UserFunctionError",
    "bootstrap",
    "choose_friction",
    "compile_demands",
    "compress",
    "estimated_delay",
    "fit_friction",
    "friction_curve",
    "friction_rows",
    "identify_gains",
    "identify_payload",
    "link_hull",
    "needs_search",
    "never_reversing",
    "read_bounds",
    "read_controller_samples",
    "read_retrieval",
    "uncertainty",
    "unexcited",
    "velocity_threshold",
]
