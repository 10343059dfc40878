"""``rbmviz app``: the pages in the browser."""

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from rbmviz.cli import Answer, print_result, to_json, words_of_command
from rbmviz.cli.options import whole
from rbmviz.errors import brought_by
from rbmviz.files.arrays import printable
from rbmviz.lessons import load_folder
from rbmviz.models import list_models, load_model
from rbmviz.sweeps.store import Store


def app(
    model: str | None = None,
    /,
    *,
    port: Annotated[int, whole(1, 65_535)] | None = None,
    address: str | None = None,
    share: bool = False,
    results: list[str] | None = None,
    lessons: str | None = None,
    no_browser: bool = False,
) -> Answer:
    """Serve the pages to the browsers of this machine, until Ctrl-C.

    Parameters
    ----------
    model
        Model that the Sample page opens: a pretrained one, or a .safetensors or .npz file.
    port
        Port to listen on; default the first free one from 8501.
    address
        Address to listen on; default 127.0.0.1. One that other machines reach needs RBMVIZ_PUBLIC=1, or
        --share.
    share
        Let other machines use the server, all of it, and say which address they type.
    results
        Folder of a sweep (rbmviz sweep --out DIR) that the Tune page lists; may be repeated.
    lessons
        Folder of lessons of your own (.toml files), which the Learn page lists after the others.
    no_browser
        Open no browser.

    Examples
    --------
    rbmviz app mine.safetensors --port 8600
    """
    opened: Any = None
    if model is not None:
        model_read = replace(load_model(model), data=None)  # pages know registered data and uploads only
        names = {name.casefold(): name for name in list_models()}
        opened = names.get(model.casefold()) or (printable(Path(model).name)[:100], model_read)
    listed = [Path(folder) for folder in results or ()]
    for folder in listed:
        Store(folder).plan()  # refused here if it has none
    own = load_folder(lessons) if lessons is not None else []
    with brought_by("app", "The app"):
        # By name, because the package is a layer below the app and is also installed without Streamlit.
        serve = importlib.import_module("rbmviz_app.serve").serve

    def announce(url: str, others: str) -> None:
        if "--json" in words_of_command():
            print_result(to_json({"url": url} | ({"share_url": others} if others else {})))
            return
        print_result(f"The app is at {url} (Ctrl-C stops it).")
        if others:
            print_result(
                f"Open to other machines: anyone who reaches {others} can use all of this server, without a "
                "password and without encryption, until you stop it."
            )

    serve(opened, address, port, not no_browser, announce, listed, own, share)
    return {}, ""
