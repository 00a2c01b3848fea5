"""What people write first with Pinocchio and NumPy; runs with the peers: ``peer_pinocchio.py TASK FOLDER``."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def fit(place: Path, arrays: dict[str, Any], options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inertial parameters and friction of least norm that explain the rows best; dynid's order of parameters."""
    import pinocchio as pin

    started = time.perf_counter()
    model = pin.buildModelFromUrdf(str(place / "robot.urdf"))
    model.gravity.linear = np.array([float(part) for part in options["gravity"].split()])
    data = model.createData()
    q, dq, ddq, tau = arrays["q"], arrays["dq"], arrays["ddq"], arrays["tau"]
    n, n_dof = q.shape
    W = np.zeros((n, n_dof, 13 * n_dof))
    for k in range(n):
        W[k, :, : 10 * n_dof] = pin.computeJointTorqueRegressor(model, data, q[k], dq[k], ddq[k])
    for j in range(n_dof):
        own = 10 * n_dof + 3 * j
        W[:, j, own], W[:, j, own + 1], W[:, j, own + 2] = dq[:, j], np.sign(dq[:, j]), 1.0
    theta = np.linalg.lstsq(W.reshape(n * n_dof, -1), tau.ravel(), rcond=1e-9)[0]
    return {"seconds": time.perf_counter() - started}, {"theta": theta}


def main(task: str, folder: str) -> None:
    """Do one task: arrays and options are read from the folder, answers written into it."""
    place = Path(folder)
    options = json.loads((place / "in.json").read_text(encoding="utf-8"))
    with np.load(place / "in.npz") as found:
        arrays = {key: found[key] for key in found.files}
    figures, answers = {"fit": fit}[task](place, arrays, options)
    np.savez(place / "out.npz", **answers)
    (place / "out.json").write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
