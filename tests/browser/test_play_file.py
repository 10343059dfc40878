"""The page in which samplers run, opened from disk with the network off: it makes the samples of Python."""

import re
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace

import numpy as np
import pytest
from command_line import refused
from waiting import wait

import rbmviz
from rbmviz.cli import main
from rbmviz.coupling import ALGORITHMS, PairStream
from rbmviz.lessons import load_lesson, measure_claims
from rbmviz.rbm import RBM
from rbmviz.rbm.clamp import as_clamp
from rbmviz.samplers.interleave import start_of
from rbmviz.view.live import Live
from tests.browser.live import CRC_32

pytestmark = pytest.mark.browser

NAMES = "gibbs", "rates_fpcd", "rates_herding", "sample_penalization"
TURNS = {"gibbs": ("temperature", 1.5), "rates_herding": ("max_sweeps", 4)}
"""The knob that is turned; of the others alpha."""

PIXELS = """(canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data])(
    document.querySelector('.panel canvas.picture'))"""

WITHOUT_VECTORS = "WebAssembly.validate = () => false"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with pages of four samplers."""
    folder = tmp_path_factory.mktemp("play")
    for model in ("bas_pcd", "usps_fpcd"):
        made = f"play --model {model} --samplers {' '.join(NAMES)} --no-data --out"
        assert main([*made.split(), str(folder / f"{model}.html")]) == 0
    scored = "play --model bas_pcd --samplers rates_herding gibbs rates_fpcd parallel_tempering --cells 6"
    assert main([*scored.split(), "--speed", "200", "--out", str(folder / "scored.html")]) == 0
    return folder


class Opened:
    """A page and its scripts: the policy forbids eval, and so Playwright's evaluate."""

    def __init__(self, context, file, before=""):
        self.page, self.said, self.asked = context.new_page(), [], []
        if before:
            self.page.add_init_script(before)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file)
        self._session = context.new_cdp_session(self.page)

    def __call__(self, script):
        options = {"expression": script, "awaitPromise": True, "returnByValue": True}
        answer = self._session.send("Runtime.evaluate", options)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")


@pytest.fixture
def opened(chromium, folder):
    contexts, pages = [], []

    def make(file, before="", **options):
        contexts.append(chromium.new_context(offline=True, **options))
        pages.append(Opened(contexts[-1], f"{folder.as_uri()}/{file}", before))
        return pages[-1]

    yield make
    for page in pages:
        assert page.said == []
        assert [url for url in page.asked if not url.startswith(("file:", "blob:", "data:"))] == []
    for context in contexts:
        context.close()


@pytest.mark.parametrize("model", ["bas_pcd", "usps_fpcd"])
def test_it_makes_the_samples_of_python(opened, model):
    """Bit for bit, of two seeds, with a knob turned in the middle."""
    page, n = opened(f"{model}.html"), 1500
    page("rbmviz.ready.then(() => document.querySelector('.play').click())")
    for panel, name in enumerate(NAMES):
        knob, value = TURNS.get(name, ("alpha", 0.95))
        for seed in (0, 3):
            drawn = page(
                f"""(async () => {{
                    const panel = rbmviz.panels[{panel}];
                    panel.set('{knob}', {rbmviz.make_sampler(name).__dict__[knob]});
                    panel.reset({seed});
                    await panel.step({n});
                    panel.set('{knob}', {value});
                    await panel.step({n});
                    return [panel.n, {CRC_32}(panel.samples(0, panel.n))];
                }})()"""
            )
            sampler = rbmviz.make_sampler(name)
            v0, _ = start_of(rbmviz.load_model(model), seed, 1)
            state = sampler.init(rbmviz.load_model(model), seed, v0)
            parts = [each.step(state, n).v for each in (sampler, replace(sampler, **{knob: value}))]
            assert drawn == [2 * n, zlib.crc32(np.concatenate(parts).tobytes())], (name, seed)


def test_a_slider_turns_a_running_chain_and_the_numbers_count_from_there(opened):
    phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "has_touch": True}
    page = opened("scored.html#gibbs,rates_fpcd", **phone)
    page("rbmviz.ready")
    running = page.page.locator(".panel").first
    wait(lambda: page("rbmviz.panels[0].n") > 60, "samples")
    slider = running.locator("input[type=range]").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2, steps=5)
    n = page("rbmviz.panels[0].n")
    wait(lambda: page("rbmviz.panels[0].n") > n + 50, "samples while the slider is held")
    page.page.mouse.up()
    wait(
        lambda: "since the change" in (running.locator(".standing").first.text_content() or ""),
        "a score since the turn",
    )
    assert float(running.locator(".knob input.value").first.input_value()) > 2
    assert running.locator(".standing.since").text_content().startswith("temperature ")
    page.page.locator(".play").click()
    wait(lambda: len(set(page("rbmviz.panels.map(panel => panel.n)"))) == 1, "all pause at the same")
    page.page.locator(".again").click()
    assert page("rbmviz.panels.map(panel => panel.n)") == [0, 0]
    page("location.hash = ''")  # all panels, which a finger moves, and not the page
    page.page.locator(".panel").nth(2).wait_for()
    assert page("document.documentElement.scrollWidth") == phone["viewport"]["width"]


