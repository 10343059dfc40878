"""What is shared with those who watch: when it ends, what they are sent, and that they can change nothing."""

import json
import re
import zlib
from types import SimpleNamespace

import pytest
from page_settings import race_of
from routes import HOME, closed, served
from starlette.middleware import Middleware
from waiting import run, wait

from rbmviz import make_sampler
from rbmviz.charts import ChartAxis, Curves, styled
from rbmviz.session import SamplingSetup
from rbmviz_app import session
from rbmviz_app.pages.sample.panel import readouts
from rbmviz_app.panel import panel_specs
from rbmviz_app.races import close_work, races_by_token
from rbmviz_app.share import button, publish, routes, view, watching
from rbmviz_app.share.page import SHARE_FOLDER, watchers_page
from rbmviz_app.share.publish import shares_by_token
from rbmviz_app.share.routes import SILENT
from rbmviz_app.share.view import ENDED, Share
from rbmviz_app.share.watching import Broadcast, Watcher
from rbmviz_app.sockets import Sockets
from rbmviz_app.stream.socket import BUSY, UNKNOWN_TOKEN, UNSUPPORTED
from tests.frames import read_frame

DATA = {"view": "sequence", "pixels": "binary", "side": 2, "n_visible": 5, "panels": [{"key": 0}]}


@pytest.fixture
def race(open_race, model):
    """Two paused samplers of a tiny model."""
    samplers = make_sampler("gibbs"), make_sampler("rates_fpcd")
    race = open_race(SamplingSetup(model), *samplers, rate=200)
    race.step(3)
    wait(lambda: [shown.n for _, shown in race.poll()] == [3, 3], "three samples")
    return race


@pytest.fixture
def share(race, clock):
    share = Share("abcd", clock)
    share.begin_run("sample", "Sample")
    share.publish(question="Which one sticks?", link="sample?model=bas_pcd")
    share.publish(canvas="sample", data=DATA, race=race)
    share.end_run()
    clock.now += 1
    shares_by_token()["abcd"] = share
    return share


async def sent(watcher):
    """Return what waits for a watcher: messages of JSON by kind, and frames as they are read."""
    texts, frames = {}, []
    while not watcher.idle:
        message = await watcher.take()
        if isinstance(message, str):
            texts |= json.loads(message)
        else:
            frames.append(read_frame(zlib.decompress(message)))
        watcher._sending = False
    return texts, frames


def test_a_token_cannot_be_guessed_and_can_be_typed():
    tokens = {view.new_token() for _ in range(200)}
    assert len(tokens) == 200
    assert all(re.fullmatch(r"([a-z2-9]{4}-){3}[a-z2-9]{4}", token) for token in tokens)
    assert not set("l1io0") & set("".join(tokens))


def test_a_share_ends_when_it_is_stopped_when_its_page_is_gone_and_after_a_day(share, clock):
    share.leave()
    clock.now += view.AWAY_SECONDS - 1
    assert (share.away, share.over) == (True, False)
    share.begin_run("sample", "Sample")  # the page is there again
    assert not share.away
    clock.now += view.AWAY_SECONDS + 1
    assert not share.over
    share.leave()
    clock.now += view.AWAY_SECONDS + 1
    assert share.over
    other = Share("other", clock)
    clock.now += view.SHARE_SECONDS + 1
    assert other.over
    stopped = Share("stopped", clock)
    stopped.stop()
    assert stopped.over


def test_elements_not_redrawn_are_removed(share):
    share.publish_chart("isl", {"label": "ISL"})
    share.publish(drawing={"hidden": []})
    share.end_run()
    assert (list(share.view.charts), share.view.drawing) == (["isl"], {"hidden": []})
    share.begin_run("sample", "Sample")
    assert share.view.canvas == "sample"  # the page is being drawn: what was there stays until then
    share.end_run()
    assert (share.view.canvas, share.view.race, dict(share.view.charts)) == ("", None, {})
    assert share.view.drawing is None
    share.publish(card={"title": "a"}, question="?")
    share.begin_run("learn", "Learn")
    assert (share.view.page, share.view.question, share.view.card) == ("learn", "", None)


