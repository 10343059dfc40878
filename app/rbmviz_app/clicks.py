"""Carry out each click once, although Streamlit's frontend may report it twice."""

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

MESSAGES = "/_stcore/stream"
"""Path of the WebSocket over which a page reports user input."""

CLICKS = {"trigger_value", "string_trigger_value", "chat_input_value", "json_trigger_value"}
"""Kinds of widget states that represent an event, not a lasting value."""


def without_clicks(content: bytes) -> bytes:
    """Return a message of the page, without clicks if a timer sent it.

    The page reports a click a moment later, in its own message. A timer (``run_every``) that fires in between
    sends all widget states, including the click: its callback would run twice, so that Pause would resume at
    once and Step would make two steps. The click's own message always follows.
    """
    try:
        message = BackMsg.FromString(content)
    except DecodeError:
        return content  # for Streamlit to refuse
    if not message.rerun_script.is_auto_rerun:
        return content
    states = message.rerun_script.widget_states.widgets
    stay = [state for state in states if state.WhichOneof("value") not in CLICKS]
    if len(stay) == len(states):
        return content
    del states[:]
    states.extend(stay)
    return message.SerializeToString()


class ClicksOnce:
    """Middleware that removes clicks from messages sent by timers, see ``without_clicks``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""

        async def receive_filtered() -> Message:
            message = await receive()
            if content := message.get("bytes"):
                message["bytes"] = without_clicks(content)
            return message

        ours = scope["type"] == "websocket" and scope["path"].endswith(MESSAGES)
        await self._app(scope, receive_filtered if ours else receive, send)
