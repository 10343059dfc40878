"""The command line: one module for each command, which is a function of its arguments.

The function returns an ``Answer``; ``options`` makes options of its signature and docstring. The exit status
of all commands:

0    success
1    an output (file or standard output) cannot be written, or an internal error occurred
2    bad input
3    a claim that was checked does not hold
130  interrupted by Ctrl-C, SIGTERM or SIGHUP; the results so far are kept

Every status but 0 comes with one sentence on standard error. ``RBMVIZ_TRACEBACK=1`` adds the traceback of
an internal error.
"""

import errno
import json
import math
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from rbmviz.cli.signals import interruptible, signals_deferred
from rbmviz.cli.streams import check_stdout, never_failing_stderr, print_result
from rbmviz.errors import BadInput, OutputFailure, known, shortened

COMMANDS = {
    "app": ("app:app", "Serve the pages to the browsers of this machine, until Ctrl-C."),
    "list": ("listing:list_", "List samplers and trainers with their knobs, metrics, data sets and models."),
    "sample": ("sample:sample", "Write samples of a model to a file."),
    "play": ("play:play", "Write a page in which samplers run live in any browser, or a recording."),
    "score": ("score:score", "Score a sample file against a data set (ISL)."),
    "sweep": ("sweep:sweep", "Run samplers or trainers over a grid of knobs, and choose a setting."),
    "train": ("train:train", "Train a model, and write it to a file."),
    "data": ("data:data", "List the data sets, or download one."),
    "log-z": ("exact:log_z", "Compute log Z of a model, exactly or by AIS."),
    "log-likelihood": (
        "exact:log_likelihood",
        "Compute the mean log-likelihood of data under a model, in nats.",
    ),
    "couple": ("couple:couple", "Measure when coupled Gibbs chains meet."),
    "weights": ("weights:weights", "Compute the importance weights of pop-CD for a batch."),
    "gradient": ("gradient:gradient", "Measure bias and variance of gradient estimators at a model."),
    "lesson": ("lesson:lesson", "List the lessons, or check what their steps claim."),
    "export-model": ("export:export_model", "Write a model as .safetensors or .npz."),
    "completion": (
        "completion:completion",
        "Print the script by which a shell completes commands and options.",
    ),
    "warmup": ("warmup:warmup", "Compile and cache the kernels."),
}
"""Module and function of each command, imported when the command runs, and what the command does."""

TAKE_PLUGINS = "app", "gradient", "lesson", "list", "play", "sample", "sweep", "train"
"""Commands with the option ``--plugin``."""

Answer = tuple[dict[str, Any], str]
"""What a command returns: the result, of JSON values, and the same as text for the terminal.

The entries ``interrupted`` and ``claims_failed`` give the exit status.
"""


def function_of(name: str) -> Callable[..., Answer]:
    """Return the function of a command, whose module is imported now."""
    place = COMMANDS[name][0]  # python -m benchmarks adds one of another package
    found: Callable[..., Answer] = pkgutil.resolve_name(place if "." in place else f"{__name__}.{place}")
    return found


_words: list[str] = []


def words_of_command() -> list[str]:
    """Return the arguments of the command that runs, for the origin of its results."""
    return list(_words)


def overview() -> str:
    """Return the help of the command line, which lists its commands."""
    width = max(map(len, COMMANDS))
    lines = [f"    {name:<{width}}  {about}" for name, (_, about) in COMMANDS.items()]
    head = ["usage: rbmviz COMMAND [OPTIONS] | help COMMAND", "", "See Markov chains mix.", "", "commands:"]
    return "\n".join([*head, *lines, "", "    -V, --version  print the version and exit"])


def print_message(message: str) -> None:
    """Print a message for the user on standard error; standard output is for the result only."""
    sys.stderr.write(f"{message}\n")  # one call, so that lines of two threads are not mixed
    sys.stderr.flush()


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: the first column is aligned at the left, the others at the right."""
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = []
    for name, *cells in rows:
        aligned = [cell.rjust(width) for cell, width in zip(cells, others, strict=True)]
        lines.append("  ".join([name.ljust(first), *aligned]).rstrip())
    return lines


def _sentence(error: Exception | str) -> str:
    """Return a message on one line, with control characters escaped: file names may hold line breaks."""
    text = shortened(str(error), 2000)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    arguments : arguments of the command line (default ``sys.argv[1:]``)
    """
    with never_failing_stderr():
        try:
            return _run(arguments)
        except BadInput as error:
            print_message(_sentence(error))
            return 2
        except KeyboardInterrupt:
            with signals_deferred():
                print_message("Interrupted.")
            return 130
        except OutputFailure as error:
            print_message(_sentence(error))
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
                name = shortened(str(error.filename))
                print_message(_sentence(f"'{name}' is too long for a name: give another."))
                return 2
            if os.environ.get("RBMVIZ_TRACEBACK"):
                traceback.print_exc()
            print_message(_sentence(_unexpected(error)))
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    check_stdout()
    words = _in_order(sys.argv[1:] if arguments is None else arguments)
    _plug_in(words)
    if said := _about(words):
        print_result(said)
        return 0
    _words[:] = words
    with interruptible() as stops:
        try:
            result, said, as_json = _answer(words[0], words[1:])
        except (BadInput, OutputFailure):
            raise
        except Exception:
            if stops:  # some libraries turn an interrupt during their import into another error
                raise KeyboardInterrupt from None
            raise
    print_result(to_json(result) if as_json else said)
    if result.get("interrupted"):
        return 130
    return 3 if result.get("claims_failed") else 0


