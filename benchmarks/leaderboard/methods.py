"""The methods of the leaderboard: each fits a model to the training logs of an arm, as its user would."""

from __future__ import annotations

import ast
import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import dynid
from benchmarks.leaderboard.arms import Arm
from benchmarks.leaderboard.peer_models import PeerFit, figaroh, mujoco_sysid, pinocchio_lstsq, scripts
from dynid.arrays import Array, Float
from dynid.chain.stand_ins import with_stand_ins
from dynid.dynamics import base_parameters, friction_models
from dynid.recording.column_map import read_column_map
from dynid.recording.log_settings import LogSettings
from dynid.regression import IdentifiedModel

DEFAULT = "dynid, plain command"
"""The method that a newcomer gets."""
FOR_SIMULATORS = "dynid, --refine rollout"
"""What `identify --purpose simulator` runs for those who want a model to simulate with."""
CLASSICAL = "viscous+coulomb+offset"
"""Friction of the methods whose name does not say another."""


PEERS: dict[str, Callable[[Arm, LogSettings], PeerFit]] = {
    "Pinocchio + lstsq": pinocchio_lstsq,
    "FIGAROH": figaroh,
    "mujoco.sysid": mujoco_sysid,
}
"""What each peer makes of an arm."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and what it took to find it."""

    model: IdentifiedModel
    note: str = ""
    """What a reader of the table has to know."""
    seconds: float | None = None
    """Where the method's own process measured it; None is what the caller measures."""
    megabytes: float | None = None
    """Likewise, its peak of memory."""


@dataclass(frozen=True)
class Method:
    """A way to a model."""

    name: str
    fit: Callable[[Arm], Fitted]
    lines: int
    """Lines of code that its user writes."""
    peer: bool = False


def settings(arm: Arm) -> LogSettings:
    """How the logs of an arm are read, and conditioned for all alike."""
    columns = None if arm.columns is None else read_column_map(arm.columns)
    return LogSettings(columns=columns, gains=arm.gains)


def identified(arm: Arm, **options: Any) -> Fitted:
    """What `dynid.identify` gives with some options; none is the plain command."""
    result = dynid.identify(
        arm.robot, arm.train, until=arm.split, gains=arm.gains, columns=arm.columns, force=True, **options
    )
    status = "" if not result.estimate.status.value else result.estimate.status.value
    return Fitted(result.model, status)


def nominal(arm: Arm) -> Fitted:
    """The robot file as it is, with the classical friction fitted to what its links do not explain."""
    robot, guessed = with_stand_ins(dynid.load_robot(arm.robot))
    model = dynid.TorqueModel(robot, friction_models(CLASSICAL))
    theta = model.nominal()
    known = bare_model("nominal file", model, theta, settings(arm))
    found = dynid.friction(known, arm.train, friction=CLASSICAL, until=arm.split)
    return Fitted(found.model, "rods stand in for links without inertia" if guessed else "friction fitted")


def filtered(arm: Arm) -> Fitted:
    """One pass of `dynid track` over the training logs, from the links of the robot file and no friction at all."""
    robot = dynid.load_robot(arm.robot)
    stand_in, guessed = with_stand_ins(robot)
    friction = friction_models(CLASSICAL)
    theta = dynid.TorqueModel(stand_in, friction).nominal()
    known = bare_model("nominal file", dynid.TorqueModel(robot, friction), theta, settings(arm))
    for log in arm.train:
        known = dynid.track(known, log, until=arm.split).model
    return Fitted(known, "rods stand in for links without inertia" if guessed else "")


def bare_model(
    name: str, model: dynid.TorqueModel, theta: Float[Array, " n_params"], read: LogSettings
) -> IdentifiedModel:
    """Parameters (SI) of whatever origin as a model that can be judged; nothing is known of their spread."""
    base = base_parameters(model)
    return IdentifiedModel(
        model=model,
        base=base,
        estimator=name,
        status="",
        beta=base.project(theta),
        covariance=np.full((base.n_base, base.n_base), np.nan),
        theta=theta,
        settings=read,
    )


def _of_peer(fit: Callable[[Arm, LogSettings], PeerFit], name: str) -> Callable[[Arm], Fitted]:
    """A peer's parameters, from rows that dynid conditioned; its own process is timed."""

    def work(arm: Arm) -> Fitted:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        model, theta, seconds, note = fit(arm, settings(arm))
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        found = bare_model(name, model, theta, settings(arm))
        return Fitted(found, note, seconds, max(before, after) / 1024.0)

    return work


def lines_of(method: str) -> int:
    """Lines of code in the script of a peer, without blank ones and documentation."""
    tree = ast.parse(scripts()[method].read_text(encoding="utf-8"))
    documentation = {
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node) is not None
    }
    plain = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name == "main")]
    code = ast.unparse(ast.Module([node for node in plain if node not in documentation], []))
    inner = sum(len(ast.unparse(node).splitlines()) for node in documentation if node not in tree.body)
    return sum(1 for line in code.splitlines() if line.strip()) - inner


CONSTANT_VELOCITY = "constant velocity"
"""The entry that is no model: positions go on at the first velocity of a window."""


def methods() -> tuple[Method, ...]:
    """All of them, dynid's default first."""
    classical = {"friction": CLASSICAL}
    own: dict[str, dict[str, Any]] = {
        DEFAULT: {},
        FOR_SIMULATORS: {"refine": "rollout"},
        "OLS": {"estimator": "ols", **classical},
        "WLS": {"estimator": "wls", **classical},
        "robust": {"estimator": "robust", **classical},
        "feasible, classical choice": {"prior": "auto", **classical},
        "feasible, MAP": {"prior": "map", **classical},
        "WLS, friction auto": {"estimator": "wls", "friction": "auto"},
        "feasible, friction auto": {"prior": "auto", "friction": "auto"},
        "retrieval": {"estimator": "retrieval", **classical},
    }
    fits = tuple(Method(name, partial(identified, **options), 3) for name, options in own.items())
    return (
        *fits,
        Method("nominal file", nominal, 3),
        Method("filter, once through", filtered, 3),
        *(Method(name, _of_peer(fit, name), lines_of(name), peer=True) for name, fit in PEERS.items()),
    )
