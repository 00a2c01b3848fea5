"""From a robot file and a CSV to parameters that are physically possible, step by step.

The arm and its log are simulated here, so that the truth is known. For your own arm start at "identify":
replace arm.urdf and run.csv. The same in one line: dynid identify arm.urdf run.csv
"""

from pathlib import Path

import numpy as np

from dynid import OLS, Conditioning, Feasible, TorqueModel, base_parameters, load_robot, read_recording, validate
from dynid.dynamics import friction_models
from dynid.recording import write_csv
from dynid.regression import SampleRows, compress
from dynid.simulation import Level, SensorModel, plausible_parameters, smooth_motion, synthesise

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="4"/>
    <inertia ixx="0.02" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.15 0 0.01"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.04" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="80"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2.5" upper="2.5" velocity="4" effort="40"/></joint>
</robot>"""

Path("arm.urdf").write_text(ARM)
robot = load_robot("arm.urdf")
model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
truth = plausible_parameters(model)
sensors = SensorModel(q_noise=Level(absolute=1e-5), dq_noise=Level(absolute=1e-3), tau_noise=Level(relative=0.02))
for name, seed in (("run.csv", 1), ("other.csv", 2)):
    rng = np.random.default_rng(seed)
    motion = smooth_motion(robot, rng, kind="fourier", duration=20.0, rate_hz=200.0)
    write_csv(synthesise(model, motion, rng, theta=truth, sensors=sensors).recording, Path(name))

# identify
base = base_parameters(model)
print(f"{robot.name}: {model.n_params} parameters, torque reveals {base.n_base} combinations of them\n")
log = read_recording("run.csv", robot.joint_names)
plan = Conditioning().plan(log)
print("conditioning:", "; ".join(plan.choices), "\n")
regression = compress(SampleRows(model, base, (plan.apply(log),)))
found, free = Feasible().fit(regression), OLS().fit(regression)

print(f"{'':32} {'value':>10} {'± 1σ':>9} {'truth':>10}")
for label, value, std, true in zip(base.labels(), found.beta, found.std, base.project(truth), strict=True):
    print(f"{label:32} {value:10.4f} {std:9.4f} {true:10.4f}")

# validate on a motion the fit has not seen
other = read_recording("other.csv", robot.joint_names)
samples = plan.apply(other)
assert found.theta is not None
for name, theta in (("feasible", found.theta), ("least squares", base.lift(free.beta)), ("truth", truth)):
    print(f"{name:14} {validate(model, theta, samples).error.relative_percent:6.2f} % torque error on another motion")
