"""What does the arm carry? Mass, centre of mass and inertia of a load, from a run without it and a run with it.

The same on the command line: dynid payload result/model.json loaded.csv
"""

import numpy as np

import dynid

robot = dynid.load_robot("panda")
last = robot.joints[-1].link
assert last.nominal is not None
load = dynid.InertialParameters.from_com(1.5, [0.02, -0.01, 0.08], np.diag([0.004, 0.005, 0.003]))
carrying = robot.with_nominal({last.name: dynid.InertialParameters(last.nominal.pi + load.pi)})

empty = dynid.simulate(robot, duration=15.0, rate=200.0, noise_tau="2%", seed=1)
friction = dict(zip(empty.model.symbols, empty.theta, strict=True))
friction = {name: value for name, value in friction.items() if name.startswith("f")}  # The same drives in both runs.
loaded = dynid.simulate(carrying, duration=15.0, rate=200.0, noise_tau="2%", seed=2, friction_values=friction).recording

model = dynid.identify(robot, empty.recording, force=True).model
found = dynid.payload(model, loaded)
print(found, "\n")
print(f"truth: {load.mass} kg at {load.com} m, inertia {np.diag(load.inertia_com)} kg·m²")
print("The mass is sharp, the inertia is not: that of a small load shows least, and its σ says so.\n")

# An arm that was greased or taken apart since: a run without the load stands in for what the model knows of it.
again = dynid.payload(model, loaded, unloaded=empty.recording)
print(f"against its own empty run: {again.load.mass:.4f} ± {again.load.mass_std:.4f} kg")
