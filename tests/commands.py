"""Commands that write, with small inputs for each: what the batteries of security and faults run over."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from dynid.chain import load_robot
from dynid.dynamics import Motion, TorqueModel, base_parameters, friction_models
from dynid.recording import Recording, write_csv
from dynid.regression import IdentifiedModel, load_model, save_model

WRITING = ("excite", "simulate", "identify", "friction", "retrieve", "track", "reverse", "check", "demo")
"""Every command with ``--out``."""
FILES = ("excite", "simulate")
"""Those whose ``--out`` is a file; that of the others is a folder."""


def arguments(command: str, folder: Path) -> list[str]:
    """A small run of a command, but for its ``--out``; its inputs are written into `folder`."""
    model = saved(folder / "model.json")
    log = str(log_of(folder / "log.csv", model, 600))
    (folder / "samples.csv").write_text("q1,q2,M11,M21,M22,g1,g2\n0.1,0.2,3,1,1,2,1\n0.5,1.2,2,1,1,3,1\n")
    given = {
        "excite": ["planar2r", "--duration", "2", "--harmonics", "2", "--time-budget", "0.5"],
        "simulate": ["planar2r", "--duration", "2"],
        "identify": ["planar2r", log, "--force"],
        "friction": [str(model), log, "--friction", "viscous+coulomb"],
        "retrieve": [str(model), "--runs", "1", "--force"],
        "track": [str(model), log],
        "reverse": ["planar2r", str(folder / "samples.csv")],
        "check": [str(model)],
        "demo": [],
    }[command]
    return [command, *given]


def saved(path: Path, joints: tuple[str, str] = ("joint1", "joint2"), *, robot_name: str = "arm") -> Path:
    robot = load_robot("planar2r")
    renamed = tuple(replace(joint, name=name) for joint, name in zip(robot.joints, joints, strict=True))
    linked = tuple(
        replace(joint, link=replace(joint.link, name=f"link of {name}"))
        for joint, name in zip(renamed, joints, strict=True)
    )
    model = TorqueModel(replace(robot, joints=linked, name=robot_name), friction_models("viscous+coulomb+offset"))
    base = base_parameters(model)
    theta = model.nominal() + np.where(np.arange(model.n_params) >= 20, 0.1, 0.0)
    labels = ("identified",) * model.n_params
    known = IdentifiedModel(
        model, base, "feasible", "", base.project(theta), 1e-8 * np.eye(base.n_base), theta=theta, labels=labels
    )
    save_model(known, path)
    return path


def denavit(path: Path, joints: tuple[str, str], name: str = "arm") -> Path:
    rows = "".join(
        f"[[joint]]\nname = {json.dumps(joint)}\na = {0.3 * k}\nalpha = 0.0\nd = 0.0\n"
        f"link = {json.dumps('L' + joint)}\n"
        "position_limits = [-3.0, 3.0]\nvelocity_limit = 4.0\nacceleration_limit = 20.0\n"
        "inertia = {mass = 2.0, com = [0.1, 0.05, 0.0], inertia_com = [0.03, 0.0, 0.0, 0.03, 0.0, 0.03]}\n"
        for k, joint in enumerate(joints)
    )
    text = f'name = {json.dumps(name)}\nconvention = "modified"\ngravity = [0.0, -9.81, 0.0]\n{rows}'
    path.write_text(text, encoding="utf-8")
    return path


def log_of(path: Path, model_file: Path, n_samples: int = 1200) -> Path:
    known = load_model(model_file)
    t = 0.01 * np.arange(n_samples)
    omega = 2.0 * np.pi * np.array([0.35, 0.55])
    angle = np.outer(t, omega)
    slow = np.outer(t, 0.31 * omega)
    q = np.sin(angle) + 0.5 * np.sin(slow)
    dq = np.cos(angle) * omega + 0.5 * 0.31 * omega * np.cos(slow)
    ddq = -np.sin(angle) * omega**2 - 0.5 * (0.31 * omega) ** 2 * np.sin(slow)
    tau = known.model.torque(Motion(t, q, dq, ddq), known.parameters)
    tau = tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape)
    write_csv(Recording(known.model.robot.joint_names, t, q, dq=dq, tau=tau), path)
    return path
