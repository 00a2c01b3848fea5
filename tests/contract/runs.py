"""The runs of the contract: every command on small inputs, what of each is looked at, and how exactly."""

from __future__ import annotations

from dataclasses import dataclass

from tests.contract.bad_input import BAD_INPUT
from tests.contract.inputs import GAINS_TEXT, MASS_TEXT


@dataclass(frozen=True)
class Run:
    """A command as it is typed, without ``dynid``."""

    words: str
    needs: tuple[str, ...] = ()
    """Runs whose files it reads."""
    reads: tuple[str, ...] = ()
    """Files it writes whose keys are part of the contract."""
    exact: tuple[str, ...] = ()
    """Figures of its JSON, or of a file as ``FILE:PATH``, that follow from linear algebra alone."""
    near: tuple[str, ...] = ()
    """Figures that an iterative search ends at."""
    loose: tuple[str, ...] = ()
    """Figures of a filter that goes on being tuned, but must find the truth."""
    findings: bool = False
    """Whether codes and severities of its findings count."""


PLAIN = "--friction viscous+coulomb+offset --delay 0 --lowpass 12 --json"
"""Said in full, for what is not said may be chosen automatically one day."""
FIT = ("n_base", "n_parameters", "rank", "condition_number")
ERROR = ("train/relative_error_percent", "train/rmse/0", "train/rmse/1")
HELD_OUT = ("validation/0/relative_error_percent", "validation/0/rmse/0", "validation/0/rmse/1")
FIRST = ("parameters/0/value", "parameters/1/value", "parameters/-1/value")
LINKS = ("links/0/mass", "links/1/mass", "links/1/com/0")
TRAINED = ("identify",)
MODEL = "identify/model.json"
FRICTION = (
    "none", "viscous", "coulomb", "offset", "asymmetric", "tanh", "sigmoid", "stribeck", "load", "presliding",
    "viscous+coulomb", "viscous+coulomb+offset",
)  # fmt: skip


def out(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for name in names)


def fit(name: str, more: str = "", logs: str = "train.csv") -> str:
    return f"identify arm.urdf {logs} {PLAIN} --out {name} {more}".strip()


