"""An arm in MuJoCo: a file stepped forward as a user's simulator would, from given torques or under a controller."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array, Float
from dynid.chain.robot import Robot
from dynid.errors import ConfigError
from dynid.simulation.arm import SimulatedRun
from dynid.simulation.roll_kernels import RUNAWAY, Feedback

__all__ = ["DELAY_NAME", "MujocoArm", "load_mujoco"]

DELAY_NAME = "dynid_torque_delay"
"""The custom number in which an export keeps by how much the torque of its log lagged, s."""


def load_mujoco() -> Any:
    """The package mujoco, whose steps release no lock and keep no state here.

    Raises:
        ConfigError: saying how to install it.
    """
    try:
        import mujoco
    except ImportError as error:
        raise ConfigError(
            "MuJoCo is not installed, and is needed to step a file in it: pip install 'dynid[mujoco]'"
        ) from error
    return mujoco


@dataclass(frozen=True, eq=False)
class MujocoArm:
    """A compiled MuJoCo model with the joints of a robot."""

    compiled: Any
    """mujoco.MjModel."""
    qpos: tuple[int, ...]
    """Where the joints' positions stand in qpos."""
    dofs: tuple[int, ...]
    """Where their velocities stand in qvel."""
    name: str = "MuJoCo"
    delay: float | None = None
    """Time in s by which the torque of its log lagged, as an export of dynid says it; None where the file does not."""

    @classmethod
    def of(cls, source: Path | str, robot: Robot) -> MujocoArm:
        """The arm of a file (or of its text), driven by torques at the joints; its servo actuators are switched off.

        Raises:
            ConfigError: for a file that MuJoCo does not read, or without the robot's joints.
        """
        mujoco = load_mujoco()
        try:
            if isinstance(source, Path):
                compiled = mujoco.MjModel.from_xml_path(str(source))
            else:
                compiled = mujoco.MjModel.from_xml_string(source)
        except (ValueError, FileNotFoundError) as error:
            told = " ".join(str(error).split())[:200]
            raise ConfigError(f"{source if isinstance(source, Path) else 'MJCF'}: MuJoCo refuses it: {told}") from error
        name = str(source) if isinstance(source, Path) else "MuJoCo"
        known = {compiled.joint(k).name: k for k in range(compiled.njnt)}
        missing = [joint for joint in robot.joint_names if joint not in known]
        if missing:
            raise ConfigError(f"{name}: has no joint {', '.join(missing)}; it has {', '.join(known)}")
        # What only answers commands (a motor) may keep its constant bias; a servo would hold the arm.
        for k in range(compiled.nu):
            servo = np.any(compiled.actuator_biasprm[k, 1:] != 0.0) or compiled.actuator_dyntype[k] != 0
            if servo:
                compiled.actuator_gainprm[k], compiled.actuator_biasprm[k] = 0.0, 0.0
        compiled.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        joints = [known[joint] for joint in robot.joint_names]
        return cls(
            compiled,
            tuple(int(compiled.jnt_qposadr[k]) for k in joints),
            tuple(int(compiled.jnt_dofadr[k]) for k in joints),
            name,
            _written_delay(mujoco, compiled),
        )

    def run(
        self,
        q: Float[Array, " n_dof"],
        dq: Float[Array, " n_dof"],
        tau: Float[Array, "n_steps n_dof"],
        step: float,
        *,
        feedback: Feedback | None = None,
        n_steps: int | None = None,
        z: Float[Array, "n_dof n_lengths"] | None = None,
    ) -> SimulatedRun:
        """Simulate from a state as `SimulatedArm.run` does (SI), in steps of the file; `z` does not exist here."""
        mujoco = load_mujoco()
        model, data = self.compiled, mujoco.MjData(self.compiled)
        count, period = len(tau) if n_steps is None else n_steps, float(model.opt.timestep)
        at, rows = list(self.qpos), list(self.dofs)
        total = max(1, int(np.ceil(count * step / period - 1e-9)))
        data.qpos[at], data.qvel[rows] = q, dq
        times = step * (np.arange(count) + 0.5)
        given = feedback is None
        push = (
            np.column_stack([np.interp(period * (np.arange(total) + 0.5), times, x) for x in tau.T]) if given else tau
        )
        commands: list[Float[Array, " n_dof"]] = []
        if model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4:
            # These integrators move by the velocity after the step, which stands half a step ahead.
            first = push[0] if feedback is None else _command(feedback, 0, q, dq)
            data.qfrc_applied[rows] = first
            mujoco.mj_forward(model, data)
            data.qvel[rows] = dq - 0.5 * period * data.qacc[rows]
        moved, speed = np.full((2, total + 1, len(at)), np.nan)
        moved[0], speed[0] = q, dq
        done = total
        for k in range(total):
            if feedback is not None:
                while len(commands) * feedback.period <= k * period + 1e-9:
                    commands.append(_command(feedback, len(commands), data.qpos[at], data.qvel[rows]))
                late = max(int(np.floor(((k + 0.5) * period - feedback.delay) / feedback.period + 1e-9)), 0)
                data.qfrc_applied[rows] = commands[min(late, len(commands) - 1)]
            else:
                data.qfrc_applied[rows] = push[k]
            mujoco.mj_step(model, data)
            if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number or not np.max(np.abs(data.qvel[rows])) < RUNAWAY:
                done = k
                break
            moved[k + 1], speed[k + 1] = data.qpos[at], data.qvel[rows]
        ends, asked = period * np.arange(total + 1), step * np.arange(count + 1) * (1.0 - 1e-12)
        kept = slice(0, done + 1)
        q_out = np.column_stack([np.interp(asked, ends[kept], x[kept], right=np.nan) for x in moved.T])
        dq_out = np.column_stack([np.interp(asked, ends[kept], x[kept], right=np.nan) for x in speed.T])
        reached = int(np.count_nonzero(np.isfinite(q_out[:, 0]))) - 1
        return SimulatedRun(q_out, dq_out, np.zeros((count, len(at))), reached)


def _written_delay(mujoco: Any, compiled: Any) -> float | None:
    place = mujoco.mj_name2id(compiled, mujoco.mjtObj.mjOBJ_NUMERIC, DELAY_NAME)
    return None if place < 0 else float(compiled.numeric_data[compiled.numeric_adr[place]])


def _command(
    feedback: Feedback, tick: int, q: Float[Array, " n_dof"], dq: Float[Array, " n_dof"]
) -> Float[Array, " n_dof"]:
    """Torque (N·m or N) that a controller decides on at a tick."""
    k = min(tick, len(feedback.position) - 1)
    torque = feedback.forward[k] + feedback.kp * (feedback.position[k] - q - feedback.bias)
    torque = torque + feedback.kd * (feedback.velocity[k] - dq)
    return np.clip(torque, -feedback.limit, feedback.limit)
