"""The command line: one file a command, each with ``add`` (its arguments) and ``run`` (what it does).

``run`` returns a dictionary of JSON values, the command's result, and ``text`` writes it for people.
Exit status, everywhere:

0    done
1    an output cannot be written (disk, standard output), or an internal error
2    bad input
130  interrupted by Ctrl-C, SIGTERM or SIGHUP; what was done is kept

All but 0 come with one sentence on standard error. ``RBMVIZ_TRACEBACK=1`` shows where an internal error was.
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

from rbmviz.cli.signals import held, stoppable
from rbmviz.cli.streams import check_stdout, forgiving_stderr, put
from rbmviz.errors import BadInput, OutputFailure


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say as BadInput."""
        raise BadInput(f"{self.prog}: {message} (see '{self.prog} --help').")

    def print_help(self, file: Any = None) -> None:
        """Print the help as every result is printed."""
        put(self.format_help().rstrip())


def _shortened(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


@dataclass(frozen=True)
class WholeNumber:
    """The type of a numeric argument, and the one place where its range stands: lo to hi, both allowed."""

    lo: int
    hi: int

    def __call__(self, text: str) -> int:
        """Read an argument; argparse puts its name before the complaint."""
        if re.fullmatch("[+-]?[0-9]{1,40}", text) and self.lo <= int(text) <= self.hi:
            return int(text)
        raise argparse.ArgumentTypeError(
            f"'{_shortened(text)}' is not a whole number from {self.lo:,} to {self.hi:,}"
        )


SEED = WholeNumber(0, 10**18)
COUNT = WholeNumber(1, 10**9)
"""How many of something there are, where memory or the algorithm says more about it later."""


def parser() -> Parser:
    """Return the parser of all commands."""
    from rbmviz.cli import (
        bench,
        couple,
        data,
        exact,
        export,
        gradient,
        listing,
        sample,
        score,
        train,
        warmup,
        weights,
    )

    top = Parser(prog="rbmviz", description="See Markov chains mix.", allow_abbrev=False)
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for module in (
        listing,
        sample,
        score,
        train,
        data,
        exact,
        couple,
        weights,
        gradient,
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
    """Add a command with what all of them have: ``--json`` and an example."""
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


def say(message: str) -> None:
    """Tell the person something that is not the result."""
    sys.stderr.write(f"{message}\n")  # in one piece
    sys.stderr.flush()


def _sentence(error: Exception | str) -> str:
    """Return a message on one line: names may hold line breaks, and codes that move a cursor."""
    text = _shortened(str(error), 2000)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    with forgiving_stderr():
        try:
            return _run(arguments)
        except BadInput as error:
            say(_sentence(error))
            return 2
        except KeyboardInterrupt:
            with held():
                say("Interrupted.")
            return 130
        except OutputFailure as error:
            say(_sentence(error))
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
                name = _shortened(str(error.filename))
                say(_sentence(f"'{name}' is longer than a name may be: name another."))
                return 2
            if os.environ.get("RBMVIZ_TRACEBACK"):
                traceback.print_exc()
            say(_sentence(_unexpected(error)))
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
    with stoppable() as stops:
        try:
            result = args.run(args)
        except (BadInput, OutputFailure):
            raise
        except Exception:
            if stops:  # libraries make other errors of an interrupt in the middle of their import
                raise KeyboardInterrupt from None
            raise
    put(to_json(result) if args.json else args.text(result))
    return 130 if result.get("interrupted") else 0


def _unexpected(error: Exception) -> str:
    """Return the sentence for an error that no code of ours foresaw."""
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

    JSON has no word for NaN and infinity: such a value becomes null, and an entry ``not_finite`` says where
    that is and what it was, as in ``{"curve.3.1": "infinite"}``.
    """
    strange: dict[str, str] = {}

    def plain(value: Any, place: str) -> Any:
        if isinstance(value, dict):
            return {key: plain(each, f"{place}.{key}") for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [plain(each, f"{place}.{i}") for i, each in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            named = "infinite" if value > 0 else "minus infinite"
            strange[place[1:]] = "not a number" if math.isnan(value) else named
            return None
        return value

    found = plain(result, "")
    return json.dumps(found | ({"not_finite": strange} if strange else {}), allow_nan=False)
