"""`excite`: a motion that shows the parameters, inside every limit; or poses that do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Unpack

from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ExcitationError
from dynid.excitation.assembly import Assembly
from dynid.excitation.criteria import assess, check_noise
from dynid.excitation.design import DesignProgress, Excitation, design_excitation
from dynid.excitation.interruption import finishing_on_interrupt
from dynid.excitation.limits.certificate import certify
from dynid.excitation.limits.clearance import Clearance
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit, with_effort
from dynid.excitation.poses import design_poses
from dynid.excitation.ready_made import point_to_point, random_fourier, sinusoids
from dynid.excitation.sequential import Information
from dynid.excitation.trajectory import Trajectory
from dynid.workflow.argument_types import checked_arguments
from dynid.workflow.doors import RobotLike, RobotOptions, as_torque_model, check_keywords
from dynid.workflow.excite_limits import ExciteLimits
from dynid.workflow.excite_options import ExciteKeywords, ExciteSearch, earlier_motions, given_motion
from dynid.workflow.exciting import ExcitingPoses, ExcitingTrajectory
from dynid.workflow.progress import Progress, silent

__all__ = ["excite"]

JUDGED_HZ = 100.0
"""Samples a second at which a ready-made motion is judged, at least."""


@checked_arguments
@one_blas_thread()
def excite(
    robot: RobotLike,
    *,
    friction: str = "viscous+coulomb+offset",
    rotor_inertia: bool = False,
    rate: float = 1000.0,
    ros: str | PathLike[str] | None = None,
    urscript: str | PathLike[str] | None = None,
    franka: str | PathLike[str] | None = None,
    picture: bool = True,
    progress: Progress = silent,
    **keywords: Unpack[ExciteKeywords],
) -> ExcitingTrajectory | ExcitingPoses:
    """A motion inside all limits that shows the base parameters: what the command ``dynid excite`` does (SI).

    Every link is taken as capsules, which stay above the mounting plane and clear of one another unless told
    otherwise. Ctrl-C ends the search with the best motion so far.

    Args:
        robot: built-in name, robot file (URDF, MJCF, TOML) or `Robot`.
        friction: friction columns that will be fitted: none, or names joined by +.
        rotor_inertia: add a rotor inertia to every joint.
        rate: of the file and of the predicted measurement, Hz.
        ros: file that `dynid.save` also writes a ROS 2 JointTrajectory to, at 100 Hz.
        urscript: file that it also writes a URScript program to, for arms of six joints.
        franka: file that it also writes libfranka's 1 kHz table to, for arms of seven joints.
        picture: whether `dynid.save` writes a picture.
        progress: hears what is being done.
        keywords: `ExciteKeywords`, which tells the unit and the default of each.
            The shape of the motion: kind, poses, harmonics, base_frequency, duration, motion, scale.
            The search: criterion, noise, after, start, restarts, time_budget, workers, seed.
            Limits to keep: margin, effort_margin, velocity, acceleration, jerk, floor, box, keep_out, clearance,
            thickness, self_collision, packages.
            The robot file: lock, gravity, mount, ignore_inertials, tip, transmission.

    Raises:
        ExcitationError: limits that contradict each other, a pose outside them, a rate that is too low.
        UnknownKeyword: a keyword that does not exist, naming the nearest.
        DynidError: any other wrong input, naming the parameter and what was expected.
    """
    check_keywords(excite, keywords, ExciteKeywords)
    began = time.monotonic()
    with finishing_on_interrupt() as stop:
        return _excited(
            RobotOptions.of_keywords(keywords).load(robot),
            lambda arm: as_torque_model(arm, friction, rotor_inertia=rotor_inertia),
            rate,
            _controllers(ros=ros, urscript=urscript, franka=franka),
            keywords,
            _Heard(progress, stop, began),
            picture=picture,
        )


@dataclass(frozen=True)
class _Heard:
    """What a job tells and hears while it runs."""

    progress: Progress
    stop: threading.Event
    """Set by Ctrl-C: end with what there is."""
    began: float
    """Time at which the job began, s."""


def _excited(
    loaded: Robot,
    model_of: Callable[[Robot], TorqueModel],
    rate: float,
    controllers: Mapping[str, Path],
    keywords: ExciteKeywords,
    heard: _Heard,
    *,
    picture: bool,
) -> ExcitingTrajectory | ExcitingPoses:
    given = given_motion(keywords)
    search, keep = ExciteSearch.of(rate, keywords), ExciteLimits.of(keywords, given)
    model = model_of(loaded)
    inputs = _inputs(loaded, keywords)
    limits = keep.motion(loaded)
    clear = keep.clear(loaded, limits)
    paths: tuple[PathLimit, ...] = () if clear.limit is None else (clear.limit,)
    final: tuple[PathLimit, ...] = () if clear.hulls is None else (clear.hulls,)
    if search.is_static:
        return _posed(search, loaded, limits, clear, inputs)
    check_noise(search.noise, loaded.n_dof)
    base = base_parameters(model)
    known = search.known(model, base)
    if given is not None and given.trajectory is not None:
        found, assembly = None, _again(given.trajectory, loaded, limits, (*paths, *final))
    else:
        found, assembly = _moved(search, model, base, limits, (paths, final), known, heard)
    run = search.told(model, assembly.trajectory, base)
    judged = assembly.trajectory.motion(JUDGED_HZ + 4.0 * assembly.trajectory.bandwidth_hz)
    certificate = assembly.certificate
    return ExcitingTrajectory(
        model=model,
        base=base,
        trajectory=assembly.trajectory,
        certificate=replace(certificate, unchecked=(*certificate.unchecked, *clear.left_out)),
        limits=limits,
        report=assess(model, judged, base=base) if found is None else found.report,
        std=(run if known is None else known + run).std,
        rate=rate,
        seed=search.seed,
        found=found,
        controllers=controllers,
        picture=picture,
        inputs=inputs,
        notes=loaded.notes,
        clear=clear,
        floor_said=keep.floor_said,
        scale=search.scale,
    )


def _controllers(**files: str | PathLike[str] | None) -> dict[str, Path]:
    """The files for controllers that were asked for."""
    return {kind: Path(file) for kind, file in files.items() if file is not None}


def _inputs(robot: Robot, keywords: ExciteKeywords) -> tuple[Path, ...]:
    """Files that are read: none of them may be replaced."""
    motion = keywords.get("motion")
    named = (*earlier_motions(keywords), *(() if motion is None else (motion,)))
    files = (Path(robot.source), *(Path(one) for one in named if not isinstance(one, Trajectory)))
    return tuple(path for path in files if path.is_file())


def _again(trajectory: Trajectory, robot: Robot, limits: MotionLimits, given: Sequence[PathLimit]) -> Assembly:
    """A motion that was designed before, if it still keeps every limit."""
    if trajectory.joint_names != robot.joint_names:
        names = ", ".join(trajectory.joint_names)
        raise ExcitationError(f"`motion`: it is for joints {names}, not this robot's")
    paths, unchecked = with_effort(robot, limits, given)
    certificate = certify(trajectory, limits, paths, unchecked=unchecked)
    if not certificate.holds:
        worst = max(certificate.violations, key=lambda use: use.reached - use.limit)
        raise ExcitationError(
            f"`motion`: it does not keep {worst.quantity} of {worst.label}: {worst.reached:.4g} reached, "
            f"{worst.limit:.4g} allowed (SI); design a new one, or correct the limit"
        )
    return Assembly(trajectory, certificate)


def _posed(
    search: ExciteSearch,
    robot: Robot,
    limits: MotionLimits,
    clear: Clearance,
    inputs: tuple[Path, ...],
) -> ExcitingPoses:
    design = design_poses(
        robot,
        search.poses,
        kind="gravity" if search.kind == "gravity-poses" else "reverse",
        limits=limits,
        path_limits=tuple(path for path in (clear.limit, clear.hulls) if path is not None),
        seed=search.seed,
    )
    return ExcitingPoses(robot, design, search.seed, inputs, robot.notes, clear)


def _moved(
    search: ExciteSearch,
    model: TorqueModel,
    base: BaseParameters,
    limits: MotionLimits,
    kept: tuple[Sequence[PathLimit], Sequence[PathLimit]],
    known: Information | None,
    heard: _Heard,
) -> tuple[Excitation | None, Assembly]:
    """A motion inside all limits, of the search and of the final check, and how it was found if it was searched for."""
    paths = (*kept[0], *kept[1])
    basis, repeats = search.basis()
    robot, seed, progress = model.robot, search.seed, heard.progress
    if not search.is_searched:
        if search.start is not None:
            raise ExcitationError(
                f"`start` is for optimised motions; {search.kind} starts where its limits are easiest kept"
            )
        if search.kind == "random":
            return None, random_fourier(
                robot, basis=basis, repeats=repeats, limits=limits, path_limits=paths, seed=seed
            )
        if search.kind == "sinusoids":
            seconds = repeats * basis.length
            return None, sinusoids(robot, duration=seconds, limits=limits, path_limits=paths, seed=seed)
        return None, point_to_point(robot, limits=limits, path_limits=paths, seed=seed)

    def told(now: DesignProgress) -> None:
        # Restarts end early or the time does: whichever is nearer.
        share = max(now.restart / now.n_restarts, now.seconds / search.time_budget)
        place = f"restart {now.restart + 1} of {now.n_restarts}"
        progress(f"searching: {place}, condition number {now.condition_number:.4g} (Ctrl-C keeps the best)", share)

    progress("searching")
    found = design_excitation(
        model,
        basis=basis,
        repeats=repeats,
        limits=limits,
        path_limits=kept[0],
        final_limits=kept[1],
        criterion=search.sought(known, search.rate * basis.length * repeats),
        start=search.start,
        base=base,
        restarts=search.restarts,
        time_budget=max(search.time_budget - (time.monotonic() - heard.began), 0.0),
        stop=heard.stop,
        workers=search.workers,
        seed=seed,
        progress=told,
    )
    return found, Assembly(found.trajectory, found.certificate)
