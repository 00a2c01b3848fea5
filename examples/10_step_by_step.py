"""What `dynid.identify` does, step by step: read, condition, stack, fit, keep.

Each step is a frozen value. Take them apart where a step of yours has to go in between.
"""

import numpy as np

import dynid
from dynid.regression import SampleRows, compress
from dynid.validation import compare_torque

# A log with columns of its own, in degrees, and one torque sample in a thousand gone wild.
made = dynid.simulate("planar2r", duration=20.0, rate=200.0, noise_tau="2%")
log = made.recording
assert log.tau is not None
tau = np.array(log.tau)
tau[::997] += 40.0
table = np.column_stack([log.t, np.degrees(log.q), tau])
np.savetxt("mine.csv", table, delimiter=",", header="stamp,angle_1,angle_2,moment_1,moment_2", comments="")

robot = dynid.load_robot("planar2r")
names = {"t": "stamp", "q": "angle_{n}", "tau": "moment_{n}"}
columns = dynid.ColumnMap.model_validate({"columns": names, "units": {"q": "deg"}})
recording: dynid.Recording = dynid.read_recording("mine.csv", robot.joint_names, columns=columns)
print(recording)

plan = dynid.Conditioning().plan(recording)  # Low-pass, decimation, velocity and acceleration, chosen from the log.
print("conditioning:", "; ".join(plan.choices), "\n")
samples = plan.apply(recording)

model = dynid.TorqueModel(robot, "viscous+coulomb+offset")
base: dynid.BaseParameters = dynid.base_parameters(model)
rows: dynid.Regression = compress(SampleRows(model, base, (samples,)))  # A log of any length becomes a triangle.

estimates: dict[str, dynid.Estimate] = {
    estimator.name: estimator.fit(rows) for estimator in (dynid.OLS(), dynid.WLS(), dynid.Robust(), dynid.Feasible())
}
truth = base.project(made.theta)
print(f"{'':32} {'truth':>9}", *(f"{name:>9}" for name in estimates))
for k, label in enumerate(base.labels()):
    print(f"{label:32} {truth[k]:9.4f}", *(f"{estimate.beta[k]:9.4f}" for estimate in estimates.values()))
print("\nThe wild samples pull at least squares; the robust fit gives them no weight.")

theta = estimates["feasible"].theta
assert theta is not None
print(f"torque error of the feasible parameters: {compare_torque(model, theta, samples).error.relative_percent:.2f} %")
