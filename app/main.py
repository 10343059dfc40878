"""Entry point: ``streamlit run app/main.py`` serves the pages and the live pictures."""

from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from rbmviz import ledger
from rbmviz.registry import samplers
from rbmviz_app import connections, pages, process
from rbmviz_app.access import base_path, guarded
from rbmviz_app.component import APP_FOLDER
from rbmviz_app.insides import styled_pages
from rbmviz_app.share import routes as watching
from rbmviz_app.sockets import Sockets
from rbmviz_app.stream.socket import lifespan, routes
from rbmviz_app.uploads import CountedUploads


async def open_first_page(request: Request) -> RedirectResponse:
    """Redirect from the first page's name to its address, which has no name: Streamlit would not find it."""
    query = request.url.query
    return RedirectResponse(f"{base_path()}/{query and f'?{query}'}")


list(samplers)  # imports plug-ins now, so that one that cannot be used is named before the first page
process.configure_allocators()
process.allow_open_files()
connections.limit()
app = st.App(
    Path(__file__).with_name("shell.py"),
    routes=[
        *(*routes, *watching.routes),
        Mount(f"{base_path()}/rbmviz/figures", StaticFiles(directory=ledger.STORED_FOLDER)),
        Route(f"{base_path()}/sample", open_first_page),
        *styled_pages(
            APP_FOLDER / "style.css",
            APP_FOLDER / "tab.js",
            [f"{base_path()}/{name}" for name in ("", *pages.names())],
        ),
    ],
    middleware=[*guarded(), Middleware(Sockets), Middleware(CountedUploads)],
    lifespan=lifespan,
)
