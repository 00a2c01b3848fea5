"""Calls with wrong types, as a user makes them: without the shape checks of the tests. Prints what each was told."""

import json

import dynid
from dynid.errors import DynidError

CALLS = {
    "robot": lambda: dynid.identify(3, "log.csv"),
    "load_robot": lambda: dynid.load_robot(3),
    "logs": lambda: dynid.identify("planar2r", 3),
    "log": lambda: dynid.identify("planar2r", [None]),
    "estimator": lambda: dynid.identify("planar2r", "log.csv", estimator="best"),
    "friction": lambda: dynid.identify("planar2r", "log.csv", friction=("viscous",)),
    "columns": lambda: dynid.identify("planar2r", "log.csv", columns=3),
    "seed": lambda: dynid.identify("planar2r", "log.csv", seed=0.5),
    "validate": lambda: dynid.validate(3, "log.csv"),
    "predict": lambda: dynid.predict(None, [0.0], [0.0], [0.0]),
    "examine": lambda: dynid.examine("planar2r", 3),
    "save": lambda: dynid.save(3, "out"),
}


def told(call) -> str:
    try:
        call()
    except DynidError as error:
        return str(error)
    return "nothing"


if __name__ == "__main__":
    print(json.dumps({name: told(call) for name, call in CALLS.items()}))
