"""`excite`: a motion that shows the parameters, inside every limit; or poses that do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from dynid.arrays import Array
from dynid.chain.robot import Robot
from dynid.dynamics.base_parameters import BaseParameters, base_parameters
from dynid.dynamics.model import TorqueModel
from dynid.dynamics.threads import one_blas_thread
from dynid.errors import ConfigError, ExcitationError
from dynid.excitation.assembly import Assembly
from dynid.excitation.criteria import assess, check_noise
from dynid.excitation.design import DesignProgress, Excitation, design_excitation
from dynid.excitation.limits.motion_limits import MotionLimits, PathLimit
from dynid.excitation.poses import design_poses
from dynid.excitation.ready_made import point_to_point, random_fourier, sinusoids
from dynid.excitation.sequential import Information
from dynid.excitation.trajectory import Trajectory
from dynid.excitation.trajectory_files import read_coefficients
from dynid.workflow.doors import RobotLike, RobotOptions, as_locks, as_numbers, as_seed, as_torque_model, locked_joint
from dynid.workflow.excite_options import CriterionName, ExciteLimits, ExciteSearch, MotionFamily
from dynid.workflow.exciting import ExcitingPoses, ExcitingTrajectory
from dynid.workflow.progress import Progress, silent

__all__ = ["excite"]

JUDGED_HZ = 100.0
"""Samples a second at which a ready-made motion is judged, at least."""
TrajectoryLike = str | PathLike[str] | Trajectory
"""A file of coefficients, or a `Trajectory`."""


@one_blas_thread()
def excite(
    robot: RobotLike,
    *,
    friction: str = "viscous+coulomb+offset",
    rotor_inertia: bool = False,
    rate: float = 1000.0,
    ros: str | PathLike[str] | None = None,
    picture: bool = True,
    kind: MotionFamily = "fourier",
    poses: int = 40,
    harmonics: int = 5,
    base_frequency: float | None = None,
    duration: float | None = None,
    criterion: CriterionName = "condition",
    noise: str | float | Sequence[float] | Array = 1.0,
    after: TrajectoryLike | list[TrajectoryLike] | tuple[TrajectoryLike, ...] = (),
    start: str | Sequence[float] | Array | None = None,
    restarts: int = 8,
    time_budget: float = 30.0,
    workers: int | None = None,
    seed: int = 0,
    margin: float = 0.0,
    effort_margin: float = 0.1,
    velocity: float = np.inf,
    acceleration: float = np.inf,
    jerk: float = np.inf,
    floor: float | None = None,
    box: tuple[float, float, float, float, float, float] | None = None,
    clearance: float = 0.02,
    self_collision: bool = True,
    packages: Sequence[str | PathLike[str]] = (),
    lock: Iterable[str] | Mapping[str, float] = (),
    gravity: tuple[float, float, float] | None = None,
    mount: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ignore_inertials: bool = False,
    progress: Progress = silent,
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
        kind: fourier and spline are optimised; random, sinusoids, point-to-point are for validation; reverse-poses and
            gravity-poses are static.
        poses: number of static poses.
        harmonics: of the Fourier series; a spline gets three control points for each.
        base_frequency: Hz, one over the period; None is 0.1, or one over the duration.
        duration: seconds at full speed, rounded up to whole periods; None is one period.
        criterion: what the search makes small; d-optimal weighs by `noise`.
        noise: standard deviation of the torque, N·m or N: one number, or one a joint.
        after: trajectories that were run already, or their coefficient files: the new one adds most to them.
        start: pose to start and stop at, rad or m.
        restarts: random points to start the search from.
        time_budget: seconds after which the best so far is returned.
        workers: threads; None is one a processor.
        seed: of the random points.
        margin: fraction of ranges, velocities, accelerations and jerks left unused.
        effort_margin: fraction of the effort limits left unused.
        velocity: limit for all joints, rad/s or m/s.
        acceleration: limit for all joints, rad/s² or m/s².
        jerk: limit for all joints, rad/s³ or m/s³.
        floor: height that no link may go below, m in the base frame.
        box: box to stay in: xmin ymin zmin xmax ymax zmax, m in the base frame.
        clearance: distance to floor, box and itself, m.
        self_collision: check collision geometry where the robot file has any.
        packages: folders of package:// meshes.
        lock: joints to freeze, names or JOINT=VALUE (rad or m).
        gravity: in world axes, m/s²; None is the file's, or −z.
        mount: roll, pitch, yaw of the base in the world, rad.
        ignore_inertials: neither use nor check the inertias of the robot file.
        progress: hears what is being done.

    Raises:
        ExcitationError: limits that contradict each other, a pose outside them, a rate that is too low.
        DynidError: any other wrong input, naming the parameter and what was expected.
    """
    frozen = as_locks(lock)
    options = RobotOptions(lock=frozen, gravity=gravity, mount=mount, ignore_inertials=ignore_inertials)
    loaded = options.load(robot)
    earlier: Sequence[TrajectoryLike] = tuple(after) if isinstance(after, list | tuple) else (after,)
    search = ExciteSearch(
        kind=kind,
        poses=poses,
        harmonics=harmonics,
        base_frequency=base_frequency,
        duration=duration,
        rate=rate,
        criterion=criterion,
        noise=as_numbers("noise", noise),
        after=tuple(_trajectory(one) for one in earlier),
        start=None if start is None else as_numbers("start", start),
        restarts=restarts,
        time_budget=time_budget,
        workers=workers,
        seed=as_seed(seed),
    )
    keep = ExciteLimits(
        margin=margin,
        effort_margin=effort_margin,
        velocity=velocity,
        acceleration=acceleration,
        jerk=jerk,
        floor=floor,
        box=box,
        clearance=clearance,
        self_collision=self_collision,
        packages=tuple(Path(folder) for folder in packages),
    )
    model = as_torque_model(loaded, friction, rotor_inertia=rotor_inertia)
    files = (Path(loaded.source), *(Path(one) for one in earlier if not isinstance(one, Trajectory)))
    inputs = tuple(path for path in files if path.is_file())
    limits = keep.motion(loaded)
    paths, notes = keep.paths(loaded, limits, dict(locked_joint(item) for item in frozen))
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
        seed=seed,
        found=found,
        ros=None if ros is None else Path(ros),
        picture=picture,
        inputs=inputs,
        notes=notes,
    )


def _trajectory(one: TrajectoryLike) -> Trajectory:
    if isinstance(one, Trajectory):
        return one
    if not isinstance(one, str | PathLike):
        raise ConfigError(f"after: expected a file of coefficients or a Trajectory, got {type(one).__name__}")
    return read_coefficients(Path(one))


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
