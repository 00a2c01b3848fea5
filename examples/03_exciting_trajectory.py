"""A motion that shows every parameter, inside all limits, against one that merely looks busy.

The same on the command line: dynid excite panda --out traj.csv
"""

import dynid
from dynid.workflow import ExcitingTrajectory

busy = dynid.excite("panda", kind="random", rate=200.0)
found = dynid.excite("panda", restarts=2, time_budget=4.0, effort_margin=0.1, rate=200.0)
assert isinstance(busy, ExcitingTrajectory)
assert isinstance(found, ExcitingTrajectory)
print(f"random Fourier series    condition number {busy.report.condition_number:8.1f}")
print(f"designed in 4 s          condition number {found.report.condition_number:8.1f}")
print("\nThe condition number bounds how much noise grows on its way from torque to parameters.\n")

print("share of each limit that the designed motion uses:")
for use in found.certificate.uses:
    if use.quantity in ("velocity", "position"):
        print(f"  {use.label:8} {use.quantity:9} {use.reached:7.3f} of {use.limit:7.3f}")
print("all limits kept:", found.certificate.holds)

saved = dynid.save(found, "traj.csv")
print("wrote", ", ".join(str(path) for path in saved.files.values()))
print("play it on the robot, log q, dq and torque, then: dynid identify panda YOUR_LOG.csv\n")

# What the motion is worth, before the robot moves: σ of the parameters from a simulated run of each.
for name, design in (("random", busy), ("designed", found)):
    log = dynid.simulate("panda", trajectory=design.trajectory, rate=200.0, noise_tau="2%", seed=1)
    result = dynid.identify("panda", log.recording, estimator="wls", force=True)
    print(f"{name:9} largest σ of a base parameter {result.estimate.std.max():.4f} (SI)")
