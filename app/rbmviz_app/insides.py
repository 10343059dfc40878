"""Everything that uses internals of Streamlit, which its API does not guarantee.

``mend`` and ``styled_pages`` check all of them while the server starts. If one has changed, the server runs
without the feature that needs it, and logs one line.

============================================================== =============================================
internal names                                                 without them
============================================================== =============================================
``_session_mgr._session_storage._cache.expire``                ended sessions keep their memory until the
                                                               next visitor comes
``index.html`` of ``file_util.get_static_dir``                 pages jump when their style sheet arrives, and
                                                               a reloaded page begins anew
============================================================== =============================================
"""

import importlib
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit import runtime

log = logging.getLogger(__name__)

_tidying: list[Callable[[], object]] = []


def mend(server: Any) -> None:
    """Patch Streamlit, whose started runtime is ``server``, wherever its internals are as expected."""
    _tidying.clear()
    try:
        _forget_sessions(server)
    except (AttributeError, TypeError) as changed:
        log.warning(
            "Streamlit has changed inside (%s): sessions that have ended keep their memory until the next "
            "visitor comes.",
            changed,
        )


def styled_pages(style: Path, script: Path, paths: Iterable[str]) -> list[Route]:
    """Return routes that serve the pages at these paths with a style sheet and a script from the start.

    The app's own sheet arrives after the first elements, which would be drawn without it. The script runs
    before the page connects.
    """
    begin = "<body>"
    try:
        static: str = importlib.import_module("streamlit.file_util").get_static_dir()
        html = (Path(static) / "index.html").read_text(encoding="utf-8")
        if html.count(begin) != 1:
            raise ValueError(f"index.html has no single {begin}")
    except (AttributeError, ImportError, OSError, ValueError) as changed:
        log.warning(
            "Streamlit has changed inside (%s): pages jump when styled, and begin anew on a reload.", changed
        )
        return []

    def send(request: Request) -> HTMLResponse:
        # In the head, after Streamlit's own rules and before the rules of single pages: later ones win.
        # Read for each page, so that an edited sheet needs no restart.
        own = f"<style>{style.read_text('utf-8')}</style><script>{script.read_text('utf-8')}</script>"
        return HTMLResponse(html.replace(begin, begin + own), headers={"cache-control": "no-cache"})

    return [Route(path, send) for path in paths]


def tidy() -> None:
    """Drop expired sessions; call it on the server's event loop."""
    for do in _tidying:
        do()


def page_is_open() -> bool:
    """Return whether the browser of this thread's script is connected; True without a server."""
    context = runtime.scriptrunner.get_script_run_ctx(suppress_warning=True)
    if context is None or not runtime.exists():
        return True
    return runtime.get_instance().is_active_session(context.session_id)


def _forget_sessions(server: Any) -> None:
    """Make sessions expire by the clock: Streamlit drops them only when it stores another session."""
    expire = server._session_mgr._session_storage._cache.expire
    expire()
    _tidying.append(expire)
