"""The route that serves the papers' figures: stored pictures, also in the file types that papers need.

Everybody gets the same figure, so its address needs no session. A browser requests a figure when it is about
to scroll into view.
"""

import functools
import re
import threading

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rbmviz import BadInput
from rbmviz.reproduce import all_recipes
from rbmviz.reproduce.drawing import FORMS, picture
from rbmviz.reproduce.ledger import stored, stored_figure
from rbmviz_app.access import base_path

MEDIA_TYPES = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png"}

_one_at_a_time = threading.Lock()


def figure_address(name: str, form: str) -> str:
    """Return the address of the figure of a recipe."""
    return f"{base_path()}/rbmviz/figures/{name}.{form}"


@functools.cache
def figure_size(name: str) -> tuple[int, int]:
    """Return the width and height of a stored figure in pixels."""
    width, height = re.findall(rb'(?:width|height)="(\d+)', stored_figure(name)[:400])[:2]
    return int(width), int(height)


@functools.cache
def _drawn(name: str, form: str) -> bytes:
    result = stored(name)
    assert result is not None
    return stored_figure(name) if form == "svg" else picture(result["figure"], form)


def send_figure(request: Request) -> Response:
    """Send a figure; Starlette calls this on a thread, because the first PDF of a figure takes a second."""
    name, form = request.path_params["name"], request.path_params["form"]
    if name not in all_recipes() or form not in FORMS or not stored_figure(name):
        return PlainTextResponse("There is no such figure.", 404)
    try:
        with _one_at_a_time:
            content = _drawn(name, form)
    except BadInput as error:
        return PlainTextResponse(str(error), 422)
    return Response(content, media_type=MEDIA_TYPES[form], headers={"cache-control": "max-age=300"})


routes = [Route(figure_address("{name}", "{form}"), send_figure)]
