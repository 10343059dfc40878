"""What visitors keep on this server: trained models, the trainings of the Train page, chosen uploads.

The address of a page names it (``kept=...``), so that a reload and a copied link open it again. A training is
written when its memory is freed after a disconnect; until then a link takes it from the memory of the server.
"""

import logging
import weakref
from collections.abc import MutableMapping
from typing import Any, NamedTuple

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.errors import OutputFailure
from rbmviz.kept_files import Gone, KeptFile, is_id, kept_files, new_id
from rbmviz.rbm import load_model_bytes, model_bytes
from rbmviz.session import Comparison, TrainingSetup
from rbmviz.session.kept_training import read_trainings, write_trainings
from rbmviz_app import messages, session, uploads
from rbmviz_app.session import (
    FILE_GONE,
    KEPT,
    KEPT_MODELS,
    KEPT_UPLOADS,
    LIVE_TRAINING,
    OWNER,
    UPLOADED_FILE_IDS,
)

PART = "kept"
"""Name in the address of every page: the ids of what the page has kept."""

COOKIE = "rbmviz_owner"
"""By it the server knows the browser that has kept something; only that one may replace or delete it."""

MODEL, TRAINING = "model", "training"
"""What a file is for, if it is not the upload of an uploader, whose name is that of the uploader."""

CHOICES = {"sample": "model", "weights": "weights_model", "coupling": "coupling_model"}
"""The setting of each page that chooses a model, which may be a kept one."""

UPLOADERS = {"sample": "sample_own", "weights": "weights_own", "train": "own_data"}
"""The uploader of each page whose file may be kept."""

log = logging.getLogger(__name__)


def owner() -> str:
    """Return the secret of this browser: that of its cookie, or a new one, which becomes the cookie."""
    if not OWNER.value:
        given = str(st.context.cookies.get(COOKIE, ""))
        OWNER.set(given if is_id(given) else new_id())
    return OWNER.value


def ids(page: str) -> list[str]:
    """Return the ids of what a page shows now and has kept."""
    found = [KEPT.value.get(UPLOADERS.get(page, ""), "")]
    if page in CHOICES:
        found.append(KEPT_MODELS.value.get(session.setting_value(CHOICES[page]), ""))
    if page == "train":
        found.append(KEPT.value.get(TRAINING, ""))
    return [key for key in found if key]


def open_link(page: str, given: list[str]) -> None:
    """Open what the link of a new session has kept; what cannot be opened is said.

    Parameters
    ----------
    page : str
        The page that the link opens.
    given : list of str
        The ids in the address.
    """
    for key in given[:10]:
        try:
            if page == "train" and key in live_trainings():
                KEPT.ensure()[TRAINING] = key
            else:
                _open(key, kept_files().get(key))
        except BadInput as error:
            advice = ""
            if isinstance(error, Gone) and page in OFFERS:
                advice = f" {OFFERS[page]}"
                FILE_GONE.set(page if page in UPLOADERS else "")
            session.add_link_warning(f"{error}{advice}")


OFFERS = {
    "sample": "If you have the file of the model, give it again in Settings, which are open: 'Sample a model "
    "file of your own'.",
    "weights": "If you have the file of the model, give it again in Settings, which are open: 'Weigh with a "
    "model file of your own'.",
    "coupling": "Train the model again, and send it here from the Train page.",
    "train": "If you have the file of the data or a checkpoint, give it again in Settings, which are open.",
}
"""What to do on each page about something that is gone."""


def _open(key: str, file: KeptFile) -> None:
    if file.place == MODEL:
        uploads.send_model(file.name, load_model_bytes(file.content, "a kept model.safetensors"))
        KEPT_MODELS.ensure()[file.name] = key
    elif file.place == TRAINING or file.place in UPLOADERS.values():
        if file.place != TRAINING:
            uploads.use_kept_file(file.place, file.name, file.content)
        KEPT.ensure()[file.place] = key


# Models


def keep_model(title: str, model: Model) -> None:
    """Keep a model that is sent to another page; a server that cannot says so, and the model is sent."""
    if title not in KEPT_MODELS.ensure():
        try:
            KEPT_MODELS.value[title] = kept_files().put(title, MODEL, owner(), model_bytes(model))
        except (BadInput, OutputFailure) as error:
            session.add_link_warning(f"The model will not survive a reload. {error}")


# Uploads


class Upload(NamedTuple):
    """A file of a visitor: its name, and its bytes."""

    name: str
    content: bytes


def upload(place: str, given: Any) -> Upload | None:
    """Return the file of an uploader, or the kept one that the link has opened.

    given : uploaded file or None
    """
    opened = KEPT_UPLOADS.ensure()
    if given is None:
        if place not in opened:
            KEPT.ensure().pop(place, None)
            return None
        found = Upload(*opened[place])
    else:
        uploads.drop_kept_file(place)
        found = Upload(given.name, given.getvalue())
        if UPLOADED_FILE_IDS.ensure().get(place) != given.file_id:
            KEPT.ensure().pop(place, None)  # another file than the one that was kept
        UPLOADED_FILE_IDS.value[place] = given.file_id
    return found


def put_aside(page: str) -> bool:
    """Take the file of one's own off a page where something else is asked for; return whether there was one.

    It would take the place of the model or the data that a preset, a lesson or another page opens there.
    """
    place = UPLOADERS.get(page)
    if place is None or not uploads.empty_uploader(place):
        return False
    KEPT.value.pop(place, None)
    messages.done("The file of your own is taken off the page: give it again in Settings to have it back.")
    return True


