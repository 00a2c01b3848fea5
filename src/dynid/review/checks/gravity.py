"""Gravity in the torques: tilted bases, and torques without any."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array, Float
from dynid.review.checks.torque import LOG_MEASURED_TORQUE
from dynid.review.equations.gravity_direction import gravity_seen
from dynid.review.equations.hypothesis import HypothesisFit
from dynid.review.equations.rows import Arm
from dynid.review.equations.search import Searched
from dynid.review.equations.sizes import expected_torque
from dynid.review.findings import Finding, Measured, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import in_percent

__all__ = ["GravityMissing", "GravityUnseen", "TiltedBase", "find_gravity"]

LEVEL = 1.5
"""Degrees within which bases are levelled."""
WEIGHTLESS = 0.05
"""Gravity torque seen over expected, below which the log has none."""
HEAVY = 0.3
"""Share of the expected torque that gravity makes at a joint that can tell."""
COMPENSATED = "a commanded or gravity-compensated torque was logged (Franka: tau_J_d; KUKA: commanded torque)"
WITHOUT_GRAVITY = f"{LOG_MEASURED_TORQUE}; if this torque is what you want to fit, set gravity = (0, 0, 0)"


@dataclass(frozen=True)
class TiltedBase:
    """Gravity in another direction than the robot file's."""

    gravity: tuple[float, float, float]
    """m/s² in base axes."""
    axis: tuple[float, float, float]
    """Unit vector in base axes about which gravity is turned; zeros where it is upside down."""
    is_mount: bool
    """Whether it is that of a wall or a ceiling."""
    before: float
    """What the equations leave of the torque as logged (dimensionless)."""
    after: float
    """The same under this gravity."""
    degrees: float = number("°", normal=(0.0, LEVEL))
    error: float = number("°")
    """Standard deviation."""
    cause = "the base is mounted at an angle, on a wall or a ceiling, and the robot file does not say so"

    @property
    def evidence(self) -> str:
        about = f", about the base axis ({', '.join(f'{component:.2f}' for component in self.axis)})"
        said = f"{self.degrees:.0f}°" if self.is_mount else f"{self.degrees:.2f} ± {self.error:.2f}°"
        return (
            f"gravity in the torques is turned by {said} against the robot's{about if any(self.axis) else ''}; normal "
            f"is below {LEVEL}°; turned, the equations leave {in_percent(self.after)} of the torque, as the file has "
            f"it {in_percent(self.before)}"
        )

    @property
    def fix(self) -> str:
        return f"set gravity = ({', '.join(f'{component:.3f}' for component in self.gravity)}) m/s² in base axes"


@dataclass(frozen=True)
class GravityMissing:
    """Torque that the equations explain better without gravity."""

    with_gravity: float = number("1")
    """What the equations leave of the torque."""
    without_gravity: float = number("1")
    cause = COMPENSATED
    fix = WITHOUT_GRAVITY

    @property
    def evidence(self) -> str:
        return (
            f"leaving gravity out cuts the residual from {in_percent(self.with_gravity)} to "
            f"{in_percent(self.without_gravity)} of the torque, though the poses change"
        )


@dataclass(frozen=True)
class GravityUnseen:
    """Torque in which gravity is expected and does not show."""

    share: float = number("1", normal=(HEAVY, 1.0))
    """Of the torque that gravity makes, at the joint where it makes most."""
    cause = f"{COMPENSATED}, or the arm is balanced"
    fix = WITHOUT_GRAVITY

    @property
    def evidence(self) -> str:
        return (
            f"gravity makes {in_percent(self.share, 2)} of any joint's torque though poses change; for this arm more "
            f"than {in_percent(HEAVY)} is expected"
        )


def find_gravity(look: Look) -> Look:
    """Bases that are mounted otherwise than the robot file says, and torques without gravity."""
    found, arm = look.torque.searched, look.torque.arm
    gravity = found.best.hypothesis.gravity
    if gravity is None:
        return look.found(_weightless(arm, found.reading))
    if not np.any(gravity):
        left, without = (float(np.sqrt(np.mean(fitted.noise**2))) for fitted in (found.plain, found.best))
        return look.found([_weighed(found, "torque-without-gravity", GravityMissing(left, without), Severity.ERROR)])
    return look.found(_tilted(arm, found, gravity))


def _weighed(found: Searched, code: str, measured: Measured, severity: Severity) -> Finding:
    """A finding as grave as that where the evidence is decisive; a warning where it is good, else information."""
    less = Severity.WARNING if found.likely else Severity.INFO
    return Finding(
        code=code,
        severity=severity if found.decisive else less,
        measured=measured,
        probability=found.probability,
    )


def _tilted(arm: Arm, found: Searched, gravity: Float[Array, " 3"]) -> list[Finding]:
    own = arm.robot.gravity
    axis = np.cross(own, gravity)
    length = float(np.linalg.norm(axis))
    # Upside down, any axis across does.
    turned = axis / length if length > 1e-9 * float(own @ own) else np.zeros(3)
    cosine = float(gravity @ own / np.linalg.norm(gravity) / np.linalg.norm(own))
    angle = float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    error = 0.0 if found.tilt is None else float(np.degrees(found.tilt.error))
    if angle < LEVEL:
        return []
    gx, gy, gz = gravity.tolist()
    ax, ay, az = turned.tolist()
    before, after = (float(np.sqrt(np.mean(one.noise**2))) * max(1.0, one.ratio) for one in (found.plain, found.best))
    measured = TiltedBase((gx, gy, gz), (ax, ay, az), found.tilt is None, before, after, angle, error)
    # Walls and ceilings make sense; any other angle may be one that the model invents.
    severity = Severity.ERROR if found.tilt is None else Severity.WARNING
    return [_weighed(found, "tilted-base", measured, severity)]


def _weightless(arm: Arm, fitted: HypothesisFit) -> list[Finding]:
    """Slow motion with little inertia: gravity is expected, and not seen."""
    robot, rows = arm.robot, fitted.rows
    if not np.any(robot.gravity):
        return []
    total = expected_torque(arm, rows.motion)
    still = replace(rows, dq=np.zeros_like(rows.dq), ddq=np.zeros_like(rows.ddq))
    heavy = np.std(expected_torque(arm, still.motion), axis=0)
    telling = heavy > HEAVY * np.std(total, axis=0)
    if not np.any(telling):
        return []
    seen = gravity_seen(arm, rows, fitted)
    share = seen / np.maximum(np.std(rows.tau, axis=0), 1e-300)
    against = seen / np.maximum(heavy, 1e-300)
    most = float(np.max(share[telling]))
    if robot.has_nominal:
        lacking = most < 4.0 * WEIGHTLESS and np.max(against[telling]) < WEIGHTLESS
    else:
        lacking = most < 0.5 * WEIGHTLESS
    if not lacking:
        return []
    severity = Severity.ERROR if robot.has_nominal else Severity.WARNING
    return [Finding(code="torque-without-gravity", severity=severity, measured=GravityUnseen(most))]
