"""The published tables of the Franka Panda beside ours: value, σ and difference [Gaz2019].

Needs the measured data: DYNID_DATA=/path/to/data python examples/01_panda_tables.py
"""

import json
import os
import sys
from pathlib import Path

import dynid

if "DYNID_DATA" not in os.environ:
    sys.exit("set DYNID_DATA to the folder of the measured data sets")
data = Path(os.environ["DYNID_DATA"]) / "panda"
facts = json.loads((data / "published.json").read_text())
log = data / "excitation_log.csv.gz"

friction = "viscous+coulomb+offset"  # as in the paper
plain = dynid.identify("panda", log, friction=friction, estimator=dynid.OLS(), force=True)
feasible = dynid.identify(
    "panda", log, friction=friction, bounds=data / "bounds.csv", total_mass=(16.0, 20.0), force=True
)


def published(key: str) -> dict[str, float]:
    """A published column by the symbol of its leading parameter."""
    values = dict(zip(facts["coefficient_leading_parameter"], facts[key]["value"], strict=True))
    for term, numbers in facts[key]["friction"].items():
        values |= {f"{term}{j + 1}": number for j, number in enumerate(numbers)}
    return values


classical, one_step = published("classical"), published("one_step")
print(f"{'':6} {'OLS':>10} {'σ':>9} {'paper CLS':>10} {'diff':>9}   {'feasible':>10} {'paper 1-step':>12} {'diff':>9}")
rows = zip(plain.model.base.leading, plain.estimate.beta, plain.estimate.std, feasible.estimate.beta, strict=True)
for name, free, std, kept in rows:
    print(
        f"{name:6} {free:10.4f} {std:9.4f} {classical[name]:10.4f} {free - classical[name]:9.4f}   "
        f"{kept:10.4f} {one_step[name]:12.4f} {kept - one_step[name]:9.4f}"
    )
errors = [found.train.error.relative_percent for found in (plain, feasible)]
print(f"\nrelative error: OLS {errors[0]:.2f} %, feasible {errors[1]:.2f} %")
print("links:", ", ".join(f"{name} {link.mass:.2f} kg" for name, link in feasible.links.items()))
