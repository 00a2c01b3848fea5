"""Small jobs that call every kernel that comes with dynid, for `compile_kernels`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import dynid
from dynid.dynamics.friction.presliding import Presliding
from dynid.dynamics.joint_model import JointModel
from dynid.dynamics.kernels.bound import run_kernel
from dynid.tracking import (
    ConstrainedFilter,
    Entry,
    Sample,
    StateBound,
    StateMap,
    TrackingOptions,
    TrackingSession,
)
from dynid.tracking.bundles import ARM
from dynid.tracking.contact import inertia_matrix
from dynid.tracking.factors import absorb_row, add_noise, scale_factors

__all__ = ["run_jobs"]


def run_jobs() -> None:
    """Follow an arm in every kind of states, a load and a contact, and simulate it, on a small arm."""
    made = dynid.simulate("planar2r", duration=6.0, rate=100.0, friction="viscous+coulomb+offset", seed=1)
    log = made.recording
    for friction in ("viscous+coulomb+offset", "viscous+coulomb+load+presliding"):
        known = dynid.identify("planar2r", log, friction=friction, force=True).model
        dynid.track(known, log, until=4.0)
        dynid.track(known, log, payload=True)
        dynid.rollout(known, log)
        with TemporaryDirectory() as folder:
            dynid.export(known, "mjcf", Path(folder) / "arm.xml", force=True)
        session = TrackingSession(known, log, TrackingOptions(payload=True))
        watcher = session.watcher
        assert watcher is not None
        # What a contact event asks for.
        inertia_matrix(watcher.constants.rows, np.array(log.q[0]), watcher.contact.theta, watcher.memory.work)
        for k, (t, q, dq, tau) in enumerate(zip(log.t, log.q, log.dq, log.tau, strict=True)):
            push = np.array([8.0, 4.0]) if 300 <= k < 340 else np.zeros(2)
            watcher.step(Sample(t, q, dq, np.zeros(2), tau + push))
        state = StateMap.of(known.model, known.parameters, [Entry("m2", StateBound(0.0, 20.0))])
        whole = dynid.Motion(log.t, log.q, log.dq, np.zeros_like(log.q))
        ConstrainedFilter(model=known.model, state=state, noise=np.ones(2)).start().run(whole, log.tau)
    # Presliding has its own kernel; friction models that users add have the general one.
    JointModel.states(Presliding(), np.array(log.q))
    # Factors in other scales, and what is known to have changed, are rare.
    U, D = np.eye(2), np.ones(2)
    run_kernel(ARM, scale_factors, U, D, np.ones(2))
    run_kernel(ARM, add_noise, U, D, 0, 1.0, np.zeros(2))
    run_kernel(ARM, absorb_row, U, D, np.ones(2), 0, 1.0, np.zeros(2))
    for states in ("entries", "links"):
        dynid.track(known, log, states=states, until=4.0)
