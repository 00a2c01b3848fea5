"""Calls of jobs with wrong types, as a user makes them: without the shape checks of the tests. Prints what was told."""

import json
from typing import Any

import dynid
from dynid.errors import DynidError
from tests.workflow.small_arm import ARM, controller, known, run

jobs: Any = dynid
"""As a user without a type checker sees it."""
LOG = run(3, load=True)
CALLS = {
    "reverse robot": lambda: jobs.reverse(7, controller()),
    "reverse samples": lambda: jobs.reverse(ARM, 7),
    "retrieve model": lambda: jobs.retrieve(7),
    "retrieve engine": lambda: jobs.retrieve(known(), engine="luck"),
    "retrieve objective": lambda: jobs.retrieve(known(), objective="beauty"),
    "retrieve bounds": lambda: jobs.retrieve(known(), bounds=7),
    "retrieve config": lambda: jobs.retrieve(known(), config=7),
    "retrieve seed": lambda: jobs.retrieve(known(), seed=0.5),
    "friction model": lambda: jobs.friction(7, LOG),
    "friction logs": lambda: jobs.friction(known(), [7]),
    "friction friction": lambda: jobs.friction(known(), LOG, friction=7),
    "friction against": lambda: jobs.friction(known(), LOG, against=7),
    "payload model": lambda: jobs.payload(7, LOG),
    "payload log": lambda: jobs.payload(known(), 7),
    "payload logs": lambda: jobs.payload(known(), [LOG, LOG]),
    "payload unloaded": lambda: jobs.payload(known(), LOG, unloaded=7),
    "payload flange": lambda: jobs.payload(known(), LOG, flange="top"),
    "payload mass": lambda: jobs.payload(known(), LOG, unloaded=run(2), known_mass="heavy"),
    "payload gains": lambda: jobs.payload(known(), LOG, gains=7),
    "payload columns": lambda: jobs.payload(known(), LOG, columns=7),
    "save": lambda: jobs.save(known(), 7),
}


def told(call) -> str:
    """What a call was told."""
    try:
        call()
    except DynidError as error:
        return str(error)
    return "nothing"


if __name__ == "__main__":
    print(json.dumps({name: told(call) for name, call in CALLS.items()}))
