"""Full parameters under what you know of your robot: masses, symmetry, and a rule written in Python.

Torque reveals combinations only. Many full parameter sets give the same torque; constraints choose among them.
The same on the command line: dynid retrieve result/model.json --bounds bounds.csv --config constraints.toml
"""

import dynid
from dynid.regression import Links, MultiStart, RetrievalObjective, Symmetry, UserFunction

robot = dynid.load_robot("spatial2r")
log = dynid.simulate(robot, friction="none", duration=20.0, rate=200.0)
model = dynid.identify(robot, log.recording, friction="none", estimator="wls", force=True).model
total = sum(nominal.mass for joint in robot.joints if (nominal := joint.link.nominal) is not None)  # From a scale.
first, second = robot.link_names


def lighter_towards_the_tip(links: Links) -> float:
    """Positive, and therefore punished, while the second link is not at least 20 % lighter than the first."""
    return links[second].mass - 0.8 * links[first].mass


tapered = UserFunction("lighter towards the tip", lighter_towards_the_tip)
weighed = (0.99 * total, 1.01 * total)
wishes = {
    "physically consistent": dynid.Constraints(total_mass=(0.5 * total, 2.0 * total)),
    "and weighed": dynid.Constraints(total_mass=weighed),
    "and lighter towards the tip": dynid.Constraints(total_mass=weighed, functions=(tapered,)),
    "and a round last link": dynid.Constraints(
        total_mass=weighed, functions=(tapered,), symmetries=(Symmetry(link=second, plane="xz"),)
    ),
}
print(f"{'':30} {'m1 / kg':>8} {'m2 / kg':>8} {'error / %':>9}")
for name, constraints in wishes.items():
    found = dynid.retrieve(model, config=constraints)
    masses = [link.mass for link in found.model.links]
    print(f"{name:30} {masses[0]:8.3f} {masses[1]:8.3f} {found.found.relative_percent:9.4f}")
print("\nAll of them move alike; what differs cannot be seen by any torque sensor, only be known.")
print("still open after the last:", ", ".join(found.found.spread.open) or "nothing")

# The search itself, where its engine, its seed or its objective are to be others:
search = dynid.Retrieval(constraints=wishes["and weighed"], engine=MultiStart(), runs=8, seed=1)
again = search.solve(model.model, model.base, RetrievalObjective.coefficients(model.base, model.beta))
print(f"with 8 other starts: {again.relative_percent:.4f} %, all constraints met: {again.met}")
