"""Commands from signatures: cyclopts reads the arguments of a function, and its docstring is their help."""

import functools
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, get_args

from cyclopts import App, Argument, CycloptsError, Parameter
from cyclopts.exceptions import MissingArgumentError, RepeatArgumentError, UnusedCliTokensError

from rbmviz.cli import COMMANDS, TAKE_PLUGINS, function_of, words_of_command
from rbmviz.errors import BadInput, shortened
from rbmviz.knobs import knobs_of
from rbmviz.knobs import read_algorithms as read_with
from rbmviz.registry import Table

FLAG = Parameter(negative="")
MANY = Parameter(consume_multiple=True)
"""A list of values after one option, which may also be repeated."""

LINE_OF_HELP = 110
"""Characters in a line of help."""

COLUMN = 24
"""Column at which the texts of options begin."""

JSON = Annotated[bool, Parameter(negative="", help="Print exactly one JSON object on standard output.")]
PLUGIN = Annotated[list[str] | None, Parameter(help="Python file with samplers or trainers (repeatable).")]


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

FLAT = Parameter(name="*")
"""Of a dataclass: its fields are options of the command."""

Seed = Annotated[int, whole(0, 10**18, help="Random seed.")]

ModelName = Annotated[str, Parameter(help="Name of a pretrained model, or a file.")]

DataName = Annotated[
    str | None,
    Parameter(help="A name, a file, or a folder of images; default: the data that the model names."),
]


def _called(name: str) -> str:
    """Return how a command is called; ``python -m benchmarks`` is a command of its own."""
    return name if name.startswith("python ") else f"rbmviz {name}"


def app_of(name: str) -> App:
    """Return what reads the arguments of a command."""
    app = App(name=_called(name), version_flags=(), help_flags=(), default_parameter=FLAG)
    app.default(_with_options_of_all(name))
    return app


def _with_options_of_all(name: str) -> Callable[..., Any]:
    """Return a function with the signature of a command, ``--json``, and where it fits ``--plugin``."""
    run, kind = function_of(name), inspect.Parameter.KEYWORD_ONLY
    own, with_more = inspect.signature(run), functools.wraps(run)(lambda *args, **options: None)
    flags = [inspect.Parameter("json", kind, default=False, annotation=JSON)]
    if name in TAKE_PLUGINS:
        flags.insert(0, inspect.Parameter("plugin", kind, default=None, annotation=PLUGIN))
    parameters = sorted([*own.parameters.values(), *flags], key=lambda parameter: parameter.kind)
    with_more.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_more