def _in_order(words: Sequence[str]) -> list[str]:
    """Return the words with the command first, by its name: ``help list`` is ``list --help``."""
    ahead: list[str] = []
    words = list(words)
    while words and words[0].partition("=")[0] in ("--json", "--plugin"):
        pair = words[0] == "--plugin"
        ahead, words = [*ahead, *words[: 1 + pair]], words[1 + pair :]
    if words and words[0].casefold() == "help":
        words = [*words[1:2], "--help", *words[2:]]
    if ahead and not words:
        raise BadInput(f"{ahead[0]} needs a command after it: 'rbmviz --help' lists them.")
    if words and words[0] not in ("-h", "--help", "-V", "--version"):
        words[0] = known("command", words[0], COMMANDS, "'rbmviz --help' lists them.")
    return [*words[:1], *ahead, *words[1:]]


def _plug_in(words: Sequence[str]) -> None:
    """Import the plug-ins that a command names, for this process and those that it starts.

    Raises BadInput, and the command does not run, if one cannot be used; but the app starts without it.
    """
    pairs = zip(words[1:], [*words[2:], ""], strict=False)
    files = [word[9:] or next_word for word, next_word in pairs if word.partition("=")[0] == "--plugin"]
    if not any(files) or words[0] not in TAKE_PLUGINS:
        return
    from rbmviz import registry  # imported here, because help does without

    for file in files if words[0] != "app" else ():
        registry.plug_in(file)
    files = [os.path.abspath(file) if os.path.exists(file) else file for file in files]
    os.environ[registry.PLUGINS] = os.pathsep.join([os.environ.get(registry.PLUGINS, ""), *files])


def _about(words: Sequence[str]) -> str:
    """Return the help or the version that is asked for; "" if a command is to run."""
    if not words or words[0] in ("-h", "--help"):
        return overview()
    if words[0] in ("-V", "--version"):
        from importlib.metadata import version

        return f"rbmviz {version('rbmviz')}"
    if {"-h", "--help"} & set(words[1:]):
        from rbmviz.cli.options import help_text  # imported here, because what takes no options does without

        return help_text(words[0])
    return ""


def _answer(name: str, words: Sequence[str]) -> tuple[dict[str, Any], str, bool]:
    """Run a command; return its answer, and whether that is wanted as JSON."""
    from rbmviz import registry  # imported here, because help does without

    registry.tell = print_message
    run, given, chosen = function_of(name), (), {}
    if words:
        from rbmviz.cli.options import arguments

        bound = arguments(name, words)
        given, chosen = bound.args, dict(bound.kwargs)
    as_json = chosen.pop("json", False)
    chosen.pop("plugin", None)  # see _plug_in
    return *run(*given, **chosen), as_json


def _unexpected(error: Exception) -> str:
    """Return the sentence for an error that is neither bad input nor a failed output."""
    if isinstance(error, MemoryError):
        return f"There is not enough memory for this ({str(error) or 'it was refused'}): give smaller sizes."
    if isinstance(error, OSError) and error.filename is not None:
        return f"'{error.filename}' cannot be read or written: {error.strerror}."
    first = next(iter(str(error).splitlines()), "")
    what = "too many levels of calls" if isinstance(error, RecursionError) else first
    return (
        f"Internal error: {type(error).__name__}: {what} "
        "(set RBMVIZ_TRACEBACK=1 to see where; please report)."
    )


def to_json(result: dict[str, Any]) -> str:
    """Return a result as one JSON object on one line.

    JSON has no NaN and no infinity: such a value becomes null, and an entry ``not_finite`` gives its place
    and its value, as in ``{"curve.3.1": "infinite"}``.
    """
    not_finite: dict[str, str] = {}

    def plain(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {key: plain(each, f"{place}.{key}") for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [plain(each, f"{place}.{i}") for i, each in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            named = "infinite" if value > 0 else "minus infinite"
            not_finite[place[1:]] = "not a number" if math.isnan(value) else named
            return None
        return value

    content = plain(result, "")
    return json.dumps(content | ({"not_finite": not_finite} if not_finite else {}), allow_nan=False)
