"""Full parameters under what you know of your robot: masses, symmetry, and a rule written in Python.

Torque reveals combinations only. Many full parameter sets give the same torque; constraints choose among them.
The same on the command line: dynid retrieve result/model.json --bounds bounds.csv --config constraints.toml
"""

import numpy as np

from dynid import Constraints, Retrieval, TorqueModel, base_parameters, load_robot
from dynid.regression import Links, MultiStart, RetrievalObjective, Symmetry, UserFunction

robot = load_robot("spatial2r")
model = TorqueModel(robot)
base = base_parameters(model)
beta = base.project(model.nominal())  # Stands for the coefficients an identification found.
total = float(np.sum(model.nominal()[:: len(model.nominal()) // robot.n_dof][: robot.n_dof]))
first, second = robot.link_names


def lighter_towards_the_tip(links: Links) -> float:
    """Positive, and therefore punished, while the second link is not at least 20 % lighter than the first."""
    return links[second].mass - 0.8 * links[first].mass


wishes = {
    "physically consistent": Constraints(total_mass=(0.5 * total, 2.0 * total)),
    "and weighed": Constraints(total_mass=(0.99 * total, 1.01 * total)),
    "and lighter towards the tip": Constraints(
        total_mass=(0.99 * total, 1.01 * total),
        functions=(UserFunction("lighter towards the tip", lighter_towards_the_tip),),
    ),
    "and a round last link": Constraints(
        total_mass=(0.99 * total, 1.01 * total),
        symmetries=(Symmetry(link=second, plane="xz"),),
        functions=(UserFunction("lighter towards the tip", lighter_towards_the_tip),),
    ),
}
objective = RetrievalObjective.coefficients(base, beta)
print(f"{'':30} {'m1 / kg':>8} {'m2 / kg':>8} {'error / %':>9}  met")
for name, constraints in wishes.items():
    found = Retrieval(constraints=constraints, engine=MultiStart(), runs=4, seed=0).solve(model, base, objective)
    masses = found.theta.reshape(-1, 10)[:, 0]
    print(f"{name:30} {masses[0]:8.3f} {masses[1]:8.3f} {found.relative_percent:9.4f}  {found.met}")
print("\nAll of them move alike; what differs cannot be seen by any torque sensor, only be known.")
print("still open after the last:", ", ".join(found.spread.open) or "nothing")
