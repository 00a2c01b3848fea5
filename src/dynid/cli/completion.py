"""``dynid completion``: a script that completes commands, options and names in the shell."""

from __future__ import annotations

import re
import sys
from typing import Literal

from dynid.cli.console import emit_json
from dynid.cli.options import JsonFlag

__all__ = ["completion"]


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
    if shell == "bash":
        # Where no name fits, a file may.
        script = script.replace("complete -F", "complete -o default -o bashdefault -F")
    if shell == "zsh":
        script = re.sub(r"'1:ROBOT:\(([^)]*)\)'", r"'1:robot:_alternative \"names\\:built-in\\:(\1)\" _files'", script)
    if json:
        emit_json({"shell": shell, "script": script})
    else:
        sys.stdout.write(script if script.endswith("\n") else script + "\n")
    return 0
