"""``rbmviz completion``: the script with which a shell completes commands and options."""

from typing import Literal

from rbmviz.cli import Answer
from rbmviz.cli.options import all_commands


def completion(shell: Literal["bash", "zsh", "fish"] = "bash", /) -> Answer:
    """Print the script by which a shell completes commands and options.

    Parameters
    ----------
    shell
        The shell.

    Examples
    --------
    rbmviz completion bash > ~/.local/share/bash-completion/completions/rbmviz
    """
    script = all_commands().generate_completion(shell=shell)
    return {"shell": shell, "script": script}, script.rstrip()