def arguments(name: str, words: Sequence[str]) -> inspect.BoundArguments:
    """Return the arguments of a command; BadInput, in one sentence, if they are not right."""
    split = [re.sub(r"^-n(?=[0-9])", "-n=", word) for word in words]  # -n300, which cyclopts takes for a knob
    try:
        _, bound, _ = app_of(name).parse_args(split, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise BadInput(f"{_called(name)}: {_sentence(error)} (see '{_called(name)} --help').") from None
    return bound


def _sentence(error: CycloptsError) -> str:
    if isinstance(error, RepeatArgumentError) and error.token is not None:
        return f"{error.token.keyword or error.token.value} is given twice; give it once"
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"unknown argument '{shortened(error.unused_tokens[0])}'"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        knob = error.argument.field_info.kind is inspect.Parameter.VAR_KEYWORD
        return f"{shortened(error.keyword or error.argument.name)} {'is no option, or ' * knob}needs a value"
    said = re.sub(r"\S+", lambda word: shortened(word[0]), " ".join(str(error).split()).rstrip("."))
    return said.removeprefix("Invalid value for ").replace('"', "'")


def help_text(name: str) -> str:
    """Return the help of a command, wrapped; with the knobs of the table in the annotation of ``**knobs``."""
    run = function_of(name)
    sections = re.split(r"\n\n(?:Parameters|Examples)\n-+\n", inspect.cleandoc(run.__doc__ or ""))
    about, examples = sections[0].split("\n\n"), sections[-1].strip().replace("\n", f"\n{' ' * 9}")
    arguments = [
        argument
        for argument in app_of(name).assemble_argument_collection(parse_docstring=True)
        if argument.field_info.kind is not inspect.Parameter.VAR_KEYWORD and not argument.children
    ]
    words = [f" [{_flag(argument)}]" for argument in arguments if not argument.field_info.is_keyword]
    lines = [f"usage: {_called(name)}{''.join(words)} [OPTIONS]"]
    lines += [f"\n{textwrap.fill(part, LINE_OF_HELP)}" for part in about]
    lines += ["", *(_entry(_flag(argument), _said(argument)) for argument in arguments)]
    annotations = [get_args(hint) for hint in run.__annotations__.values()]
    for table in (each for found in annotations for each in found if isinstance(each, Table)):
        lines += ["", knob_help(table, {argument.field_info.name for argument in arguments})]
    return "\n".join([*lines, "", f"Example: {examples}"])


def _flag(argument: Argument) -> str:
    """Return how the help writes an argument: ``-n, --n N`` or ``FOLDER``."""
    info, choices = argument.field_info, argument.get_choices()
    word = "N" if _is_whole(argument.hint) else info.name.upper()
    value = "{" + ",".join(choices) + "}" if choices else word
    if not info.is_keyword:
        return f"{value} ..." if info.kind is inspect.Parameter.VAR_POSITIONAL else value
    flags = ", ".join(sorted(argument.names, key=len))
    return flags if argument.hint is bool else f"{flags} {value}"


def _is_whole(hint: Any) -> bool:
    """Return whether a hint is int, ``Annotated[int, ...]``, or one of these or None."""
    return hint is int or any(map(_is_whole, get_args(hint)[:1]))


def _said(argument: Argument) -> str:
    """Return the help of an argument, with its default."""
    said, default = " ".join((argument.parameter.help or "").split()).rstrip("."), argument.field_info.default
    if default is None or default is False or default is inspect.Parameter.empty:
        return said
    return f"{said} (default {f'{default:,}' if isinstance(default, int) else default})"


def _entry(flag: str, said: str) -> str:
    """Return an entry of the help; a long flag has a line of its own."""
    text = textwrap.fill(said, LINE_OF_HELP, initial_indent=" " * COLUMN, subsequent_indent=" " * COLUMN)
    return f"  {flag}".ljust(COLUMN) + text[COLUMN:] if len(flag) < COLUMN - 3 else f"  {flag}\n{text}"


def all_commands() -> App:
    """Return one app with all commands, for a shell's completion."""
    app = App(name="rbmviz", default_parameter=FLAG, version_flags=())
    for name in COMMANDS:
        app.command(_with_options_of_all(name), name=name)
    return app


def texts_by_knob(knobs: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of knobs given as flags, by name: ``--max-sweeps 20``."""
    return {name.replace("-", "_"): text for name, text in knobs.items()}


def read_algorithms(table: Table, texts: Sequence[str], knobs: Mapping[str, str]) -> list[Any]:
    """Return algorithms from texts, see ``knobs.read_algorithms``; ``knobs``: flags, or misspelt options."""
    own = app_of(words[0]).assemble_argument_collection() if knobs and (words := words_of_command()) else ()
    return read_with(table, texts, texts_by_knob(knobs), [argument.field_info.name for argument in own])


def split_algorithms(text: str) -> list[str]:
    """Return the texts of algorithms separated by commas, such as ``gibbs,rates_fpcd:eps=0.1,k=2``."""
    # A comma before "k=2" separates knobs of one algorithm; every other comma begins the next algorithm.
    return [part.strip() for part in re.split(r",(?![^,:]*=)", text)]


def knob_help(table: Table, without: Collection[str] = ()) -> str:
    """Return the lines of ``--help`` that list the knobs of a table, those that most algorithms have first.

    A knob of several algorithms with one text and range has one entry, which names the defaults that differ.
    """
    owners: dict[tuple[str, str], dict[str, str]] = {}
    for name in table:
        for knob in knobs_of(table[name]).values():
            if knob.name not in without:
                said = f"{knob.help} {knob.range_text}"
                owners.setdefault((knob.name, said), {})[name] = knob.text(knob.default)
    groups: dict[tuple[str, ...], list[str]] = {}
    for (knob_name, said), defaults in owners.items():
        common = Counter(defaults.values()).most_common(1)[0][0]
        others = [f"{name} {default}" for name, default in defaults.items() if default != common]
        entry = _entry(f"--{knob_name.replace('_', '-')}", f"{said}; default {'; '.join([common, *others])}")
        groups.setdefault(tuple(defaults), []).append(entry)
    lines = []
    for names, entries in sorted(groups.items(), key=lambda group: -len(group[0])):
        who = f"all {table.kind}s" if names == tuple(table) else ", ".join(names)
        lines += ["", *textwrap.wrap(f"knobs of {who}:", LINE_OF_HELP), *entries]
    return "\n".join(lines[1:])
