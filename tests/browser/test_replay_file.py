"""The page that plays runs, opened from disk with the network off: it shows the samples."""

import numpy as np
import pytest
from waiting import wait

import rbmviz
from rbmviz.cli import main

pytestmark = pytest.mark.browser

N, CELLS = 400, 6
PHONE = {"width": 390, "height": 844}
HOSTILE = "</script><img src=x onerror='document.title=1'><script>document.title=2</script>"

BITS = """([panel, across, size]) => {
    // The drawn red, 0 to 255, at the middle of every pixel of every cell.
    const canvas = document.querySelectorAll('canvas.picture')[panel], gap = 1;
    const scale = canvas.width / (across * (size + gap) + gap);
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const at = (slot, i) => {
        const x = (slot % across) * (size + gap) + gap + i % size + 0.5;
        const y = Math.floor(slot / across) * (size + gap) + gap + Math.floor(i / size) + 0.5;
        return data[4 * (Math.floor(y * scale) * canvas.width + Math.floor(x * scale))];
    };
    return Array.from({ length: across * across }, (_, slot) =>
        Array.from({ length: size * size }, (_, i) => at(slot, i)));
}"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the pages of two samplers: as they come, and with a hostile heading."""
    folder = tmp_path_factory.mktemp("replay")
    usual = ["play", "--recorded", "--model", "bas_pcd", "--samplers", "gibbs", "rates_fpcd", "-n", str(N)]
    usual += ["--cells", str(CELLS), "--init", "random", "--speed", "200"]
    assert main([*usual, "--out", str(folder / "run.html")]) == 0
    more = ["--title", HOSTILE, "--caption", HOSTILE, "--last", "100"]
    assert main([*usual, *more, "--out", str(folder / "hostile.html")]) == 0
    return folder


@pytest.fixture
def opened(chromium, files):
    """Open a page with the network off; after the test, no error and no request may have been reported."""
    contexts, said, asked = [], [], []

    def make(name, **options):
        contexts.append(
            chromium.new_context(offline=True, **({"viewport": {"width": 1280, "height": 900}} | options))
        )
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((files / name).as_uri())
        page.locator("canvas.picture").first.wait_for()
        return page

    yield make
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def at(page):
    return int(page.locator("[data-at]").get_attribute("data-at"))


def go_to(page, n):
    page.evaluate(
        """n => {
            const time = document.querySelector('.time');
            time.value = n;
            time.dispatchEvent(new Event('input'));
        }""",
        n,
    )
    assert at(page) == n


def expected():
    model = rbmviz.load_model("bas_pcd")
    return [
        rbmviz.sample(model, rbmviz.make_sampler(name), n=N, seed=0, init="random").v
        for name in ("gibbs", "rates_fpcd")
    ]


def compare(page, n, dark=False):
    for panel, v in enumerate(expected()):
        drawn = np.array(page.evaluate(BITS, [panel, CELLS, 4]))
        bits = (drawn > 128) == dark
        for number in range(max(n - CELLS**2, 0), n):
            np.testing.assert_array_equal(bits[number % CELLS**2], v[number] == 1, f"sample {number}")


def test_it_plays_and_shows_the_samples(opened):
    page = opened("run.html")
    wait(lambda: at(page) > 20, "20 samples")  # by asking: the page itself evaluates no text
    page.get_by_role("button", name="Pause").click()
    n = at(page)
    compare(page, n)
    for moment in (N, 57, 58, 11):  # onward, back, and into the first pictures
        go_to(page, moment)
        compare(page, moment)
    numbers = page.locator("dd[data-readout=switches]").all_text_contents()
    go_to(page, N)
    assert page.locator("dd[data-readout=switches]").all_text_contents() != numbers
    page.get_by_role("button", name="Play").click()  # from the beginning
    wait(lambda: at(page) == N, "the last sample")
    page.get_by_role("button", name="Play").wait_for()


def test_it_is_used_by_keyboard_in_both_themes_and_on_a_phone(opened):
    page = opened("run.html", viewport=PHONE, color_scheme="dark", reduced_motion="reduce")
    assert at(page) == CELLS**2  # it waits
    compare(page, CELLS**2, dark=True)
    for key, n in {"s": 37, "ArrowRight": 38, "ArrowLeft": 37, "End": N, "Home": 0}.items():
        page.keyboard.press(key)
        assert at(page) == n
    page.keyboard.press(" ")
    wait(lambda: at(page) > 5, "5 samples")
    for _ in range(2):  # the second time because it is held
        page.keyboard.down("p")
    page.keyboard.up("p")
    n = at(page)
    page.get_by_role("slider", name="Time").focus()
    page.keyboard.press("ArrowRight")
    assert at(page) == n + 1
    page.get_by_role("button", name="Light or dark").click()
    compare(page, n + 1)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_hostile_heading_is_text(opened):
    page = opened("hostile.html")
    assert page.get_by_role("heading", level=1).text_content() == HOSTILE
    assert page.title() == HOSTILE
    assert page.locator("img").count() == 0
    go_to(page, N)
    compare(page, N)
    go_to(page, N - 100)
    assert "Counted from sample 301 on" in page.locator("main").text_content()
