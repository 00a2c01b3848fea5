"""The model inside a controller, from the M(q) and g(q) it reports at a few poses [Gaz2019].

No motion and no torque sensor are needed, and there is no friction to separate. Here the "controller" is the built-in
Panda. The same on the command line: dynid reverse panda controller_model.csv
"""

import numpy as np

from dynid import TorqueModel, base_parameters, load_robot
from dynid.dynamics import LagrangianModel
from dynid.regression import ControllerSamples, Reverse

robot = load_robot("panda")
model = TorqueModel(robot)
base = base_parameters(model)
inside = LagrangianModel(model, base, base.project(model.nominal()))

rng = np.random.default_rng(0)
lower = np.array([joint.limits.lower for joint in robot.joints])
upper = np.array([joint.limits.upper for joint in robot.joints])
rows, columns = np.tril_indices(robot.n_dof)
print("poses   rank   condition number   largest error of a coefficient")
for n_poses in (1, 2, 4, 10, 50):
    q = rng.uniform(lower, upper, (n_poses, robot.n_dof))
    # Controllers print four decimals; that is all the noise there is.
    M, g = np.round(inside.inertia_matrix(q), 4), np.round(inside.gravity(q), 4)
    found = Reverse().fit(model, base, ControllerSamples(q, M[:, rows, columns], g))
    whole = found.estimate.rank == base.n_base
    condition = found.estimate.condition_number if whole else np.inf
    error = np.max(np.abs(found.estimate.beta - inside.beta)) if whole else np.nan
    print(f"{n_poses:5} {found.estimate.rank:6} {condition:18.1f}   {error:.1e}")

print(f"\n{base.n_base} coefficients make the whole model: with them M, C and g follow at any state.")
identified = LagrangianModel(model, base, found.estimate.beta)
q = rng.uniform(lower, upper, (1000, robot.n_dof))
gap = np.max(np.abs(identified.gravity(q) - inside.gravity(q)))
print(f"largest error of g(q) over 1000 other poses: {gap:.1e} N·m")
print("rows of g that are zero at every pose, and therefore dropped:", ", ".join(found.dropped))
