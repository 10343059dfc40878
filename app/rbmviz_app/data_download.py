"""The button that downloads published data, with its progress; all visitors share each download.

Nothing is downloaded without a click: a link can only make the button appear.
"""

import math
import threading

import streamlit as st

from rbmviz import BadInput
from rbmviz.datasets import MissingData, fetch, missing_data
from rbmviz.errors import OutputFailure
from rbmviz_app import messages
from rbmviz_app.component import while_running


class DataDownload:
    """A download on its own thread, which ends with the data on this machine or with an error message."""

    def __init__(self, data: MissingData) -> None:
        self.data, self.received, self.error = data, 0, ""
        self.thread = threading.Thread(target=self._run, name=f"download {data.name}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.error = f"The download of '{self.data.name}' was interrupted: try again."

        def count(n_bytes: int) -> None:
            self.received += n_bytes

        try:
            fetch(self.data.name, count)
            self.error = ""
        except (BadInput, OutputFailure) as error:
            self.error = str(error)


_downloads: dict[str, DataDownload] = {}
"""The newest download of each data set."""


def begin(data: MissingData) -> None:
    """Start a download, unless the same data are already being downloaded."""
    if data.name not in _downloads or not _downloads[data.name].thread.is_alive():
        _downloads[data.name] = DataDownload(data)


def offer_download(name: str | None, page: str) -> None:
    """Offer, on this page, to download these data if they are published but not on this machine."""
    data = missing_data(name)
    if data is None:
        return
    running = data.name in _downloads and _downloads[data.name].thread.is_alive()

    def draw() -> None:
        download = _downloads.get(data.name)
        if download is not None and download.thread.is_alive():
            megabytes = download.received / 1e6
            text = f"Downloading {data.name}: {megabytes:.1f} of about {data.megabytes:g} MB, then a check."
            st.progress(min(megabytes / data.megabytes, 1.0), text)
            return
        if running:  # it has just ended: the page can load the data or show the error
            st.rerun()
        if download is not None and download.error:
            messages.error(download.error)
        clicked = st.button(
            f"Download {data.name} ({math.ceil(data.megabytes)} MB)",
            key=f"{page} download data",
            icon=":material/cloud_download:",
            help="From the publisher to the cache folder of this server, once; its checksum is verified.",
        )
        if clicked:
            begin(data)
            st.rerun()

    while_running(draw, running)
