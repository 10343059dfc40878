"""Widgets shared by the pages, each for one setting; downloads; the uploader of models."""

import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.files.origin import with_origin
from rbmviz.models import data_label, describe_model, list_models
from rbmviz.pages.settings import MultipleOf, RealNumber, Whole
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import Race
from rbmviz_app import messages, session, uploads
from rbmviz_app.session import ALL_SETTINGS, Setting, set_undrawn
from rbmviz_app.shared import (
    MODELS_OF_COMMAND,
    own_data,
    own_models,
    pretrained_line,
    title_of_model,
)

T = TypeVar("T")

_one_file = threading.Lock()
"""Files are made one at a time, because a large one holds the interpreter."""


def _widget(setting: Setting[Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a setting's widget; ``on_change`` and ``variant`` go to ``Setting.widget``."""
    more = dict(more)
    then, variant = more.pop("on_change", None), more.pop("variant", "")
    help = more.get("help", setting.spec.help) or None
    return {**more, **setting.widget(then, variant), "help": help}


def choose(setting: Setting[T], options: Sequence[T] | None = None, **more: Any) -> T:
    """Draw a row of buttons, always with one pressed; return the value of the pressed button.

    options : options to offer instead of those in the setting's specification; the first replaces a value
        that is not among them
    """
    options = setting.spec.options() if options is None else list(options)
    value = setting.value if setting.value in options else options[0]
    st.segmented_control(setting.label, options, default=value, required=True, **_widget(setting, more))
    return value


def select(setting: Setting[T], options: Sequence[T] | None = None, **more: Any) -> T:
    """Draw a drop-down list, see ``choose``; the default of the setting comes first."""
    if options is None:
        options = sorted(setting.spec.options(), key=lambda option: option != setting.default)
    value = setting.value if setting.value in options else options[0]
    st.selectbox(setting.label, options, index=list(options).index(value), **_widget(setting, more))
    return value


def several(setting: Setting[list[str]], options: Sequence[str], **more: Any) -> list[str]:
    """Draw a multiple-choice list."""
    value = [name for name in setting.value if name in options]
    st.multiselect(setting.label, options, default=value, **_widget(setting, more))
    return value


def slide(setting: Setting[T], **more: Any) -> T:
    """Draw a slider over a list of values."""
    st.select_slider(setting.label, setting.spec.options(), value=setting.value, **_widget(setting, more))
    return setting.value


def slide_number(setting: Setting[float], **more: Any) -> float:
    """Draw a slider over multiples of a number."""
    assert isinstance(setting.spec.allowed, MultipleOf)
    lo, hi, step = setting.spec.allowed
    st.slider(setting.label, lo, hi, setting.value, step, **_widget(setting, more))
    return setting.value


def toggle(setting: Setting[bool]) -> bool:
    """Draw a switch."""
    st.toggle(setting.label, value=setting.value, **_widget(setting, {}))
    return setting.value


def number(setting: Setting[Any], **more: Any) -> Any:
    """Draw a number field, for whole numbers or for any."""
    allowed = setting.spec.allowed
    assert isinstance(allowed, Whole | RealNumber)
    whole = isinstance(allowed, Whole)
    lo, hi = allowed if whole else map(float, allowed)
    more |= {"step": 1} if whole else {"step": None, "format": "%g"}
    st.number_input(setting.label, lo, hi, setting.value, **_widget(setting, more))
    return setting.value


def text(setting: Setting[str], **more: Any) -> str:
    """Draw a text field."""
    st.text_input(setting.label, setting.value, max_chars=200, **_widget(setting, more))
    return setting.value


def about(page: str, *paragraphs: str, caption: str = "") -> None:
    """Draw the button that opens a page's introduction for newcomers, beside what it explains (style.css)."""
    about = st.popover("About", icon=":material/info:", type="tertiary", key=f"{page} about")
    with about, st.container(key="introduction"):
        for paragraph in paragraphs:
            st.markdown(paragraph)
        if caption:
            st.caption(caption)


def picture(file: Path) -> str:
    """Return a small picture as HTML; what it shows is said beside it."""
    source = f"data:image/{file.suffix[1:]};base64,{b64encode(file.read_bytes()).decode()}"
    return f'<img class="small-picture" alt="" src="{source}">'


def heading(page: str, question: str, about_page: str) -> None:
    """Draw the question of a page without live panels, and its introduction."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.title(question, anchor=False, width="content")
        about(page, about_page)


@contextmanager
def fold(setting: Setting[bool], label: str) -> Iterator[bool]:
    """Draw a fold; yield whether it is open. Compute its content only while it is open."""
    with st.expander(label, **setting.fold()):
        yield setting.value


def _models(setting: Setting[Any]) -> dict[str, Any]:
    """Return the arguments for a list of models: pretrained, the command line's, and the visitor's."""
    default = setting.default if isinstance(setting.default, list) else [setting.default]
    shipped = sorted(list_models(), key=lambda name: (name not in default, name))
    lines = [f"- **{name}**: {pretrained_line(name)}" for name in shipped]
    options = [*shipped, *MODELS_OF_COMMAND, *own_models()]
    help = "\n".join([setting.spec.help, "", *lines])
    return {"options": options, "help": help, "format_func": title_of_model}


def model_name(setting: Setting[str], before: Sequence[str] = (), width: int = 240, **more: Any) -> str:
    """Draw the list of models."""
    listed = _models(setting)
    listed["options"] = [*before, *listed["options"]]
    return select(setting, **listed, width=width, label_visibility="collapsed", **more)


def model_names(setting: Setting[list[str]], **more: Any) -> list[str]:
    """Draw the list of models, as a multiple-choice list."""
    return several(setting, **_models(setting), variant=" ".join(own_models()), **more)


def data_set(setting: Setting[str], **more: Any) -> str:
    """Draw the list of data sets: the default, the other registered ones, and the visitor's.

    A preset or a link may ask for a variant of a registered one.
    """
    registered = sorted(setting.spec.options(), key=lambda name: name != setting.default)
    own = own_data()
    options = list(dict.fromkeys([*registered, *own, setting.value]))
    return select(setting, options, variant=" ".join(own), format_func=data_label, **more)


def _new_upload(
    place: str, label: str, suffixes: list[str], help: str, read: Callable[[Any], uploads.Upload | None]
) -> uploads.Upload | None:
    """Draw an uploader; return its content if it is read for the first time, by ``read``."""
    file = uploads.uploader(place, label, suffixes, f"{help} {uploads.FORGOTTEN}")
    before = own = read(None)
    try:
        own = read(file)
    except BadInput as error:
        messages.error(error)
    uploads.offer_to_leave(place, file)
    return own if own is not before else None


def scored_data(setting: Setting[str]) -> str:
    """Draw the choice of the data to score against, with an uploader; return the name of the data."""
    choice = st.container()
    upload_data(setting, uploads.SCORED_DATA, "Score against your own data")
    with choice:
        return data_set(setting)


def upload_data(setting: Setting[str], place: str, label: str, more: str = "") -> None:
    """Draw an uploader of data, before the list of data sets; a new file becomes the choice of the setting.

    more : added to the help
    """
    rule = ALL_SETTINGS["rule"].value
    own = _new_upload(
        place,
        label,
        uploads.DATA_SUFFIXES,
        "Rows of 0 and 1 or of grey values (.npz, .npy, .csv), images (.zip), one text per line (.txt)."
        + more,
        lambda file: uploads.own_data(place, file, rule),
    )
    if own is not None:
        set_undrawn({setting.key: own.content.name})


def model_line(name: str, model: Model) -> None:
    """Draw a line that describes the chosen model."""
    st.caption(messages.plain(f"{name}: {describe_model(model)}."))


def settings(page: str, label: str = "Settings", icon: str | None = None) -> AbstractContextManager[object]:
    """Draw the popover of a page's settings."""
    return st.popover(label, icon=icon and f":material/{icon}:", key=f"{page} settings")


def own_model(setting: Setting[str], key: str, label: str) -> None:
    """Draw an uploader of models: a new file becomes the choice of the setting."""
    own = _new_upload(
        key,
        label,
        uploads.MODEL_SUFFIXES,
        "Arrays W (visible, hidden), b and c; optionally rates.W, rates.b and rates.c; or an archive of rbms "
        "(.h5). The lists of models have it until you remove it here.",
        lambda file: uploads.own_model(key, file),
    )
    if own is not None:
        session.show({setting.key: own.name})
        st.rerun()  # with the file in the list


class Download(NamedTuple):
    """A file to download: label, function that returns its bytes, file name, help, and Material icon.

    The function runs after the click, on a thread without a session: every ``Setting`` and ``Entry`` silently
    returns its default there. Read them while the page is drawn and close over their values.
    """

    label: str
    make: Callable[[], bytes]
    file: str
    help: str
    icon: str = "download"


def downloads(
    page: str,
    offered: Sequence[Download],
    origin: Callable[[], Mapping[str, Any]],
    code: Callable[[], str] | None = None,
    missing: str = "",
) -> None:
    """Draw the menu of files to save.

    origin : returns the origin of the results, see ``files.origin``; called on the thread of ``Download``
    code : returns Python code that reproduces the page's results, or computes something similar
    missing : why a file is not offered
    """

    def making(download: Download) -> Callable[[], bytes]:
        def make() -> bytes:
            with _one_file:
                return with_origin(download.make(), download.file, origin())

        return make

    with st.popover("Save", icon=":material/download:", key=f"{page} save"):
        with st.container(horizontal=True):
            for download in offered:
                st.download_button(
                    download.label,
                    making(download),
                    download.file,
                    key=f"download_file {page} {download.label}",
                    help=download.help,
                    on_click="ignore",  # the page need not be drawn again
                    icon=f":material/{download.icon}:",
                )
        if missing:
            st.caption(missing)
        if code is not None:
            _draw_code(page, code)


@st.fragment
def _draw_code(page: str, make: Callable[[], str]) -> None:
    """Draw the fold of code, made when it opens, because panels change without a run of the whole page."""
    fold = st.expander("Code", icon=":material/code:", key=f"{page} code", on_change="rerun")
    if fold.open:
        fold.code(make())


def sampler_adders(race: Race[Any], page: str) -> None:
    """Draw the buttons that add a sampler's panel."""
    labels = {name: samplers[name].label for name in list_samplers()}
    adders(page, labels, lambda name: race.add(make_sampler(name)))


def adders(page: str, labels: Mapping[str, str], add: Callable[[str], object]) -> None:
    """Draw a button for each algorithm in ``labels``, {name: label}; it calls ``add`` with the name."""

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