def offer(place: str, found: Upload, usable: bool) -> None:
    """Offer to keep a file or, if it is kept, to delete it; one that has been refused is not offered."""

    def keep() -> None:
        try:
            KEPT.ensure()[place] = kept_files().put(found.name, place, owner(), found.content)
        except (BadInput, OutputFailure) as error:
            messages.refused(error)

    if key := KEPT.value.get(place):
        name = messages.plain(found.name)
        st.caption(f"The server keeps '{name}' for {_days()}: this page's address opens it again.")
        st.button("Delete now", key=f"{place} delete", on_click=delete, args=(place, key))
        if place in KEPT_UPLOADS.value:
            st.button("Go on without it", key=f"{place} leave", on_click=_leave, args=(place,))
    elif usable:
        st.button(
            "Keep on this server",
            key=f"{place} keep",
            on_click=keep,
            help=f"Without it a reload forgets the file. Kept, the address opens it again for {_days()}: for "
            "everybody to whom you give it.",
        )


def _leave(place: str) -> None:
    uploads.drop_kept_file(place)
    KEPT.value.pop(place, None)


def delete(place: str, key: str) -> None:
    """Delete a kept file now; what is on the page stays there until it is left."""
    try:
        kept_files().delete(key, owner())
    except BadInput as error:
        messages.refused(error)
        return
    except OSError:
        messages.refused("The server cannot delete it: its disk refuses.")
        return
    KEPT.value.pop(place, None)


def _days() -> str:
    return f"{kept_files().seconds / 86_400:g} days after it was last opened"


# Trainings


class LiveTraining:
    """The trainings of one visitor under an id, as long as their session lives."""

    def __init__(self, key: str, owner: str, comparison: Comparison[TrainingSetup]) -> None:
        self.key, self.owner = key, owner
        self._comparison = weakref.ref(comparison)  # which holds this one
        self.failure = ""

    @property
    def left(self) -> bool:
        """Whether nobody looks at the trainings: their page is closed."""
        comparison = self._comparison()
        return comparison is None or comparison.closed_at is not None

    def write(self) -> None:
        """Write the trainings to the server's disk, unless another session has taken the id over."""
        try:
            content = self._in_memory() if live_trainings().get(self.key) is self else None
            if content is not None:
                kept_files().put("trainings", TRAINING, self.owner, content, self.key)
            self.failure = ""
        except (BadInput, OutputFailure) as error:
            self.failure = str(error)
            log.warning("trainings were not kept: %s", error)
        except Exception:  # whoever frees memory must not be stopped
            self.failure = "The server has made a mistake."
            log.exception("trainings were not kept")

    def read(self) -> bytes:
        """Return what ``write`` writes, from memory or else from the disk; BadInput if it is gone."""
        return self._in_memory() or kept_files().get(self.key).content

    def _in_memory(self) -> bytes | None:
        """Return the trainings as they stand; None if they are at rest, before which they were written."""
        comparison = self._comparison()
        if comparison is None or not comparison.panels:
            return None
        if any(panel.worker.at_rest for panel in comparison.panels):
            return None
        return write_trainings(comparison)


@st.cache_resource(show_spinner=False)
def live_trainings() -> MutableMapping[str, LiveTraining]:
    """Return the trainings of all open sessions by id."""
    return weakref.WeakValueDictionary()


def write_all() -> None:
    """Write the trainings of all sessions, because the server stops."""
    for live in list(live_trainings().values()):
        live.write()


def open_trainings(comparison: Comparison[TrainingSetup]) -> bool:
    """Add the kept trainings of the link to a new comparison; return whether there were any."""
    key = KEPT.ensure().pop(TRAINING, "")
    mine = opened = False
    if key:
        try:
            live = live_trainings().get(key)
            if live is not None:
                content = live.read()
                # If they are on a screen still, this session goes on with a copy of its own.
                mine = live.owner == owner() and live.left
            else:
                file = kept_files().get(key)
                content, mine = file.content, file.belongs_to(owner())
            panels = read_trainings(content, comparison.setup)
            for plan, changes, n, kept in panels:
                panel = comparison.add(changes[-1].algorithm, plan, catch_up=False)  # as they were
                if kept is not None:
                    panel.worker.continue_from(n, changes, kept)
            opened = bool(panels)
        except BadInput as error:
            opened = bool(comparison.panels)
            session.add_link_warning(error, "train")
    begin_keeping(comparison, key if mine else new_id())
    return opened


def begin_keeping(comparison: Comparison[TrainingSetup], key: str) -> None:
    """Keep the trainings of this comparison under this id from now on."""
    live = LiveTraining(key, owner(), comparison)
    LIVE_TRAINING.set(live)
    live_trainings()[key] = live
    comparison.before_rest = live.write
    KEPT.ensure()[TRAINING] = key


def draw_trainings(comparison: Comparison[TrainingSetup]) -> None:
    """Say what becomes of the trainings, and offer to delete or to keep them."""

    def stop() -> None:
        live_trainings().pop(key, None)
        comparison.before_rest = lambda: None
        delete(TRAINING, key)

    key = KEPT.value.get(TRAINING, "")
    live = LIVE_TRAINING.value
    if key and live is not None and live.failure:
        messages.error(f"The trainings could not be kept. {live.failure}")
    with st.container(horizontal=True, vertical_alignment="center"):
        if key:
            st.caption(
                f"A reload and this page's address open these trainings again, for {_days()}.",
                width="content",
            )
            st.button("Delete now", key="training delete", on_click=stop, type="tertiary")
        else:
            st.caption("These trainings are forgotten when the page is left.", width="content")
            st.button(
                "Keep them",
                key="training keep",
                on_click=begin_keeping,
                args=(comparison, new_id()),
                type="tertiary",
            )
