"""Access to the server: addresses, host names, and settings that apply in every working folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from rbmviz import BadInput
from rbmviz_app import access

HEALTH = "/rbm/_stcore/health"
MAIN = Path(__file__).parents[2] / "app" / "main.py"


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    for name in (access.PUBLIC, access.HOSTS, access.FRAME_ANCESTORS):
        monkeypatch.delenv(name, raising=False)


def client(monkeypatch, address="127.0.0.1", base="http://127.0.0.1:8501"):
    monkeypatch.setattr(
        access.config, "get_option", {"server.address": address, "server.baseUrlPath": "rbm"}.get
    )
    routes = [Route(path, lambda request: PlainTextResponse("here")) for path in ("/", HEALTH)]
    return TestClient(Starlette(routes=routes, middleware=access.guarded()), base_url=base)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_addresses_of_this_machine_are_served(address):
    access.check_address(address)


@pytest.mark.parametrize(
    "address",
    [None, "", "0.0.0.0", "::", "192.168.0.7", "example.org", "127.0.0.1.evil.example", "2130706433"],
)
def test_other_addresses_are_refused_unless_the_server_is_public(address, monkeypatch, capsys):
    with pytest.raises(BadInput, match="RBMVIZ_PUBLIC=1"):
        access.check_address(address)
    with pytest.raises(SystemExit) as ended:
        client(monkeypatch, address)
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv(access.PUBLIC, "yes")  # only 1 is yes
    with pytest.raises(BadInput):
        access.check_address(address)
    monkeypatch.setenv(access.PUBLIC, "1")
    access.check_address(address)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8501", 200),
        ("localhost", 200),
        ("LocalHost:99", 200),
        ("[::1]:8501", 200),
        ("evil.example:8501", 400),
        ("localhost.evil.example", 400),
        ("evil.example@localhost", 400),
        ("192.168.0.7:8501", 400),
        ("rbm.example.org", 400),
        ("", 400),
    ],
)
def test_only_names_of_this_machine_are_answered(host, status, monkeypatch):
    monkeypatch.setenv(access.HOSTS, "rbm.example.org")  # nothing without RBMVIZ_PUBLIC
    assert client(monkeypatch).get("/", headers={"host": host}).status_code == status


def test_a_public_server_is_known_by_its_names(monkeypatch, capsys):
    monkeypatch.setenv(access.PUBLIC, "1")
    client(monkeypatch, "0.0.0.0")
    said = capsys.readouterr().err
    assert (said.count("\n"), "set RBMVIZ_HOSTS" in said) == (1, True)
    monkeypatch.setenv(access.HOSTS, " rbm.example.org, *.lab.example , 192.168.0.7,[fd00::7] ")
    open_ = client(monkeypatch, "0.0.0.0", base="http://192.168.0.7:8501")
    assert not capsys.readouterr().err
    for host, status in (
        ("rbm.example.org:443", 200),
        ("a.lab.example", 200),
        ("192.168.0.7:8501", 200),
        ("[fd00::7]:8501", 200),
        ("localhost", 200),
        ("lab.example.evil", 400),
        ("www.rbm.example.org", 400),
    ):
        assert open_.get("/", headers={"host": host}).status_code == status, host


def test_a_probe_by_address_learns_that_a_public_server_is_well(monkeypatch):
    foreign = {"headers": {"host": "10.1.2.3:7860"}}
    assert client(monkeypatch).get(HEALTH, **foreign).status_code == 400
    monkeypatch.setenv(access.PUBLIC, "1")
    monkeypatch.setenv(access.HOSTS, "rbm.example.org")
    open_ = client(monkeypatch, "0.0.0.0")
    assert [open_.get(path, **foreign).status_code for path in (HEALTH, "/")] == [200, 400]


def streamlit(folder, *command, **environment):
    """Run a command in another folder, without the settings that the tests themselves may have."""
    keep = {
        name: value for name, value in os.environ.items() if not name.startswith(("STREAMLIT", "RBMVIZ_"))
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=keep | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_settings_hold_from_any_folder(tmp_path):
    read = f"""
