"""A joint controller as a file says it: gains, rate, hold, delay and feed-forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dynid.arrays import Array, Float, freeze_arrays
from dynid.chain.robot import Robot
from dynid.disk import read_toml
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.motion import Motion
from dynid.errors import ConfigError
from dynid.simulation.roll_kernels import Feedback

__all__ = ["ControllerFile", "JointController", "read_controller"]

Gains = float | list[float] | dict[str, float]
"""One number for all joints, one for each in the robot's order, or by joint name."""
REFERENCE_NAMES = ("q_ref{n}", "qr{n}", "q_ref.{joint}", "q_ref_{n}", "q_des{n}", "q_cmd{n}", "q_d{n}")
"""Columns of a log that are tried for the reference where the file names none."""


class ControllerFile(BaseModel):
    r"""What ctrl.toml holds: :math:`\tau = \tau_{ff} + K_p (q_r - q) + K_d (\dot q_r - \dot q)`, sampled and held."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kp: Gains
    """Position gains, N·m/rad or N/m."""
    kd: Gains = 0.0
    """Velocity gains, N·m·s/rad or N·s/m."""
    rate: float | None = Field(default=None, gt=0.0)
    """Commands in a second; None is the rate of the log."""
    hold: Literal["zero", "none"] = "zero"
    """zero: a command holds until the next one; none: the controller acts continuously."""
    delay: float = Field(default=0.0, ge=0.0, le=1.0)
    """Seconds until a command takes effect."""
    feedforward: Literal["none", "gravity", "inverse"] = "none"
    """Torque of the robot file's nominal links for the reference: none, at rest, or in motion."""
    damping: Literal["error", "velocity"] = "error"
    """What kd acts on: the velocity error, or the velocity alone."""
    limit: Gains | None = None
    """Largest torque, N·m or N."""
    reference: str | None = None
    """Columns of the log, such as q_ref{n}, or a file with t and q."""


@dataclass(frozen=True, eq=False)
class JointController:
    """A controller of one robot (SI)."""

    kp: Float[Array, " n_dof"]
    kd: Float[Array, " n_dof"]
    limit: Float[Array, " n_dof"]
    rate_hz: float | None
    """Commands in a second; None is the rate of the log."""
    held: bool
    delay: float
    feedforward: Literal["none", "gravity", "inverse"]
    on_error: bool
    """Whether kd acts on the velocity error."""
    reference: str | None
    source: str = "controller"

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, content: ControllerFile, robot: Robot, source: str = "controller") -> JointController:
        """The controller of a robot.

        Raises:
            ConfigError: for gains of other joints.
        """
        return cls(
            _per_joint("kp", content.kp, robot, source),
            _per_joint("kd", content.kd, robot, source),
            _per_joint("limit", np.inf if content.limit is None else content.limit, robot, source, endless=True),
            content.rate,
            content.hold == "zero",
            content.delay,
            content.feedforward,
            content.damping == "error",
            content.reference,
            source,
        )

    def ticks(self, sample_rate: float, longest: float) -> tuple[float, int]:
        """Time in s between commands, and steps of the simulation between them, none longer than `longest` (s)."""
        period = 1.0 / (sample_rate if self.rate_hz is None else self.rate_hz)
        steps = max(1, int(np.ceil(period / longest - 1e-9)))
        return (period, steps) if self.held else (period / steps, 1)

    def feedback(
        self,
        robot: Robot,
        t: Float[Array, " n_samples"],
        reference: Float[Array, "n_samples n_dof"],
        start: float,
        n_ticks: int,
        period: float,
        steps: int,
        bias: Float[Array, " n_dof"] | None = None,
    ) -> Feedback:
        """The controller with its reference (rad or m, at times t in s), from `start` (s) on, every `period` (s)."""
        at = start + period * np.arange(n_ticks)
        from scipy.interpolate import CubicSpline

        curve = CubicSpline(t, reference)
        inside = np.clip(at, t[0], t[-1])
        q = curve(inside)
        if self.held:
            # What a sampled controller knows: the reference of this sample.
            nearest = np.clip(np.searchsorted(t, inside + 1e-9, side="right") - 1, 0, len(t) - 1)
            exact = np.abs(t[nearest] - inside) < 1e-6
            q = np.where(exact[:, None], reference[nearest], q)
        dq, ddq = curve(inside, 1), curve(inside, 2)
        n_dof = robot.n_dof
        forward = np.zeros((n_ticks, n_dof))
        if self.feedforward != "none":
            still = np.zeros_like(q)
            moves = self.feedforward == "inverse"
            motion = Motion(at, q, dq if moves else still, ddq if moves else still)
            forward = TorqueModel(robot).torque(motion, robot.nominal.ravel())
        return Feedback(
            q, dq if self.on_error else np.zeros_like(dq), forward, np.array(self.kp), np.array(self.kd),
            np.array(self.limit), np.zeros(n_dof) if bias is None else np.array(bias), period, self.delay, steps,
        )  # fmt: skip


def _per_joint(key: str, given: Gains, robot: Robot, source: str, *, endless: bool = False) -> Float[Array, " n_dof"]:
    values: Sequence[float]
    if isinstance(given, Mapping):
        wrong = [name for name in given if name not in robot.joint_names]
        missing = [name for name in robot.joint_names if name not in given]
        if wrong or missing:
            raise ConfigError(
                f"{source}: {key}: "
                + (f"no joint {wrong[0]!r}" if wrong else f"nothing for {', '.join(missing)}")
                + f"; the joints are {', '.join(robot.joint_names)}"
            )
        values = [given[name] for name in robot.joint_names]
    else:
        values = [given] * robot.n_dof if isinstance(given, int | float) else given
    if len(values) != robot.n_dof:
        raise ConfigError(f"{source}: {key} has {len(values)} numbers, but {robot.name} has {robot.n_dof} joints")
    found = np.array(values, dtype=float)
    if not np.all((found >= 0.0) & (np.isfinite(found) | endless)):
        raise ConfigError(f"{source}: {key} must be finite and not negative, got {values}")
    return found


def read_controller(path: Path, robot: Robot) -> JointController:
    """The controller (SI) of a file ctrl.toml.

    Raises:
        ConfigError: naming the file and the key.
    """
    content = read_toml(path, ConfigError, "controller file")
    try:
        return JointController.of(ControllerFile.model_validate(content), robot, str(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][:1]) or "file"
        known = ", ".join(ControllerFile.model_fields)
        raise ConfigError(f"{path}: {where}: {first['msg']}; the keys are {known}") from error