ROBOTS = {
    **{f"info {name}": Run(f"info {name} --json", exact=("n_dof", "n_parameters", "n_base"))
       for name in ("panda", "wam7", "planar2r", "spatial2r", "arm.urdf", "table.toml")},
    **{f"info friction {name}": Run(f"info planar2r --friction {name} --json", exact=("n_parameters", "n_base"))
       for name in FRICTION},
    "info options": Run(
        "info panda --rotor-inertia --lock joint7=0.1 --lock joint6 --gravity 0 0 -9.8 --mount 0 0.1 0 --json",
        exact=("n_dof", "n_parameters", "n_base", "gravity/0"),
    ),
    "info without inertials": Run("info impossible.urdf --ignore-inertials --json", exact=("n_base",)),
    "info in words": Run("info planar2r"),
    "lint": Run("lint arm.urdf --json", exact=("n_links",)),
    "lint built-in": Run("lint panda --json", exact=("n_links",)),
    "lint impossible": Run("lint impossible.urdf --json", findings=True),
    "lint repair": Run("lint impossible.urdf --repair repaired.urdf --json", findings=True),
    "lint repaired": Run("lint repaired.urdf --json", needs=("lint repair",), exact=("n_links",)),
}  # fmt: skip
MOTIONS = {
    "excite": Run(
        "excite planar2r --harmonics 2 --base-frequency 0.5 --restarts 1 --workers 1 --time-budget 60 --rate 100"
        " --out traj.csv --ros traj.yaml --json",
        reads=("traj.csv", "traj.toml"),
        near=("condition_number",),
    ),
    **{f"excite {kind}": Run(
        f"excite planar2r --kind {kind} --harmonics 2 --poses 6 --restarts 1 --workers 1 --time-budget 60 --rate 100"
        f" --no-picture --out {kind}.csv --json")
       for kind in ("spline", "random", "sinusoids", "point-to-point", "reverse-poses", "gravity-poses")},
    "excite after": Run(
        "excite planar2r --harmonics 2 --restarts 1 --workers 1 --time-budget 60 --rate 100 --after traj.toml"
        " --noise 0.1,0.2 --no-picture --out more.csv --json",
        needs=("excite",),
    ),
    "simulate": Run(
        "simulate arm.urdf --trajectory motion.csv --out simulated.csv --friction-values fv=0.2,fc1=0.5,fc2=0.3,fo=0.1"
        " --friction viscous+coulomb+offset --noise-q 0 --noise-dq 0 --noise-tau 0 --json",
        reads=("simulated.csv", "simulated.truth.json"),
        exact=("n_samples", "simulated.csv:tau1", "simulated.csv:tau2", "simulated.truth.json:parameters/0/value"),
    ),
    "simulate closed loop": Run(
        "simulate arm.urdf --duration 2 --rate 200 --closed-loop --wrong 0.3 --out closed.csv.gz --json",
        reads=("closed.truth.json",),
    ),
    "simulate currents": Run(
        f"simulate planar2r --duration 2 --motion sinusoids --gains {GAINS_TEXT} --velocity none --out i.csv --json",
        reads=("i.csv", "i.truth.json"),
    ),
}  # fmt: skip
DOCTOR = {
    **{f"doctor {name}": Run(f"doctor arm.urdf {name}.csv --json", findings=True)
       for name in ("train", "flipped", "degrees", "swapped", "nan", "backwards", "still", "slow")},
    "doctor map": Run("doctor arm.urdf flipped.csv --write-map map.toml --json", reads=("map.toml",), findings=True),
    "doctor mapped": Run(
        "doctor arm.urdf flipped.csv --columns map.toml --json", needs=("doctor map",), findings=True
    ),
    "doctor against": Run("doctor arm.urdf test.csv --against train.csv --json", findings=True),
    "doctor copy": Run("doctor arm.urdf train.csv --against train.csv --json", findings=True),
    "doctor without torque": Run("doctor arm.urdf no-torque.csv --json", findings=True),
    "doctor currents": Run(f"doctor arm.urdf currents.csv --gains {GAINS_TEXT} --json", findings=True),
}  # fmt: skip
IDENTIFY = {
    "identify": Run(
        fit("identify", "--validate test.csv"),
        reads=out("identify", "model.json", "run.json"),
        exact=FIT,
        near=(*ERROR, *HELD_OUT, *FIRST, *LINKS),
    ),
    "identify ols": Run(
        fit("ols", "--estimator ols --validate test.csv"),
        reads=out("ols", "model.json", "run.json"),
        exact=(*FIT, *ERROR, *HELD_OUT, *FIRST, "parameters/0/std"),
    ),
    **{f"identify {name}": Run(
        fit(name, f"--estimator {name} --validate test.csv"), exact=FIT[:2], near=(*ERROR, *HELD_OUT, *FIRST))
       for name in ("wls", "robust")},
    "identify retrieval": Run(
        fit("retrieval", "--estimator retrieval --seed 1 --total-mass 5 7"),
        exact=FIT[:2],
        near=ERROR,
    ),
    "identify auto friction": Run(
        "identify arm.urdf train.csv --friction auto --delay 0 --lowpass 12 --estimator ols --out auto --json"
    ),
    "identify bootstrap": Run(fit("bootstrap", "--estimator ols --bootstrap 20 --seed 3"), exact=(*FIT, *ERROR)),
    "identify rotors": Run(fit("rotors", "--rotor-inertia --estimator ols"), exact=FIT[:3]),
    "identify two logs": Run(
        fit("two", "--estimator ols --from 0.5 --until 7.5", logs="train.csv test.csv"), exact=(*FIT, *ERROR)
    ),
    "identify bounds": Run(
        fit("bounds", "--bounds bounds.csv --total-mass 5 7 --prior entropic"), near=(*ERROR, *LINKS)
    ),
    "identify inertia": Run(fit("inertia", "--condition inertia --prior centred"), near=(*ERROR, *FIRST)),
    "identify nominal": Run(fit("nominal", "--prior nominal --min-velocity 0.05"), near=(*ERROR, *LINKS)),
    "identify currents": Run(
        fit("currents", f"--estimator ols --gains {GAINS_TEXT}", logs="currents.csv"), exact=(*FIT, *ERROR, *FIRST)
    ),
    "identify raw": Run(fit("raw", "--raw --estimator ols --validate test.csv"), exact=(*ERROR, *HELD_OUT)),
    "identify automatic numbers": Run(
        "identify arm.urdf train.csv --friction viscous+coulomb+offset --delay auto --min-velocity auto"
        " --estimator ols --out numbers --json"
    ),
    "identify table": Run(
        "identify table.toml train.csv --friction viscous+coulomb+offset --delay 0 --estimator ols --force"
        " --out table --json"
    ),
    "identify columns": Run(
        fit("columns", "--estimator ols --columns vendor.toml", logs="vendor.csv"), exact=(*FIT, *ERROR)
    ),
    "identify repaired": Run(
        fit("map", "--estimator ols --columns map.toml", logs="flipped.csv"),
        needs=("doctor map",),
        exact=(*ERROR, *FIRST),
    ),
    "identify config": Run(
        "identify arm.urdf train.csv --config options.toml --out config", exact=(*FIT, *ERROR, *HELD_OUT)
    ),
    "identify campaign": Run(
        "identify arms.toml --out campaign --json",
        reads=out("campaign", "campaign.json", "good/status.json", "good/model.json", "good/run.json",
                  "missing/status.json"),
        exact=("counts/done", "counts/failed", "runs/0/result/condition_number"),
        near=("runs/0/result/train/relative_error_percent",),
    ),
    "identify campaign again": Run(
        "identify arms.toml --out campaign --json", needs=("identify campaign",), exact=("counts/done",)
    ),
    "identify in words": Run(
        "identify arm.urdf train.csv --friction viscous+coulomb+offset --delay 0 --estimator ols --out words"
    ),
    "identify impossible robot": Run(
        fit("impossible", "--estimator ols").replace("arm.urdf", "impossible.urdf"), exact=(*FIT, *ERROR)
    ),
    "identify refused": Run(fit("refused", logs="flipped.csv"), findings=True),
    "identify forced": Run(fit("forced", "--force", logs="flipped.csv"), findings=True),
    "identify weak": Run(fit("weak", "--estimator ols", logs="slow.csv"), exact=FIT[:2]),
    "identify weak forced": Run(fit("weak-forced", "--estimator ols --force", logs="slow.csv"), exact=FIT[:2]),
}  # fmt: skip
RETRIEVE = "retrieve identify/model.json --runs 1 --json"
MODELS = {
    "reverse": Run(
        "reverse arm.urdf controller.csv --out reverse --json",
        reads=out("reverse", "model.json", "run.json"),
        exact=("n_base", "rank", "condition_number", *FIRST[:2]),
    ),
    "retrieve": Run(
        f"{RETRIEVE} --bounds bounds.csv --total-mass 5 7 --out full", needs=TRAINED,
        reads=out("full", "model.json", "run.json"), exact=("n_base",), near=FIRST,
    ),
    "retrieve from reverse": Run(
        "retrieve reverse/model.json --runs 1 --out full-reverse --json", needs=("reverse",), exact=("n_base",)
    ),
    "retrieve one-step": Run(
        f"{RETRIEVE} --objective one-step --config demands.toml --out one-step", needs=TRAINED,
        near=("relative_error_percent",),
    ),
    "retrieve annealing": Run(f"{RETRIEVE} --engine annealing --steps 3 --weighted --out annealing", needs=TRAINED),
    "retrieve light": Run(
        f"{RETRIEVE} --total-mass 0.1 0.2 --out light", needs=TRAINED, near=("objective", "optimum", *LINKS[:2])
    ),
    "friction": Run(
        "friction identify/model.json test.csv --friction viscous+coulomb+offset --out refit --json",
        needs=TRAINED, reads=out("refit", "model.json", "run.json"),
        exact=("n_parameters",), near=(*ERROR, "joints/0/parameters/0/value", "joints/1/parameters/1/value"),
    ),
    "friction auto": Run(
        "friction identify/model.json test.csv --against reverse/model.json --out refit-auto --json",
        needs=(*TRAINED, "reverse"),
    ),
    "payload": Run(
        "payload identify/model.json loaded.csv --json", needs=TRAINED,
        exact=("n_base",), near=("payload/mass", "payload/com/0", "train/relative_error_percent"),
    ),
    "payload unloaded": Run(
        "payload identify/model.json loaded.csv --unloaded test.csv --flange 0.3 0 0 0 0 0 --out load.json --json",
        needs=TRAINED, reads=("load.json",), near=("payload/mass",),
    ),
    "payload known mass": Run(
        f"payload identify/model.json currents-loaded.csv --unloaded currents.csv --known-mass {MASS_TEXT}"
        " --friction viscous+coulomb+offset --json",
        needs=TRAINED, near=("gains/0/value", "gains/1/value"),
    ),
    "validate": Run("validate identify/model.json test.csv --json", needs=TRAINED, near=HELD_OUT),
    "validate against": Run(
        "validate ols/model.json test.csv loaded.csv --against identify/model.json --report compared.html --json",
        needs=("identify ols", *TRAINED),
        exact=HELD_OUT, near=("against/0/validation/0/relative_error_percent", "validation/1/relative_error_percent"),
    ),
    "validate raw": Run("validate ols/model.json test.csv --raw --json", needs=("identify ols",), exact=HELD_OUT),
    **{f"validate {form}": Run(
        f"validate ols/model.json test.{form} --json", needs=("identify ols",), exact=HELD_OUT)
       for form in ("npz", "csv.gz")},
    "track": Run(
        "track identify/model.json test.csv --from-wrong 0.2 --out tracked --checkpoint state.npz --json",
        needs=TRAINED, reads=out("tracked", "model.json"),
    ),
    "track links": Run("track identify/model.json test.csv --states links --json", needs=TRAINED),
    "track payload": Run(
        "track identify/model.json pick.csv --payload --max-mass 4 --out carried --json", needs=TRAINED,
        loose=("summary/payload/mass",),
    ),
    "track coefficients": Run("track ols/model.json test.csv --json", needs=("identify ols",)),
}  # fmt: skip
EXPORT = {
    **{f"export {to}": Run(f"export identify/model.json --to {to} --out exported.{to} --json", needs=TRAINED)
       for to in ("urdf", "mjcf", "c")},
    "export csv": Run("export identify/model.json --to csv --out table.csv --json", TRAINED, reads=("table.csv",)),
    "export json": Run("export identify/model.json --to json --out table.json --json", TRAINED, reads=("table.json",)),
    **{f"export {to}": Run(f"export load.json --to {to} --out load.{to} --force --json", needs=("payload unloaded",))
       for to in ("franka", "franka-desk", "ur")},
    "export fresh": Run("export identify/model.json --to urdf --fresh --out new/fresh.urdf --json", needs=TRAINED),
    "export template": Run(
        "export identify/model.json --to urdf --template arm.urdf --out copy.urdf --json", needs=TRAINED
    ),
    "export prefix": Run("export identify/model.json --to c --prefix my_arm --out my_arm.h --json", needs=TRAINED),
    "export without links": Run(
        "export ols/model.json --to urdf --out no.urdf --json", needs=("identify ols",)
    ),
    **{f"info exported {to}": Run(
        f"info exported.{to} --json", needs=(f"export {to}",), near=("joints/0/mass", "joints/1/mass"))
       for to in ("urdf", "mjcf")},
}  # fmt: skip
OTHER = {
    "data list": Run("data list --json"),
    "data convert": Run(
        "data convert ur ur-rows.csv --rows 10 200 --out converted.csv --json", reads=("converted.csv",)
    ),
    **{f"completion {shell}": Run(f"completion {shell} --json") for shell in ("bash", "zsh", "fish")},
    "demo": Run(
        "demo --out demo --json", reads=("demo/model.json",), exact=("n_dof", "n_base"),
        near=("condition_number", "train/relative_error_percent", "validation/0/relative_error_percent"),
    ),
    "version": Run("--version"),
    "help": Run("--help"),
}  # fmt: skip
RUNS = {
    **ROBOTS, **MOTIONS, **DOCTOR, **IDENTIFY, **MODELS, **EXPORT, **OTHER,
    **{f"bad input: {name}": Run(words, needs) for name, (words, needs) in BAD_INPUT.items()},
}  # fmt: skip
