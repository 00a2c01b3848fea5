"""Parameters while the robot moves: the constrained filter, loads, contacts, and where samples come from."""

from typing import TYPE_CHECKING

from dynid.lazy import exported_names, lazy_names
from dynid.tracking.health import health as health

if TYPE_CHECKING:
    from dynid.tracking.arm_setup import arm_filter as arm_filter
    from dynid.tracking.base_link import BASE_LINK as BASE_LINK
    from dynid.tracking.base_link import BASE_SYMBOLS as BASE_SYMBOLS
    from dynid.tracking.checkpoint import resume as resume
    from dynid.tracking.checkpoint import save_checkpoint as save_checkpoint
    from dynid.tracking.contact import ContactObserver as ContactObserver
    from dynid.tracking.contact import ContactReading as ContactReading
    from dynid.tracking.contact import MomentumObserver as MomentumObserver
    from dynid.tracking.filter import ConstrainedFilter as ConstrainedFilter
    from dynid.tracking.filter import Tracker as Tracker
    from dynid.tracking.health import Health as Health
    from dynid.tracking.kinematics import KinematicFilter as KinematicFilter
    from dynid.tracking.kinematics import KinematicStream as KinematicStream
    from dynid.tracking.load import LoadEstimate as LoadEstimate
    from dynid.tracking.load import LoadEvent as LoadEvent
    from dynid.tracking.load import load_filter as load_filter
    from dynid.tracking.missing import MissingValues as MissingValues
    from dynid.tracking.noise import TorqueNoise as TorqueNoise
    from dynid.tracking.noise import torque_noise as torque_noise
    from dynid.tracking.rows import LOAD_SYMBOLS as LOAD_SYMBOLS
    from dynid.tracking.rows import MEASUREMENTS as MEASUREMENTS
    from dynid.tracking.rows import Measurement as Measurement
    from dynid.tracking.samples import History as History
    from dynid.tracking.samples import ProcessNoise as ProcessNoise
    from dynid.tracking.samples import Sample as Sample
    from dynid.tracking.samples import SampleOutcome as SampleOutcome
    from dynid.tracking.samples import TrackedParameters as TrackedParameters
    from dynid.tracking.session import TrackedMoment as TrackedMoment
    from dynid.tracking.session import TrackingResult as TrackingResult
    from dynid.tracking.session import TrackingSession as TrackingSession
    from dynid.tracking.setup import TrackingOptions as TrackingOptions
    from dynid.tracking.setup import load_watch as load_watch
    from dynid.tracking.sources.counts import StreamCounts as StreamCounts
    from dynid.tracking.sources.feeds import StreamFeed as StreamFeed
    from dynid.tracking.sources.intake import SampleIntake as SampleIntake
    from dynid.tracking.sources.intake import open_stream as open_stream
    from dynid.tracking.sources.messages import pack_message as pack_message
    from dynid.tracking.sources.messages import samples_of as samples_of
    from dynid.tracking.sources.replayed import replay as replay
    from dynid.tracking.sources.replayed import samples_of_motion as samples_of_motion
    from dynid.tracking.sources.replayed import with_kinematics as with_kinematics
    from dynid.tracking.sources.udp import udp_samples as udp_samples
    from dynid.tracking.state_map import LOAD_LINK as LOAD_LINK
    from dynid.tracking.state_map import Consistent as Consistent
    from dynid.tracking.state_map import Entry as Entry
    from dynid.tracking.state_map import Principal as Principal
    from dynid.tracking.state_map import StateBound as StateBound
    from dynid.tracking.state_map import StateMap as StateMap
    from dynid.tracking.watch import LoadWatch as LoadWatch
    from dynid.tracking.watch import LoadWatcher as LoadWatcher

MODULES = (
    "bundles",
    "terms",
    "row_filter",
    "base_link",
    "periodic_noise",
    "rows",
    "state_kernels",
    "state_map",
    "arm_cone",
    "factors",
    "core",
    "samples",
    "missing",
    "visibility",
    "filter",
    "health",
    "nis_tally",
    "hasty_changes",
    "checkpoint",
    "kinematics",
    "contact",
    "arm_doubts",
    "noise",
    "load_body",
    "load_gauss",
    "load_noise",
    "load_bank",
    "hypotheses",
    "contact_jumps",
    "contact_bands",
    "decision_rules",
    "decision_state",
    "sudden_torque",
    "decisions",
    "contact_force",
    "load",
    "watch_state",
    "watch",
    "sources",
    "setup",
    "arm_setup",
    "session",
)
"""The order of this folder: a module imports only those before it."""

__all__ = exported_names(__name__)  # pyright: ignore[reportUnsupportedDunderAll]
__getattr__ = lazy_names(__name__)
