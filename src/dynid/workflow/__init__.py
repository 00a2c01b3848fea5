"""The jobs people do: plain functions from robots, logs and models to frozen results that print as a person reads."""

from dynid.workflow.examine import LogReview, examine
from dynid.workflow.excite import excite
from dynid.workflow.excite_options import ExciteKeywords
from dynid.workflow.exciting import ExcitingPoses, ExcitingTrajectory
from dynid.workflow.friction import FrictionComparison, FrictionRefit, friction
from dynid.workflow.identification import Comparison, Identification, IdentifiedLink, IdentifiedNumber
from dynid.workflow.identify import LogsRefused, identify
from dynid.workflow.info import RobotInfo, info
from dynid.workflow.payload import GainsIdentification, PayloadIdentification, payload
from dynid.workflow.prediction import Prediction, predict
from dynid.workflow.retrieve import ModelRetrieval, retrieve
from dynid.workflow.reverse import ReverseIdentification, reverse
from dynid.workflow.simulate import simulate
from dynid.workflow.simulate_options import SimulateKeywords
from dynid.workflow.simulation import Simulation
from dynid.workflow.track import ModelTracking, track
from dynid.workflow.validate import ModelValidation, validate

MODULES = (
    "progress",
    "doors",
    "logs",
    "provenance",
    "workers",
    "contract",
    "prediction",
    "fit_options",
    "examine",
    "identify_job",
    "manifest",
    "identification",
    "other_fits",
    "identify",
    "validate",
    "reverse",
    "retrieve",
    "friction",
    "payload",
    "track",
    "info",
    "excite_options",
    "exciting",
    "excite",
    "simulation",
    "simulate_options",
    "simulate",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Comparison",
    "ExciteKeywords",
    "ExcitingPoses",
    "ExcitingTrajectory",
    "FrictionComparison",
    "FrictionRefit",
    "GainsIdentification",
    "Identification",
    "IdentifiedLink",
    "IdentifiedNumber",
    "LogReview",
    "LogsRefused",
    "ModelRetrieval",
    "ModelTracking",
    "ModelValidation",
    "PayloadIdentification",
    "Prediction",
    "ReverseIdentification",
    "RobotInfo",
    "SimulateKeywords",
    "Simulation",
    "examine",
    "excite",
    "friction",
    "identify",
    "info",
    "payload",
    "predict",
    "retrieve",
    "reverse",
    "simulate",
    "track",
    "validate",
]
