"""The command line: one module for each command.

In each module ``add`` declares the arguments, ``run`` does the work and returns the result as a dictionary of
JSON values, and ``text`` formats this result for the terminal. The exit status of all commands:

0    success
1    an output (file or standard output) cannot be written, or an internal error occurred
2    bad input
3    a claim that was checked does not hold
130  interrupted by Ctrl-C, SIGTERM or SIGHUP; the results so far are kept

Every status but 0 comes with one sentence on standard error. ``RBMVIZ_TRACEBACK=1`` adds the traceback of
an internal error.
"""

import argparse
import errno
import importlib
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from rbmviz.cli.signals import interruptible, signals_deferred
from rbmviz.cli.streams import check_stdout, never_failing_stderr, print_result
from rbmviz.errors import BadInput, OutputFailure, shortened, unknown


class Parser(argparse.ArgumentParser):
    """An argument parser with one-sentence errors, which accepts an option once unless it collects values."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.arrange: Callable[[Sequence[str]], Sequence[str]] = list  # a command may reorder its arguments
        for action in (None, "store"):
            self.register("action", action, _StoreOnce)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments in the order that ``arrange`` gives them."""
        return super().parse_known_args(self.arrange(args), namespace)

    def error(self, message: str) -> NoReturn:
        """Raise BadInput with the message of argparse."""
        short = re.sub(r"\S+", lambda word: shortened(word[0]), message)
        raise BadInput(f"{self.prog}: {short} (see '{self.prog} --help').")

    def print_help(self, file: Any = None) -> None:
        """Print the help in the same way as a result, so that a closed pipe is not an error."""
        print_result(self.format_help().rstrip())