def test_watchers_get_the_same_bytes_and_latecomers_a_key_frame(share, race, clock):
    async def test():
        broadcast = Broadcast(share, clock)
        first, second = Watcher(), Watcher()
        broadcast.watchers |= {first, second}
        broadcast.step()
        (texts, [frame]), (_, [same]) = await sent(first), await sent(second)
        assert texts["page"]["question"] == "Which one sticks?"
        assert texts["canvas"]["name"] == "sample"
        assert texts["knobs"]["1"]["alpha"] == 1
        assert [part.head["n"] for part in frame.panels] == [3]  # the panels that the page draws
        assert frame.panels[0].blocks["v"].tolist() == same.panels[0].blocks["v"].tolist()
        broadcast.step()
        assert (await sent(first), await sent(second)) == (({}, []), ({}, []))
        race.step()
        wait(lambda: race.poll()[0][1].n == 4, "a sample")
        late = Watcher()
        broadcast.watchers.add(late)
        broadcast.step()
        (_, [new]), (_, [key]) = await sent(first), await sent(late)
        assert len(new.panels[0].blocks["v"]) == 1
        assert len(key.panels[0].blocks["v"]) == 4  # as many as the panel shows
        assert key.panels[0].blocks["v"].tolist()[-1] == new.panels[0].blocks["v"].tolist()[0]

    run(test())


def test_slow_watcher_gets_one_key_frame(share, race, clock):
    async def test():
        broadcast, slow = Broadcast(share, clock), Watcher()
        broadcast.watchers.add(slow)
        broadcast.step()
        while not slow.idle:
            stuck = await slow.take()
            if isinstance(stuck, bytes):
                break  # its network is stuck: the frame does not leave
        for n in range(4, 30):
            race.step()
            wait(lambda n=n: race.poll()[0][1].n == n, "a sample")
            broadcast.step()
        assert slow.needs_key
        assert not slow._waiting
        slow._sending = False
        broadcast.step()
        texts, [key] = await sent(slow)
        assert {"page", "canvas", "card", "knobs"} <= set(texts)
        assert key.panels[0].head["n"] == 29

    run(test())


def test_changes_of_the_page_are_sent_once_it_is_drawn(share, clock):
    async def test():
        broadcast, watcher = Broadcast(share, clock), Watcher()
        broadcast.watchers.add(watcher)
        broadcast.step()
        await sent(watcher)
        share.publish(question="Another one?")
        broadcast.step()
        assert await sent(watcher) == ({}, [])
        clock.now += watching.SETTLE_SECONDS + 0.01
        broadcast.step()
        texts, _ = await sent(watcher)
        assert list(texts) == ["page"]
        share.leave()
        broadcast.step()
        assert (await sent(watcher)) == ({}, [])  # its runs go on while they are watched
        share.view.race.close()
        broadcast.step()
        assert (await sent(watcher))[0]["page"]["away"] is True
        clock.now += watching.SIGN_OF_LIFE_SECONDS + 1
        broadcast.step()
        assert (await sent(watcher))[0] == {"alive": True}

    run(test())


def test_runs_of_a_page_that_was_left_go_on_while_somebody_watches(share, race):
    tab = session.Tab({"races": {"sample": race}, "shared page": share})

    async def test():
        audience = watching.Audience()
        with audience.watching(share, Watcher()):
            with audience.watching(share, Watcher()):
                close_work(tab)
            assert (share.away, share.rests, race.closed_at) == (True, False, None)
        assert share.rests

    run(test())
    close_work(tab)
    assert race.closed_at is not None


