"""The command line: the only place that composes the stages and prints. Commands are imported when they run."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from dynid.errors import DynidError
from dynid.version import VERSION

__all__ = ["app", "main"]

EPILOGUE = "Start with: dynid demo    or: dynid info panda"

app = App(
    name="dynid",
    help="Identify the dynamics of robot arms: from a robot file and a log to physically consistent parameters.",
    version=VERSION,
    help_epilogue=EPILOGUE,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)

COMMANDS = {
    "demo": "The whole job on an embedded robot, ending in a report to open.",
    "info": "Joints, limits, base parameters with their labels, and which parameters can never be seen.",
    "lint": "Physically inconsistent or suspicious inertias, and the smallest repair.",
    "excite": "An exciting trajectory inside all limits, its condition number, and a picture.",
    "simulate": "A log with known truth, friction and noise, open or closed loop.",
    "doctor": "What is wrong with a log, the number that shows it, and the exact fix.",
    "identify": "The model of a robot from logs of its motion and torque, with a report.",
    "reverse": "Base parameters from a controller's own M(q) and g(q).",
    "retrieve": "Full, physically consistent parameters from base parameters or a log, under any constraint.",
    "check": "Whether any physically consistent robot has these base parameters, with a proof.",
    "friction": "Friction refitted alone, on the residual of a model whose links are known.",
    "payload": "The load carried in a log; or drive gains, from a load of known mass.",
    "track": "Parameters, loads and contacts while the robot moves, replayed or live.",
    "live": "A page on this machine that shows loads and contacts while the robot moves.",
    "export": "URDF, MJCF, C header, tables and load settings, each checked before it appears.",
    "validate": "Predicted against measured torque, per joint; several models side by side.",
    "rollout": "Models simulated forward beside the real motion, open loop and under the controller.",
    "data": "Public data sets: list them, fetch one, convert a published log.",
    "completion": "A script that completes commands, options and names in bash, zsh or fish.",
}
"""Command names, in the order of the work, with what each does."""
OWN_CONFIG = ("retrieve",)
"""Commands whose ``--config`` is a file of another kind."""

for _place, (_name, _help) in enumerate(COMMANDS.items()):
    app.command(f"dynid.cli.{_name}:{_name}", name=_name, help=_help, sort_key=_place)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 done, 1 data or fit not good enough, 2 wrong usage or input."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    named = bool(tokens) and tokens[0] in COMMANDS
    app.help_epilogue = "" if named else EPILOGUE
    if named and app[tokens[0]].default_command is not None:
        # The list of commands has one line for each; the command itself says more, with an example.
        app[tokens[0]].help = None
    from dynid.cli.config import Configured, with_config
    from dynid.cli.console import complain, with_flags
    from dynid.cli.plain_text import speak_plainly

    speak_plainly()
    asked = Configured(tokens, {})
    try:
        asked = with_config(tokens, OWN_CONFIG)
        result = app(asked.tokens, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        complain(asked.blamed(str(error)), hint=f"see: dynid {tokens[0] if named else ''} --help")
        return 2
    except DynidError as error:
        complain(asked.blamed(with_flags(str(error))))
        return 2
    except MemoryError:
        complain("not enough memory; give a shorter log or a smaller robot, or close other programs")
        return 2
    except KeyboardInterrupt:
        complain("interrupted; nothing was left half-written")
        return 130
    except BrokenPipeError:
        return _unheard()
    except SystemExit as leaving:
        # rich ends the process when nobody reads on.
        if isinstance(leaving.__context__, BrokenPipeError):
            return _unheard()
        raise
    except OSError as error:
        complain(f"{error.filename or 'file'}: {error.strerror or error}")
        return 2
    return int(result) if isinstance(result, int) else 0


def _unheard() -> int:
    """The exit code where nobody reads on, as behind ``head``: that is no failure, and nothing more is said."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
