"""A motion that shows the parameters: exciting trajectories inside every limit, and what they will tell."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names

if TYPE_CHECKING:
    from dynid.excitation.assembly import Assembly as Assembly
    from dynid.excitation.controller_files import CONTROLLERS as CONTROLLERS
    from dynid.excitation.controller_files import ControllerFormat as ControllerFormat
    from dynid.excitation.controller_files import write_controller as write_controller
    from dynid.excitation.controller_files import write_ros as write_ros
    from dynid.excitation.criteria import ConditionNumber as ConditionNumber
    from dynid.excitation.criteria import DesignCriterion as DesignCriterion
    from dynid.excitation.criteria import DOptimality as DOptimality
    from dynid.excitation.criteria import ExcitationReport as ExcitationReport
    from dynid.excitation.criteria import assess as assess
    from dynid.excitation.criteria import check_noise as check_noise
    from dynid.excitation.curves.bspline import SplineBasis as SplineBasis
    from dynid.excitation.curves.bspline import SplineCurve as SplineCurve
    from dynid.excitation.curves.curve import Basis as Basis
    from dynid.excitation.curves.curve import Curve as Curve
    from dynid.excitation.curves.curve import CurveBounds as CurveBounds
    from dynid.excitation.curves.curve import States as States
    from dynid.excitation.curves.fourier import FourierBasis as FourierBasis
    from dynid.excitation.curves.fourier import FourierSeries as FourierSeries
    from dynid.excitation.design import DesignProgress as DesignProgress
    from dynid.excitation.design import Excitation as Excitation
    from dynid.excitation.design import ExcitationStatus as ExcitationStatus
    from dynid.excitation.design import design_excitation as design_excitation
    from dynid.excitation.limits.capsules import Capsule as Capsule
    from dynid.excitation.limits.capsules import Capsules as Capsules
    from dynid.excitation.limits.capsules import capsules_of as capsules_of
    from dynid.excitation.limits.certificate import LimitCertificate as LimitCertificate
    from dynid.excitation.limits.certificate import LimitUse as LimitUse
    from dynid.excitation.limits.certificate import certify as certify
    from dynid.excitation.limits.clearance import Clearance as Clearance
    from dynid.excitation.limits.clearance import ClearanceLimit as ClearanceLimit
    from dynid.excitation.limits.clearance import Surroundings as Surroundings
    from dynid.excitation.limits.clearance import clearance_limit as clearance_limit
    from dynid.excitation.limits.collision import SelfCollisionLimit as SelfCollisionLimit
    from dynid.excitation.limits.collision import self_collision as self_collision
    from dynid.excitation.limits.motion_limits import EffortLimit as EffortLimit
    from dynid.excitation.limits.motion_limits import MotionLimits as MotionLimits
    from dynid.excitation.limits.motion_limits import PathLimit as PathLimit
    from dynid.excitation.limits.motion_limits import SlopedLimit as SlopedLimit
    from dynid.excitation.limits.workspace import KeepOut as KeepOut
    from dynid.excitation.limits.workspace import Workspace as Workspace
    from dynid.excitation.limits.workspace import WorkspaceLimit as WorkspaceLimit
    from dynid.excitation.poses import PoseDesign as PoseDesign
    from dynid.excitation.poses import PoseKind as PoseKind
    from dynid.excitation.poses import design_poses as design_poses
    from dynid.excitation.ready_made import Sinusoids as Sinusoids
    from dynid.excitation.ready_made import point_to_point as point_to_point
    from dynid.excitation.ready_made import random_fourier as random_fourier
    from dynid.excitation.ready_made import sinusoids as sinusoids
    from dynid.excitation.sequential import Information as Information
    from dynid.excitation.sequential import Sufficiency as Sufficiency
    from dynid.excitation.sequential import sufficiency as sufficiency
    from dynid.excitation.trajectory import Cruise as Cruise
    from dynid.excitation.trajectory import Hold as Hold
    from dynid.excitation.trajectory import MotionPiece as MotionPiece
    from dynid.excitation.trajectory import Move as Move
    from dynid.excitation.trajectory import Slowed as Slowed
    from dynid.excitation.trajectory import Trajectory as Trajectory
    from dynid.excitation.trajectory_files import MotionFile as MotionFile
    from dynid.excitation.trajectory_files import read_coefficients as read_coefficients
    from dynid.excitation.trajectory_files import read_motion_file as read_motion_file
    from dynid.excitation.trajectory_files import write_coefficients as write_coefficients
    from dynid.excitation.trajectory_files import write_poses as write_poses
    from dynid.excitation.trajectory_files import write_trajectory as write_trajectory

MODULES = (
    "curves",
    "trajectory",
    "limits",
    "criteria",
    "gauge",
    "objective",
    "assembly",
    "interruption",
    "design",
    "sequential",
    "ready_made",
    "poses",
    "trajectory_files",
    "controller_files",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
