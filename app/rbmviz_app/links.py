"""The page's address, which holds the state of the screen; its content is untrusted.

It is read once, when a session begins (``open_link``). After that, a component of the page replaces it in
place. ``st.query_params`` is never written, because that would add entries to the browser's history.
"""

import math
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from rbmviz.errors import MAX_SHOWN, BadInput, quoted
from rbmviz.metrics.landscape import MAX_VISIBLE_LANDSCAPE
from rbmviz.pages.links import address_texts
from rbmviz.pages.settings import Several
from rbmviz_app import embedding, pages, presets, session, shared
from rbmviz_app.component import component
from rbmviz_app.share import publish

_address = component("address", ["address.js"])


PAUSED_AT = "paused_at"
"""Name in the address: the common step of a paused page's runs, or one step per run, in order. The browser
writes it."""

LESSON, STEP = "lesson", "step"
"""Names in the address: the open lesson, and its step (from 1)."""

COOKIE = "rbmviz_owner"
"""Cookie that identifies the browser that started a sweep; only this browser may stop or delete it."""

OWNER_PATTERN = re.compile(r"[0-9a-f]{24}")
"""96 random bits."""

MODEL_CHOICES = {
    **{"sample": "model", "chain": "land", "tune": "tune_models"},
    **{"coupling": "coupling_model", "weights": "weights_model"},
}
"""The setting on each page that chooses a model (on Tune, several), possibly from the Train page."""

DATA_CHOICES = ("data", "tune_data", "train_data", "tune_train_data")
"""Settings that choose data, possibly a visitor's file; its name then has a file extension."""

TRAINED_TITLE = re.compile(r", [0-9,]+ updates?( \([0-9]+\))?$")
"""The end of the title of a model sent from the Train page."""

OWN_NAME = re.compile(rf"\.|{TRAINED_TITLE.pattern}")
"""Names of files have a dot."""

HAVE_UPLOADERS = ("sample", "weights", "train")
"""Pages to which models or data can be uploaded."""

OWN_CHOICES = (*DATA_CHOICES, *MODEL_CHOICES.values())
"""Settings that choose data or models, which may be the visitor's."""

MAX_REPEATED_STEPS = 20_000
"""Maximum number of steps repeated when a paused page is reopened; they take seconds."""


def link_values(page: str, name: str) -> list[str]:
    """Return the values of a name in this session's link, if the link is to this page."""
    link = session.LINK.value
    return list(link.parts.get(name, ())) if link is not None and link.page == page else []


def in_address(name: str) -> list[str]:
    """Return the current values of a name in the address; ``link_values`` returns the initial values."""
    return st.query_params.get_all(name)


def owner() -> str:
    """Return the secret of this browser, from its cookie or newly made; ``write`` stores it in the cookie."""
    if not session.OWNER.value:
        cookie = str(st.context.cookies.get(COOKIE, ""))
        session.OWNER.set(cookie if OWNER_PATTERN.fullmatch(cookie) else secrets.token_hex(12))
    return session.OWNER.value


def presenting() -> bool:
    """Return whether the page is drawn for a projector: large, fitted to the window, with few controls."""
    return session.PRESENTED.ensure() != ""


def presented_knobs() -> list[str]:
    """Return the names of the knobs shown while presenting; empty: the first knob of each panel."""
    text = session.PRESENTED.ensure()
    return [] if text in ("", "1") else text.split(",")


def paused_at(page: str, n_panels: int) -> list[int]:
    """Return the steps of the panels when the link was written; empty: they were running."""
    texts = link_values(page, PAUSED_AT)
    if not all(re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) for text in texts):
        return []
    steps = [int(text) for text in texts]
    return steps if len(steps) == n_panels else [min(steps)] * n_panels if steps else []


def write(page: str, parts: Mapping[str, Sequence[str]]) -> None:
    """Have the browser write these values into the address, by name; an empty list removes a name."""
    with st.container(key="address"):  # the shell takes it out of the page's flow
        texts = {name: list(values) for name, values in parts.items()}
        texts |= {"present": [session.PRESENTED.ensure()]} if presenting() else {}
        texts |= {"paused": ["1"]} if session.STARTS_PAUSED.ensure() else {}
        texts |= embedding.parts(page)
        if (place := session.OPEN_STEP.value) is not None:
            texts |= {LESSON: [place.lesson], STEP: [str(place.step + 1)]}
        gone = [name for name in ("present", "paused", LESSON, STEP) if name not in texts]
        others = [name for name in pages.names_of_other_pages(page) if name not in texts]
        session.WRITTEN.ensure()[page] = texts | {name: [] for name in gone}
        data: dict[str, Any] = {"parts": texts, "others": others + gone}
        if texts.get("sweep"):  # only this browser may delete its sweeps
            data["cookie"] = f"{COOKIE}={owner()}"
        _address(key=f"{page} address", data=data)
        publish.tell(link=address_of(page)())


