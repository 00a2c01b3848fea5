"""From a robot file and a log to physically consistent parameters, and what they are good for.

The arm and its logs are simulated here, so that the truth is known. For your own arm start at "identify": replace
arm.urdf and the logs. The same in one line: dynid identify arm.urdf run.csv --validate other.csv
"""

from pathlib import Path

import numpy as np

import dynid

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="4"/>
    <inertia ixx="0.02" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.15 0 0.01"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.04" izz="0.09" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="80"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2.5" upper="2.5" velocity="4" effort="40"/></joint>
</robot>"""

# No body has the inertia that the file gives the forearm: lint tells, repair writes the nearest that exists.
Path("drawing.urdf").write_text(ARM)
print(dynid.lint("drawing.urdf"), "\n")
print(dynid.repair("drawing.urdf", "arm.urdf"), "\n")
print(dynid.info("arm.urdf"), "\n")
for name, seed in (("run.csv", 1), ("other.csv", 2)):
    dynid.save(dynid.simulate("arm.urdf", duration=20.0, rate=200.0, noise_tau="2%", seed=seed), name)

# identify
try:
    dynid.identify("arm.urdf", "rnu.csv")
except dynid.DynidError as error:  # Every error of dynid says what to do.
    print("refused:", error, "\n")
print(dynid.examine("arm.urdf", "run.csv"), "\n")
result = dynid.identify("arm.urdf", "run.csv", validate="other.csv")
print(result, "\n")
for link in result.links.values():
    print(f"{link.name}: {link.mass}")
dynid.save(result, "out")  # model.json, report.html, run.json and robot.urdf

# use the model: on another log, and for the torque of a motion
model: dynid.IdentifiedModel = dynid.load_model("out/model.json")
print("\n", dynid.validate(model, "other.csv"), sep="")
print("\n", dynid.rollout(model, "other.csv"), sep="")
held = dynid.predict(model, np.array([0.0, 0.5]), np.zeros(2), np.zeros(2))
print("\ntorque that holds the arm at 0 and 0.5 rad:", np.round(held.tau, 3), "± 1σ", np.round(held.std, 3), "N·m")