@pytest.mark.parametrize("hides", ["names", "numbers"])
def test_asking_step_sends_watchers_no_answer(share, race, clock, monkeypatch, hides):
    names = ("Gibbs", "rates-FPCD")
    monkeypatch.setattr(publish, "SHARED_PAGE", session.Entry("none", lambda: share))
    specs = panel_specs(race, readouts, front=lambda knob: True)
    chart = Curves(ChartAxis("x"), ChartAxis("y"), "name", styled(names, names)).of(
        [{"name": "Gibbs", "x": 1.0, "y": 1.0}]
    )
    race.parts.offer("isl", lambda: (chart, ()), "ISL")
    wait(lambda: race.parts.renew(), "the chart")
    hidden = {
        "names": (*names, "gibbs", "alpha", "standing", *(spec["colour"] for spec in specs)),
        "numbers": ('"own_speed":', '"fast_norm":', '"charts":[{', '"charts":{'),
    }[hides]

    async def said(broadcast, *watchers):
        broadcast.step()
        messages = []
        for watcher in watchers:
            while not watcher.idle:
                message = await watcher.take()
                text = message if isinstance(message, str) else zlib.decompress(message).decode("latin-1")
                messages.append(text)
                watcher._sending = False
        return "".join(messages)

    def page(hidden):
        share.begin_run("sample", "Sample", hidden)
        publish.canvas("sample", race, DATA | {"panels": specs})
        publish.chart("still", chart.content("ISL"))
        share.publish(card={"question": "Who draws this?"}, link="sample?p=gibbs")
        share.end_run()

    async def test():
        broadcast, watcher = Broadcast(share, clock), Watcher()
        broadcast.watchers.add(watcher)
        share.begin_run("sample", "Sample", hides)  # the runs are there before the page is drawn
        for draw in (lambda: None, lambda: page(hides)):
            draw()
            clock.now += 2
            late = Watcher()
            broadcast.watchers.add(late)
            told = await said(broadcast, watcher, late)
            assert [word for word in hidden if word in told] == []
            assert '"readouts":{}' in told
            # The address of a page names the samplers; a copy of a step asks by itself.
            assert ('"copy":false' in told) == (hides == "names")
        assert "Who draws this?" in told
        assert hides == "names" or all(word in told for word in (*names, "alpha"))
        page("nothing")  # the answer has been chosen
        told = await said(broadcast, watcher)  # the page is not drawn yet
        assert not any(word in told for word in hidden)
        clock.now += 2
        told = await said(broadcast, watcher)
        revealed = (*names, "alpha", '"copy":true') if hides == "names" else hidden
        assert [word for word in (*revealed, '"charts":[{', '"charts":{"isl"') if word not in told] == []

    run(test())


# The routes


@pytest.fixture
def client(share):
    with served(routes, Middleware(Sockets)) as client:
        yield client


def connect(client, token="abcd", **headers):
    path = f"ws://127.0.0.1:8501/watch/{token}/live"
    return client.websocket_connect(path, headers={"origin": HOME} | headers)


