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

MOST_WINDOWS = 24
MOST_ITERATIONS = 15
"""Beyond which its residual fell by less than a thousandth a step on the arms of the leaderboard."""


def with_sensors(xml: str, joints: list[str], timestep: float) -> Any:
    """The robot, which has a motor at every joint, with position sensors, stepped at the rate of the log."""
    import mujoco

    spec = mujoco.MjSpec.from_string(xml)
    spec.option.timestep = timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    for motor in spec.actuators:
        motor.ctrllimited = False
    for joint in joints:
        spec.add_sensor(
            name=f"{joint}_pos",
            type=mujoco.mjtSensor.mjSENS_JOINTPOS,
            objtype=mujoco.mjtObj.mjOBJ_JOINT,
            objname=joint,
        )
    return spec


def parameters(spec: Any, joints: list[str]) -> Any:
    """The pseudo-inertia of every body, and armature, damping and friction loss of every joint."""
    from mujoco import sysid

    model = spec.compile()
    found = sysid.ParameterDict()
    for k in range(1, model.nbody):

        def turn(spec: Any, parameter: Any, name: str = model.body(k).name) -> None:
            sysid.apply_body_inertia(spec, name, parameter)
            # Left as nan, the compiler of 3.16 refuses the body: "mass and inertia of moving bodies must be larger …".
            spec.body(name).iquat = [1.0, 0.0, 0.0, 0.0]

        pseudo = sysid.InertiaType.Pseudo
        found.add(sysid.body_inertia_param(spec, model, model.body(k).name, inertia_type=pseudo, modifier=turn))
    for joint in joints:
        size = 0.1 + float(model.joint(joint).armature[0])
        for attribute, start, most in (("armature", size, 10.0), ("damping", 1.0, 100.0), ("frictionloss", 1.0, 100.0)):

            def modify(spec: Any, parameter: Any, joint: str = joint, attribute: str = attribute) -> None:
                value = parameter.value[0]
                entry = spec.joint(joint)
                setattr(entry, attribute, value if np.ndim(getattr(entry, attribute)) == 0 else [value, 0.0, 0.0])

            found.add(sysid.Parameter(f"{joint}_{attribute}", start, 1e-6, most, modifier=modify))
    return found


def fit(place: Path, arrays: dict[str, Any], options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Links in dynid's order, and damping, friction loss and armature of each joint."""
    import mujoco
    from mujoco import sysid

    joints = options["joints"].split()
    t, q, dq, tau = arrays["t"], arrays["q"], arrays["dq"], arrays["tau"]
    period = float(np.median(np.diff(t)))
    xml = (place / "robot.xml").read_text(encoding="utf-8")
    spec = with_sensors(xml, joints, period)
    model = spec.compile()
    data = mujoco.MjData(model)
    length = max(4, round(float(options["window"]) / period))
    starts = np.unique(np.linspace(0, len(t) - length - 1, MOST_WINDOWS).astype(int))
    states, controls, sensors = [], [], []
    for start in starts:
        part = slice(start, start + length)
        clock = np.arange(length) * period
        states.append(sysid.create_initial_state(model, q[start], dq[start], data.act))
        controls.append(sysid.TimeSeries(clock, tau[part]))
        sensors.append(sysid.TimeSeries.from_names(clock, q[part], model))
    names = [f"w{start}" for start in starts]
    sequences = sysid.ModelSequences("arm", spec, names, states, controls, sensors)
    started = time.perf_counter()
    found, result = sysid.optimize(
        initial_params=parameters(spec, joints),
        residual_fn=sysid.build_residual_fn(models_sequences=[sequences]),
        optimizer="mujoco",
        max_iters=MOST_ITERATIONS,
    )
    seconds = time.perf_counter() - started
    for parameter in found.values():
        parameter.apply_modifier(spec)
    final = spec.compile()
    answers = {"links": links(final, joints), "terms": terms(final, joints)}
    return {"seconds": seconds, "iterations": len(result.extras.get("objective", []))}, answers


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
