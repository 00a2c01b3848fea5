"""``dynid completion``: a script that completes commands, options and names in the shell."""

from __future__ import annotations

import sys
from typing import Literal

from dynid.chain import BUILT_IN
from dynid.cli.console import emit_json
from dynid.cli.options import JsonFlag

__all__ = ["completion"]

ZSH_ROBOTS = """
_dynid_robots() {{
  _alternative 'names:built-in robot:({robots})' 'files:robot file:_files'
}}
"""


def completion(shell: Literal["bash", "zsh", "fish"], /, *, json: JsonFlag = False) -> int:
    """A script that completes commands, options, built-in robots, friction models, estimators and data sets.

    bash: dynid completion bash > ~/.local/share/bash-completion/completions/dynid

    zsh: dynid completion zsh > a folder of $fpath, as _dynid

    fish: dynid completion fish > ~/.config/fish/completions/dynid.fish

    Example: dynid completion bash

    Parameters
    ----------
    shell
        bash, zsh or fish.
    """
    from dynid.cli import app

    script = app.generate_completion(prog_name="dynid", shell=shell)
    robots = " ".join(BUILT_IN)
    if shell == "bash":
        # Where no name fits, a file may.
        script = script.replace("complete -F", "complete -o default -o bashdefault -F")
    elif shell == "zsh":
        first, _, rest = script.partition("\n")
        script = f"{first}\n{ZSH_ROBOTS.format(robots=robots)}{rest}".replace(f':({robots})"', ':_dynid_robots"')
    else:
        script = script.replace(f"-f -a '{robots}'", f"-F -a '{robots}'")
    if json:
        emit_json({"shell": shell, "script": script})
    else:
        sys.stdout.write(script if script.endswith("\n") else script + "\n")
    return 0