SAID = {
    "a knob": '{"panel":0,"knobs":{"eps":1}}',
    "much": "x" * 60,
    "bytes": b"alive",
    "a vote of two digits": "vote 10",
    "a vote in other digits": "vote \u0663",
    "a vote in words": "vote <b>1</b>",
    "a tile without a sample": "tile 0",
    "a tile before the first": "tile 0 -1",
    "a tile in other digits": "tile 0 \u0663",
    "a tile beyond all samples": "tile 0 " + "9" * 30,
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_watchers_change_nothing(client, race, said):
    before = [panel.algorithm for panel in race.panels]
    with connect(client) as socket:
        (socket.send_bytes if isinstance(said, bytes) else socket.send_text)(said)
        assert closed(socket) == (UNSUPPORTED, "Watchers cannot send messages.")
    assert [panel.algorithm for panel in race.panels] == before


CARD = {"head": "Lesson", "title": "One", "answers": ["a", "b", "c"], "right": -1}


def test_the_last_vote_of_a_connection_counts_at_most_two_a_second_until_the_answer(share, clock):
    first, second = object(), object()
    share.vote(first, 0)
    assert share.votes() == []  # no card is open
    share.publish(card=CARD)
    for connection, answer in ((first, 0), (second, 1), (first, 2)):
        share.vote(connection, answer)
    assert share.votes() == [1, 1, 0]  # the second one of the first connection came too early
    clock.now += 0.5
    share.vote(first, 2)
    share.vote(second, 3)  # the step has no such answer
    assert share.votes() == [0, 1, 1]
    share.publish(card=CARD | {"right": 1})
    clock.now += 1
    share.vote(second, 0)
    assert share.votes() == [0, 1, 1]  # the answer is known
    share.forget_vote(second)
    assert share.votes() == [0, 0, 1]
    share.publish(card=CARD | {"title": "Two"})
    assert share.votes() == [0, 0, 0]
    share.vote(second, 0)
    assert share.votes() == [1, 0, 0]


def test_a_watcher_is_told_about_a_tile_but_not_while_the_card_asks(client, race, share):
    def answer(socket, text, kind):
        """Send a message; return the next one of this kind, and those that come before it."""
        socket.send_text(text)
        before = []
        while f'{{"{kind}"' not in (said := socket.receive().get("text") or ""):
            before.append(said)
        return json.loads(said)[kind], before

    with connect(client) as socket:
        answer(socket, "alive", "charts")  # the last one of the page's parts
        assert isinstance(answer(socket, "tile 0 1", "tile")[0]["energy"], float)
        assert "energy" not in answer(socket, "tile 0 1000", "tile")[0]
        share.begin_run("sample", "Sample", "numbers")
        share.publish(canvas="sample", data=DATA, race=race)
        share.end_run()
        answer(socket, "key", "charts")  # all that is new has come
        socket.send_text("tile 0 1")
        _, before = answer(socket, "key", "charts")
        assert not any('"tile"' in said for said in before)


def test_a_vote_goes_with_its_connection(client, share):
    share.publish(card=CARD)
    with connect(client) as socket, connect(client) as other:
        socket.send_text("vote 1")
        other.send_text("vote 9")  # ignored: the card may have changed meanwhile
        wait(lambda: share.votes() == [0, 1, 0], "the vote is counted")
        other.send_text("alive")
    wait(lambda: share.votes() == [0, 0, 0], "the vote is gone")


def test_silent_watcher_is_disconnected_and_may_return(client, monkeypatch):
    monkeypatch.setattr(routes, "ALIVE_SECONDS", 0.05)
    with connect(client) as socket:
        code, _ = closed(socket)
    monkeypatch.setattr(routes, "ALIVE_SECONDS", 90)
    ends = re.search(r"if \((.*)\) return this\.end", (SHARE_FOLDER / "watch.js").read_text())[1]
    codes = {UNKNOWN_TOKEN: "SHARE_OVER", UNSUPPORTED: "UNSUPPORTED"}
    assert ends == " || ".join(f"event.code === {name}" for name in codes.values())  # else it tries again
    assert (code, code in codes) == (SILENT, False)
    with connect(client) as socket:
        assert "canvas" in json.loads(socket.receive()["text"])


def test_expired_token_is_reported_on_page_and_socket(client, share):
    share.stop()
    for token in ("abcd", "guessed"):
        answer = client.get(f"/watch/{token}")
        assert (answer.status_code, ENDED in answer.text) == (404, True)
        assert client.get(f"/watch/{token}/copy", follow_redirects=False).status_code == 404
        with connect(client, token) as socket:
            assert closed(socket) == (UNKNOWN_TOKEN, ENDED)


def test_the_limit_of_watchers_is_one_sentence(client, monkeypatch):
    monkeypatch.setenv("RBMVIZ_WATCHERS", "1")
    with connect(client) as first:
        first.receive()
        with connect(client) as second:
            full = "The server is at its limit of watching browsers (1): try again later."
            assert closed(second) == (BUSY, full)


def test_a_copy_opens_the_link_while_there_is_room_and_no_question(client, share, race, monkeypatch):
    def copied():
        answer = client.get("/watch/abcd/copy", follow_redirects=False)
        return answer.status_code, answer.headers.get("location"), answer.text

    assert copied()[:2] == (303, "/sample?model=bas_pcd")
    monkeypatch.setitem(races_by_token(), "a token", race)
    monkeypatch.setenv("RBMVIZ_PANELS", "1")  # two that run, and the two of the copy, are four times as many
    assert copied()[0] == 303
    monkeypatch.setattr(race, "_limited", False)
    race.add(make_sampler("gibbs"))
    status, _, text = copied()
    assert (status, "all 4 chains that it allows are running" in text) == (503, True)
    monkeypatch.delenv("RBMVIZ_PANELS")
    assert copied()[0] == 303
    share.begin_run("sample", "Sample", "names")  # a quiz, whose address has the answer
    status, address, text = copied()
    assert (status, address, "take a copy once it is answered" in text) == (503, None, True)


def test_the_page_allows_its_own_script_and_socket_and_nothing_else(client):
    answer = client.get("/watch/Abcd")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert ("connect-src 'self'" in policy, "unsafe" in policy) == (True, False)
    assert answer.headers["referrer-policy"] == "no-referrer"
    text, _ = watchers_page()
    assert "abcd" not in text  # the same for all
    assert not re.findall(r'(?:src|href)="(?!data:)', text.partition("<script>")[0])
    assert "export default" not in text


# What the script runs say


def test_the_socket_of_the_owner_and_what_is_about_his_browser_is_not_shared(share, race, monkeypatch):
    monkeypatch.setattr(publish, "SHARED_PAGE", session.Entry("none", lambda: share))
    panel = {"key": 0, "values": {"eps": 1}, "multiples": [1], "knobs": []}
    of_owner = {"url": "/rbmviz/live/secret", "present": True, "path of a file, added later": "/home/secret"}
    publish.canvas("sample", race, DATA | of_owner | {"panels": [panel]})
    assert "secret" not in json.dumps(share.view.data)
    assert set(share.view.data) == set(DATA)
    assert share.view.data["panels"] == [{"key": 0, "values": {}, "multiples": [], "knobs": []}]


def test_the_page_says_what_is_on_it_and_the_card_keeps_its_answer(page):
    test = page("chain", shell=True, lesson="stick", step="1")
    share = test.session_state["shared page"] = Share("taught")
    test.run()
    shown = share.view
    assert (shown.page, shown.title, shown.canvas) == ("chain", "How it works", "chain")
    assert shown.question.startswith("Why does avoiding")
    assert shown.link.startswith("chain?")
    assert "lesson=stick&step=1" in shown.link
    assert shown.race is race_of(test, "chain")
    assert shown.card["head"] == "Why chains stick · step\u00a01\u00a0of\u00a07"
    assert (shown.card["right"], shown.card["reveal"]) == (-1, [])
    assert len(shown.card["answers"]) == 3
    test.radio[0].set_value(2).run()
    assert share.view.card["right"] == -1  # his answer is not shown either
    [reveal] = [one for one in test.button if one.label == "Reveal"]
    reveal.click().run()
    assert share.view.card["right"] == 1
    assert share.view.card["reveal"]
    [leave] = [one for one in test.button if one.key == "lesson leave"]
    leave.click().run()
    assert share.view.card is None
    [stop] = [one for one in test.button if one.key == "stop sharing"]
    stop.click().run()
    assert (share.over, test.session_state["shared page"]) == (True, None)
    assert not test.exception


@pytest.mark.parametrize(
    ("name", "lesson", "hidden"), [("sample", "quiz", "names"), ("chain", "stick", "numbers")]
)
def test_asking_step_hides_panels_from_watchers_until_answered(page, name, lesson, hidden):
    test = page(name, shell=True, lesson=lesson, step="1")
    share = test.session_state["shared page"] = Share(lesson)
    test.run()
    assert share.view.hidden == hidden
    assert share.view.card["claims"] == []  # they name what is asked for
    test.radio[0].set_value(2).run()
    assert share.view.hidden == "nothing"
    assert share.view.card["claims"]
    assert not test.exception


def test_a_server_shares_so_many_views_and_one_more_is_a_sentence(page, monkeypatch):
    monkeypatch.setattr(publish, "MAX_SHARES", 0)
    test = page("learn", shell=True)
    [begin] = [one for one in test.button if one.key == "begin sharing"]
    begin.click().run()
    assert "shared page" not in test.session_state
    assert any("shares 0 views already" in toast.value for toast in test.toast)


@pytest.mark.parametrize(
    ("opened_as", "opened", "told", "others"),
    [
        ("http://127.0.0.1:8501/train?x=1", [], "http://127.0.0.1:8501/watch/abcd", False),
        ("http://localhost:8501", ["192.168.0.7"], "http://192.168.0.7:8501/watch/abcd", True),
        ("https://rbm.example.org/sample", ["192.168.0.7"], "https://rbm.example.org/watch/abcd", True),
    ],
)
def test_the_link_has_the_address_that_others_reach(share, monkeypatch, opened_as, opened, told, others):
    monkeypatch.setattr(button, "st", SimpleNamespace(context=SimpleNamespace(url=opened_as)))
    monkeypatch.setattr(button.access, "ADDRESSES_OF_COMMAND", opened)
    assert (button.link_of(share), button.reaches_others()) == (told, others)