def test_a_drawing_is_completed_as_python_does(opened):
    """Bit for bit; without a drawing again, the samples are others."""
    names = "gibbs", "rates_fpcd", "parallel_tempering"
    page = opened(f"scored.html#{','.join(names)}")
    page("rbmviz.ready.then(() => document.querySelector('.play').click())")

    def drawn(text):
        all_samples = "p => (p.reset(2), p.step(200)).then(() => [...p.samples(0, 200)])"  # from stripes
        made = np.reshape(page(f"Promise.all(rbmviz.panels.map({all_samples}))"), (3, 200, 16))
        for name, v in zip(names, made, strict=True):
            expected = rbmviz.sample("bas_pcd", name, 200, seed=2, clamp=text or None).v
            np.testing.assert_array_equal(v, expected, err_msg=name)
            assert len(np.unique(v, axis=0)) > 1
        return made

    page.page.locator(".drawing summary").click()
    canvas = page.page.get_by_role("img", name="Drawing: ")
    box = canvas.bounding_box()
    for x, act in ((0.15, page.page.mouse.down), (0.4, page.page.mouse.up)):
        page.page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * 0.12)
        act()
    text = re.search(",parallel_tempering,clamp=(.*)$", page.page.url)[1]
    np.testing.assert_array_equal(as_clamp(text, 16).units, [1, 1, *[-1] * 14])
    held = drawn(text)
    assert page.page.get_by_text("not scored: a part is held").count() == 3
    red, _, blue, _ = np.reshape(page(PIXELS), (-1, 4)).T.astype(int)
    assert 0.08 < ((blue - red) > 40).mean() < 0.17  # the tint of two pixels of 16
    page.page.get_by_role("button", name="Upper half").click()
    units = as_clamp(page.page.url.split("clamp=")[1], 16).units
    np.testing.assert_array_equal(units, [1, 1, *[0] * 6, *[-1] * 8])
    link = page.page.url.split("/")[-1]
    page.page.get_by_role("button", name="Clear").click()
    assert page.page.url.endswith("#gibbs,rates_fpcd,parallel_tempering")
    assert (drawn("") != held).any(axis=(1, 2)).all()
    again = opened(link)
    again("rbmviz.ready")
    assert again.page.get_by_role("img", name="Drawing: 8 of 16 pixels are held").is_visible()
    said = opened("scored.html#clamp=AAAA").page.get_by_role("alert").text_content()
    assert said == "Nothing is held: this drawing does not fit a model with 16 visible units."


def test_there_is_a_pen_where_units_are_pixels():
    """Of a text, or of units in no picture, there is none."""
    rbm, bas = rbmviz.load_model("bas_pcd").rbm, rbmviz.load_dataset("bas")
    words, declared = replace(bas, vocabulary=tuple("abcdefghijklmnop")), {"image_shape": [4, 4]}
    cases = (bas, {}, True), (None, declared, True), (words, declared, False), (None, {}, False)
    for data, meta, draws in cases:
        assert Live("", "", rbmviz.Model(rbm, None, meta), (), data, (4, 4), (), 1, 1).draws is draws


def test_a_tile_is_what_python_says_of_the_sample(opened):
    page = opened("scored.html#gibbs,rates_fpcd")
    page("rbmviz.ready")
    wait(lambda: page("rbmviz.panels[1].n") > 36, "a sample in each cell")
    page.page.locator(".play").click()
    wait(lambda: page("new Set(rbmviz.panels.map(panel => panel.n)).size") == 1, "all pause")
    model = rbmviz.load_model("bas_pcd").rbm
    data = rbmviz.load_dataset("bas")
    for panel in (0, 1):
        box = page.page.locator(".panel canvas.picture").nth(panel).bounding_box()
        page.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.6)
        title, energies = page.page.locator(".loupe strong"), page.page.locator(".loupe figcaption")
        page.page.locator(".loupe p").filter(has_text="differ").wait_for()
        sample = int(title.text_content().split(":")[0].removeprefix("Sample ").replace(",", "")) - 1
        v = np.array(page(f"[...rbmviz.panels[{panel}].samples({sample}, 1)]"), np.uint8)
        example = data.train[(data.train != v).sum(axis=1).argmin()]
        for place, row in ((0, v), (2, example)):
            said = float(energies.nth(place).text_content().split("energy ")[1].replace("−", "-"))
            assert said == pytest.approx(model.free_energy(row[None])[0], abs=0.051)
        assert page.page.locator(".loupe p").text_content().startswith(f"{(example != v).sum()} pixel")


