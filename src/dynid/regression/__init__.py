"""Parameters from measurements: rows, triangular factors, and the estimators that use them."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names
from dynid.regression.bootstrap import bootstrap as bootstrap
from dynid.regression.uncertainty import uncertainty as uncertainty

if TYPE_CHECKING:
    from dynid.regression.auto_settings import ThresholdChoice as ThresholdChoice
    from dynid.regression.auto_settings import estimated_delay as estimated_delay
    from dynid.regression.auto_settings import velocity_threshold as velocity_threshold
    from dynid.regression.base_table import read_base_table as read_base_table
    from dynid.regression.bootstrap import Bootstrap as Bootstrap
    from dynid.regression.constraints.compiled import CompiledConstraints as CompiledConstraints
    from dynid.regression.constraints.compiled import ConstraintCheck as ConstraintCheck
    from dynid.regression.constraints.constraints import Constraints as Constraints
    from dynid.regression.constraints.constraints import ParameterBound as ParameterBound
    from dynid.regression.constraints.constraints import ParameterBounds as ParameterBounds
    from dynid.regression.constraints.constraints import Symmetry as Symmetry
    from dynid.regression.constraints.constraints import Tie as Tie
    from dynid.regression.constraints.files import read_bounds as read_bounds
    from dynid.regression.constraints.files import read_constraints as read_constraints
    from dynid.regression.constraints.link_parameters import Links as Links
    from dynid.regression.constraints.link_parameters import RetrievedLink as RetrievedLink
    from dynid.regression.constraints.meshes import link_hull as link_hull
    from dynid.regression.constraints.regions import Frustum as Frustum
    from dynid.regression.constraints.regions import Hull as Hull
    from dynid.regression.constraints.regions import RegionUnion as RegionUnion
    from dynid.regression.constraints.regions import Sphere as Sphere
    from dynid.regression.constraints.user_functions import CodeNotAllowed as CodeNotAllowed
    from dynid.regression.constraints.user_functions import UserFunction as UserFunction
    from dynid.regression.constraints.user_functions import UserFunctionError as UserFunctionError
    from dynid.regression.drive_gains import DriveGains as DriveGains
    from dynid.regression.drive_gains import identify_gains as identify_gains
    from dynid.regression.essential import EssentialParameters as EssentialParameters
    from dynid.regression.essential import essential_parameters as essential_parameters
    from dynid.regression.estimate import Estimate as Estimate
    from dynid.regression.estimate import Estimator as Estimator
    from dynid.regression.estimate import FitError as FitError
    from dynid.regression.estimate import estimate_of as estimate_of
    from dynid.regression.estimate import full_estimate as full_estimate
    from dynid.regression.estimators import ESTIMATORS as ESTIMATORS
    from dynid.regression.estimators import EstimatorOptions as EstimatorOptions
    from dynid.regression.estimators import make_estimator as make_estimator
    from dynid.regression.feasible.feasible import Feasible as Feasible
    from dynid.regression.feasible.link_ranges import LinkRange as LinkRange
    from dynid.regression.feasible.link_ranges import link_ranges as link_ranges
    from dynid.regression.feasible.link_spread import LinkSpread as LinkSpread
    from dynid.regression.feasible.link_spread import LinkSpreads as LinkSpreads
    from dynid.regression.feasible.link_spread import link_spreads as link_spreads
    from dynid.regression.feasible.mass_matrix import WorstPose as WorstPose
    from dynid.regression.feasible.mass_matrix import worst_pose as worst_pose
    from dynid.regression.feasible.prior import Prior as Prior
    from dynid.regression.friction.choice import FrictionChoice as FrictionChoice
    from dynid.regression.friction.choice import choose_friction as choose_friction
    from dynid.regression.friction.curve import friction_curve as friction_curve
    from dynid.regression.friction.fit import FrictionFit as FrictionFit
    from dynid.regression.friction.fit import JointFriction as JointFriction
    from dynid.regression.friction.fit import fit_friction as fit_friction
    from dynid.regression.friction.rows import FrictionRows as FrictionRows
    from dynid.regression.friction.rows import friction_rows as friction_rows
    from dynid.regression.friction.rows import never_reversing as never_reversing
    from dynid.regression.least_squares import OLS as OLS
    from dynid.regression.least_squares import WLS as WLS
    from dynid.regression.least_squares import Robust as Robust
    from dynid.regression.least_squares import unexcited as unexcited
    from dynid.regression.load_fit import KnownArm as KnownArm
    from dynid.regression.model import Compressed as Compressed
    from dynid.regression.model import IdentifiedModel as IdentifiedModel
    from dynid.regression.model_file import load_model as load_model
    from dynid.regression.model_file import save_model as save_model
    from dynid.regression.payload import Payload as Payload
    from dynid.regression.payload import identify_payload as identify_payload
    from dynid.regression.problem import Regression as Regression
    from dynid.regression.problem import Stacked as Stacked
    from dynid.regression.problem import compress as compress
    from dynid.regression.residuals import ResidualStatistics as ResidualStatistics
    from dynid.regression.retrieval.lagrangian import RetrievalProblem as RetrievalProblem
    from dynid.regression.retrieval.lagrangian import RetrievalRun as RetrievalRun
    from dynid.regression.retrieval.objective import RetrievalObjective as RetrievalObjective
    from dynid.regression.retrieval.retrieval import Retrieval as Retrieval
    from dynid.regression.retrieval.retrieval import RetrievalResult as RetrievalResult
    from dynid.regression.retrieval.retrieval import SolutionSpread as SolutionSpread
    from dynid.regression.retrieval.search import MultiStart as MultiStart
    from dynid.regression.retrieval.search import SearchEngine as SearchEngine
    from dynid.regression.retrieval.search import SimulatedAnnealing as SimulatedAnnealing
    from dynid.regression.reverse import ControllerSamples as ControllerSamples
    from dynid.regression.reverse import Reverse as Reverse
    from dynid.regression.reverse import ReverseEstimate as ReverseEstimate
    from dynid.regression.reverse import read_controller_samples as read_controller_samples
    from dynid.regression.rows import JointRows as JointRows
    from dynid.regression.rows import RowSource as RowSource
    from dynid.regression.rows import SampleRows as SampleRows
    from dynid.regression.run_variation import LeftOut as LeftOut
    from dynid.regression.run_variation import left_out_runs as left_out_runs
    from dynid.regression.status import Status as Status
    from dynid.regression.streamed_rows import StreamedRows as StreamedRows
    from dynid.regression.uncertainty import Uncertainty as Uncertainty

MODULES = (
    "status",
    "noise_colour",
    "residuals",
    "rows",
    "streamed_rows",
    "triangle",
    "problem",
    "uncertainty",
    "estimate",
    "drift",
    "run_variation",
    "coloured",
    "bootstrap",
    "least_squares",
    "essential",
    "auto_settings",
    "attenuation",
    "constraints",
    "feasible",
    "reverse",
    "retrieval",
    "estimators",
    "friction",
    "load_rows",
    "load_fit",
    "payload",
    "drive_gains",
    "recast",
    "model",
    "model_file",
    "base_table",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
