"""A motion that shows the parameters: exciting trajectories inside every limit, and what they will tell."""

from dynid.excitation.assembly import Assembly
from dynid.excitation.criteria import (
    ConditionNumber,
    DesignCriterion,
    DOptimality,
    ExcitationReport,
    assess,
    check_noise,
)
from dynid.excitation.curves.bspline import SplineBasis, SplineCurve
from dynid.excitation.curves.curve import Basis, Curve, CurveBounds, States
from dynid.excitation.curves.fourier import FourierBasis, FourierSeries
from dynid.excitation.design import DesignProgress, Excitation, ExcitationStatus, design_excitation
from dynid.excitation.limits.certificate import LimitCertificate, LimitUse, certify
from dynid.excitation.limits.collision import SelfCollisionLimit, self_collision
from dynid.excitation.limits.motion_limits import EffortLimit, MotionLimits, PathLimit
from dynid.excitation.limits.workspace import KeepOut, Workspace, WorkspaceLimit
from dynid.excitation.poses import PoseDesign, PoseKind, design_poses
from dynid.excitation.ready_made import Sinusoids, point_to_point, random_fourier, sinusoids
from dynid.excitation.sequential import Information, Sufficiency, sufficiency
from dynid.excitation.trajectory import Cruise, Hold, MotionPiece, Move, Trajectory
from dynid.excitation.trajectory_files import (
    read_coefficients,
    write_coefficients,
    write_poses,
    write_ros,
    write_trajectory,
)

MODULES = (
    "curves",
    "trajectory",
    "limits",
    "criteria",
    "gauge",
    "objective",
    "assembly",
    "design",
    "sequential",
    "ready_made",
    "poses",
    "trajectory_files",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "Assembly",
    "Basis",
    "ConditionNumber",
    "Cruise",
    "Curve",
    "CurveBounds",
    "DOptimality",
    "DesignCriterion",
    "DesignProgress",
    "EffortLimit",
    "Excitation",
    "ExcitationReport",
    "ExcitationStatus",
    "FourierBasis",
    "FourierSeries",
    "Hold",
    "Information",
    "KeepOut",
    "LimitCertificate",
    "LimitUse",
    "MotionLimits",
    "MotionPiece",
    "Move",
    "PathLimit",
    "PoseDesign",
    "PoseKind",
    "SelfCollisionLimit",
    "Sinusoids",
    "SplineBasis",
    "SplineCurve",
    "States",
    "Sufficiency",
    "Trajectory",
    "Workspace",
    "WorkspaceLimit",
    "assess",
    "certify",
    "check_noise",
    "design_excitation",
    "design_poses",
    "point_to_point",
    "random_fourier",
    "read_coefficients",
    "self_collision",
    "sinusoids",
    "sufficiency",
    "write_coefficients",
    "write_poses",
    "write_ros",
    "write_trajectory",
]
