"""`excite`: a motion that shows the parameters, inside every limit; or poses that do."""

from __future__ import annotations

from collections.abc import Sequence
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
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit
from dynid.excitation.poses import design_poses
from dynid.excitation.ready_made import point_to_point, random_fourier, sinusoids
from dynid.excitation.sequential import Information
from dynid.excitation.trajectory import Trajectory
from dynid.workflow.doors import RobotLike, RobotOptions, as_torque_model, check_keywords
from dynid.workflow.excite_options import ExciteKeywords, ExciteLimits, ExciteSearch, earlier_motions
from dynid.workflow.exciting import ExcitingPoses, ExcitingTrajectory
from dynid.workflow.progress import Progress, silent

__all__ = ["excite"]

JUDGED_HZ = 100.0
"""Samples a second at which a ready-made motion is judged, at least."""


@one_blas_thread()
def excite(
    robot: RobotLike,
    *,
    friction: str = "viscous+coulomb+offset",
    rotor_inertia: bool = False,
    rate: float = 1000.0,
    ros: str | PathLike[str] | None = None,
    picture: bool = True,
    progress: Progress = silent,
    **keywords: Unpack[ExciteKeywords],
) -> ExcitingTrajectory | ExcitingPoses:
    """A motion inside all limits that shows the base parameters: what the command ``dynid excite`` does (SI).

    Ctrl-C ends the search with the best motion so far.

    Args:
        robot: built-in name, robot file (URDF, MJCF, TOML) or `Robot`.
        friction: friction columns that will be fitted: none, or names joined by +.
        rotor_inertia: add a rotor inertia to every joint.
        rate: of the file and of the predicted measurement, Hz.
        ros: file that `dynid.save` also writes a ROS 2 JointTrajectory to, at 100 Hz.
        picture: whether `dynid.save` writes a picture.
        progress: hears what is being done.
        keywords: `ExciteKeywords`, which tells the unit and the default of each.
            The shape of the motion: kind, poses, harmonics, base_frequency, duration.
            The search: criterion, noise, after, start, restarts, time_budget, workers, seed.
            Limits to keep: margin, effort_margin, velocity, acceleration, jerk, floor, box, clearance, self_collision,
            packages.
            The robot file: lock, gravity, mount, ignore_inertials, tip, transmission.

    Raises:
        ExcitationError: limits that contradict each other, a pose outside them, a rate that is too low.
        UnknownKeyword: a keyword that does not exist, naming the nearest.
        DynidError: any other wrong input, naming the parameter and what was expected.
    """
    check_keywords(excite, keywords, ExciteKeywords)
    options = RobotOptions.of_keywords(keywords)
    loaded = options.load(robot)
    search, keep = ExciteSearch.of(rate, keywords), ExciteLimits.of(keywords)
    model = as_torque_model(loaded, friction, rotor_inertia=rotor_inertia)
    files = (Path(loaded.source), *(Path(one) for one in earlier_motions(keywords) if not isinstance(one, Trajectory)))
    inputs = tuple(path for path in files if path.is_file())
    limits = keep.motion(loaded)
    paths, notes = keep.paths(loaded, limits, loaded.held)
    notes = (*loaded.notes, *notes)
    if search.is_static:
        return _posed(search, loaded, limits, paths, inputs, notes)
    check_noise(search.noise, loaded.n_dof)
    base = base_parameters(model)
    known = search.known(model, base)
    found, assembly = _moved(search, model, base, limits, paths, known, progress)
    run = Information.of(model, assembly.trajectory.motion(rate), noise_std=search.noise, base=base)
    judged = assembly.trajectory.motion(JUDGED_HZ + 4.0 * assembly.trajectory.bandwidth_hz)
    return ExcitingTrajectory(
        model=model,
        base=base,
        trajectory=assembly.trajectory,
        certificate=assembly.certificate,
        limits=limits,
        report=assess(model, judged, base=base) if found is None else found.report,
        std=(run if known is None else known + run).std,
        rate=rate,
        seed=search.seed,
        found=found,
        ros=None if ros is None else Path(ros),
        picture=picture,
        inputs=inputs,
        notes=notes,
    )


def _posed(
    search: ExciteSearch,
    robot: Robot,
    limits: MotionLimits,
    paths: Sequence[PathLimit],
    inputs: tuple[Path, ...],
    notes: tuple[str, ...],
) -> ExcitingPoses:
    design = design_poses(
        robot,
        search.poses,
        kind="gravity" if search.kind == "gravity-poses" else "reverse",
        limits=limits,
        path_limits=paths,
        seed=search.seed,
    )
    return ExcitingPoses(robot, design, search.seed, inputs, notes)


def _moved(
    search: ExciteSearch,
    model: TorqueModel,
    base: BaseParameters,
    limits: MotionLimits,
    paths: Sequence[PathLimit],
    known: Information | None,
    progress: Progress,
) -> tuple[Excitation | None, Assembly]:
    """A motion inside all limits, and how it was found where it was searched for."""
    basis, repeats = search.basis()
    robot, seed = model.robot, search.seed
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
        path_limits=paths,
        criterion=search.sought(known, search.rate * basis.length * repeats),
        start=search.start,
        base=base,
        restarts=search.restarts,
        time_budget=search.time_budget,
        workers=search.workers,
        seed=seed,
        progress=told,
    )
    return found, Assembly(found.trajectory, found.certificate)
