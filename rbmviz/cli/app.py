"""``rbmviz app``: the pages in the browser."""

import argparse
import importlib
from pathlib import Path
from typing import Any

from rbmviz.array_files import printable
from rbmviz.cli import WholeNumber, add_command, print_result, to_json
from rbmviz.errors import brought_by
from rbmviz.lessons import load_folder
from rbmviz.models import list_models, load_model
from rbmviz.sweeps.store import Store

PORT = WholeNumber(1, 65_535)


def add(commands: Any) -> None:
    """Add the command."""
    command = add_command(commands, "app", "rbmviz app mine.safetensors --port 8600", run, text)
    command.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help="model that the Sample page opens: a pretrained one, or a .safetensors or .npz file",
    )
    command.add_argument("--port", type=PORT, help="port to listen on; default the first free one from 8501")
    command.add_argument(
        "--address",
        help="address to listen on; default 127.0.0.1. One that other machines reach needs RBMVIZ_PUBLIC=1, "
        "or --share",
    )
    command.add_argument(
        "--share",
        action="store_true",
        help="let other machines use the server, all of it, and say which address they type",
    )
    command.add_argument(
        "--results",
        action="append",
        default=[],
        metavar="DIR",
        help="folder of a sweep (rbmviz sweep --out DIR) that the Tune page lists; may be repeated",
    )
    command.add_argument(
        "--lessons",
        metavar="DIR",
        help="folder of lessons of your own (.toml files), which the Learn page lists after the others",
    )
    command.add_argument("--no-browser", action="store_true", help="open no browser")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Serve until the process is stopped; print the address of the page as soon as it answers."""
    model = None
    if args.model is not None:
        model_read = load_model(args.model)
        shipped = args.model in list_models()
        model = args.model if shipped else (printable(Path(args.model).name)[:100], model_read)
    results = []
    for folder in args.results:
        Store(folder).plan()  # refused here if it has none
        results.append(Path(folder))
    lessons = load_folder(args.lessons) if args.lessons is not None else []
    with brought_by("app", "The app"):
        # By name, because the package is a layer below the app and is also installed without Streamlit.
        serve = importlib.import_module("rbmviz_app.serve").serve

    def announce(url: str, others: str) -> None:
        if args.json:
            print_result(to_json({"url": url} | ({"share_url": others} if others else {})))
            return
        print_result(f"The app is at {url} (Ctrl-C stops it).")
        if others:
            print_result(
                f"Open to other machines: anyone who reaches {others} can use all of this server, without a "
                "password and without encryption, until you stop it."
            )

    serve(model, args.address, args.port, not args.no_browser, announce, results, lessons, args.share)
    return {}


def text(result: dict[str, Any]) -> str:
    """Return "", because the addresses are already printed."""
    return ""
