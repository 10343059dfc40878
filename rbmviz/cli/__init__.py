"""The command line: one module for each command.

In each module ``add`` declares the arguments, ``run`` does the work and returns the result as a dictionary of
JSON values, and ``text`` formats this result for the terminal. The exit status of all commands:

0    success
1    an output (file or standard output) cannot be written, or an internal error occurred
2    bad input
3    a claim that was checked does not hold
130  interrupted by Ctrl-C, SIGTERM or SIGHUP; the results so far are kept

With every status but 0 there is one sentence on standard error. ``RBMVIZ_TRACEBACK=1`` adds the traceback of
an internal error.
"""

import argparse
import errno
import json
import math
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from rbmviz.cli.signals import interruptible, signals_deferred
from rbmviz.cli.streams import check_stdout, never_failing_stderr, print_result
from rbmviz.errors import BadInput, OutputFailure


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise BadInput with the message of argparse."""
        raise BadInput(f"{self.prog}: {message} (see '{self.prog} --help').")

    def print_help(self, file: Any = None) -> None:
        """Print the help in the same way as a result, so that a closed pipe is no error."""
        print_result(self.format_help().rstrip())


class _PrintVersion(argparse.Action):
    def __init__(self, **named: Any) -> None:
        super().__init__(nargs=0, **named)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version  # imported here: no other command needs it

        print_result(f"rbmviz {version('rbmviz')}")
        parser.exit()


def _shortened(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


@dataclass(frozen=True)
class WholeNumber:
    """The type of a whole-number argument with its range, lo to hi, both included."""

    lo: int
    hi: int

    def __call__(self, text: str) -> int:
        """Parse an argument; argparse puts the argument's name before the error message."""
        if re.fullmatch("[+-]?[0-9]{1,40}", text) and self.lo <= int(text) <= self.hi:
            return int(text)
        raise argparse.ArgumentTypeError(
            f"'{_shortened(text)}' is not a whole number from {self.lo:,} to {self.hi:,}"
        )


SEED = WholeNumber(0, 10**18)
COUNT = WholeNumber(1, 10**9)
"""Type of arguments that count something; tighter limits (memory, algorithm) are checked later."""


def parser() -> Parser:
    """Return the parser of all commands."""
    from rbmviz.cli import (
        app,
        bench,
        couple,
        data,
        exact,
        export,
        gradient,
        lesson,
        listing,
        replay,
        reproduce,
        sample,
        score,
        sweep,
        train,
        warmup,
        weights,
    )

    top = Parser(prog="rbmviz", description="See Markov chains mix.", allow_abbrev=False)
    top.add_argument("--version", action=_PrintVersion, help="print the version and leave")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for module in (
        app,
        listing,
        sample,
        replay,
        score,
        sweep,
        train,
        data,
        exact,
        couple,
        weights,
        gradient,
        lesson,
        reproduce,
        bench,
        export,
        warmup,
    ):
        module.add(commands)
    return top


def add_command(
    commands: Any,
    name: str,
    about: str,
    example: str,
    run: Callable[[argparse.Namespace], dict[str, Any]],
    text: Callable[[dict[str, Any]], str],
) -> argparse.ArgumentParser:
    """Add a command with the parts that all commands have: ``--json`` and an example."""
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=about,
        epilog=f"Example: {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_argument(
        "--json", action="store_true", help="print exactly one JSON object on standard output"
    )
    command.set_defaults(run=run, text=text, takes_knobs=False)
    return command


def print_message(message: str) -> None:
    """Print a message for the user on standard error; standard output is for the result only."""
    sys.stderr.write(f"{message}\n")  # one call, so that lines of two threads are not mixed
    sys.stderr.flush()


def _sentence(error: Exception | str) -> str:
    """Return a message on one line, with control characters escaped: file names may hold line breaks."""
    text = _shortened(str(error), 2000)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments of the command line (default ``sys.argv[1:]``).
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
                name = _shortened(str(error.filename))
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
            raise BadInput(f"rbmviz: '{_shortened(word)}' has no value.")
    args, rest = parser().parse_known_args(words)
    if rest and not args.takes_knobs:
        raise BadInput(f"rbmviz {args.command}: unknown argument '{rest[0]}' (see --help).")
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
    # Where it comes from is for files and programs.
    shown = {key: value for key, value in result.items() if key != "origin"}
    print_result(to_json(result) if args.json else args.text(shown))
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

    found = plain(result, "")
    return json.dumps(found | ({"not_finite": not_finite} if not_finite else {}), allow_nan=False)
