"""An arm of two joints, its logs and what its controller tells, for the tests of the jobs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import dynid
from dynid.arrays import Array
from dynid.chain import InertialParameters, load_robot
from dynid.dynamics import Coulomb, LagrangianModel, TorqueModel, Viscous, base_parameters
from dynid.recording import Recording
from dynid.regression import ControllerSamples
from tests.regression.arms import exciting_motion, frictional

ARM = load_robot("planar2r")
FRICTION = "viscous+coulomb"
LOAD = InertialParameters.from_order([1.0, 0.1, 0.0, 0.0, 0.01, 0, 0, 0.01, 0, 0.01], "urdf")
"""What the arm carries in a log with load, 1 kg."""
NOISE = 0.01
"""Torque noise over the RMS torque of a joint."""


@cache
def model_and_theta() -> tuple[TorqueModel, Array]:
    """The arm with its friction, and the truth."""
    return frictional(ARM, (Viscous(), Coulomb()), {"Fv": 1.0, "Fc": 2.0})


@cache
def run(seed: int, *, load: bool = False, delay: float = 0.0, seconds: float = 20.0) -> Recording:
    """A log whose torque stamps lag by `delay` (s)."""
    rng = np.random.default_rng(seed)
    model, theta = model_and_theta()
    theta = np.array(theta)
    if load:
        theta[10:20] += LOAD.pi
    motion = exciting_motion(ARM, rng, seconds=seconds)
    tau = model.torque(motion, theta)
    tau = np.column_stack([np.interp(motion.t - delay, motion.t, column) for column in tau.T])
    tau = tau + NOISE * np.sqrt(np.mean(tau**2, axis=0)) * rng.normal(size=tau.shape)
    return Recording(ARM.joint_names, motion.t, motion.q, dq=motion.dq, tau=tau)


@cache
def known() -> dynid.IdentifiedModel:
    """The model of the first run."""
    return dynid.identify(ARM, run(1), friction=FRICTION).model


def arrays(log: Recording) -> dict[str, Array]:
    """A log as plain arrays by name."""
    assert log.dq is not None
    assert log.tau is not None
    return {"t": log.t, "q": log.q, "dq": log.dq, "tau": log.tau}


def controller(n_samples: int = 40) -> ControllerSamples:
    """What the controller of the arm tells of its model."""
    rng = np.random.default_rng(5)
    model = TorqueModel(ARM)
    base = base_parameters(model)
    q = rng.uniform(-1.5, 1.5, (n_samples, 2))
    lagrangian = LagrangianModel(model, base, base.project(model.nominal()))
    lower = np.tril_indices(2)
    return ControllerSamples(q, lagrangian.inertia_matrix(q)[:, lower[0], lower[1]], lagrangian.gravity(q))


def write_controller(samples: ControllerSamples, path: Path) -> Path:
    """The same as a file."""
    table = np.column_stack([samples.q, samples.M, samples.g])
    np.savetxt(path, table, delimiter=",", header="q1,q2,M11,M21,M22,g1,g2", comments="", fmt="%.17g")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def prints_well(result: object) -> None:
    """A result is a page on print, a line as a value, and HTML in a notebook."""
    text, line = str(result), repr(result)
    assert "robot" in text.splitlines()[0]
    assert all(row == row.rstrip() for row in text.splitlines())
    assert "\n" not in line
    assert len(line) < 200
    assert "array(" not in text + line
    assert "<table>" in result._repr_html_()  # type: ignore[attr-defined]