def address_of(page: str, *without: str) -> Callable[[], str]:
    """Return a function that returns a page's address as last written, for others; any thread may call it.

    without : names of parts to leave out
    """
    written = session.WRITTEN.ensure()
    own = {"present", "paused", *(("ui", "show") if session.EMBEDDED.value else ()), *without}

    def address() -> str:
        parts = {name: values for name, values in written.get(page, {}).items() if values and name not in own}
        query = urlencode(parts, doseq=True, safe=":,=")
        return f"{page}?{query}" if query else page

    return address


def texts_of(settings: Iterable[session.Setting[Any]]) -> dict[str, list[str]]:
    """Return the values of settings for the address, by name.

    Settings in a closed fold are left out: naming them in a link opens the fold.
    """
    by_name = session.ALL_SETTINGS
    return {
        setting.key: setting.texts() if not (fold := setting.spec.fold) or by_name[fold].value else []
        for setting in settings
    }


def open_link(page: str) -> None:
    """Read the address when a session begins, and set the settings of its page."""
    if session.LINK.value is not None and session.LINK.value.is_open:
        return
    link = session.Link(page, {name: in_address(name) for name in st.query_params})
    session.LINK.set(link)
    live = pages.live_page(page)
    preset = live.preset_of_link() if live else None
    values = live.values_of(preset) if live and preset else {}
    # A link to the page with the command line's model is complete: settings left out have their defaults.
    if shared.FIRST_CHOICE and not any(link_values("sample", name) for name in pages.names_of_page("sample")):
        values[MODEL_CHOICES["sample"]] = shared.FIRST_CHOICE[0]
    # How it works begins at its first part. Links to the landscape do not name it, and must still open it.
    if not any(link_values("chain", name) for name in [*pages.names_of_page("chain"), presets.KEY]):
        values["little"] = "units"
    refused: list[str] = []
    for name, setting in pages.settings(page).items():
        texts = link_values(page, name)
        if not texts:
            continue
        try:
            values[name] = _read_setting(setting, texts)
        except BadInput:
            if setting.key in OWN_CHOICES and (own := [text for text in texts if OWN_NAME.search(text)]):
                where = "Settings" if page in HAVE_UPLOADERS else "Settings of Sample or Train"
                what = "model" if TRAINED_TITLE.search(own[0]) else "file"
                again = "send it from Train again" if what == "model" else f"upload it again in {where}"
                session.add_link_warning(
                    f"The server has forgotten your {what} {quoted(own[0])}: {again}.", page
                )
            else:
                stands = " ".join(address_texts(values.get(name, setting.default)))
                refused.append(f"{name} = {stands[:MAX_SHOWN]} (not {quoted(' '.join(texts))})")
        else:
            if setting.spec.fold and not link_values(page, setting.spec.fold):
                values[setting.spec.fold] = True
    session.show(values)
    if refused:
        session.add_link_warning(
            "The link gives values that settings of this page cannot have: it opens with "
            f"{', '.join(refused)}.",
            page,
        )
    session.LINK.set(link._replace(is_open=True))  # last, because a click may interrupt this run anywhere


def own_names(name: str) -> list[str]:
    """Return the visitor's and the command line's models or data that a setting of this name can choose."""
    if name in DATA_CHOICES:
        return list(shared.own_data())
    if name not in OWN_CHOICES:
        return []
    models = shared.MODELS_OF_COMMAND | shared.own_models()
    most = MAX_VISIBLE_LANDSCAPE if name == MODEL_CHOICES["chain"] else math.inf
    return [title for title, model in models.items() if model.rbm.n_visible <= most]


def _read_setting(setting: session.Setting[Any], texts: list[str]) -> Any:
    """Return a setting's value from its text in a link; BadInput if it is not allowed."""
    own = own_names(setting.key)
    if isinstance(setting.spec.allowed, Several):
        each = [text if text in own else setting.spec.read(setting.key, [text])[0] for text in texts]
        return list(dict.fromkeys(each))
    return texts[-1] if texts[-1] in own else setting.spec.read(setting.key, texts)


def forget_gone(page: str) -> None:
    """Reset the settings of a page that name removed models or data of the visitor.

    Call it before their widgets are drawn.
    """
    reset: dict[str, Any] = {}
    for name, setting in pages.settings(page).items():
        if name in OWN_CHOICES:
            several = isinstance(setting.value, list)
            texts = setting.value if several else [setting.value]
            left = [text for text in texts if _can_be(setting, text)]
            if left != texts:
                reset[name] = left if several else setting.default
    if reset:
        session.set_undrawn(reset)
        if (race := session.RACES.value.get(page)) is not None:  # Undo must not restore them
            race.drawn_settings = race.drawn_settings | reset


def _can_be(setting: session.Setting[Any], text: str) -> bool:
    try:
        _read_setting(setting, [text])
    except BadInput:
        return False
    return True
