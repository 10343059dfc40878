"""Runs as files: page and GIF hold the samples, and no text of a person is markup."""

import base64
import dataclasses
import email
import hashlib
import io
import re
import zlib

import numpy as np
import pytest
from PIL import Image

import rbmviz
from rbmviz import paths
from rbmviz.session import RunHistory, SamplingRun, SamplingSetup
from rbmviz.view.curves import MIN_CURVE_SAMPLES
from rbmviz.view.moving import BETWEEN, DARK, FRAMES, HEADER, replay_gif
from rbmviz.view.replay import Replay, preview_tags, replay_html
from tests.frames import read_frame


def made(model, dataset, sampler, n, **knobs):
    plan = SamplingSetup(model, dataset).plan()
    run = SamplingRun(1, plan, rbmviz.make_sampler(sampler, **knobs))
    run.prepare()
    while run.n < n:
        run.record_steps(run.timed_advance(min(run.max_steps(), n - run.n)))
    run.complete()
    return RunHistory.of(run)


@pytest.fixture
def bas():
    model = rbmviz.load_model("bas_pcd")
    dataset = rbmviz.load_dataset("bas")
    histories = [made(model, dataset, "gibbs", 300), made(model, dataset, "rates_fpcd", 300, n_chains=7)]
    return Replay("bas_pcd", "What the model is.", histories, dataset, (4, 4))


def unpacked(history):
    return np.unpackbits(history.v, axis=1, count=history.n_visible)


def parts(html):
    """Return policy, style, script and the frame of a page."""
    text = html.decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    data, script = re.search(
        r'id="run">([^<]*)</script>\s*<script>(.*)</script>\s*</body>', text, re.DOTALL
    ).groups()
    return policy, style, script, read_frame(zlib.decompress(base64.b64decode(data, validate=True)))


def test_the_page_holds_the_scores_and_lets_nothing_else_in(bas):
    """That it holds the samples, a browser sees."""
    policy, style, script, frame = parts(replay_html(bas))
    assert frame.panels[1].head["n_chains"] == 7
    assert [panel.head["spec"]["label"] for panel in frame.panels] == ["Gibbs", "rates-FPCD"]
    for line, history in zip(frame.request["isl"]["lines"], bas.histories, strict=True):
        points = [(point.n, point.isl) for point in history.segments[0].curve if point.n >= MIN_CURVE_SAMPLES]
        np.testing.assert_allclose(line["points"], points, rtol=1e-4)
    for text in (style, script):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "</script" not in script
    assert not re.search(r"\b(src|href)=.?https?:|@import|url\(", script + style)


def test_previews_name_a_picture_only_on_a_published_site(bas, monkeypatch):
    """Chats and networks need an absolute address; a title is no markup."""
    page = replay_html(dataclasses.replace(bas, title='One "<model>"')).decode()
    assert '<meta property="og:title" content="One &quot;&lt;model&gt;&quot;">' in page
    assert f'<meta property="og:description" content="{bas.caption}">' in page
    assert "og:image" not in page
    assert '"twitter:card" content="summary"' in page
    urls = email.message_from_string(
        "Project-URL: Paper, https://a.b\nProject-URL: Documentation, https://c.d/e/"
    )
    monkeypatch.setattr(paths.metadata, "metadata", lambda name: urls)
    paths.site_address.cache_clear()
    tags = preview_tags("T", "", "play/")
    paths.site_address.cache_clear()
    assert 'property="og:image" content="https://c.d/e/play/preview.png"' in tags
    assert 'property="og:url" content="https://c.d/e/play/"' in tags
    assert "description" not in tags


def test_the_gif_ends_with_the_newest_samples(bas):
    with Image.open(io.BytesIO(replay_gif(dataclasses.replace(bas, side=6)))) as gif:
        assert gif.n_frames == FRAMES
        gif.seek(FRAMES - 1)
        pixels = np.asarray(gif.convert("RGB"))
    zoom = 240 // (6 * 5)
    v = unpacked(bas.histories[0])
    for number in range(300 - 36, 300):
        row, column = divmod(number % 36, 6)
        y = HEADER + zoom * (row * 5 + 1 + np.arange(4)) + zoom // 2
        x = BETWEEN + zoom * (column * 5 + 1 + np.arange(4)) + zoom // 2
        drawn = np.abs(pixels[y][:, x].astype(int) - DARK).sum(axis=2) < 60
        np.testing.assert_array_equal(drawn, v[number].reshape(4, 4) == 1)
