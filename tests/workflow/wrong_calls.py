"""Calls with wrong types, as a user makes them: without the shape checks of the tests. Prints what each was told."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from inspect import Parameter, signature
from typing import Any

import dynid
from dynid.errors import DynidError
from dynid.workflow import ExciteKeywords, SimulateKeywords
from dynid.writers.demo import demo
from tests.workflow.small_arm import ARM, controller, known, run

jobs: Any = dynid
run_demo: Any = demo
"""As a user without a type checker sees them."""
MODEL = "model: expected a model.json or an IdentifiedModel, got"
ROBOT = "robot: expected a built-in name, a robot file or a Robot, got"
A_LOG = "expected a log file, a Recording or arrays by name"
TRAJECTORY = "after: expected a file of coefficients or a Trajectory, got int"


def loaded() -> Any:
    """A log with a load."""
    return run(3, load=True)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "identify robot": (lambda: jobs.identify(3, "log.csv"), f"{ROBOT} int"),
    "load_robot": (
        lambda: jobs.load_robot(3),
        "must be the path of a robot file, or one of panda, wam7, planar2r, spatial2r; got 3 (int)",
    ),
    "identify logs": (
        lambda: jobs.identify("planar2r", 3),
        "logs: expected a log file, a Recording or arrays by name (t, q, tau, and dq where there is one), "
        "or a list of these, got int",
    ),
    "identify refine": (lambda: jobs.identify(ARM, run(3), refine="torque"), "refine: no 'torque'"),
    "rollout controller": (lambda: jobs.rollout(known(), run(3), controller=3), "expected a file ctrl.toml"),
    "identify log": (lambda: jobs.identify("planar2r", [None]), "dq where there is one), got NoneType"),
    "identify estimator": (
        lambda: jobs.identify("planar2r", "log.csv", estimator="best"),
        "estimator: no 'best'; known: ols, wls, robust, feasible, retrieval",
    ),
    "identify friction": (
        lambda: jobs.identify("planar2r", "log.csv", friction=("viscous",)),
        "friction: expected names joined by +, got tuple",
    ),
    "identify columns": (
        lambda: jobs.identify("planar2r", "log.csv", columns=3),
        "columns: expected a mapping file or a ColumnMap, got int",
    ),
    "identify seed": (
        lambda: jobs.identify("planar2r", "log.csv", seed=0.5),
        "seed must be a whole number; got 0.5 (float)",
    ),
    "validate model": (lambda: jobs.validate(3, "log.csv"), f"{MODEL} int"),
    "predict model": (lambda: jobs.predict(None, [0.0], [0.0], [0.0]), f"{MODEL} NoneType"),
    "examine log": (lambda: jobs.examine("planar2r", 3), "log: expected a log file, a Recording or arrays by name"),
    "save result": (lambda: jobs.save(3, "out"), "save: expected a result of dynid.identify and its like, got int"),
    "reverse robot": (lambda: jobs.reverse(7, controller()), f"{ROBOT} int"),
    "reverse samples": (
        lambda: jobs.reverse(ARM, 7),
        "samples: expected a CSV file, ControllerSamples or arrays by name (q, M, g), got int",
    ),
    "retrieve model": (lambda: jobs.retrieve(7), f"{MODEL} int"),
    "retrieve engine": (
        lambda: jobs.retrieve(known(), engine="luck"),
        "engine: no 'luck'; known: annealing, multistart",
    ),
    "retrieve objective": (
        lambda: jobs.retrieve(known(), objective="beauty"),
        "objective: no 'beauty'; known: coefficients, one-step",
    ),
    "retrieve bounds": (
        lambda: jobs.retrieve(known(), bounds=7),
        "bounds: expected a CSV file or (lower, upper) by parameter, got int",
    ),
    "retrieve config": (lambda: jobs.retrieve(known(), config=7), "config: expected a TOML file or "),
    "retrieve seed": (lambda: jobs.retrieve(known(), seed=0.5), "seed must be a whole number; got 0.5"),
    "friction model": (lambda: jobs.friction(7, loaded()), f"{MODEL} int"),
    "friction logs": (lambda: jobs.friction(known(), [7]), f"logs: {A_LOG}"),
    "friction friction": (
        lambda: jobs.friction(known(), loaded(), friction=7),
        "friction: expected names joined by +, or friction models, got int",
    ),
    "friction against": (lambda: jobs.friction(known(), loaded(), against=7), f"{MODEL} int"),
    "payload model": (lambda: jobs.payload(7, loaded()), f"{MODEL} int"),
    "payload log": (lambda: jobs.payload(known(), 7), f"log: {A_LOG}"),
    "payload logs": (lambda: jobs.payload(known(), [loaded(), loaded()]), "log: expected one log, got 2"),
    "payload unloaded": (lambda: jobs.payload(known(), loaded(), unloaded=7), f"unloaded: {A_LOG}"),
    "payload flange": (
        lambda: jobs.payload(known(), loaded(), flange="top"),
        "give x y z in m and roll pitch yaw in rad",
    ),
    "payload mass": (
        lambda: jobs.payload(known(), loaded(), unloaded=run(2), known_mass="heavy"),
        "known_mass must be a number; got 'heavy' (str)",
    ),
    "payload gains": (lambda: jobs.payload(known(), loaded(), gains=7), "`gains` 7: "),
    "payload columns": (
        lambda: jobs.payload(known(), loaded(), columns=7),
        "columns: expected a mapping file or a ColumnMap, got int",
    ),
    "save place": (lambda: jobs.save(known(), 7), "out: expected a path, got int"),
    "info robot": (lambda: jobs.info(7), f"{ROBOT} int"),
    "info friction": (
        lambda: jobs.info("panda", friction=["viscous"]),
        "friction: expected none, or names joined by +, got list",
    ),
    "lint robot": (lambda: jobs.lint(["panda"]), f"{ROBOT} list"),
    "excite robot": (lambda: jobs.excite({}), f"{ROBOT} dict"),
    "excite log": (lambda: jobs.excite("log.csv"), "log.csv: is a log, no robot file"),
    "excite kind": (lambda: jobs.excite("planar2r", kind="zigzag"), "kind: no 'zigzag'; known: fourier, spline"),
    "excite criterion": (
        lambda: jobs.excite("planar2r", criterion="best"),
        "criterion: no 'best'; known: condition, scaled, d-optimal",
    ),
    "excite noise": (lambda: jobs.excite("planar2r", noise="loud"), "`noise` loud: write numbers joined by commas"),
    "excite start": (lambda: jobs.excite("planar2r", start="a,b"), "`start` a,b: write numbers joined by commas"),
    "excite after": (lambda: jobs.excite("planar2r", after=3), TRAJECTORY),
    "excite after list": (lambda: jobs.excite("planar2r", after=[3]), TRAJECTORY),
    "excite frequency": (
        lambda: jobs.excite("planar2r", base_frequency=-1.0),
        "`base_frequency` -1: it must be positive",
    ),
    "excite keyword": (
        lambda: jobs.excite("planar2r", harmonic=3),
        "excite: no keyword 'harmonic'; did you mean 'harmonics'? known: friction, rotor_inertia, rate,",
    ),
    "excite seed": (lambda: jobs.excite("planar2r", seed="1"), "seed must be a whole number; got '1' (str)"),
    "simulate robot": (lambda: jobs.simulate(None), f"{ROBOT} NoneType"),
    "simulate noise": (
        lambda: jobs.simulate("planar2r", noise_q="much"),
        "`noise_q` much: write numbers joined by commas",
    ),
    "simulate noise list": (
        lambda: jobs.simulate("planar2r", noise_q=["a"]),
        "`noise_q` ['a']: write numbers joined by commas",
    ),
    "simulate values": (
        lambda: jobs.simulate("planar2r", friction_values=3),
        "friction_values: expected values by symbol, a text or a file, got int",
    ),
    "simulate value": (
        lambda: jobs.simulate("planar2r", friction_values={"fc": None}),
        "friction_values: fc is None, not a number",
    ),
    "simulate seed": (lambda: jobs.simulate("planar2r", seed=0.5), "`seed` 0.5: give a whole number"),
    "simulate keyword": (
        lambda: jobs.simulate("planar2r", noise_torque=0.1),
        "simulate: no keyword 'noise_torque'; did you mean ",
    ),
    "simulate trajectory": (
        lambda: jobs.simulate("planar2r", trajectory=3),
        "trajectory: expected a log file, a Recording or arrays by name",
    ),
    "simulate trajectories": (
        lambda: jobs.simulate("planar2r", trajectory=["a.csv", "b.csv"]),
        "trajectory: expected one, got 2",
    ),
    "demo out": (lambda: run_demo(3), "out: expected a folder, got int"),
    "demo seed": (lambda: run_demo(seed=-1), "`seed` -1: give a whole number"),
}
"""By what is wrong: the call, and what it must be told."""
NUMBERS = {"float": "a number", "int": "a whole number", "bool": "True or False"}


def without_numbers() -> Iterator[tuple[str, tuple[Callable[[], object], str]]]:
    """Every job with a text in the place of each of its numbers, one at a time; nothing else is looked at before."""
    groups: dict[str, Any] = {"excite": ExciteKeywords, "simulate": SimulateKeywords}
    for name in dynid.__all__:
        job = getattr(jobs, name)
        if (
            not callable(job)
            or isinstance(job, type)
            or not job.__module__.startswith(("dynid.workflow", "dynid.writers"))
        ):
            continue
        parameters = signature(job).parameters.values()
        needed = ["x" for p in parameters if p.default is Parameter.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        hints = {p.name: str(p.annotation) for p in parameters}
        if name in groups:
            needed = ["planar2r"]
            hints |= {key: hint.__forward_arg__ for key, hint in groups[name].__annotations__.items()}
        for key, hint in hints.items():
            if (kind := hint.removesuffix(" | None")) in NUMBERS:
                yield (
                    f"{name} without {key}",
                    (partial(job, *needed, **{key: "x"}), f"{key} must be {NUMBERS[kind]}; got 'x'"),
                )


WRONG |= dict(without_numbers())


def told(call: Callable[[], object]) -> str:
    """What a call was told."""
    try:
        call()
    except DynidError as error:
        return str(error)
    return "nothing"


if __name__ == "__main__":
    print(json.dumps({name: told(call) for name, (call, _) in WRONG.items()}))
