"""``dynid simulate``: a log with known truth, and the truth next to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

import dynid
from dynid.cli.console import tell, warn
from dynid.cli.options import FrictionName, JsonFlag, RobotName, RobotOptions, free_place
from dynid.cli.options import keywords as typed
from dynid.cli.progress import progress
from dynid.simulation.motions import MotionKind
from dynid.simulation.sensors import VelocitySource
from dynid.writers.savers.simulation import log_files

__all__ = ["simulate"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SensorOptions:
    """What the log gets wrong; the rest of it is exact."""

    noise_q: Annotated[
        str | None,
        Parameter(help="Noise of positions: rad or m, or 1% of the RMS; one, or one a joint [default: 1e-5]."),
    ] = None
    noise_dq: Annotated[str | None, Parameter(help="Noise of velocities, per s, in the same way [default: 1e-3].")] = (
        None
    )
    noise_tau: Annotated[str | None, Parameter(help="Noise of torques, N·m or N, in the same way [default: 1%].")] = (
        None
    )
    encoder_counts: Annotated[float | None, Parameter(help="Counts a revolution (or a m) [default: exact].")] = None
    torque_step: Annotated[float | None, Parameter(help="Torque of the last bit, N·m or N [default: 0].")] = None
    torque_offset: Annotated[
        str | None, Parameter(help="Constant torque the log has too much, N·m or N [default: 0].")
    ] = None
    delay: Annotated[float | None, Parameter(help="Seconds by which torque lags behind position [default: 0].")] = None
    jitter: Annotated[
        float | None, Parameter(help="Standard deviation of sampling times, s; stamps are right [default: 0].")
    ] = None
    stamp_noise: Annotated[float | None, Parameter(help="Standard deviation of wrong stamps, s [default: 0].")] = None
    dropout: Annotated[float | None, Parameter(help="Fraction of samples lost [default: 0].")] = None
    velocity: Annotated[
        VelocitySource | None, Parameter(help="Where the velocities of the log come from [default: measured].")
    ] = None
    gains: Annotated[
        str | None, Parameter(help="Drive gains K1,K2,… in N·m/A: the log holds currents in place of torques.")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """Closed loop: the true arm follows the motion under a controller."""

    closed_loop: Annotated[
        bool, Parameter(negative="", help="Simulate the arm forward under computed torque from a wrong model.")
    ] = False
    wrong: Annotated[float | None, Parameter(help="Relative error of the controller's model [default: 0.2].")] = None
    natural_frequency: Annotated[
        float | None, Parameter(help="Of the critically damped control, rad/s [default: 20].")
    ] = None


def simulate(
    robot: RobotName,
    *,
    out: Path | None = None,
    trajectory: Path | None = None,
    motion: MotionKind = "fourier",
    rate: float | None = None,
    duration: float | None = None,
    friction: FrictionName = "viscous+coulomb+offset",
    friction_values: str | None = None,
    seed: int = 0,
    sensing: SensorOptions | None = None,
    loop: LoopOptions | None = None,
    options: RobotOptions | None = None,
    json: JsonFlag = False,
) -> int:
    """A log with known truth, friction and noise, open or closed loop.

    Example: dynid simulate panda --trajectory traj.csv --out log.csv --noise-tau 2%

    The truth is written next to the log: log.truth.json.

    Parameters
    ----------
    robot
        Built-in name, or a URDF, MJCF or TOML file; its inertias are the truth.
    out
        The log, .csv or .csv.gz [default: log.csv, or log-2.csv, …].
    trajectory
        A table t, q1…qn, and dq and ddq where it has them [default: a smooth motion inside the limits].
    motion
        Without a trajectory: a random Fourier series, or one sine per joint.
    rate
        Samples a second [default: those of the trajectory, or 500].
    duration
        Seconds [default: the whole trajectory, or 20].
    friction
        Friction of the true arm: none, or names joined by +.
    friction_values
        As fv1=0.2,fc=1.5 (fc for all joints), or a file: CSV parameter,value or JSON, an earlier truth file too.
        What is not given is plausible for the robot.
    seed
        The same number gives the same log.
    """
    place = free_place(out, "log.csv")
    # Before the work, which may take minutes.
    log_files(place, [Path(name) for name in (robot, trajectory, friction_values) if name is not None])
    with progress("simulating") as step:
        result = dynid.simulate(
            robot,
            trajectory=trajectory,
            motion=motion,
            rate=rate,
            duration=duration,
            friction=friction,
            friction_values=friction_values,
            seed=seed,
            progress=step,
            **typed(sensing, loop, options),
        )
    saved = dynid.save(result, place)
    tell(result, saved, json=json)
    for sentence in result.warnings:
        warn(sentence)
    return 0
