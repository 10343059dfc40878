"""The messages between a browser and the server, which a test can hold up."""

import time

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.waiting import PATIENCE


class Line:
    """The messages of one socket of a page; each way can be held up."""

    def __init__(self, page, socket="**/_stcore/stream"):
        self._page = page
        self.held = {"server": [], "browser": []}
        self.holds = set()
        page.route_web_socket(socket, self._connect)

    def _connect(self, browser):
        server = browser.connect_to_server()
        self.ends = {"server": server, "browser": browser}
        browser.on_message(lambda message: self._take("server", message))
        server.on_message(lambda message: self._take("browser", message))

    def _take(self, to, message):
        if to in self.holds:
            self.held[to].append(message)
        else:
            self.ends[to].send(message)

    def hold(self, to):
        self.holds.add(to)

    def wait_for_run(self, of="FRAGMENT_RUN_"):
        """Wait until the end of a run, of a fragment or (``of=""``) of the script, is held up."""
        end = ForwardMsg.ScriptFinishedStatus.Value(f"FINISHED_{of}SUCCESSFULLY")

        def has_ended(message):
            read = ForwardMsg.FromString(message)
            return read.WhichOneof("type") == "script_finished" and read.script_finished == end

        self._wait(lambda: any(map(has_ended, self.held["browser"])))

    def wait_for_messages(self, n, to="server"):
        """Wait until so many messages are held up."""
        self._wait(lambda: len(self.held[to]) >= n)

    def _wait(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.held
            self._page.wait_for_timeout(20)  # in which Playwright takes messages

    def release(self, to):
        self.holds.discard(to)
        for message in self.held[to]:
            self.ends[to].send(message)
        self.held[to].clear()
