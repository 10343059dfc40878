"""Widgets that pages share, each for one setting; downloads; the upload of a model."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.datasets import Dataset
from rbmviz.models import describe_model, list_models
from rbmviz.origin import with_origin
from rbmviz.pages.settings import MultipleOf, Whole
from rbmviz_app import card, links, messages, uploads
from rbmviz_app.session import (
    TRAINED,
    Setting,
    drawn_in,
    keep_hidden,
    show_in_address,
    start_with,
)
from rbmviz_app.shared import MODELS_OF_COMMAND, model_called, pretrained_line

T = TypeVar("T")


def _widget(setting: Setting[Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a setting's widget; a challenge that leaves the setting as it is disables it."""
    why, help = card.why_setting_locked(setting.key), more.get("help", setting.spec.help) or None
    return {
        **more,
        **setting.bound,
        "help": f"**{why}** {help or ''}".strip() if why else help,
        "disabled": bool(why) or more.get("disabled", False),
    }


def _open_link(setting: Setting[T], options: Iterable[T], more: Mapping[str, Any]) -> None:
    """Take the option that the address names: Streamlit looks there for what ``format_func`` writes only."""
    if "format_func" in more and setting.chosen is None:
        text = st.query_params.get(setting.key)
        for option in options:
            if str(option) == text:
                start_with(setting.key, option)


def choose(setting: Setting[T], options: Sequence[T] | None = None, **more: Any) -> T:
    """Draw a row of buttons, one of which is always pressed.

    options : those of the setting, if they are others than its specification allows
    """
    options = setting.spec.options() if options is None else list(options)
    _open_link(setting, options, more)
    chosen = st.segmented_control(
        setting.label, options, default=setting.default, required=True, **_widget(setting, more)
    )
    return chosen  # type: ignore[return-value]


def select(setting: Setting[T], options: Sequence[T] | None = None, **more: Any) -> T:
    """Draw a drop-down list. It begins with the default of the setting; so do other ``options``."""
    if options is None:
        options = sorted(setting.spec.options(), key=lambda option: option != setting.default)
    _open_link(setting, options, more)
    return st.selectbox(setting.label, options, **_widget(setting, more))


def slide(setting: Setting[T], **more: Any) -> T:
    """Draw a slider over a few values."""
    options = setting.spec.options()
    _open_link(setting, options, more)
    return st.select_slider(setting.label, options, value=setting.default, **_widget(setting, more))


def slide_number(setting: Setting[float], **more: Any) -> float:
    """Draw a slider over multiples of a number."""
    assert isinstance(setting.spec.allowed, MultipleOf)
    lo, hi, step = setting.spec.allowed
    return st.slider(setting.label, lo, hi, setting.default, step, **_widget(setting, more))


def toggle(setting: Setting[bool]) -> bool:
    """Draw a switch."""
    return st.toggle(setting.label, value=setting.default, **_widget(setting, {}))


def number(setting: Setting[int], **more: Any) -> int:
    """Draw a field for a whole number."""
    assert isinstance(setting.spec.allowed, Whole)
    lo, hi = setting.spec.allowed
    return int(
        st.number_input(
            setting.label,
            min_value=lo,
            max_value=hi,
            value=setting.default,
            step=1,
            **_widget(setting, more),
        )
    )


def model_name(setting: Setting[str], before: Sequence[str] = (), width: int = 180) -> str:
    """Draw the list of models: pretrained ones, the default first, the command line's, the Train page's."""
    shipped = sorted(list_models(), key=lambda name: (name != setting.default, name))
    lines = [f"- **{name}**: {pretrained_line(name)}" for name in shipped]
    options = [*before, *shipped, *MODELS_OF_COMMAND, *TRAINED.value]
    help = "\n".join([setting.spec.help, "", *lines])
    return select(setting, options, help=help, width=width)


def model_line(name: str, model: Model) -> None:
    """Draw the line that says what the chosen model is."""
    st.caption(messages.plain(f"{name}: {describe_model(model)}."))


