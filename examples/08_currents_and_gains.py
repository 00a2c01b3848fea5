"""Only motor currents? A load of known mass tells what one ampere is worth at each joint.

The same on the command line: dynid payload MODEL loaded.csv --unloaded empty.csv --known-mass 2.5
"""

from dataclasses import replace

import numpy as np

from dynid import Conditioning, Feasible, InertialParameters, Recording, TorqueModel, base_parameters, load_robot
from dynid.dynamics import Drives, friction_models
from dynid.regression import SampleRows, compress, identify_gains
from dynid.simulation import Level, SensorModel, plausible_parameters, smooth_motion, synthesise

robot = load_robot("panda").locked({"joint3": 0.3, "joint5": 0.5, "joint7": 0.0})
model = TorqueModel(robot, friction_models("viscous+coulomb"))
empty = plausible_parameters(model)
loaded = empty.copy()
load = InertialParameters.from_com(2.5, [0.03, 0.0, 0.1], 0.01 * np.eye(3))
loaded[model.n_inertial - 10 : model.n_inertial] += load.pi
gains = np.array([12.0, 11.0, 9.5, 8.0])  # N·m/A, what the data sheet does not say.
sensors = SensorModel(tau_noise=Level(relative=0.02), drive_gains=tuple(gains))


def run(theta: np.ndarray, seed: int) -> Recording:
    """A log of currents, 20 s at 200 Hz."""
    rng = np.random.default_rng(seed)
    motion = smooth_motion(robot, rng, kind="fourier", duration=20.0, rate_hz=200.0)
    return synthesise(model, motion, rng, theta=theta, sensors=sensors).recording


without, with_load = run(empty, 1), run(loaded, 2)
found = identify_gains(robot, with_load, without, load.mass, friction="viscous+coulomb")
print(f"{'joint':8} {'gain / N·m/A':>12} {'± 1σ':>7} {'truth':>6}")
for name, gain, std, true in zip(found.joint_names, found.gains, found.std, gains, strict=True):
    print(f"{name:8} {gain:12.3f} {std:7.3f} {true:6.1f}")

# With gains, currents are torques, and everything else works as with a torque sensor.
assert without.current is not None
log = replace(without, tau=Drives(found.gains).joint_torque(without.current), current=None)
samples = Conditioning().plan(log).apply(log)
fit = Feasible().fit(compress(SampleRows(model, base_parameters(model), (samples,))))
print(f"\nfeasible parameters from currents: {fit.fit.relative_percent:.2f} % torque error, {fit.estimator}")
print("With all gains 10 % wrong, all masses are 10 % wrong and the fit no worse: the known mass sets the scale.")
