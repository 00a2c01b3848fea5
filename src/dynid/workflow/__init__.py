"""The jobs people do: plain functions from robots, logs and models to frozen results that print as a person reads."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.workflow.check import ConsistencyCheck as ConsistencyCheck
    from dynid.workflow.examine import LogReview as LogReview
    from dynid.workflow.excite_options import ExciteKeywords as ExciteKeywords
    from dynid.workflow.exciting import ExcitingPoses as ExcitingPoses
    from dynid.workflow.exciting import ExcitingTrajectory as ExcitingTrajectory
    from dynid.workflow.friction import FrictionComparison as FrictionComparison
    from dynid.workflow.friction import FrictionRefit as FrictionRefit
    from dynid.workflow.identification import Comparison as Comparison
    from dynid.workflow.identification import Identification as Identification
    from dynid.workflow.identified_links import IdentifiedLink as IdentifiedLink
    from dynid.workflow.identified_links import IdentifiedNumber as IdentifiedNumber
    from dynid.workflow.identify import LogsRefused as LogsRefused
    from dynid.workflow.info import RobotInfo as RobotInfo
    from dynid.workflow.live_run import LiveRun as LiveRun
    from dynid.workflow.live_view import LiveEvent as LiveEvent
    from dynid.workflow.live_view import LiveSession as LiveSession
    from dynid.workflow.live_view import LiveView as LiveView
    from dynid.workflow.payload_results import GainsIdentification as GainsIdentification
    from dynid.workflow.payload_results import PayloadIdentification as PayloadIdentification
    from dynid.workflow.prediction import Prediction as Prediction
    from dynid.workflow.prediction import predict as predict
    from dynid.workflow.reduction import ReducedModel as ReducedModel
    from dynid.workflow.retrieve import ModelRetrieval as ModelRetrieval
    from dynid.workflow.reverse import ReverseIdentification as ReverseIdentification
    from dynid.workflow.rollout_result import ModelRollout as ModelRollout
    from dynid.workflow.rollout_result import RolledModel as RolledModel
    from dynid.workflow.simulate_options import SimulateKeywords as SimulateKeywords
    from dynid.workflow.simulation import Simulation as Simulation
    from dynid.workflow.track_result import ModelTracking as ModelTracking
    from dynid.workflow.validate import ModelValidation as ModelValidation

MODULES = (
    "progress",
    "arm_choice",
    "argument_types",
    "doors",
    "torque_scales",
    "logs",
    "provenance",
    "workers",
    "rollout_result",
    "contract",
    "prediction",
    "fit_options",
    "examine",
    "identify_job",
    "manifest",
    "identified_links",
    "reduction",
    "identification",
    "references",
    "rolling",
    "shooting",
    "other_fits",
    "motion_choice",
    "fitting",
    "refine",
    "identify",
    "validate",
    "rollout",
    "reverse",
    "retrieve",
    "friction",
    "payload_results",
    "payload",
    "filter_comparison",
    "track_result",
    "track",
    "live_view",
    "live_buffers",
    "live_torque",
    "live_run",
    "info",
    "check",
    "excite_limits",
    "excite_options",
    "exciting",
    "excite",
    "simulation",
    "simulate_options",
    "simulate",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
