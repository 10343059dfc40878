"""``rbmviz completion``: the script with which a shell completes commands and options."""

from typing import Any, Literal

from rbmviz.cli.options import all_commands


def completion(shell: Literal["bash", "zsh", "fish"] = "bash", /) -> dict[str, Any]:
    """Print the script by which a shell completes commands and options.

    Parameters
    ----------
    shell
        The shell.

    Examples
    --------
    rbmviz completion bash > ~/.local/share/bash-completion/completions/rbmviz
    """
    return {"shell": shell, "script": all_commands().generate_completion(shell=shell)}


def text(result: dict[str, Any]) -> str:
    """Return the script unchanged."""
    script: str = result["script"]
    return script.rstrip()
