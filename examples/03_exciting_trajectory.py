"""A motion that shows every parameter, inside all limits, against one that merely looks busy.

The same on the command line: dynid excite panda --out traj.csv
"""

from pathlib import Path

from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import friction_models
from dynid.excitation import FourierBasis, MotionLimits, assess, design_excitation, random_fourier, write_trajectory

robot = load_robot("panda")
model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
base = base_parameters(model)
basis = FourierBasis(harmonics=5, base_frequency_hz=0.1)
limits = MotionLimits.of(robot, effort_margin=0.1)

busy = random_fourier(robot, basis=basis, limits=limits, seed=0)
report = assess(model, busy.trajectory.motion(100.0), base=base)
print(f"random Fourier series    condition number {report.condition_number:8.1f}")

found = design_excitation(model, basis=basis, limits=limits, base=base, restarts=2, time_budget=4.0, seed=0)
print(f"designed in 4 s          condition number {found.report.condition_number:8.1f}")
print("\nThe condition number bounds how much noise grows on its way from torque to parameters.\n")

print("share of each limit that the designed motion uses:")
for use in found.certificate.uses:
    if use.quantity in ("velocity", "position"):
        print(f"  {use.label:8} {use.quantity:9} {use.reached:7.3f} of {use.limit:7.3f}")
print("all limits kept:", found.certificate.holds)

write_trajectory(Path("traj.csv"), found.trajectory, rate_hz=200.0)
print("wrote traj.csv: play it on the robot, log q, dq and torque, then: dynid identify panda YOUR_LOG.csv")