def test_without_vectors_it_says_so(opened):
    page = opened("scored.html#rates_fpcd", before=WITHOUT_VECTORS)
    assert "with vectors (SIMD)" in page.page.get_by_role("alert").text_content()
    assert "open it in a newer one" in page("rbmviz.ready.then(() => rbmviz.error)")


def test_damaged_data_are_one_sentence(opened, folder):
    html = (folder / "bas_pcd.html").read_text()
    packed = re.search(r'id="live">([^<]*)<', html)[1]
    middle, frame = len(packed) // 2, zlib.decompress(b64decode(packed))
    other = packed[:middle] + ("A" if packed[middle] != "A" else "B") + packed[middle + 1 :]
    for damaged, why in {
        b64encode(zlib.compress(frame[:-50])).decode(): "A frame is damaged: it is cut short",
        other: "The data in this file are damaged: copy or download it again.",
        packed[:middle] + "?" + packed[middle:]: "The data in this file are damaged",
    }.items():
        (folder / "damaged.html").write_text(html.replace(packed, damaged))
        page = opened("damaged.html")
        page.page.locator("[role=alert]").wait_for()
        said = page.page.locator("main").text_content()
        assert said.startswith(why)
        assert page("rbmviz.ready.then(() => rbmviz.error)") == said
    (folder / "damaged.html").write_text(html[: html.index(packed) + middle])
    assert "the file is incomplete" in opened("damaged.html").page.locator("main").text_content()


def test_it_runs_in_a_sandboxed_frame(opened, folder):
    frame = '<iframe sandbox="allow-scripts" src="bas_pcd.html#rates_herding"></iframe>'
    (folder / "course.html").write_text(frame)
    within = opened("course.html").page.frame_locator("iframe")
    wait(lambda: int(within.locator("[data-at]").get_attribute("data-at")) > 20, "samples")


SMALL_LESSON = """
title = "A small lesson"
about = "Two steps."
minutes = 1

[[step]]
title = "Filled up"
link = "chain?land_depth=8&l=gibbs&l=rates_fpcd:eps=0.1,alpha=0.95&paused=1"
question = "Which one moves?"
answers = ["The first", "The second"]
right = 2
hold = true
do = "Press *Play*."
look = "panel2.crossings"
reveal = "The second."
claims = ["panel2.crossings > panel1.crossings + 2 at 300 samples", "panel1.raised = 0 at 300 samples"]

[[step]]
title = "Scored"
link = "sample?model=bas_pcd&p=gibbs&p=rates_fpcd"
question = "Which one sees more?"
answers = ["The first", "Neither"]
right = 2
hold = true
do = "Press *Play*."
look = "chart"
reveal = "Neither."
claims = [
  "panel1.visited = 2 at 600 samples",
  "panel2.isl > -100 at 600 samples",
  "panel2.switches > panel1.switches + 1000 at 600 samples",
]
"""


@pytest.fixture(scope="module")
def lesson(folder):
    (folder / "small.toml").write_text(SMALL_LESSON)
    made = ["play", "--lesson", str(folder / "small.toml"), "--out", str(folder / "lesson.html")]
    assert main(made) == 0
    return folder / "small.toml"


def show(page, n):
    """Let the open step make n samples, and draw them."""
    page(f"rbmviz.lesson.page.show({n})")
    shown = f"(page => !page.fetching && page.liveRuns.every(run => run.last === {n}))(rbmviz.lesson.page)"
    wait(lambda: page(shown), "samples")


