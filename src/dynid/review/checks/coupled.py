"""Motors that turn with two joints, as in the wrists of industrial arms, where the robot file does not say so."""

from __future__ import annotations

from dataclasses import dataclass

from dynid.review.checks.torque import is_read_rightly
from dynid.review.equations.coupling import find_coupling
from dynid.review.findings import Finding, Severity, number
from dynid.review.look import Look
from dynid.review.phrases import in_percent, said_probability

__all__ = ["CoupledDrives", "find_coupled_drives"]


@dataclass(frozen=True)
class CoupledDrives:
    """A motor that turns with the joint before its own as well."""

    joint: str
    """The joint before."""
    motor: str
    """The joint whose motor it is."""
    motor_torques: bool
    """Whether the logged torques are those of the motors."""
    n_dof: int
    ratio: float = number("1", normal=(0.0, 0.0))
    """Turns of the motor, behind its gear, per turn of the joint before."""
    before: float = number("1", normal=(0.0, 0.1))
    """What the equations leave of the torques of the two joints on segments left out."""
    after: float = number("1", normal=(0.0, 0.1))
    """The same with the coupling."""
    probability: float = number("1", normal=(0.0, 0.5))

    cause = "the drives of the two joints are coupled, as bevel gears of a wrist do, and the robot file does not say so"

    @property
    def evidence(self) -> str:
        sign = "+" if self.ratio > 0.0 else "−"
        size = "" if abs(self.ratio) == 1.0 else f"{abs(self.ratio):.2f}·"
        of = "motors" if self.motor_torques else "joints"
        return (
            f"friction of the motor of {self.motor} follows dq.{self.motor} {sign} {size}dq.{self.joint}: with it and "
            f"torques of the {of} the equations leave {in_percent(self.after)} of both torques on segments left out, "
            f"without it {in_percent(self.before)}; probability {said_probability(self.probability)}"
        )

    @property
    def fix(self) -> str:
        ones = ",".join("1" * self.n_dof)
        unit = f"; give `gains` {ones} too, for the torques are those of the motors" if self.motor_torques else ""
        return (
            f"write these lines into a file and give it as `transmission`{unit}:\n"
            f'[motor."{self.motor}"]\n"{self.joint}" = {self.ratio:g}'
        )


def find_coupled_drives(look: Look) -> Look:
    """A hint where the residuals of two neighbouring joints show one motor."""
    if not is_read_rightly(look):
        return look
    found = find_coupling(look.torque.arm, look.torque.fitted)
    if found is None:
        return look
    names = look.robot.joint_names
    measured = CoupledDrives(
        joint=names[found.joint],
        motor=names[found.motor],
        motor_torques=found.motor_torques,
        n_dof=len(names),
        ratio=found.ratio,
        before=found.before,
        after=found.after,
        probability=found.probability,
    )
    finding = Finding(
        code="coupled-drives",
        severity=Severity.INFO,
        joint=measured.motor,
        measured=measured,
        probability=found.probability,
    )
    return look.found([finding])
