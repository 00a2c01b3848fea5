"""Calls with wrong types, as a user makes them: without the shape checks of the tests. Prints what each was told."""

import json
from typing import Any

import dynid
from dynid.errors import DynidError

jobs: Any = dynid
"""As a user without a type checker sees it."""
CALLS = {
    "robot": lambda: jobs.identify(3, "log.csv"),
    "load_robot": lambda: jobs.load_robot(3),
    "logs": lambda: jobs.identify("planar2r", 3),
    "log": lambda: jobs.identify("planar2r", [None]),
    "estimator": lambda: jobs.identify("planar2r", "log.csv", estimator="best"),
    "friction": lambda: jobs.identify("planar2r", "log.csv", friction=("viscous",)),
    "columns": lambda: jobs.identify("planar2r", "log.csv", columns=3),
    "seed": lambda: jobs.identify("planar2r", "log.csv", seed=0.5),
    "validate": lambda: jobs.validate(3, "log.csv"),
    "predict": lambda: jobs.predict(None, [0.0], [0.0], [0.0]),
    "examine": lambda: jobs.examine("planar2r", 3),
    "save": lambda: jobs.save(3, "out"),
}


def told(call) -> str:
    try:
        call()
    except DynidError as error:
        return str(error)
    return "nothing"


if __name__ == "__main__":
    print(json.dumps({name: told(call) for name, call in CALLS.items()}))
