"""What a user may get wrong; only the exit code counts, and that nothing is written."""

from __future__ import annotations

TRAINED = ("identify",)
OLS = "--friction viscous+coulomb+offset --delay 0 --estimator ols --json"
MODEL = "identify/model.json"


def identify(logs: str, more: str = "", robot: str = "arm.urdf") -> tuple[str, tuple[str, ...]]:
    return f"identify {robot} {logs} {OLS} --out bad {more}".strip(), ()


BAD_INPUT: dict[str, tuple[str, tuple[str, ...]]] = {
    "no such command": ("identfy arm.urdf train.csv", ()),
    "no such option": identify("train.csv", "--no-such-option 3"),
    "option without value": ("identify arm.urdf train.csv --out", ()),
    "no such choice": ("identify arm.urdf train.csv --estimator best --out bad", ()),
    "no such robot": identify("train.csv", robot="pander"),
    "no such robot file": identify("train.csv", robot="no-such.urdf"),
    "broken robot file": identify("train.csv", robot="broken.urdf"),
    "robot and log exchanged": ("identify train.csv arm.urdf --out bad", ()),
    "no log": ("identify arm.urdf --out bad", ()),
    "no such log": identify("no-such.csv"),
    "NaN": identify("nan.csv"),
    "time goes back": identify("backwards.csv"),
    "no torque": identify("no-torque.csv"),
    "ten rows": identify("ten-rows.csv"),
    "empty log": identify("empty.csv"),
    "still robot": identify("still.csv"),
    "other number of joints": identify("train.csv", robot="panda"),
    "currents without gains": identify("currents.csv"),
    "one gain for two joints": identify("currents.csv", "--gains 3"),
    "gains without currents": identify("train.csv", "--gains 3,4"),
    "gain that is no number": identify("currents.csv", "--gains a,b"),
    "degrees": identify("degrees.csv"),
    "swapped torques": identify("swapped.csv"),
    "no such friction": ("identify arm.urdf train.csv --friction sticky --delay 0 --out bad", ()),
    "negative seed": identify("train.csv", "--seed -1"),
    "bootstrap of robust": ("identify arm.urdf train.csv --estimator robust --bootstrap 5 --delay 0 --out bad", ()),
    "part outside the log": identify("train.csv", "--from 100 --until 200"),
    "no such joint to lock": identify("train.csv", "--lock wrist"),
    "no such bounds": ("identify arm.urdf train.csv --bounds no-such.csv --delay 0 --out bad", ()),
    "bounds that exclude each other": (
        f"retrieve {MODEL} --bounds heavy.csv --total-mass 1 2 --runs 1 --out bad --json",
        TRAINED,
    ),
    "prior that asks for another condition": (
        "identify arm.urdf train.csv --condition inertia --prior entropic --delay 0 --out bad",
        (),
    ),
    "no such configuration": identify("train.csv", "--config no-such.toml"),
    "delay in words": ("identify arm.urdf train.csv --delay soon --out bad", ()),
    "info of nothing": ("info no-such-robot --json", ()),
    "lint of nothing": ("lint no-such.urdf --json", ()),
    "lint repair of built-in": ("lint panda --repair bad.urdf --json", ()),
    "doctor of nothing": ("doctor arm.urdf no-such.csv --json", ()),
    "doctor of another robot": ("doctor panda train.csv --json", ()),
    "simulate into another format": ("simulate planar2r --duration 1 --out bad.txt --json", ()),
    "simulate without inertia": ("simulate table.toml --duration 1 --out bad.csv --json", ()),
    "simulate noise in words": ("simulate planar2r --duration 1 --noise-tau loud --out bad.csv --json", ()),
    "excite with a pose of seven": ("excite planar2r --start 0,0,0,0,0,0,0 --time-budget 1 --out bad.csv --json", ()),
    "reverse of nothing": ("reverse arm.urdf no-such.csv --out bad --json", ()),
    "reverse of a log": ("reverse arm.urdf train.csv --out bad --json", ()),
    "broken model": ("validate broken.json test.csv --json", ()),
    "no such model": ("validate no-such.json test.csv --json", ()),
    "validate without log": (f"validate {MODEL} --json", TRAINED),
    "validate on nothing": (f"validate {MODEL} no-such.csv --json", TRAINED),
    "friction without log": (f"friction {MODEL} --out bad --json", TRAINED),
    "payload of nothing": (f"payload {MODEL} no-such.csv --json", TRAINED),
    "known mass with one log": (f"payload {MODEL} currents.csv --known-mass 2 --json", TRAINED),
    "track of nothing": (f"track {MODEL} no-such.csv --json", TRAINED),
    "track port in words": (f"track {MODEL} udp:five --json", TRAINED),
    "track without wrench": (f"track {MODEL} test.csv --measure both --json", TRAINED),
    "track all wrong": (f"track {MODEL} test.csv --from-wrong 2 --json", TRAINED),
    "track too short": (f"track {MODEL} ten-rows.csv --json", TRAINED),
    "retrieve of nothing": ("retrieve no-such.json --out bad --json", ()),
    "export to nothing": (f"export {MODEL} --to step --out bad.step --json", TRAINED),
    "export without place": (f"export {MODEL} --to urdf --json", TRAINED),
    "export of a model as load": (f"export {MODEL} --to ur --out bad.ur --json", TRAINED),
    "template for a table": (f"export {MODEL} --to csv --template arm.urdf --out bad.csv --json", TRAINED),
    "no such data set": ("data fetch no-such-set --out bad --json", ()),
    "no such form": ("data convert no-such-form train.csv --out bad.csv --json", ()),
    "no such shell": ("completion cmd --json", ()),
}
