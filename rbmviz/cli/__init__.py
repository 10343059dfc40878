"""The command line: one file a command, each with ``add`` (its arguments) and ``run`` (what it does).

``run`` returns a dictionary of JSON values, the command's result, and ``text`` writes it for people.
Exit status: 0 done, 2 bad input (one sentence on standard error), 130 interrupted by Ctrl-C or SIGTERM
(what was done is kept), 1 an error of ours.
"""

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from rbmviz.errors import BadInput


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one sentence."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say as BadInput."""
        raise BadInput(f"{self.prog}: {message} (see '{self.prog} --help').")


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
    print(message, file=sys.stderr)  # noqa: T201


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let SIGTERM, which batch systems and ``kill`` send, be what Ctrl-C is: what was done is kept."""
    if threading.current_thread() is not threading.main_thread():  # the only one that signals reach
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    try:
        args, rest = parser().parse_known_args(arguments)
        if rest and not args.takes_knobs:
            raise BadInput(f"rbmviz {args.command}: unknown argument '{rest[0]}' (see --help).")
        args.rest = rest
        with _stoppable():
            result = args.run(args)
        print(json.dumps(result) if args.json else args.text(result))  # noqa: T201
        sys.stdout.flush()
        return 130 if result.get("interrupted") else 0
    except BadInput as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say("Interrupted.")
        return 130
    except BrokenPipeError:
        # The reader of our output (head, say) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
