"""What does the arm carry? Mass, centre of mass and inertia of a load, from a run without it and a run with it.

The same on the command line: dynid payload result/model.json loaded.csv --unloaded empty.csv
"""

import numpy as np

from dynid import WLS, Conditioning, InertialParameters, Recording, TorqueModel, base_parameters, load_robot
from dynid.dynamics import friction_models
from dynid.regression import KnownArm, SampleRows, compress, identify_payload
from dynid.simulation import Level, SensorModel, plausible_parameters, smooth_motion, synthesise

robot = load_robot("panda")
model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
base = base_parameters(model)
empty = plausible_parameters(model)
load = InertialParameters.from_com(1.5, [0.02, -0.01, 0.08], np.diag([0.004, 0.005, 0.003]))
carrying = empty.copy()
carrying[model.n_inertial - 10 : model.n_inertial] += load.pi  # The load is welded to the last link.
sensors = SensorModel(tau_noise=Level(relative=0.02), dq_noise=Level(absolute=1e-3))


def run(theta: np.ndarray, seed: int) -> Recording:
    """A log of 15 s at 200 Hz."""
    rng = np.random.default_rng(seed)
    motion = smooth_motion(robot, rng, kind="fourier", duration=15.0, rate_hz=200.0)
    return synthesise(model, motion, rng, theta=theta, sensors=sensors).recording


before, after = run(empty, 1), run(carrying, 2)
plan = Conditioning().plan(before)
arm = WLS().fit(compress(SampleRows(model, base, (plan.apply(before),))))
found = identify_payload(model, base, [plan.apply(after)], known=KnownArm(arm.beta, arm.uncertainty.covariance))

print(f"torque error of the loaded run: {found.without.relative_percent:.1f} % if the load is ignored, ", end="")
print(f"{found.fit.relative_percent:.1f} % with it\n")
print(f"{'':10} {'found':>9} {'± 1σ':>8} {'truth':>8}")
print(f"{'mass / kg':10} {found.mass:9.4f} {found.mass_std:8.4f} {load.mass:8.4f}")
for axis, value, std, true in zip("xyz", found.com, found.com_std, load.com, strict=True):
    print(f"{'com ' + axis + ' / m':10} {value:9.4f} {std:8.4f} {true:8.4f}")
for k, axis in enumerate("xyz"):
    value, std = found.inertia_com[k, k], found.inertia_com_std[k, k]
    print(f"{'I' + axis + axis + ' / kgm²':10} {value:9.4f} {std:8.4f} {load.inertia_com[k, k]:8.4f}")
print("\nThe mass is sharp to 0.1 %, Ixx only to some 5 %: inertia of a small load shows least, and its σ says so.")
