"""The menu entry for sharing the page, with the link and the number of watchers."""

from urllib.parse import urlsplit

import segno
import streamlit as st

from rbmviz import BadInput
from rbmviz.session import limits
from rbmviz_app import access, messages
from rbmviz_app.access import is_loopback
from rbmviz_app.component import component, while_running
from rbmviz_app.session import SHARED_PAGE
from rbmviz_app.share.publish import begin_sharing, stop_sharing
from rbmviz_app.share.routes import AUDIENCE, watch_path
from rbmviz_app.share.view import AWAY_SECONDS, SHARE_SECONDS, Share

WHAT = (
    "Anyone with the link sees your panels live, also on a phone, and cannot change anything: your page, "
    "your knobs, the charts and the lesson card."
)

ONLY_HERE = (
    ":material/warning: Only browsers on this computer can open the link. Before a class watches, whoever "
    "started the app has to start it for sharing; *Classroom* in the documentation says how."
)

QR_CODE_PIXELS = 280
"""Width of the QR code: a phone must read it from a projector across a room."""


_opener = component("share", ["share/menu.js"], ["bar.css"])


def draw_opener() -> None:
    """Draw the button that opens the menu."""
    _opener(key="share", data={"label": "Share" if SHARED_PAGE.value is None else "Shared"}, width="content")


def draw() -> None:
    """Draw the sharing part of the menu: an explanation, or the link, the watchers and the stop button."""
    share = SHARED_PAGE.value
    with st.container(key="sharing"):
        others = reaches_others()
        if not others:
            st.markdown(ONLY_HERE)
        if share is None:
            st.markdown(WHAT)
            st.button("Share this view", key="begin sharing", on_click=_begin)
            return
        url = link_of(share)
        st.markdown("Anyone with this link can watch your panels, but not change anything:")
        st.code(url, language=None, wrap_lines=True)
        if others:
            # Black on white in both themes, for phones to read.
            code = segno.make(url, micro=False).svg_inline(scale=4, dark="#000", light="#fff")
            st.image(code, "The same link as a QR code", width=QR_CODE_PIXELS)
        while_running(_draw_watchers, True)
        st.caption(
            "It follows you to other pages and through a reload, and ends when you stop it, "
            f"{AWAY_SECONDS / 60:.0f} minutes after this page is closed or after {SHARE_SECONDS / 3600:.0f} "
            "hours. *Take a copy* there opens the address of your page."
        )
        st.button("Stop sharing", key="stop sharing", icon=":material/stop_circle:", on_click=stop_sharing)


def _begin() -> None:
    try:
        begin_sharing()
    except BadInput as error:
        messages.refused(error)


def _draw_watchers() -> None:
    share = SHARED_PAGE.value
    if share is not None:
        n = share.watchers
        who = {0: "Nobody is watching yet.", 1: "One browser is watching."}.get(
            n, f"{n:,} browsers are watching."
        )
        st.markdown(f"**{who}**" + (" No more can join." if AUDIENCE.watchers >= limits().watchers else ""))


def _host() -> str:
    """Return this server's host name or address for watchers."""
    host = urlsplit(st.context.url or "").hostname or "localhost"
    return access.ADDRESSES_OF_COMMAND[0] if is_loopback(host) and access.ADDRESSES_OF_COMMAND else host


def reaches_others() -> bool:
    """Return whether other machines can reach the watchers' address."""
    return not is_loopback(_host())


def link_of(share: Share) -> str:
    """Return the watchers' address."""
    here, host = urlsplit(st.context.url or "http://localhost"), _host()
    where = f"[{host}]" if ":" in host else host
    return f"{here.scheme}://{where}{f':{here.port}' if here.port else ''}{watch_path()}{share.token}"
