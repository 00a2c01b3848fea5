"""The model inside a controller, from the M(q) and g(q) it reports at a few poses [Gaz2019].

No motion and no torque sensor are needed, and there is no friction to separate. Here the "controller" is the built-in
Panda. The same on the command line: dynid reverse panda controller_model.csv
"""

import numpy as np

import dynid
from dynid.dynamics import LagrangianModel
from dynid.workflow import ExcitingPoses

robot: dynid.Robot = dynid.load_robot("panda")
model = dynid.TorqueModel(robot)
base: dynid.BaseParameters = dynid.base_parameters(model)
inside = LagrangianModel(model, base, base.project(model.nominal()))
print(f"{robot.name}: {model.n_params} parameters, M and g reveal {base.n_base} combinations of them\n")

print("poses   rank   condition number   largest error of a base parameter")
for n_poses in (2, 4, 10, 50):
    design = dynid.excite(robot, kind="reverse-poses", poses=n_poses)
    assert isinstance(design, ExcitingPoses)
    q = design.poses
    # Controllers print four decimals; that is all the noise there is.
    told = {"q": q, "M": np.round(inside.inertia_matrix(q), 4), "g": np.round(inside.gravity(q), 4)}
    found = dynid.reverse(robot, told)
    whole = found.estimate.rank == base.n_base
    condition = found.estimate.condition_number if whole else np.inf
    error = np.max(np.abs(found.estimate.beta - inside.beta)) if whole else np.nan
    print(f"{n_poses:5} {found.estimate.rank:6} {condition:18.1f}   {error:.1e}")

print(f"\n{base.n_base} base parameters make the whole model: with them M, C and g follow at any state.")
q = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, robot.n_dof))
held = dynid.predict(found.model, q, np.zeros_like(q), np.zeros_like(q))
print(f"largest error of g(q) over 1000 other poses: {np.max(np.abs(held.tau - inside.gravity(q))):.1e} N·m")

checked = dynid.check(found.model)
print(f"\ndoes any physically consistent robot have them? {checked.consistent}, margin {checked.margin:.1e}")
print(f"smallest eigenvalue of M(q) in the worst pose of the workspace: {checked.pose.smallest:.2g} kg·m²")

full = dynid.retrieve(found.model, total_mass=(16.0, 20.0), runs=1)
print("\nphysically consistent links with these base parameters, one set of many:")
for name, link in zip(robot.link_names, full.model.links, strict=True):
    print(f"  {name:8} {link.mass:6.3f} kg, centre of mass {np.round(link.com, 3)} m")