import json
from streamlit import config
config._main_script_path = {str(MAIN)!r}  # what "streamlit run" does first
names = "server.address", "server.maxUploadSize", "server.enableXsrfProtection", "runner.postScriptGC"
names += "client.showErrorDetails", "server.maxMessageSize", "theme.light.primaryColor"
print(json.dumps([config.get_option(name) for name in names]))
"""
    found = json.loads(streamlit(tmp_path, "-c", read).stdout)
    assert found == ["127.0.0.1", 64, True, False, "none", 16, "#334155"]


def test_a_server_on_all_interfaces_ends_before_anybody_is_answered(tmp_path):
    ended = streamlit(
        tmp_path,
        *("-m", "streamlit", "run", str(MAIN), "--server.headless", "true", "--server.port", "0"),
        STREAMLIT_SERVER_ADDRESS="0.0.0.0",
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith(
        "The address '0.0.0.0' would let other machines use this server"
    )
    assert "Traceback" not in ended.stderr


def test_share_opens_the_server_under_the_address_that_it_tells(monkeypatch, capsys):
    monkeypatch.setattr(access, "ADDRESSES_OF_COMMAND", [])
    monkeypatch.setattr(access, "network_address", lambda: "192.168.0.7")
    monkeypatch.setenv(access.HOSTS, "rbm.example.org")  # nothing without RBMVIZ_PUBLIC
    assert access.open_to_others(None) == "0.0.0.0"
    open_ = client(monkeypatch, "0.0.0.0", base="http://192.168.0.7:8501")
    assert not capsys.readouterr().err
    hosts = {"192.168.0.7:8501": 200, "localhost": 200, "192.168.0.8": 400, "rbm.example.org": 400, "": 400}
    for host, status in hosts.items():
        assert open_.get("/", headers={"host": host}).status_code == status, host
    assert access.open_to_others("fd00::7") == "fd00::7"
    assert access.allowed_hosts()[-1] == "[fd00::7]"


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "::", "", "rbm.example.org"])
def test_share_refuses_an_address_that_nobody_could_type(address, monkeypatch):
    monkeypatch.setattr(access, "ADDRESSES_OF_COMMAND", [])
    with pytest.raises(BadInput, match="is not one"):
        access.open_to_others(address)
    assert not access.opened()


def test_a_machine_without_a_network_cannot_share(monkeypatch):
    def no_network(*_):
        raise OSError("Network is unreachable")

    monkeypatch.setattr(access.socket.socket, "connect", no_network)
    with pytest.raises(BadInput, match="not on a network"):
        access.network_address()


def test_only_its_own_pages_frame_a_page_unless_the_owner_names_others(monkeypatch):
    answer = client(monkeypatch).get("/")
    assert answer.headers["content-security-policy"] == "frame-ancestors 'self'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    monkeypatch.setenv(access.FRAME_ANCESTORS, "https://moodle.example.org, http://127.0.0.1:8080,")
    policy = client(monkeypatch).get("/").headers["content-security-policy"]
    assert policy == "frame-ancestors 'self' https://moodle.example.org http://127.0.0.1:8080"


def test_a_page_with_a_policy_of_its_own_keeps_it(monkeypatch):
    monkeypatch.setattr(access.config, "get_option", lambda name: "127.0.0.1")
    own = {"Content-Security-Policy": "default-src 'none'", "Referrer-Policy": "origin"}
    here = Route("/", lambda request: PlainTextResponse("here", headers=own))
    app = Starlette(routes=[here], middleware=access.guarded())
    headers = TestClient(app, base_url="http://127.0.0.1:8501").get("/").headers
    assert headers.get_list("content-security-policy") == ["default-src 'none'", "frame-ancestors 'self'"]
    assert headers.get_list("referrer-policy") == ["no-referrer"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("RBMVIZ_PANELS", "many", "RBMVIZ_PANELS = 'many'"),
        *((access.HOSTS, f"rbm.example.org,{name}", "is not a host name") for name in ("*", "a b", "x:8501")),
        *(
            (access.FRAME_ANCESTORS, origins, "RBMVIZ_FRAME_ANCESTORS: ")
            for origins in ("moodle.example.org", "https://a.example; script-src *", "*", "'self'")
        ),
    ],
)
def test_invalid_setting_stops_the_server_in_one_sentence(name, value, said, monkeypatch, capsys):
    monkeypatch.setenv(access.PUBLIC, "1")
    monkeypatch.setenv(access.HOSTS, "rbm.example.org")
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        client(monkeypatch)
    told = capsys.readouterr().err
    assert (ended.value.code, told.count("\n"), said in told) == (2, 1, True)