@contextmanager
def settings(page: str, label: str = "Settings", icon: str = "tune") -> Iterator[None]:
    """Draw the popover of a page's settings.

    It has the page drawn again when it is opened or closed: while it is closed, its widgets learn nothing
    of what a preset or Undo has set (``session.keep_set``).
    """
    key = f"{page} settings"
    with st.popover(label, icon=f":material/{icon}:", key=key, on_change="rerun"), drawn_in(key):
        yield


def own_model(name: str, key: str, label: str) -> tuple[str, Model]:
    """Draw an uploader; return name and model of the uploaded file, or of the chosen model without one."""
    chosen = model_called(name)
    given = uploads.uploader(
        key,
        label,
        ["safetensors", "npz"],
        "Arrays W (visible, hidden), b and c; rates.W, rates.b and rates.c where you have them. It takes the "
        "place of the chosen model until you remove it here, or a preset, a lesson or another page opens "
        "one. A reload forgets it: then give it again.",
    )
    try:
        own = uploads.own_model(key, given)
    except BadInput as error:
        messages.error(error)
        own = None
    uploads.offer_to_leave(key, given)
    return (name, chosen) if own is None else (own.name, own.content)


def data_or_reason(find: Callable[..., Dataset], *args: Any, **kwargs: Any) -> tuple[Dataset | None, str]:
    """Return the data set of ``find(*args, **kwargs)`` and "", or None and the sentence of its BadInput."""
    try:
        return find(*args, **kwargs), ""
    except BadInput as error:
        return None, str(error)


class Download(NamedTuple):
    """A file to download: label, function that makes its bytes, name of the file, help, Material icon.

    The function is called on a thread of its own after the click, for which nothing on the page waits. That
    thread has no session: there every ``Setting`` and ``Entry`` has its default, without an error. Read them
    while the page is drawn, and close over their values, as ``files`` of ``pages/train/results.py`` does.
    """

    label: str
    make: Callable[[], bytes]
    file: str
    help: str
    icon: str = "download"


def downloads(page: str, offered: Sequence[Download], known: Callable[[], Mapping[str, Any]]) -> None:
    """Draw a button for each file.

    known : says where the results come from, see ``rbmviz.origin``; called on the thread of ``Download``
    """

    def making(download: Download) -> Callable[[], bytes]:
        return lambda: with_origin(download.make(), download.file, known())

    for download in offered:
        st.download_button(
            download.label,
            data=making(download),
            file_name=download.file,
            icon=f":material/{download.icon}:",
            on_click="ignore",
            key=f"{page} download {download.label}",
            help=download.help,
        )


@contextmanager
def more_charts(opened: Setting[bool], within: Sequence[Setting[Any]]) -> Iterator[bool]:
    """Draw the fold of the charts that a page does not open with; give whether it is open.

    What it holds is to be computed only while it is open. A link that names a setting ``within`` opens it;
    while it is closed, these settings stay as they are.
    """
    if links.gives_any(setting.key for setting in within):
        start_with(opened.key, True)
    fold = st.expander("More charts", on_change="rerun", **opened.bound)
    show_in_address(within, bool(fold.open))
    if not fold.open:
        keep_hidden(within)
    with fold:
        yield bool(fold.open)


@st.fragment
def code(page: str, make: Callable[[], str]) -> None:
    """Offer Python code that repeats what is on the page, or computes the like.

    make : is called when somebody opens it: panels and knobs change without a new run of the whole page
    """
    popover = st.popover("Code", icon=":material/code:", key=f"{page} code", on_change="rerun")
    if popover.open:
        popover.code(make())


def adders(page: str, labels: Mapping[str, str], add: Callable[[str], object]) -> None:
    """Draw a button for each algorithm of ``labels``, {name: label}, that calls ``add`` with its name."""

    def try_to_add(name: str) -> None:
        try:
            add(name)
        except BadInput as error:
            messages.refused(error)

    for name, label in labels.items():
        st.button(
            label,
            key=f"{page} add {name}",
            icon=":material/add:",
            on_click=try_to_add,
            args=(name,),
            type="tertiary",
        )
