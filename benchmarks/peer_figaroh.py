"""FIGAROH's side of the benchmarks; runs in the environment of the peers: ``peer_figaroh.py TASK FOLDER``.

Called as its documentation does: `Robot` from a URDF, `build_regressor_basic`, `get_standard_parameters` with
`add_standard_additional_parameters`, `physical_fit.build_problem` with the URDF as prior, `solve_direct_effort_fit`
(its stage ``physical_fit``, default policy and solver), `export_urdf`. Rows of FIGAROH are joint after joint.
"""

import contextlib
import importlib
import io
import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def robot_of(place: Path) -> Any:
    """The robot of the URDF in the folder."""
    return importlib.import_module("figaroh.tools.robot").Robot(str(place / "robot.urdf"), package_dirs=str(place))


def settings(robot: Any, *, friction: bool) -> dict[str, Any]:
    """Identification options: with friction and offsets, or the links alone."""
    n = robot.model.nv
    zeros = {"fv": [0.0] * n, "fs": [0.0] * n, "off": [0.0] * n}
    return {
        "is_joint_torques": True,
        "has_friction": friction,
        "has_joint_offset": friction,
        "has_actuator_inertia": False,
        "act_idxv": list(range(n)),
    } | zeros


def regressor(place: Path, arrays: dict[str, Any], options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Seconds of one regressor of every size asked for, and the first rows for a check."""
    tools = importlib.import_module("figaroh.tools.regressor")
    robot = robot_of(place)
    config = settings(robot, friction=False)
    q, dq, ddq = arrays["q"], arrays["dq"], arrays["ddq"]
    seconds, W = {}, np.empty(0)
    for size in options["sizes"].split():
        n, times = int(size), []
        for _ in range(int(options["repetitions"])):
            started = time.perf_counter()
            W = tools.build_regressor_basic(robot, q[:n], dq[:n], ddq[:n], config)
            times.append(time.perf_counter() - started)
        seconds[size] = min(times)
    n = len(W) // robot.model.nv
    return {"seconds": seconds}, {"first": W.reshape(robot.model.nv, n, -1)[:, :10].swapaxes(0, 1)}


def physical(place: Path, arrays: dict[str, Any], options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The physical fit with friction and offsets, its time in parts, and the URDF it exports."""
    tools = importlib.import_module("figaroh.tools.regressor")
    parameter = importlib.import_module("figaroh.identification.parameter")
    fit = importlib.import_module("figaroh.identification.physical_fit")
    exporter = importlib.import_module("figaroh.tools.urdf_exporter")
    robot = robot_of(place)
    config = settings(robot, friction=True)
    names = parameter.get_standard_parameters(robot.model, config)
    names |= parameter.add_standard_additional_parameters(robot.model, config)
    joints = list(robot.model.names[1:])
    spent = []
    for _ in range(int(options["repetitions"])):
        started = time.perf_counter()
        Y = tools.build_regressor_basic(robot, arrays["q"], arrays["dq"], arrays["ddq"], config)
        problem = fit.build_problem(Y, arrays["tau"].T.ravel(), list(names), joints, prior=np.array([*names.values()]))
        built = time.perf_counter()
        record = fit.solve_direct_effort_fit(problem)
        spent.append((time.perf_counter() - started, time.perf_counter() - built))
    figures: dict[str, Any] = {
        "whole": min(whole for whole, _ in spent),
        "solve": min(solve for _, solve in spent),
        "status": record.solver_status,
        "accepted": bool(record.accepted),
        "exported": "",
    }
    if record.theta is None:
        return figures | {"exported": "nothing: no solution"}, {}
    theta = dict(zip(names, record.theta, strict=True))
    links = {name: float(value) for name, value in theta.items() if not name.startswith(("fv_", "fs_", "off_"))}
    try:
        exporter.export_urdf(place / "robot.urdf", links, output_path=place / "out.urdf", psd_eig_tol=-1e-8)
        figures["exported"] = (place / "out.urdf").read_text(encoding="utf-8")
    except ValueError as error:
        figures["refused"] = str(error)
    # dynid's order: ten numbers a link, then viscous, Coulomb and offset of joint after joint.
    own = [theta[f"{kind}_{joint}"] for joint in joints for kind in ("fv", "fs", "off")]
    return figures, {"theta": np.concatenate([record.theta[: 10 * len(joints)], own])}


def main(task: str, folder: str) -> None:
    """Do one task: arrays and options are read from the folder, answers written into it."""
    logging.disable(logging.WARNING)
    place = Path(folder)
    options = json.loads((place / "in.json").read_text(encoding="utf-8"))
    with np.load(place / "in.npz") as found:
        arrays = {key: found[key] for key in found.files}
    with contextlib.redirect_stdout(io.StringIO()):
        figures, answers = {"regressor": regressor, "physical": physical}[task](place, arrays, options)
    np.savez(place / "out.npz", **answers)
    (place / "out.json").write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
