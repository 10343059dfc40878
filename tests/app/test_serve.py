"""``rbmviz app``: the settings that the server is started with, and the model of the command line."""

import json
import os
import socket
import subprocess
import sys

import pytest
from page_settings import settings_of

from rbmviz import BadInput
from rbmviz_app import access, serve, shared


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in list(os.environ):
        if name.startswith("STREAMLIT_") or name == "RBMVIZ_PUBLIC":
            monkeypatch.delenv(name)


def test_the_command_line_comes_before_the_environment_and_that_before_the_file(monkeypatch):
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "localhost")
    monkeypatch.setenv("STREAMLIT_SERVER_MAX_UPLOAD_SIZE", "7")
    monkeypatch.setenv("STREAMLIT_RUNNER_POST_SCRIPT_GC", "True")
    found = serve.settings(None, None)
    names = ("server.address", "server.maxUploadSize", "runner.postScriptGC")
    assert [found[name] for name in names] == ["localhost", 7, True]
    assert serve.settings("127.0.0.2", None)["server.address"] == "127.0.0.2"
    monkeypatch.setenv("STREAMLIT_SERVER_MAX_UPLOAD_SIZE", "much")
    with pytest.raises(BadInput, match="STREAMLIT_SERVER_MAX_UPLOAD_SIZE = 'much'"):
        serve.settings(None, None)


def test_an_address_of_another_machine_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setenv("RBMVIZ_PUBLIC", "1")
    with pytest.raises(BadInput, match=r"cannot listen on the address '192\.0\.2\.1'"):
        serve.settings("192.0.2.1", None)


def test_a_taken_port_is_refused_if_it_was_asked_for():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"Port {port} is in use"):
            serve.settings(None, port)
    assert serve.settings(None, port)["server.port"] == port


IN_FORCE = """
import json, sys
from streamlit import config
from streamlit.web.server.starlette import starlette_server

def instead(self):
    from rbmviz_app.stream.socket import routes
    names = ["server.address", "server.port", "runner.postScriptGC", "global.minCachedMessageSize"]
    print(json.dumps([*(config.get_option(name) for name in names), routes[0].path]))

starlette_server.UvicornRunner.run = instead
from rbmviz.cli import main
sys.exit(main(["app", "--no-browser"]))
"""


def test_the_settings_are_in_force_whatever_lies_in_the_folder(tmp_path):
    """Also when the routes are made, which the base path of a reverse proxy is part of."""
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text(
        '[server]\naddress = "0.0.0.0"\nport = 8777\n[runner]\npostScriptGC = true\n'
    )
    done = subprocess.run(
        [sys.executable, "-c", IN_FORCE],
        cwd=tmp_path,
        env=os.environ | {"STREAMLIT_SERVER_BASE_URL_PATH": "class"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["127.0.0.1", 8777, False, 1e9, "/class/rbmviz/live/{token}"]


def test_the_sample_page_begins_with_the_model_of_the_command_line(model, page, monkeypatch):
    monkeypatch.setattr(shared, "FIRST_CHOICE", [])
    monkeypatch.setitem(shared.MODELS_OF_COMMAND, "mine.safetensors", None)  # taken back after the test
    shared.set_first_model(("mine.safetensors", model))

    def chosen(test):
        assert "mine.safetensors" in test.selectbox("model").options
        return test.selectbox("model").value

    opened = page("sample", shell=True, paused="1")
    assert chosen(opened) == "mine.safetensors"
    assert any("5 visible and 3 hidden units" in caption.value for caption in opened.caption)
    linked = page("sample", shell=True, v="1", model="bas_pcd", paused="1")
    assert chosen(linked) == "bas_pcd"
    elsewhere = page("train", shell=True, hidden="8", paused="1")  # a link says nothing of other pages
    assert settings_of(elsewhere)["model"] == "mine.safetensors"


def test_share_listens_for_other_machines_and_only_with_the_flag(monkeypatch):
    monkeypatch.setattr(access, "ADDRESSES_OF_COMMAND", [])
    monkeypatch.setattr(access, "network_address", lambda: "192.168.0.7")
    assert serve.settings(None, None)["server.address"] == "127.0.0.1"
    assert serve.settings(None, None, share=True)["server.address"] == "0.0.0.0"
    assert access.ADDRESSES_OF_COMMAND == ["192.168.0.7"]
