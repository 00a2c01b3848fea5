"""Parameters from measurements: rows, triangular factors, and the estimators that use them."""

from dynid.regression.auto_settings import ThresholdChoice, estimated_delay, velocity_threshold
from dynid.regression.bootstrap import Bootstrap, bootstrap
from dynid.regression.drive_gains import DriveGains, identify_gains
from dynid.regression.estimate import Estimate, FitError, Uncertainty, uncertainty
from dynid.regression.feasible.constraints import Bounds, Constraints, read_bounds
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
from dynid.regression.retrieval.config import read_retrieval
from dynid.regression.retrieval.constraints import RetrievalConstraints, Symmetry, Tie, UserFunction, UserFunctionError
from dynid.regression.retrieval.link_meshes import link_hull
from dynid.regression.retrieval.objective import RetrievalObjective
from dynid.regression.retrieval.parametrisation import Links, RetrievedLink
from dynid.regression.retrieval.penalties import ConstraintCheck, Penalties, compile_demands
from dynid.regression.retrieval.problem import RetrievalProblem, RetrievalRun
from dynid.regression.retrieval.retrieval import Retrieval, RetrievalResult, SolutionSpread
from dynid.regression.retrieval.search import Annealing, MultiStart
from dynid.regression.retrieval.shapes import Frustum, Hull, Sphere, Union
from dynid.regression.reverse import ControllerSamples, Reverse, ReverseEstimate, read_controller_samples
from dynid.regression.rows import JointRows, RowSource, SampleRows
from dynid.regression.status import Status
from dynid.regression.streamed_rows import StreamedRows

MODULES = (
    "status",
    "rows",
    "streamed_rows",
    "triangle",
    "problem",
    "estimate",
    "bootstrap",
    "least_squares",
    "auto_settings",
    "feasible",
    "reverse",
    "retrieval",
    "friction",
    "payload",
    "drive_gains",
    "model",
    "model_file",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "OLS",
    "WLS",
    "Annealing",
    "Bootstrap",
    "Bounds",
    "Compressed",
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
    "IdentifiedModel",
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
    "load_model",
    "needs_search",
    "never_reversing",
    "read_bounds",
    "read_controller_samples",
    "read_retrieval",
    "save_model",
    "uncertainty",
    "unexcited",
    "velocity_threshold",
]
