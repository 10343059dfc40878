"""Commands from signatures: cyclopts reads the arguments of a function, and its docstring is their help."""

import importlib
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

from cyclopts import App, CycloptsError, Parameter
from cyclopts.exceptions import MissingArgumentError, RepeatArgumentError, UnusedCliTokensError

from rbmviz.cli import COMMANDS
from rbmviz.errors import BadInput, shortened
from rbmviz.knobs import Knob, knobs_of
from rbmviz.knobs import read_algorithms as read_with
from rbmviz.registry import Table

FLAG = Parameter(negative="")
MANY = Parameter(consume_multiple=True)
"""A list of values after one option, which may also be repeated."""

WIDTH = 110
"""Characters in a line of help."""

JSON_HELP = "--json prints exactly one JSON object on standard output."


def whole(lo: int, hi: int, **more: Any) -> Parameter:
    """Return the parameter of a whole number from lo to hi, both included; 1e4 is 10000."""

    def read(_: Any, tokens: Sequence[Any]) -> int:
        text = tokens[0].value
        if re.fullmatch(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", text):
            number = Decimal(text)
            if lo <= number <= hi and number == number.to_integral_value():
                return int(number)
        raise ValueError(f"'{shortened(text)}' is not a whole number from {lo:,} to {hi:,}")

    return Parameter(converter=read, **more)


def range_of(cls: Any, name: str) -> Parameter:
    """Return the parameter of a whole number with the range of a knob."""
    knob = knobs_of(cls)[name]
    return whole(int(knob.lo), int(knob.hi))


Count = Annotated[int, whole(1, 10**9)]
"""Something that is counted; tighter limits (memory, algorithm) are checked later."""

NUMBER = Parameter(name=["-n", "--n"])

Seed = Annotated[int, whole(0, 10**18)]


class Command(NamedTuple):
    """A command: ``run`` computes the result, ``text`` formats it, and ``app`` reads the arguments."""

    run: Callable[..., dict[str, Any]]
    text: Callable[[dict[str, Any]], str]
    app: App


def command(name: str) -> Command:
    """Return a command, whose module is imported now: the function of its name, and ``text``.

    The module also has EXAMPLES, by command, and KNOBS, the table whose knobs the command takes.
    """
    module = _module(name)
    run = getattr(module, COMMANDS[name].function)
    app = App(name=f"rbmviz {name}", version_flags=(), help_flags=(), default_parameter=FLAG)
    app.default(run)
    return Command(run, module.text, app)


def _module(name: str) -> Any:
    return importlib.import_module(COMMANDS[name].module)


def _knob_lines(name: str) -> list[str]:
    table = getattr(_module(name), "KNOBS", None)
    return [] if table is None else ["", knob_help(table, list(table))]


def arguments(name: str, words: Sequence[str]) -> tuple[Command, inspect.BoundArguments]:
    """Return a command and its arguments; BadInput, in one sentence, if they are not right."""
    chosen = command(name)
    try:
        _, bound, _ = chosen.app.parse_args(list(words), exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise BadInput(f"rbmviz {name}: {_sentence(error, chosen)} (see 'rbmviz {name} --help').") from None
    return chosen, bound


def _sentence(error: CycloptsError, chosen: Command) -> str:
    if isinstance(error, RepeatArgumentError) and error.token is not None:
        return f"{error.token.keyword or error.token.value} is given twice; give it once"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"unknown argument '{shortened(error.unused_tokens[0])}'"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        given = error.keyword or error.argument.name
        if error.tokens_so_far or error.keyword or not error.argument.required:
            return f"{shortened(given)} needs a value"
        return f"{given} is missing"
    return re.sub(r"\S+", lambda word: shortened(word[0]), " ".join(str(error).split()).rstrip("."))


def help_text(name: str) -> str:
    """Return the help of a command, wrapped."""
    chosen, docstring = command(name), inspect.cleandoc(command(name).run.__doc__ or "")
    about = docstring.partition("\nParameters\n")[0].strip().split("\n\n")
    lines = [f"usage: rbmviz {name} [options]", *(f"\n{textwrap.fill(part, WIDTH)}" for part in about), ""]
    collection = chosen.app.assemble_argument_collection(parse_docstring=True)
    for each in (
        argument for argument in collection if argument.field_info.kind is not inspect.Parameter.VAR_KEYWORD
    ):
        value = each.field_info.default
        shown = "" if value in (None, False, inspect.Parameter.empty) else f" (default {value})"
        choices = f" {', '.join(each.get_choices() or ())}:" if each.get_choices() else ""
        said = " ".join((each.parameter.help or "").split()).rstrip(".")
        flag = (
            ", ".join(sorted(each.names, key=len))
            if each.field_info.is_keyword
            else each.name.lstrip("-").upper()
        )
        lines.append(
            textwrap.fill(
                f"{flag:<22}{choices} {said}{shown}", WIDTH, subsequent_indent=" " * 23, initial_indent="  "
            )
        )
    return "\n".join([*lines, "", f"Example: {_module(name).EXAMPLES[name]}", JSON_HELP, *_knob_lines(name)])


def all_commands() -> App:
    """Return one app with all commands, for a shell's completion."""
    app = App(name="rbmviz", default_parameter=FLAG, version_flags=())
    for name in COMMANDS:
        app.command(command(name).run, name=name)
    return app


def texts_by_knob(knobs: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of knobs given as flags, by name: ``--max-sweeps 20``."""
    return {name.replace("-", "_"): text for name, text in knobs.items()}


def read_algorithms(table: Table, texts: Sequence[str], knobs: Mapping[str, str]) -> list[Any]:
    """Return algorithms from texts, see ``knobs.read_algorithms``; ``knobs`` are shared flags."""
    return read_with(table, texts, texts_by_knob(knobs))


def split_algorithms(text: str) -> list[str]:
    """Return the texts of algorithms separated by commas, such as ``gibbs,rates_fpcd:eps=0.1,k=2``."""
    # A comma before "k=2" separates knobs of one algorithm; every other comma begins the next algorithm.
    return [part.strip() for part in re.split(r",(?![^,:]*=)", text)]


def knob_help(table: Table, names: Sequence[str]) -> str:
    """Return the lines of ``--help`` that list the knobs, starting with the shared ones.

    All algorithms declare a shared knob with the same range and help; the line names defaults that differ.
    """
    knobs = [knobs_of(table[name]) for name in names]
    shared = [
        name
        for name, first in knobs[0].items()
        if len(names) > 1
        and all(
            name in of and (of[name].help, of[name].range_text) == (first.help, first.range_text)
            for of in knobs
        )
    ]
    lines = [f"knobs of all {table.kind}s:"] if shared else []
    for knob in (knobs[0][name] for name in shared):
        defaults = {
            name: of[knob.name].text(of[knob.name].default) for name, of in zip(names, knobs, strict=True)
        }
        common = Counter(defaults.values()).most_common(1)[0][0]
        others = [f"{name} {default}" for name, default in defaults.items() if default != common]
        lines.append(_knob_line(knob, "; ".join([common, *others])))
    for name, of in zip(names, knobs, strict=True):
        if own := [knob for knob in of.values() if knob.name not in shared]:
            lines.append(f"\nknobs of {name}:")
        lines += [_knob_line(knob, knob.text(knob.default)) for knob in own]
    return "\n".join(lines)


def _knob_line(knob: Knob, default: str) -> str:
    flag = f"--{knob.name.replace('_', '-')}"
    return f"  {flag:<16} {knob.help} {knob.range_text}; default {default}"
