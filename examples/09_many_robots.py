"""Three arms of one kind: one manifest, one command, a folder each; then a robot file and C code of every model.

The same on the command line: dynid identify arms.toml --out results; dynid export results/cell1/model.json --to c
"""

from pathlib import Path

import dynid

runs = []
for k, name in enumerate(("cell1", "cell2", "cell3")):
    # The drives of the third arm are worn: more dry friction.
    values = {"fc": 1.0} if name != "cell3" else {"fc": 2.5}
    for log, seed in (("run", k), ("other", 10 + k)):
        made = dynid.simulate("planar2r", duration=10.0, rate=200.0, friction_values=values, noise_tau="2%", seed=seed)
        dynid.save(made, f"{name}-{log}.csv")
    runs.append(
        f'[[run]]\nname = "{name}"\nrobot = "planar2r"\nlogs = "{name}-run.csv"\nvalidate = "{name}-other.csv"\n'
    )
Path("arms.toml").write_text('[defaults]\nfriction = "viscous+coulomb+offset"\n\n' + "\n".join(runs))

done = dynid.campaign("arms.toml", "results")
print(done, "\n")
again = dynid.campaign("arms.toml", "results")
print(f"a second time: {again.n_ready} of {len(again.runs)} runs are ready and skipped\n")

print(f"{'':8} {'Fc1 / N·m':>10} {'Fc2 / N·m':>10}")
for run in done.runs:
    model = dynid.load_model(done.folder / run["name"] / "model.json")
    found = dict(zip(model.model.symbols, model.parameters, strict=True))
    print(f"{run['name']:8} {found['fc1']:10.3f} {found['fc2']:10.3f}")

# Every file is read back and must predict the same torque before it counts as written.
for format_, file in (("urdf", "planar2r.urdf"), ("mjcf", "planar2r.xml"), ("c", "planar2r.h")):
    written = dynid.export(done.folder / "cell3" / "model.json", format_, file)
    print("\n", written, sep="")
