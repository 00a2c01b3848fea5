"""Identified models in the simulator: a UR5e whose truth is MuJoCo's, all friction exported, servos without torque."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dynid
from benchmarks import Item, Line, Note, Table, best_of
from benchmarks.public_arms import IIWA14, UR5E, PublicArm
from benchmarks.servo_arm import CONTROLLER, logged
from benchmarks.servo_arm import arm as servo_arm
from dynid import Recording, TorqueModel, base_parameters, load_robot
from dynid.dynamics import FRICTION, Motion, RotorInertia, friction_models
from dynid.errors import LossyExport
from dynid.recording import write_csv
from dynid.simulation.arm import SimulatedArm
from dynid.simulation.joint_controller import JointController
from dynid.simulation.sensitivity import sensitivities
from dynid.simulation.synthetic import plausible_parameters


def run(*, quick: bool) -> Iterator[Item]:
    """Every figure of the benchmark."""
    yield from ur5e_lines(quick=quick)
    yield from servo_lines(quick=quick)
    yield from speed_lines(quick=quick)
    yield from export_lines(quick=quick)


def ur5e_lines(*, quick: bool) -> Iterator[Item]:
    """The plain command on arms of MuJoCo, exported to MJCF, loaded in MuJoCo, on a motion it has not seen."""
    seconds = 2.5 if quick else 20.0
    truths = [(UR5E, 0)] if quick else [*((UR5E, seed) for seed in range(6)), (IIWA14, 0), (IIWA14, 1)]
    cells: list[tuple[str, ...]] = []
    for arm, seed in truths:
        with tempfile.TemporaryDirectory() as name:
            plain, refined, floor, cpu, memory, cpu_refined, share = _in_mujoco(arm, Path(name), seed, seconds)
        if not cells:
            yield Line("UR5e, plain command, MJCF in MuJoCo, 0.5 s open loop", plain, 2.5, "mrad", "at most")
            yield Line("the same, the true MJCF itself (floor)", floor, None, "mrad")
            yield Line("the same, closed loop, share of the tracking error", share, 0.8, "%", "at most")
            yield Line("the same, CPU time of identify and export", cpu, 10.0, "s", "at most")
            yield Line("the same, memory", memory, 0.6, "GB", "at most")
            yield Line("with --refine rollout", refined, 1.6, "mrad", "at most")
            yield Line("the same, CPU time of identify and export", cpu_refined, 30.0, "s", "at most")
        figures = (plain, refined, floor, share, cpu, cpu_refined, memory)
        cells.append((f"{arm.name}, {seed}", *(f"{x:.2f}" for x in figures)))
    errors = ("plain / mrad", "refined / mrad", "true file / mrad", "plain, closed loop / %")
    header = ("truth", *errors, "CPU / s", "refined, CPU / s", "memory / GB")
    # The rule that prefers MuJoCo's friction was set on truths 0 and 1 of the UR5e.
    yield Table("arms in MuJoCo, several truths", header, tuple(cells))


def _in_mujoco(arm: PublicArm, folder: Path, seed: int, seconds: float) -> tuple[float, ...]:
    (folder / "arm.xml").write_text(arm.nominal())
    truth = arm.truth(seed)
    (folder / "truth.xml").write_text(truth)
    for name, number in (("train", 10 + seed), ("test", 50 + seed)):
        asked = arm.reference(number, seconds)
        _with_reference(arm.recorded(truth, asked, number), asked, folder / f"{name}.csv")
    (folder / "ctrl.toml").write_text(arm.controller)
    times, memory = [], 0.0
    for options, out in (([], "plain"), (["--refine", "rollout"], "refined")):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        _command(folder, "identify", "arm.xml", "train.csv", *options, "--out", out)
        _command(folder, "export", f"{out}/model.json", "--to", "mjcf", "--out", f"{out}.xml")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        memory = memory or after.ru_maxrss / 1e6
    files = [f"mujoco:{folder / name}" for name in ("plain.xml", "refined.xml", "truth.xml")]
    result = dynid.rollout(
        folder / "plain" / "model.json", folder / "test.csv", window=0.5, in_=files, controller=folder / "ctrl.toml"
    )
    errors = [_rms(entry.open_loop.rms(0.5)) for entry in result.models[1:4] if entry.open_loop is not None]
    loop = result.models[1].closed_loop
    share = np.nan if loop is None else loop.share_percent
    return errors[0], errors[1], errors[2], times[0], memory, times[1], share


def _command(folder: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dynid", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"dynid {' '.join(words)}: exit {done.returncode}\n{done.stderr}")


def _with_reference(log: Recording, asked: Motion, path: Path) -> None:
    assert log.tau is not None
    n = log.n_dof
    header = ",".join(["t", *(f"{x}{j + 1}" for x in ("q", "tau", "q_ref") for j in range(n))])
    np.savetxt(
        path, np.column_stack([log.t, log.q, log.tau, asked.q]), delimiter=",", header=header, comments="", fmt="%.12g"
    )


def _rms(values: np.ndarray) -> float:
    """RMS over joints, mrad."""
    return 1e3 * float(np.sqrt(np.mean(values**2)))


def servo_lines(*, quick: bool) -> Iterator[Item]:
    """A servo arm that logs positions alone, refined in closed loop, on a motion it has not seen."""
    seconds = 8.0 if quick else 30.0
    ratios = []
    for seed in (1,) if quick else (1, 2, 3):
        robot = servo_arm()
        driver = JointController.of(CONTROLLER, robot)
        log, asked = logged(seed, 1, seconds)
        other, unseen = logged(seed, 2, 6.0 if quick else 20.0)
        found = dynid.identify(
            robot, log, friction="viscous+coulomb", rotor_inertia=True, refine="rollout", controller=driver,
            reference={"t": asked.t, "q": asked.q}, force=True,
        )  # fmt: skip
        result = dynid.rollout(found.model, other, controller=driver, reference={"t": unseen.t, "q": unseen.q})
        own, nominal = (entry.closed_loop for entry in result.models)
        if own is None or nominal is None:
            raise RuntimeError("a closed loop was asked for")
        ratios.append(float(np.linalg.norm(own.rms) / np.linalg.norm(nominal.rms)))
    yield Line(
        "servo arm without torque, closed-loop error over the nominal model's", max(ratios), 1 / 3, "×", "at most"
    )


def speed_lines(*, quick: bool) -> Iterator[Item]:
    """Simulated over real time on one core: seven joints with friction at 1 kHz, and with derivatives."""
    model = TorqueModel(load_robot("panda"), (RotorInertia(), *friction_models("viscous+coulomb")))
    theta = plausible_parameters(model, values={"Ia": 0.1})
    base = base_parameters(model)
    n, step = (200 if quick else 2000), 1e-3
    t = np.arange(n) * step
    w, phase = 2.0 * np.pi * np.linspace(0.4, 1.1, 7), np.linspace(0.0, 5.0, 7)
    x = w * t[:, None] + phase
    motion = Motion(t, 0.4 * np.sin(x) - 0.5, 0.4 * w * np.cos(x), -0.4 * w**2 * np.sin(x))
    tau = model.torque(motion, theta)
    simulated = SimulatedArm.of(model, theta, 3.0)
    start = (motion.q[0], motion.dq[0])
    simulated.run(*start, tau[:2], step)
    [seconds] = best_of([lambda: simulated.run(*start, tau, step)], repetitions=30)
    yield Line("simulated over real time, 7 joints with friction, 1 kHz", n * step / seconds, 200.0)

    def derived() -> None:
        run = simulated.run(*start, tau, step, traced=True)
        sensitivities(simulated, run, base, step, every=20)

    derived()
    [seconds] = best_of([derived], repetitions=15)
    yield Line(f"the same with derivatives by {base.n_base} parameters", n * step / seconds, 10.0)


def export_lines(*, quick: bool) -> Iterator[Item]:
    """Each friction model on three robots: the exported MJCF's rollout error at 0.5 s over the model's own."""
    robots = ("spatial2r",) if quick else ("planar2r", "spatial2r", "panda")
    names = ("tanh",) if quick else tuple(name for name in FRICTION if name != "viscous")
    rows, worst, refused = [], 0.0, 0
    for name in names:
        cells = []
        for robot in robots:
            with tempfile.TemporaryDirectory() as folder:
                ratio = _exported(Path(folder), robot, f"viscous+{name}" if name != "asymmetric" else name)
            refused += ratio is None
            worst = max(worst, ratio or 0.0)
            cells.append("exit 1" if ratio is None else f"{ratio:.2f}")
        rows.append((name, *cells))
    yield Table("MJCF in MuJoCo over the model itself, RMS in 0.5 s", ("friction", *robots), tuple(rows))
    # Other windows than those that the export decides on: a tenth more.
    yield Line("worst ratio of an export that was written", worst, 1.3, "×", "at most")
    yield Note(f"{refused} of {len(names) * len(robots)} exports were refused")


def _exported(folder: Path, name: str, friction: str) -> float | None:
    robot = load_robot(name)
    model = TorqueModel(robot, (RotorInertia(), *friction_models(friction)))
    theta = plausible_parameters(model, values={"Ia": 0.1})
    rng = np.random.default_rng(3)
    t = np.arange(4000) / 200.0
    w = 2.0 * np.pi * np.array([0.2, 0.35, 0.6])
    x = w[:, None] * t + rng.uniform(0.0, 6.0, (robot.n_dof, 3, 1))
    a = rng.uniform(0.15, 0.4, (robot.n_dof, 3))
    waves = ((a, np.sin(x)), (a * w, np.cos(x)), (a * w**2, -np.sin(x)))
    # In the middle of the joints' ranges: MuJoCo stops a joint at its limits, which the waves would pass at the Panda.
    ends = np.array([(joint.limits.lower, joint.limits.upper) for joint in robot.joints])
    middle = np.where(np.all(np.isfinite(ends), axis=1), np.mean(ends, axis=1), 0.0)
    q, dq, ddq = (np.einsum("jk,jkn->nj", size, wave) for size, wave in waves)
    motion = Motion(t, q + middle, dq, ddq)
    tau = model.torque(motion, theta)
    tau = tau + 0.01 * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    q = motion.q + 1e-4 * rng.normal(size=motion.q.shape)
    log = folder / "log.csv"
    write_csv(Recording(robot.joint_names, t, q, tau=tau), log)
    found = dynid.identify(name, log, friction=friction, rotor_inertia=True, force=True)
    dynid.save(found, folder / "result")
    out = folder / "arm.xml"
    try:
        dynid.export(folder / "result" / "model.json", "mjcf", out)
    except LossyExport:
        return None
    result = dynid.rollout(folder / "result" / "model.json", log, in_=f"mujoco:{out}", window=0.5)
    own, file = (entry.open_loop for entry in result.models[:2])
    if own is None or file is None:
        raise RuntimeError("an open loop was asked for")
    return float(np.linalg.norm(file.rms(0.5)) / np.linalg.norm(own.rms(0.5)))
