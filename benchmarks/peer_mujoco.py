"""mujoco.sysid's side of the leaderboard; runs in the environment of the peers: ``peer_mujoco.py TASK FOLDER``.

Called as its documentation does: a `ParameterDict` with the pseudo-inertia of every body (`body_inertia_param`) and
armature, damping and friction loss of every joint, `ModelSequences` of short rollouts under the measured torque,
`build_residual_fn` on joint positions, `optimize` with its default optimiser.
"""

import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

MOST_ITERATIONS = 15
"""Beyond which its residual fell by less than a thousandth a step on the arms of the leaderboard."""
TIMESTEP = 0.002
"""s, MuJoCo's default; measured torques are interpolated, so that a slow log does not mean a coarse simulation."""
POSITIONS = 100
"""Measured positions of a window that are compared, at the most; those between tell little that is new."""
SHARE = 0.05
"""Of the RMS torque of a joint: what armature, damping and friction loss each take at the start."""
UNKNOWN_MASS = (0.01, 100.0)
"""Bounds of a link's mass, relative to the start, where the robot file has none; its own default is 0.1 to 10."""


def stepped(xml: str) -> Any:
    """The robot, which has a motor at every joint, without contacts and limits."""
    import mujoco

    spec = mujoco.MjSpec.from_string(xml)
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    for motor in spec.actuators:
        motor.ctrllimited = False
    return spec


def parameters(spec: Any, joints: list[str], arrays: dict[str, Any], known: bool) -> Any:
    """The pseudo-inertia of every body, and armature, damping and friction loss of every joint at its own scale."""
    from mujoco import sysid

    model = spec.compile()
    found = sysid.ParameterDict()
    for k in range(1, model.nbody):

        def turn(spec: Any, parameter: Any, name: str = model.body(k).name) -> None:
            sysid.apply_body_inertia(spec, name, parameter)
            # Left as nan, the compiler of 3.16 refuses the body: "mass and inertia of moving bodies must be larger …".
            spec.body(name).iquat = [1.0, 0.0, 0.0, 0.0]

        wide = {} if known else {"mass_bound_mult": np.array(UNKNOWN_MASS)}
        pseudo = sysid.InertiaType.Pseudo
        found.add(sysid.body_inertia_param(spec, model, model.body(k).name, inertia_type=pseudo, modifier=turn, **wide))
    for j, joint in enumerate(joints):
        torque, speed, acceleration = (float(np.sqrt(np.mean(arrays[x][..., j] ** 2))) for x in ("tau", "dq", "ddq"))
        scales = {"armature": torque / acceleration, "damping": torque / speed, "frictionloss": torque}
        for attribute, scale in scales.items():

            def modify(spec: Any, parameter: Any, joint: str = joint, attribute: str = attribute) -> None:
                value = parameter.value[0]
                entry = spec.joint(joint)
                setattr(entry, attribute, value if np.ndim(getattr(entry, attribute)) == 0 else [value, 0.0, 0.0])

            found.add(sysid.Parameter(f"{joint}_{attribute}", SHARE * scale, 1e-6 * scale, scale, modifier=modify))
    return found


def fit(place: Path, arrays: dict[str, Any], options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Links in dynid's order, and damping, friction loss and armature of each joint."""
    import mujoco
    from mujoco import sysid

    joints = options["joints"].split()
    spec = stepped((place / "robot.xml").read_text(encoding="utf-8"))
    model = spec.compile()
    data = mujoco.MjData(model)
    states, controls, positions = [], [], []
    for t, q, dq, tau in zip(arrays["t"], arrays["q"], arrays["dq"], arrays["tau"], strict=True):
        clock, every = t - t[0], int(np.ceil(len(t) / POSITIONS))
        states.append(sysid.create_initial_state(model, q[0], dq[0], data.act))
        controls.append(sysid.TimeSeries(clock, tau))
        # Positions of the state: a sensor lags behind its stamp by one step.
        names = [f"{joint}_qpos" for joint in joints]
        positions.append(sysid.TimeSeries.from_names(clock[::every], q[::every], model, names=names))
    names = [f"window {k}" for k in range(len(states))]
    sequences = sysid.ModelSequences("arm", spec, names, states, controls, positions, allow_missing_sensors=True)
    started = time.perf_counter()
    found, result = sysid.optimize(
        initial_params=parameters(spec, joints, arrays, bool(options["known"])),
        residual_fn=sysid.build_residual_fn(models_sequences=[sequences]),
        optimizer="mujoco",
        max_iters=MOST_ITERATIONS,
    )
    seconds = time.perf_counter() - started
    for parameter in found.values():
        parameter.apply_modifier(spec)
    final = spec.compile()
    answers = {"links": links(final, joints), "terms": terms(final, joints)}
    objective = result.extras.get("objective", [])
    return {"seconds": seconds, "iterations": len(objective), "objective": [float(x) for x in objective]}, answers


def links(model: Any, joints: list[str]) -> np.ndarray:
    """Ten inertial parameters of the body of each joint about its frame: m, mc, Ixx Ixy Iyy Ixz Iyz Izz."""
    import mujoco

    rows = []
    for joint in joints:
        body = model.body(int(model.joint(joint).bodyid[0]))
        nine = np.zeros(9)
        mujoco.mju_quat2Mat(nine, body.iquat)
        R = nine.reshape(3, 3)
        m, c = float(body.mass[0]), np.array(body.ipos)
        tensor = R @ np.diag(body.inertia) @ R.T + m * (c @ c * np.eye(3) - np.outer(c, c))
        six = [tensor[0, 0], tensor[0, 1], tensor[1, 1], tensor[0, 2], tensor[1, 2], tensor[2, 2]]
        rows.append([m, *(m * c), *six])
    return np.array(rows)


def terms(model: Any, joints: list[str]) -> np.ndarray:
    """Damping, friction loss and armature of each joint."""
    dofs = [int(model.joint(joint).dofadr[0]) for joint in joints]
    damping = [float(np.ravel(model.dof_damping[k])[0]) for k in dofs]
    return np.column_stack([damping, model.dof_frictionloss[dofs], model.dof_armature[dofs]])


def main(task: str, folder: str) -> None:
    """Do one task: arrays and options are read from the folder, answers written into it."""
    place = Path(folder)
    options = json.loads((place / "in.json").read_text(encoding="utf-8"))
    with np.load(place / "in.npz") as found:
        arrays = {key: found[key] for key in found.files}
    with contextlib.redirect_stdout(io.StringIO()):
        figures, answers = {"fit": fit}[task](place, arrays, options)
    np.savez(place / "out.npz", **answers)
    (place / "out.json").write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
