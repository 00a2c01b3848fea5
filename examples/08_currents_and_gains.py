"""Only motor currents? A load of known mass tells what one ampere is worth at each joint.

The same on the command line: dynid payload MODEL loaded.csv --unloaded empty.csv --known-mass 2.5
"""

import numpy as np

import dynid

robot = dynid.load_robot("panda").locked({"joint3": 0.3, "joint5": 0.5, "joint7": 0.0})
last = robot.joints[-1].link
assert last.nominal is not None
load = dynid.InertialParameters.from_com(2.5, [0.03, 0.0, 0.1], 0.01 * np.eye(3))
carrying = robot.with_nominal({last.name: dynid.InertialParameters(last.nominal.pi + load.pi)})
gains = (12.0, 11.0, 9.5, 8.0)  # N·m/A, what the data sheet does not say.

friction = "viscous+coulomb"
without = dynid.simulate(robot, friction=friction, rate=200.0, noise_tau="2%", gains=gains, seed=1)
values = dict(zip(without.model.symbols, without.theta, strict=True))
values = {name: value for name, value in values.items() if name.startswith("f")}
with_load = dynid.simulate(
    carrying, friction=friction, friction_values=values, rate=200.0, noise_tau="2%", gains=gains, seed=2
)

# The model gives robot and friction only: what a guess of the gains makes of the currents will do.
guess = dynid.identify(robot, without.recording, gains=[10.0] * 4, friction=friction, estimator="wls", force=True)
found = dynid.payload(
    guess.model, with_load.recording, unloaded=without.recording, known_mass=load.mass, friction=friction
)
print(f"{'joint':8} {'gain / N·m/A':>12} {'± 1σ':>7} {'truth':>6}")
for name, gain, std, true in zip(robot.joint_names, found.gains, found.found.std, gains, strict=True):
    print(f"{name:8} {gain:12.3f} {std:7.3f} {true:6.1f}")

# With gains, currents are torques, and everything else works as with a torque sensor.
result = dynid.identify(robot, without.recording, gains=found.gains, friction=friction, force=True)
print(f"\nfeasible parameters from currents: {result.train.error.relative_percent:.2f} % torque error")
print("With all gains 10 % wrong, all masses are 10 % wrong and the fit no worse: the known mass sets the scale.\n")

# Next winter the grease is stiff: friction alone is fitted anew, the model remembers the gains.
stiff = {name: 1.6 * value for name, value in values.items()}
winter = dynid.simulate(robot, friction=friction, friction_values=stiff, rate=200.0, gains=gains, seed=3)
print(dynid.friction(result.model, winter.recording, friction=friction))
