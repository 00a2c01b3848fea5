"""Parameters while the robot moves: the constrained filter, loads, contacts, and where samples come from."""

from dynid.tracking.checkpoint import resume, save_checkpoint
from dynid.tracking.contact import ContactObserver, ContactReading, MomentumObserver
from dynid.tracking.filter import ConstrainedFilter, Tracker
from dynid.tracking.health import Health, health
from dynid.tracking.kinematics import KinematicFilter, KinematicStream
from dynid.tracking.load import LoadEstimate, LoadEvent, LoadWatch, LoadWatcher, load_filter
from dynid.tracking.rows import LOAD_SYMBOLS, MEASUREMENTS, Measurement
from dynid.tracking.samples import History, ProcessNoise, Sample, SampleOutcome, TrackedParameters
from dynid.tracking.session import TrackedMoment, TrackingResult, TrackingSession
from dynid.tracking.setup import TrackingOptions, arm_filter, known_noise, load_watch
from dynid.tracking.state_map import LOAD_LINK, Consistent, Entry, Principal, StateBound, StateMap
from dynid.tracking.stream import replay, samples_of, samples_of_motion, udp_samples, with_kinematics

MODULES = (
    "terms",
    "rows",
    "state_kernels",
    "state_map",
    "core",
    "samples",
    "filter",
    "health",
    "checkpoint",
    "kinematics",
    "contact",
    "load",
    "stream",
    "setup",
    "session",
)
"""The order of this folder: a module imports only those before it."""

__all__ = [
    "LOAD_LINK",
    "LOAD_SYMBOLS",
    "MEASUREMENTS",
    "Consistent",
    "ConstrainedFilter",
    "ContactObserver",
    "ContactReading",
    "Entry",
    "Health",
    "History",
    "KinematicFilter",
    "KinematicStream",
    "LoadEstimate",
    "LoadEvent",
    "LoadWatch",
    "LoadWatcher",
    "Measurement",
    "MomentumObserver",
    "Principal",
    "ProcessNoise",
    "Sample",
    "SampleOutcome",
    "StateBound",
    "StateMap",
    "TrackedMoment",
    "TrackedParameters",
    "Tracker",
    "TrackingOptions",
    "TrackingResult",
    "TrackingSession",
    "arm_filter",
    "health",
    "known_noise",
    "load_filter",
    "load_watch",
    "replay",
    "resume",
    "samples_of",
    "samples_of_motion",
    "save_checkpoint",
    "udp_samples",
    "with_kinematics",
]