def test_a_lesson_runs_and_its_claims_are_evaluated(opened, lesson):
    """With the numbers that Python measures; a question is asked before anything runs."""
    page = opened("lesson.html", viewport={"width": 390, "height": 844}, has_touch=True)
    card = page.page.locator(".card")
    card.get_by_text("wait for your answer").wait_for()
    page.page.keyboard.press("s")
    page.page.locator(".play").click()
    assert page("rbmviz.lesson.page.made") == 0
    assert not page.page.locator("[data-readout=crossings]").first.is_visible()
    for at, step in enumerate(load_lesson(str(lesson)).steps):
        assert not page.page.locator(".live .chart").is_visible()  # it would give the answer away
        card.get_by_role("radio", name="The first").click()
        assert page("rbmviz.lesson.card.ringed?.classList[0]") == ("chart" if at else None)
        measured, n = measure_claims(step.state, step.claims), step.claims[0].n
        show(page, n)
        values, seen = page("[rbmviz.lesson.card.watched.values, rbmviz.lesson.card.watched.seen]")
        assert seen == [each.holds for each in measured]
        for value, each in zip(values, measured, strict=True):
            if each.claim.metric != "isl":  # a page has fewer test points
                assert value == pytest.approx(each.value), each.claim.text
        assert card.locator(".claims .seen").count() == sum(seen)
        if not at:
            assert "You chose “The first”" in card.text_content()  # revealed, since all claims are seen
            said, above = card.locator(".verdict").bounding_box(), card.locator(".moves").bounding_box()
            assert said["y"] + said["height"] < above["y"]  # the card has scrolled to it
            card.get_by_role("button", name="Next").click()
            card.get_by_role("heading", name="Scored").wait_for()
    show(page, 24_000)
    page("run = rbmviz.lesson.page.liveRuns[1]; before = run.classes.slice()")
    show(page, 26_000)  # more than a page holds
    assert page("[run.head.first, run.length]") == [6000, 20_000]
    assert page("run.classes.every((c, i) => i >= 18_000 || c === before[i + 6000])")
    assert page.page.url.endswith("#2")
    assert "bas" in page.page.locator(".contains").text_content()
    page.page.go_back()
    card.get_by_role("heading", name="Filled up").wait_for()
    card.get_by_text("wait for your answer").wait_for()  # as at first
    page("location.hash = '#1.5'")  # no such step
    page("location.hash = '#2'")
    card.get_by_role("heading", name="Scored").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stick", "push"])
def test_the_claims_of_shipped_lessons_hold_in_the_page(opened, folder, name):
    assert main(["play", "--lesson", name, "--out", str(folder / f"{name}.html")]) == 0
    assert (folder / f"{name}.html").stat().st_size < 7e6
    page = opened(f"{name}.html")
    for at, step in enumerate(load_lesson(name).steps):
        page(f"rbmviz.lesson.open({at})")
        if step.answers:
            page.page.locator("#answer-0").click()
        for n in sorted({claim.n for claim in step.claims}):
            show(page, n)
        assert all(page("rbmviz.lesson.card.watched.seen")), step.title


def test_pairs_of_chains_meet_in_a_lesson(opened, folder):
    """With the numbers of Python's pairs, at two scales; steps about other charts show recorded ones."""
    assert main(["play", "--lesson", "meet", "--out", str(folder / "meet.html")]) == 0
    page = opened("meet.html")
    page.page.locator("#answer-0").click()
    page.page.locator(".play").click()
    page("rbmviz.lesson.page.speed = 100")
    wait(lambda: all(page("rbmviz.lesson.card.watched.seen")), "claims")
    setup = load_lesson("meet").steps[0].state.setup()
    for scale in (1.5, 0.6):
        page(f"rbmviz.lesson.page.grid.changeKnobs(0, {{ scale: {scale} }})")
        wait(lambda: page("rbmviz.lesson.page.liveRuns[0].last") == 512, "all pairs")
        made = page("rbmviz.lesson.page.liveRuns[0].numbers")
        rbm = RBM(*(scale * x for x in (setup.rbm.W, setup.rbm.b, setup.rbm.c)))
        for algorithm in ALGORITHMS:
            stream = PairStream(rbm, setup.starts, algorithm, 1000, seed=setup.seed)
            while stream.finished < 512:
                stream.advance(1000)
            tau, cut = stream.tau[:512], stream.truncated[:512]
            expected = {"mean": tau.mean(), "median": np.median(tau), "cut": 100 * cut.mean()}
            expected["within_10"] = 100 * ((tau <= 10) & ~cut).mean()
            assert {name: made[f"{algorithm}_{name}"] for name in expected} == pytest.approx(expected)
    assert page("rbmviz.lesson.page.curves.spec.bars.length") > 20
    page("rbmviz.lesson.open(3)")
    assert not page.page.locator(".live .chart").is_visible()  # it would give the answer away
    page.page.get_by_text("The chart waits for your answer.").wait_for()
    page.page.locator("#answer-1").click()
    assert page.page.locator(".live .chart").is_visible()
    lines = page("rbmviz.lesson.steps[4].chart.lines")
    *bounds, exact = (dict(line["points"]) for line in lines)
    assert lines[-1]["name"] == "exact"
    assert min(exact.values()) < 0.02
    assert all(bound[t] > distance for t, distance in exact.items() for bound in bounds)


def test_lessons_that_browsers_cannot_run_are_refused(tmp_path, capsys):
    """In one sentence, before anything is written."""
    out = tmp_path / "lesson.html"
    for given, why in {
        ("--lesson", "training"): "The lesson 'training', step 1: the page train has no form for browsers",
        ("--lesson", "break-gibbs"): "a challenge or a branch has no form for browsers",
        ("--lesson", "push", "--model", "bas_pcd"): "leave model out",
    }.items():
        assert why in refused(capsys, "play", *given, "--out", out)
    assert not out.exists()
