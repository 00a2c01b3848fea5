"""The published tables of the Franka Panda beside ours: value, σ and difference [Gaz2019].

Needs the measured data: DYNID_DATA=/path/to/data python examples/01_panda_tables.py
"""

import json
import os
import sys
from pathlib import Path

from dynid import OLS, Conditioning, Constraints, Feasible, TorqueModel, base_parameters, load_robot, read_recording
from dynid.dynamics import friction_models
from dynid.regression import SampleRows, compress, read_bounds

if "DYNID_DATA" not in os.environ:
    sys.exit("set DYNID_DATA to the folder of the measured data sets")
data = Path(os.environ["DYNID_DATA"]) / "panda"
facts = json.loads((data / "published.json").read_text())

robot = load_robot("panda")
model = TorqueModel(robot, friction_models("viscous+coulomb+offset"))
base = base_parameters(model)
log = read_recording(data / "excitation_log.csv.gz", robot.joint_names)
samples = Conditioning().plan(log).apply(log)
regression = compress(SampleRows(model, base, (samples,)))

constraints = Constraints(bounds=read_bounds(data / "bounds.csv"), total_mass=(16.0, 20.0))
plain, possible = OLS().fit(regression), Feasible(constraints=constraints).fit(regression)


def published(key: str) -> dict[str, float]:
    """A published column by the symbol of its leading parameter."""
    values = dict(zip(facts["coefficient_leading_parameter"], facts[key]["value"], strict=True))
    for term, numbers in facts[key]["friction"].items():
        values |= {f"{term}{j + 1}": number for j, number in enumerate(numbers)}
    return values


classical, one_step = published("classical"), published("one_step")
print(f"{'':6} {'OLS':>10} {'σ':>9} {'paper CLS':>10} {'diff':>9}   {'feasible':>10} {'paper 1-step':>12} {'diff':>9}")
for name, free, std, feasible in zip(base.leading, plain.beta, plain.std, possible.beta, strict=True):
    print(
        f"{name:6} {free:10.4f} {std:9.4f} {classical[name]:10.4f} {free - classical[name]:9.4f}   "
        f"{feasible:10.4f} {one_step[name]:12.4f} {feasible - one_step[name]:9.4f}"
    )
print(f"\nrelative error: OLS {plain.fit.relative_percent:.2f} %, feasible {possible.fit.relative_percent:.2f} %")