class _StoreOnce(argparse.Action):
    """Stores a value, and refuses a second one, which would silently replace the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        stored = vars(namespace).setdefault("_given", set())
        if option is not None and self.dest in stored:
            parser.error(f"{option} is given twice; give it once")
        stored.add(self.dest)
        setattr(namespace, self.dest, values)


class _PrintVersion(argparse.Action):
    def __init__(self, **named: Any) -> None:
        super().__init__(nargs=0, **named)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # imported here: no other command needs it

        print_result(f"rbmviz {version('rbmviz')}")
        parser.exit()


@dataclass(frozen=True)
class WholeNumber:
    """The type of a whole-number argument with its range, lo to hi, both included; 1e4 is 10000."""

    lo: int
    hi: int

    def __call__(self, text: str) -> int:
        """Parse an argument; argparse puts the argument's name before the error message."""
        if re.fullmatch(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", text):
            number = Decimal(text)
            if self.lo <= number <= self.hi and number == number.to_integral_value():
                return int(number)
        raise argparse.ArgumentTypeError(
            f"'{shortened(text)}' is not a whole number from {self.lo:,} to {self.hi:,}"
        )


SEED = WholeNumber(0, 10**18)
COUNT = WholeNumber(1, 10**9)
"""Type of arguments that count something; tighter limits (memory, algorithm) are checked later."""


JSON_HELP = "print exactly one JSON object on standard output"

COMMANDS = {
    "app": ("app", "Serve the pages to the browsers of this machine, until Ctrl-C."),
    "list": (
        "listing",
        "List samplers, trainers (with knobs, ranges and defaults), metrics, data sets and models.",
    ),
    "sample": (
        "sample",
        "Write samples to a file: arrays v (uint8), p (float32), meta (JSON); row t: chain t mod n_chains.",
    ),
    "replay": (
        "replay",
        "Samplers side by side as one file that plays them: a page without a server (.html), or a .gif.",
    ),
    "play": (
        "play",
        "Samplers side by side, live in any browser: one file that needs no server and no network.",
    ),
    "score": (
        "score",
        "Score a sample file by ISL on a data set's test part; beta is chosen on its validation part.",
    ),
    "sweep": (
        "sweep",
        "Run samplers or trainers over a grid of knobs, models and seeds, and choose a setting.",
    ),
    "train": (
        "train",
        "Train one model; its file also holds the rates of the training set and the provenance.",
    ),
    "data": (
        "data",
        "Download a data set into the cache folder and check its checksum, or list all data sets.",
    ),
    "log-z": (
        "exact",
        "log Z of a model: exact, by enumerating its smaller layer (at most 25 units), or estimated by AIS.",
    ),
    "log-likelihood": (
        "exact",
        "Mean log-likelihood of a data set's parts under a model, in nats: exact, or estimated by AIS.",
    ),
    "couple": (
        "couple",
        "Meeting times of coupled Gibbs chains, started at random bits, and their bound on total variation.",
    ),
    "weights": ("weights", "Importance weights of pop-CD for a random batch of training examples."),
    "gradient": (
        "gradient",
        "Bias and variance of gradient estimators at a fixed model, per parameter (population CD, table 1).",
    ),
    "lesson": (
        "lesson",
        "List the lessons, or measure all that their steps claim, without a browser and at full speed.",
    ),
    "export-model": (
        "export",
        "Write a model as .safetensors or .npz: arrays W, b, c, the rates, and the metadata.",
    ),
    "completion": ("completion", "Print the script by which a shell completes commands and options."),
    "warmup": ("warmup", "Compile and cache the kernels; later starts take about a second."),
}
"""The module of each command, and a sentence that describes the command."""

CHECKOUT = Path(__file__).parents[2]
if (CHECKOUT / "benchmarks" / "command.py").is_file():  # an installation has no benchmarks
    sys.path.append(str(CHECKOUT))
    COMMANDS["bench"] = (
        "benchmarks.command",
        "Time kernels against other libraries, samplers by score per second, or one visitor of the app.",
    )


def parser(words: Sequence[str] | None = None) -> Parser:
    """Return the parser of all commands.

    words : arguments to parse; only the module of their command is imported, and only its arguments are
        declared (default: all)
    """
    top = Parser(prog="rbmviz", description="See Markov chains mix.", allow_abbrev=False)
    top.add_argument("--version", action=_PrintVersion, help="print the version and leave")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    named = None if words is None else _named(words)
    for module, names in _names_by_module().items():
        if words is None or named in names:
            importlib.import_module(module if "." in module else f"rbmviz.cli.{module}").add(commands)
        else:
            for name in names:
                commands.add_parser(name, help=COMMANDS[name][1])
    return top


def _names_by_module() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for name, (module, _) in COMMANDS.items():
        names.setdefault(module, []).append(name)
    return names


def _named(words: Sequence[str]) -> str | None:
    """Return the command named in these arguments, or None; no option before it takes a value."""
    name = next((word for word in words if not word.startswith("-")), None)
    if name is not None and name not in COMMANDS:
        raise unknown("command", name, COMMANDS, "'rbmviz --help' lists them.")
    return name


def add_command(
    commands: Any,
    name: str,
    example: str,
    run: Callable[[argparse.Namespace], dict[str, Any]],
    text: Callable[[dict[str, Any]], str],
) -> Parser:
    """Add a command with the parts that all commands share: ``--json`` and an example."""
    about = COMMANDS[name][1]
    command: Parser = commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=f"Example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument("--json", action="store_true", help=JSON_HELP)
    command.set_defaults(run=run, text=text, takes_knobs=False)
    return command


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
    words = sys.argv[1:] if arguments is None else arguments
    for word in words:
        if re.fullmatch("-.+=--|-[a-z]--", word):  # argparse would make an empty list of the value "--"
            raise BadInput(f"rbmviz: '{shortened(word)}' has no value.")
    if not words:
        parser(words).print_help()
        return 0
    args, rest = parser(words).parse_known_args(words)
    if rest and not args.takes_knobs:
        raise BadInput(f"rbmviz {args.command}: unknown argument '{shortened(rest[0])}' (see --help).")
    args.rest = rest
    args.words = list(words)
    with interruptible() as stops:
        try:
            result = args.run(args)
        except (BadInput, OutputFailure):
            raise
        except Exception:
            if stops:  # some libraries turn an interrupt during their import into another error
                raise KeyboardInterrupt from None
            raise
    # The origin is only for files and programs.
    summary = {key: value for key, value in result.items() if key != "origin"}
    print_result(to_json(result) if args.json else args.text(summary))
    if result.get("interrupted"):
        return 130
    return 3 if result.get("claims_failed") or result.get("results_lost") else 0


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
