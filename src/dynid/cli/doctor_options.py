"""What to type for a finding: the library names what to change, the command line the option that changes it."""

from __future__ import annotations

import shlex

from dynid.review import Finding
from dynid.review.checks.changes import Contact, FrictionDrift, LoadChange
from dynid.review.checks.coupled import CoupledDrives
from dynid.review.checks.delay import DelayedTorque
from dynid.review.checks.excitation import SameMotion, UnexcitedParameters
from dynid.review.checks.gravity import GravityMissing, GravityUnseen, TiltedBase
from dynid.review.checks.motion import NoMotion, OneWay, ShortLog, SlowMotion, Standstill, StillJoint
from dynid.review.checks.payload import CarriedLoad
from dynid.review.checks.torque import NoTorque

__all__ = ["typed"]


def typed(finding: Finding, robot: str = "ROBOT") -> str:
    """Options that do what the fix of a finding says, beside a column map; empty where there is none; SI units."""
    match finding.measured:
        case DelayedTorque(seconds=seconds):
            return f"--delay {seconds:.5f}, or --delay auto"
        case CoupledDrives(motor_torques=of_motors, n_dof=n_dof):
            return f"--transmission FILE{' --gains ' + ','.join('1' * n_dof) if of_motors else ''}"
        case TiltedBase(gravity=gravity):
            return f"--gravity {' '.join(f'{component:.3f}' for component in gravity)} (without --mount)"
        case GravityMissing() | GravityUnseen():
            return "--gravity 0 0 0, to fit this torque as it is"
        case Contact(start=start, stop=stop):
            return f"--until {start:.2f}, or --from {stop:.2f}"
        case LoadChange(before=before, after=after):
            return f"--until {before:.2f} (before), or --from {after:.2f} (after)"
        case FrictionDrift():
            return "--from S"
        case Standstill():
            return "--from S, --until S, or identify --min-velocity auto"
        case StillJoint(name=name, position=position):
            return f"--lock {name}={position:.6g}"
        case NoTorque(has_currents=True):
            return "--gains K1,K2,…"
        case NoMotion() | SlowMotion() | ShortLog() | OneWay() | SameMotion() | UnexcitedParameters():
            return f"dynid excite {shlex.quote(robot)} --out trajectory.csv"
        case CarriedLoad():
            return "dynid payload MODEL LOG"
    return ""
