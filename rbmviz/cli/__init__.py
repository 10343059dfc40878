"""The command line: one module for each command, which is a function of its arguments.

The function returns the result as a dictionary of JSON values, and ``text`` of its module formats this result
for the terminal; ``options`` makes options of signature and docstring. The exit status of all commands:

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
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

from rbmviz.cli.signals import interruptible, signals_deferred
from rbmviz.cli.streams import check_stdout, never_failing_stderr, print_result
from rbmviz.errors import BadInput, OutputFailure, shortened, unknown


class Entry(NamedTuple):
    """Where a command is, and what it does; the help of all commands imports none of them."""

    module: str
    function: str
    about: str


COMMANDS = {
    "app": Entry(
        "rbmviz.cli.app",
        "app",
        "Serve the pages to the browsers of this machine, until Ctrl-C.",
    ),
    "list": Entry(
        "rbmviz.cli.listing",
        "list_",
        "List samplers, trainers (with knobs, ranges and defaults), metrics, data sets and models.",
    ),
    "sample": Entry(
        "rbmviz.cli.sample",
        "sample",
        "Write samples to a file: arrays v (uint8), p (float32), meta (JSON); row t: chain t mod n_chains.",
    ),
    "play": Entry(
        "rbmviz.cli.play",
        "play",
        "Samplers side by side as one file: live in any browser, or recorded (.html, .gif).",
    ),
    "score": Entry(
        "rbmviz.cli.score",
        "score",
        "Score a sample file by ISL on a data set's test part; beta is chosen on its validation part.",
    ),
    "sweep": Entry(
        "rbmviz.cli.sweep",
        "sweep",
        "Run samplers or trainers over a grid of knobs, models and seeds, and choose a setting.",
    ),
    "train": Entry(
        "rbmviz.cli.train",
        "train",
        "Train one model; its file also holds the rates of the training set and the provenance.",
    ),
    "data": Entry(
        "rbmviz.cli.data",
        "data",
        "Download a data set into the cache folder and check its checksum, or list all data sets.",
    ),
    "log-z": Entry(
        "rbmviz.cli.exact",
        "log_z",
        "log Z of a model: exact, by enumerating its smaller layer (at most 25 units), or estimated by AIS.",
    ),
    "log-likelihood": Entry(
        "rbmviz.cli.exact",
        "log_likelihood",
        "Mean log-likelihood of a data set's parts under a model, in nats: exact, or estimated by AIS.",
    ),
    "couple": Entry(
        "rbmviz.cli.couple",
        "couple",
        "Meeting times of coupled Gibbs chains, started at random bits, and their bound on total variation.",
    ),
    "weights": Entry(
        "rbmviz.cli.weights",
        "weights",
        "Importance weights of pop-CD for a random batch of training examples.",
    ),
    "gradient": Entry(
        "rbmviz.cli.gradient",
        "gradient",
        "Bias and variance of gradient estimators at a fixed model, per parameter (population CD, table 1).",
    ),
    "lesson": Entry(
        "rbmviz.cli.lesson",
        "lesson",
        "List the lessons, or measure all that their steps claim, without a browser and at full speed.",
    ),
    "export-model": Entry(
        "rbmviz.cli.export",
        "export_model",
        "Write a model as .safetensors or .npz: arrays W, b, c, the rates, and the metadata.",
    ),
    "completion": Entry(
        "rbmviz.cli.completion",
        "completion",
        "Print the script by which a shell completes commands and options.",
    ),
    "warmup": Entry(
        "rbmviz.cli.warmup",
        "warmup",
        "Compile and cache the kernels; later starts take about a second.",
    ),
}
"""Module, function and description of each command."""

_words: list[str] = []


def words_of_command() -> list[str]:
    """Return the arguments of the command that runs, for the origin of its results."""
    return list(_words)


def overview() -> str:
    """Return the help of the command line, which lists its commands."""
    width = max(map(len, COMMANDS))
    lines = [f"    {name:<{width}}  {entry.about}" for name, entry in COMMANDS.items()]
    head = ["usage: rbmviz COMMAND [--help] ...", "", "See Markov chains mix.", "", "commands:"]
    return "\n".join([*head, *lines, "", "    --version  print the version and leave"])


def print_message(message: str) -> None:
    """Print a message for the user on standard error; standard output is for the result only."""
    sys.stderr.write(f"{message}\n")  # one call, so that lines of two threads are not mixed
    sys.stderr.flush()


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
                print_message(_sentence(f"'{name}' is longer than a name may be: name another."))
                return 2
            if os.environ.get("RBMVIZ_TRACEBACK"):
                traceback.print_exc()
            print_message(_sentence(_unexpected(error)))
        return 1


def _run(arguments: Sequence[str] | None) -> int:
    check_stdout()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print_result(overview())
        return 0
    if words[0] == "--version":
        from importlib.metadata import version

        print_result(f"rbmviz {version('rbmviz')}")
        return 0
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        raise unknown("command", name, COMMANDS, "'rbmviz --help' lists them.")
    from rbmviz.cli import options  # imported here, because the help of all commands does without

    if {"-h", "--help"} & set(rest):
        print_result(options.help_text(name))
        return 0
    as_json = "--json" in rest
    _words[:] = words
    with interruptible() as stops:
        try:
            command, bound = options.arguments(name, [word for word in rest if word != "--json"])
            result = command.run(*bound.args, **bound.kwargs)
        except (BadInput, OutputFailure):
            raise
        except Exception:
            if stops:  # some libraries turn an interrupt during their import into another error
                raise KeyboardInterrupt from None
            raise
    # The origin is only for files and programs.
    summary = {key: value for key, value in result.items() if key != "origin"}
    print_result(to_json(result) if as_json else command.text(summary))
    if result.get("interrupted"):
        return 130
    return 3 if result.get("claims_failed") else 0


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
