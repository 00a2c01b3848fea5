"""Calls of jobs about robots and motions with wrong types, unchecked by the tests. Prints what was told."""

import json
from typing import Any

import dynid
from dynid.errors import DynidError
from dynid.writers.demo import demo

jobs: Any = dynid
shows: Any = demo
"""As a user without a type checker sees them."""
CALLS = {
    "info robot": lambda: jobs.info(7),
    "info friction": lambda: jobs.info("panda", friction=["viscous"]),
    "lint robot": lambda: jobs.lint(["panda"]),
    "excite robot": lambda: jobs.excite({}),
    "excite log": lambda: jobs.excite("log.csv"),
    "excite kind": lambda: jobs.excite("planar2r", kind="zigzag"),
    "excite criterion": lambda: jobs.excite("planar2r", criterion="best"),
    "excite noise": lambda: jobs.excite("planar2r", noise="loud"),
    "excite start": lambda: jobs.excite("planar2r", start="a,b"),
    "excite after": lambda: jobs.excite("planar2r", after=3),
    "excite after list": lambda: jobs.excite("planar2r", after=[3]),
    "excite frequency": lambda: jobs.excite("planar2r", base_frequency=-1.0),
    "excite seed": lambda: jobs.excite("planar2r", seed="1"),
    "simulate robot": lambda: jobs.simulate(None),
    "simulate noise": lambda: jobs.simulate("planar2r", noise_q="much"),
    "simulate noise list": lambda: jobs.simulate("planar2r", noise_q=["a"]),
    "simulate values": lambda: jobs.simulate("planar2r", friction_values=3),
    "simulate value": lambda: jobs.simulate("planar2r", friction_values={"fc": None}),
    "simulate seed": lambda: jobs.simulate("planar2r", seed=0.5),
    "simulate trajectory": lambda: jobs.simulate("planar2r", trajectory=3),
    "simulate trajectories": lambda: jobs.simulate("planar2r", trajectory=["a.csv", "b.csv"]),
    "demo out": lambda: shows(3),
    "demo seed": lambda: shows(seed=-1),
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
