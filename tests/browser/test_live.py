"""The Sample page in a browser."""

import csv
import json
import re
import time

import pytest
from playwright.sync_api import expect
from waiting import wait

from rbmviz.lessons import load_lesson, shipped_lessons
from rbmviz.session.limits import RELEASE_SECONDS
from rbmviz_app.pages import page_modules
from rbmviz_app.panel import heads
from tests.browser.live import DRAWN, LAPTOP, PAUSED, PHONE, SETTLED

pytestmark = pytest.mark.browser


def test_four_panels_move_and_no_frame_is_broken_or_blank(live):
    page = live().open()
    assert page.ask("panels.map(p => p.querySelector('h3').textContent)") == [
        "Gibbs",
        "rates-FPCD",
        "rates-herding",
        "Sample penalization",
    ]
    before, counts = page.pictures(), page.counts()
    page.until(f"panels.every((p, i) => Number(p.dataset.n) > {counts}[i] + 5)")
    assert all(a != b for a, b in zip(before, page.pictures(), strict=True))
    page.until("panels.every(p => p.querySelector('dd[data-readout=isl]')?.textContent.match(/[0-9]/))")
    # No frame is broken or blank.
    page.ask(
        """(() => {
            window.seen = { frames: 0, bad: 0 };
            const host = panels[0].parentElement;
            const watch = () => {
                const now = host.dataset.frames;
                if (now !== window.seen.last) {
                    window.seen.last = now;
                    window.seen.frames++;
                    for (const canvas of host.querySelectorAll('canvas.picture')) {
                        const c = canvas.getContext('2d');
                        const data = canvas.width && c.getImageData(0, 0, canvas.width, canvas.height).data;
                        const first = data && data[(canvas.width * 10 + 10) * 4];
                        if (!data || data.every((x, i) => i % 4 !== 0 || x === first)) window.seen.bad++;
                    }
                    if (host.querySelectorAll('canvas.picture').length !== 4) window.seen.bad++;
                }
                requestAnimationFrame(watch);
            };
            watch();
        })()"""
    )
    page.until("window.seen.frames > 60")
    assert page.ask("window.seen.bad") == 0


FOLDS = "panels.forEach(p => p.querySelectorAll('details').forEach(d => { d.open = true; }))"
"""Opens what is under *More*."""


def shown_together():
    """Return the heads of each preset and each step of a lesson, by page."""
    for name, module in page_modules().items():
        if (live_page := getattr(module, "PAGE", None)) is not None:
            for preset in live_page.presets:
                yield name, heads(live_page.read(preset.panels)[0])
    for name in shipped_lessons():
        for step in load_lesson(name).steps:
            yield step.state.page, heads(step.state.algorithms())


HEADS = """(all => all.filter(heads => {
    heads.forEach(([name, differs], i) => {
        const [first, second] = panels[i].querySelectorAll('h3 > span');
        first.textContent = name;
        second.textContent = differs && ` ${differs}`;
        panels[i].querySelector('.count').textContent = '42.6k';
    });
    return panels.slice(0, heads.length).some(panel => {
        const [, second] = panel.querySelectorAll('h3 > span'), count = panel.querySelector('.count');
        const [differs, counted, whole] = [second, count, panel].map(each => each.getBoundingClientRect());
        return differs.right > counted.left || counted.right > whole.right + 1
            || second.scrollWidth > second.clientWidth + 1;
    });
}))"""
"""Those of many heads in which a part runs over another one, or what tells namesakes apart is cut off."""


@pytest.mark.parametrize(
    ("name", "panel"),
    [
        ("sample", "p=gibbs"),
        ("train", "t=cd"),
        ("weights", "w=pop_cd"),
        ("chain", "little=landscape&l=gibbs"),
    ],
)
def test_heads_of_all_presets_and_lessons_fit(live, name, panel):
    of_page = [named for page, named in shown_together() if page == name]
    numbers = sorted({len(named) for named in of_page} - {1}, reverse=True)
    page = live(LAPTOP).open(f"{name}?" + "&".join([panel] * numbers[0]))
    for n in numbers:
        while (left := page.ask("panels.length")) > n:
            page.ask("panels[0].querySelector('.remove').click()")
            page.until(f"panels.length < {left}")
        page.until(SETTLED)
        assert page.ask(f"{HEADS}({json.dumps([named for named in of_page if len(named) == n])})") == []


def test_heads_say_in_symbols_what_differs(live):
    page = live().open("?p=gibbs&p=sample_penalization:eps=0.003&p=sample_penalization&speed=5")
    assert page.ask("panels.map(p => p.querySelector('h3').textContent)")[1] == "Sample penalization ε .003"
    assert page.ask("panels[1].querySelector('h3').title") == "Sample penalization (step size 0.003)"
    for width in (1280, 390):
        page.page.set_viewport_size({"width": width, "height": 900})
        page.until(
            f"innerWidth === {width} && ((a, b) => Math.abs(a - b) <= 0.5)"
            "(...panels.map(p => p.querySelector('.stage').getBoundingClientRect().top))"
        )


def test_dragged_or_held_knob_acts_without_a_restart(live):
    page, sent, closed = live(), [], []

    def watch(socket):
        socket.on("framesent", lambda _: sent.append(socket.url))
        socket.on("close", lambda _: closed.append(socket.url))

    page.page.on("websocket", watch)
    page.open("?p=rates_fpcd:eps=0")
    page.page.wait_for_url("**eps=0.0**")
    page.until("Number(panels[0].dataset.n) > 10")
    page.until("panels[0].querySelector('dd[data-readout=fast_norm]').textContent === '0'")
    n = page.counts()[0]
    page.set_knob(0, "eps", 1.0, commit=False)
    page.until("Number(panels[0].querySelector('dd[data-readout=fast_norm]').textContent) > 1")
    assert page.counts()[0] > n
    assert "eps=0.0" in page.url  # the page does not follow a knob before it is let go
    page.set_knob(0, "eps", 1.0)
    page.page.wait_for_url("**eps=1.0**")
    assert page.counts()[0] > n
    page.ask(FOLDS)
    # The terms that knobs move are underlined in the equation, and marked while the knob has the focus.
    terms = "[...panels[0].querySelectorAll('.equation .term')]"
    assert set(page.ask(f"{terms}.map(t => t.dataset.knob)")) == {"alpha", "eps", "k", "statistics"}
    assert set(page.ask(f"{terms}.map(t => getComputedStyle(t).borderBottomStyle)")) == {"solid"}
    marked = f"{terms}.filter(t => t.matches('.marked')).map(t => t.dataset.knob + t.textContent).join()"
    page.page.get_by_role("slider", name="Step size").focus()
    page.until(f"{marked} === 'epsε'")
    page.page.keyboard.press("Tab")  # to the help of the next knob
    page.until(f"{marked} === 'alphaα'")
    # Each arrow key turns a whole number, and the slider keeps the focus when the server has taken it.
    page.page.get_by_role("slider", name="Sweeps per sample").focus()
    for k in (2, 3):
        page.page.keyboard.press("ArrowRight")
        page.page.wait_for_url(f"**k={k}**")
    page.page.get_by_role("combobox", name="Statistics").select_option("mean")
    page.until("panels[0].querySelector('.equation').textContent.includes('𝔼')")
    # A key that is held sends no flood of messages.
    page.page.get_by_role("slider", name="Step size").focus()
    sent.clear()
    begin = time.monotonic()
    for _ in range(150):
        page.page.keyboard.down("ArrowLeft")  # the second one on repeats it
    page.page.keyboard.up("ArrowLeft")
    turned = page.ask("panels[0].getRootNode().activeElement.getAttribute('aria-valuetext')")
    page.until(f"[...panels[0].getRootNode().rbmviz.panels.values()][0].spec.values.eps === {turned}")
    messages, seconds = sum("/_stcore/stream" in url for url in sent), time.monotonic() - begin
    assert messages < min(150, 10 + 8 * seconds)
    assert not [url for url in closed if "/_stcore/stream" in url]


@pytest.mark.slow
def test_a_turned_knob_begins_the_numbers_again(live):
    page = live().open("?model=bas_pcd&p=rates_fpcd&p=gibbs&speed=60")
    page.until("panels.every(p => Number(p.dataset.n) > 60)")
    page.pause()  # a busy machine may make the 50 samples before they are looked at
    for share in (0.5, 0.6, 0.7):
        page.set_knob(0, "eps", share, commit=False)
    page.set_knob(0, "eps", 0.9)
    said = "panels.map(p => [...p.querySelectorAll('.standing')].map(line => line.textContent))"
    page.page.get_by_role("button", name="Step").click()
    page.until("panels[0].querySelector('.standing').textContent.startsWith('Too few yet: 1 of')")
    (standing, since), (other, nothing) = page.ask(said)
    assert standing == "Too few yet: 1 of 50 samples since the change."
    assert re.fullmatch(r"Since sample \d+: Step size 0\.\d+", since)
    assert re.fullmatch(r"Scores at \d+ samples?", other)
    assert nothing == ""
    assert [page.number(panel, "isl") == "–" for panel in (0, 1)] == [True, False]
    page.play()
    page.until("panels[0].querySelector('.standing').textContent.startsWith('Scores at')")
    (standing, _), (other, _) = page.ask(said)
    [n] = re.fullmatch(r"Scores at ([0-9,]+) samples since the change", standing).groups()
    assert int(n.replace(",", "")) >= 50
    assert other == f"Scores at {n} samples, where the slowest panel is now."
    assert "–" not in [page.number(panel, "isl") for panel in (0, 1)]


@pytest.mark.slow
def test_chains_begin_anew_where_the_hand_lets_go(live):
    page = live().open("?p=rates_fpcd&speed=1000")
    page.until("Number(panels[0].dataset.n) > 1000")
    page.page.wait_for_url("**n_chains=1,**")
    page.ask("panels[0].querySelector('details').open = true")
    run = "[...panels[0].getRootNode().rbmviz.panels.values()][0].head.run"
    before = page.ask(run)
    page.set_knob(0, "n_chains", 2 / 3, commit=False)
    page.page.wait_for_timeout(300)
    assert page.ask(run) == before
    assert "n_chains=1," in page.url
    page.set_knob(0, "n_chains", 2 / 3)
    page.page.wait_for_url("**n_chains=100**")
    page.until(f"{run} === {before + 1} && Number(panels[0].dataset.n) > 200")


@pytest.mark.slow
def test_several_chains_say_whether_they_agree(live):
    page = live().open("?model=bas_pcd&p=gibbs&p=gibbs:n_chains=10&speed=1000")
    shown = "p.querySelector('dd[data-readout=rhat]')?.checkVisibility() ?? false"
    page.until("/[0-9]/.test(panels[1].querySelector('dd[data-readout=rhat]').textContent)")
    assert page.ask(f"panels.map(p => {shown})") == [False, False]
    page.page.locator("summary", has_text="More").first.click()  # opens those of all panels
    page.until(f"panels.map(p => {shown}).join() === 'false,true'")
    assert float(page.number(1, "rhat")) > 0.9


def test_the_help_of_a_large_number_comes_with_the_fold(live):
    page = live(PHONE, has_touch=True).open("?p=gibbs&p=rates_fpcd&speed=5")
    name = page.page.locator("button.help[aria-description=ISL]").last
    assert not name.is_visible()
    page.page.get_by_text("More", exact=True).last.click()
    text = page.page.get_by_role("dialog", name="ISL", exact=True)
    name.scroll_into_view_if_needed()
    name.tap()
    text.wait_for()
    words, formula, source = (text.locator(part).first for part in ("p", "math", ".source"))
    assert "how well the samples so far predict unseen test images" in words.text_content()
    assert "Breuleux" in source.text_content()
    boxes = [part.bounding_box() for part in (words, formula, source)]
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    right = boxes[0]["x"] + boxes[0]["width"]
    assert right < PHONE["width"]
    assert boxes[1]["x"] + boxes[1]["width"] <= right + 1
    page.page.touchscreen.tap(5, 5)
    text.wait_for(state="hidden")
    # By keyboard the focus comes back.
    name.focus()
    page.page.keyboard.press("Enter")
    text.wait_for()
    page.page.keyboard.press("Escape")
    text.wait_for(state="hidden")
    page.page.wait_for_timeout(100)
    assert name.evaluate("e => e === e.getRootNode().activeElement")


def test_a_typed_value_is_clipped_to_its_range_and_keys_are_not_typed(live):
    page = live().open("?p=gibbs&p=rates_herding&speed=5")
    box = page.page.get_by_label("Sweeps per sample, value")
    box.fill("1000")
    box.press("Enter")
    expect(box).to_have_value("100")
    page.page.wait_for_url("**k=100**")
    box.fill("many")
    box.press("Enter")
    expect(box).to_have_value("100")
    said = page.page.locator(".said")
    expect(said.filter(has_text="Not a number: the value is unchanged.")).to_have_count(1)
    step = page.page.get_by_label("Step size, value")
    step.fill("0,05")
    step.press("Enter")
    page.page.wait_for_url("**eps=0.05**")
    step.fill("70")
    step.press("Enter")
    page.page.wait_for_url("**eps=10.0**")
    expect(said.filter(has_text="70 became 10")).to_have_count(1)
    # What is typed into a field is no shortcut; elsewhere keys count, also where a slider has the focus.
    n = page.counts()
    step.press("0")
    step.press("p")
    page.page.wait_for_timeout(300)
    assert page.ask("panels.map(p => p.dataset.status)") == ["running", "running"]
    assert all(now >= before for now, before in zip(page.counts(), n, strict=True))
    page.ask("panels[1].querySelector('input[type=range]').focus()")
    page.page.keyboard.press("p")
    page.until("panels.every(p => p.dataset.status === 'paused')")
    # The list of keys has those that count here, and the switch; the focus comes back.
    page.page.keyboard.press("?")
    keys = page.page.get_by_role("dialog", name="Keys")
    assert keys.locator("dt").all_text_contents()[:5] == ["P", "S", "0", "F", "?"]
    page.page.keyboard.press("p")  # does nothing behind the list
    switch = page.page.get_by_label("Single-key shortcuts")
    switch.uncheck()
    page.page.keyboard.press("Escape")
    keys.wait_for(state="hidden")
    assert page.ask("panels[1].getRootNode().activeElement === panels[1].querySelector('input[type=range]')")
    assert page.ask("panels.map(p => p.dataset.status)") == ["paused", "paused"]
    page.page.wait_for_url("**paused_at=**")
    page.page.reload()
    page.until("panels.length === 2 && panels.every(p => p.dataset.status === 'paused' && p.dataset.n > 0)")
    page.page.keyboard.press("?")
    page.page.keyboard.press("p")
    page.page.wait_for_timeout(300)
    assert page.ask("panels.map(p => p.dataset.status)") == ["paused", "paused"]
    assert not keys.is_visible()
    page.menu("Keys", keys)
    assert not switch.is_checked()


def test_page_lost_by_streamlit_reopens_once_at_each_step(live):
    """Panels that were paused at full speed stand at steps of their own."""
    page = live().open("?p=gibbs&p=gibbs:k=2&paused_at=70&paused_at=30")
    page.until(f"panels.map(p => p.dataset.n).join() === '70,30' && {PAUSED}")
    page.page.wait_for_url("**paused_at=70&paused_at=30**")
    page.page.get_by_role("button", name="Step").click()
    page.page.wait_for_url("**paused_at=71&paused_at=31**")
    broken = "dispatchEvent(new ErrorEvent('error', { message: 'Error: Bad delta path index 10' }))"
    page.page.evaluate(f"window.opened = true; {broken}")
    page.page.wait_for_function("window.opened === undefined")
    page.until(f"panels.map(p => p.dataset.n).join() === '71,31' && {PAUSED}")
    # Not again within ten seconds, which may have passed already on a busy machine.
    noted = "sessionStorage['rbmviz opened again']"
    assert page.ask(f"Number({noted})") > 0
    page.page.evaluate(f"{noted} = Date.now(); window.opened = true; {broken}")
    page.page.wait_for_timeout(1000)
    assert page.page.evaluate("window.opened")


@pytest.mark.slow
def test_address_is_kept_while_steps_are_repeated(live):
    """A second reload, or a copy of the link, then still comes to the same step."""
    page = live().open("?p=gibbs:k=100&paused_at=20000&speed=5")
    page.until("panels[0].dataset.n > 20")
    page.page.wait_for_timeout(1200)
    assert "paused_at=20000" in page.url
    page.page.get_by_role("button", name=re.compile("^Reset")).click()
    page.page.wait_for_url("**paused_at=0**")
    page.play()
    page.page.wait_for_url(lambda url: "paused_at" not in url)


def test_the_link_is_copied_or_shown(live):
    """With a clipboard it says so; where the browser gives none, the address is there, selected."""
    page = live().open("?p=gibbs:k=3&speed=5")
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.page.get_by_role("button", name="Copy link")
    page.page.wait_for_url("**p=gibbs:**")
    page.pick("Share", button)
    page.page.get_by_role("status").get_by_text("Copied").wait_for()
    assert page.page.evaluate("navigator.clipboard.readText()") == page.page.evaluate("location.href")
    page.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    button.press("Enter")
    address = page.page.get_by_label("Copy the link here")
    address.wait_for()
    assert "k=3" in address.input_value()
    length = address.evaluate("e => e.selectionEnd - e.selectionStart")
    assert length == len(address.input_value())
    page.page.keyboard.press("Escape")
    address.wait_for(state="hidden")
    assert button.evaluate("e => e.getRootNode().activeElement === e")


def test_a_link_reproduces_the_samples(live):
    page = live().open("?p=gibbs:k=2&p=rates_fpcd:eps=0.2&seed=7&speed=5")
    page.page.get_by_role("button", name="Pause").click()
    page.page.get_by_role("button", name="Play Shortcut P").wait_for()
    page.page.get_by_role("button", name=re.compile("^Reset")).click()
    page.until("panels.every(p => p.dataset.n === '0' && p.dataset.status === 'paused')")
    for n in (1, 2, 3):
        before = page.pictures()
        page.page.get_by_role("button", name="Step").click()
        page.until(f"panels.every(p => p.dataset.n === '{n}' && p.dataset.status === 'paused')")
    page.page.wait_for_url("**paused_at=3**")
    pictures = page.pictures()
    assert all(a != b for a, b in zip(before, pictures, strict=True))
    again = live().open("?" + page.url.split("?")[1])  # as a reload does
    again.until("panels.every(p => p.dataset.n === '3' && p.dataset.status === 'paused')")
    again.page.wait_for_timeout(300)
    assert again.pictures() == pictures
    assert again.page.get_by_role("button", name="Play Shortcut P").is_visible()
    assert "seed=7" in again.url


def test_panels_come_and_go(live):
    page = live()

    def remove():
        page.open("?p=gibbs&p=rates_fpcd")
        page.ask("panels[0].querySelector('.remove').click()")
        page.until("panels.length === 1 && panels[0].querySelector('h3').textContent === 'rates-FPCD'")

    page.undo(remove, "panels.length === 2 && panels.every(p => p.dataset.status === 'running')")
    page.page.get_by_role("button", name="Undo").wait_for(state="hidden")
    remove()
    page.pick("Add a sampler", "rates-herding")
    page.until("panels.length === 2 && Number(panels[1].dataset.n) > 0")
    page.page.keyboard.press("Escape")
    page.page.wait_for_url("**p=rates_herding**")
    # The new one makes the samples of the other first, and both are compared at the last point of both.
    points = "panels.map(p => p.querySelector('.standing').textContent)"
    page.until(f"{points}.every((at, _, all) => /^Scores at [0-9,]+ samples$/.test(at) && at === all[0])")
    page.page.get_by_text("seconds", exact=True).click()
    page.page.wait_for_url("**axis=seconds**")
    page.until("panels.every(p => /^Scores at [0-9.]+ s \\(/.test(p.querySelector('.standing').textContent))")

    def multiply():
        page.open("?p=rates_fpcd&p=gibbs")
        page.ask(FOLDS)
        page.pick("More like this: rates-FPCD", "Only this sampler, with step size 0.01, 0.03, 0.09, 0.27")
        page.until("panels.length === 4 && panels.every(p => Number(p.dataset.n) > 0)")
        names = [f"rates-FPCD ε {eps}" for eps in (".01", ".03", ".09", ".27")]
        assert page.ask("panels.map(p => p.querySelector('h3').textContent)") == names
        page.page.wait_for_url("**eps=0.27**")

    page.undo(multiply, "panels.length === 2 && panels.every(p => p.dataset.status === 'running')")
    for left in (1, 0):
        page.ask("panels[0].querySelector('.remove').click()")
        page.until(f"panels.length === {left}")
    page.page.wait_for_url("**p=none**")
    page.page.reload()
    page.page.get_by_text("No panel is open").wait_for()


@pytest.mark.slow
def test_back_comes_to_the_last_page_at_the_first_press(live):
    """Although a preset has set widgets meanwhile, each of which Streamlit writes into the history."""
    page = live().open("train?t=cd&train_seed=7&seed=3")

    def go(name):
        page.open_by_bar(name)
        page.page.wait_for_url(f"**/{name.lower()}?**")

    for preset in ("Four prototypes", "The yardstick"):
        page.pick("Presets", preset)
        slug = preset.lower().replace(" ", "-")
        page.page.wait_for_url(f"**preset={slug}**")
        paced = str(preset == "Four prototypes").lower()
        page.until(f"location.search.includes('pace=200') === {paced}")
    page.page.wait_for_url("**t=exact**")
    page.page.wait_for_timeout(1000)  # nothing brings the settings of the first preset back
    there = page.url
    assert "t=exact" in there
    assert "pace=" not in there
    assert "hidden=8" in there
    assert "train_seed=0&" in there  # a preset sets every control: the seed is that of the default
    assert "&seed=" not in there  # it is the Sample page's
    go("Coupling")
    page.page.wait_for_url("**/coupling?*")
    go("Weights")
    page.page.go_back()
    page.page.wait_for_url("**/coupling?*")
    page.page.go_back()
    page.page.wait_for_url(there)

    def shows_8(box, timeout):
        expect(box).to_have_value("8", timeout=timeout)

    page.menu("Settings", page.page.get_by_role("spinbutton", name="Hidden units"), shows_8)


def test_a_broken_model_is_refused_and_another_one_takes_the_same_panels(live, tmp_path):
    page = live().open("?p=gibbs&model=usps_fpcd&speed=20")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"\x80\x04pickled")
    page.upload(broken, page.page.get_by_text("is not a readable model file").first)
    page.page.keyboard.press("Escape")
    counts = page.counts()
    page.until(f"panels.every((p, i) => Number(p.dataset.n) > {counts}[i] + 5)")
    page.ask("panels[0].mark = 'the same element'")
    page.choose("Model", "Bars and Stripes, trained by PCD")
    page.page.wait_for_url("**model=bas_pcd**")
    page.until("Number(panels[0].dataset.n) > 20 && panels[0].dataset.status === 'running'")
    page.until("panels[0].querySelector('dd[data-readout=isl]')?.textContent.match(/[0-9]/)")  # scored now
    assert page.ask("panels[0].mark") == "the same element"  # nothing was built anew, nothing blinked


@pytest.mark.slow
def test_single_view_and_means(live):
    page = live()
    for query in ("?view=single", "?pixels=mean", "?view=single&pixels=mean&cells=6"):
        page.open(query)
        before = page.pictures()
        page.until("panels.every(p => Number(p.dataset.n) > 60)")
        assert all(a != b for a, b in zip(before, page.pictures(), strict=True))


SHIFTS = """(() => {
    window.shifted = 0;
    new PerformanceObserver(list => {
        for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value;
    }).observe({ type: 'layout-shift' });
})()"""
"""Adds up the layout shifts from now on."""


def test_the_first_drag_frees_a_chain_and_all_of_it_is_on_the_first_screen(live):
    page = live(LAPTOP)
    page.open("?paused_at=60")
    page.until("panels.every(p => p.dataset.n === '60' && p.dataset.status === 'paused')")
    page.page.evaluate(SHIFTS)
    page.charts.first.wait_for()
    parts = "p => [...p.querySelectorAll('.stage, .strip, .lead, .body > .knobs > .knob')]"
    chart = "document.querySelector('[class*=st-key-plot-]')"
    bottoms = f"[...panels.flatMap({parts}), {chart}].map(part => part.getBoundingClientRect().bottom)"
    assert len(page.ask(bottoms)) == 4 * 5 + 1
    assert max(page.ask(bottoms)) <= 720
    # At step size 0 the chain is that of Gibbs.
    cells = "[...panels[0].getRootNode().rbmviz.panels.values()].map(p => p.picture.cells.join())"
    gibbs, fpcd, *_ = page.ask(cells)
    assert gibbs == fpcd
    page.play()
    page.set_knob(1, "eps", 0.63)
    page.page.get_by_text("rates-FPCD: step size 0 → 0.0").first.wait_for()
    page.page.get_by_text(", before ").first.wait_for()
    assert page.page.evaluate("window.shifted") < 0.1
    assert max(page.ask(bottoms)) <= 720


PLACES = """panels.flatMap(p => [p, ...p.querySelectorAll('.stage, .strip, .lead, .knob, [type=range]')])
    .filter(e => e.checkVisibility()).map(e => e.getBoundingClientRect().top)"""
"""Of what can be seen: in a closed fold, browsers differ about places."""


def test_a_warning_moves_nothing_and_the_transport_stays(live):
    page = live().open("?p=gibbs&p=rates_fpcd&p=gibbs:k=3&speed=20")
    page.until("panels.every(p => Number(p.dataset.n) > 20)")  # a curve has five samples or more
    page.pause()
    page.until(f"{DRAWN} && {SETTLED}")  # charts have taken their place
    page.ask(FOLDS)
    nothing_moves(page)
    page.page.mouse.move(600, 600)
    page.page.mouse.wheel(0, 1500)
    page.page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 200")
    assert 0 < page.page.get_by_role("button", name="Play Shortcut P").bounding_box()["y"] < 200
    page.page.set_viewport_size({"width": 390, "height": 1000})
    page.until(f"innerWidth === 390 && {SETTLED} && panels[0].getBoundingClientRect().right <= 390")
    nothing_moves(page)


def nothing_moves(page):
    """Let the first panel say all that it may, and assert that no panel moves."""
    page.ask("""(() => {
        const panel = panels[0].getRootNode().rbmviz.panels.get(0);
        panel.head.standing = panel.head.since = panel.head.warning = '';
        panel.draw();
    })()""")
    before = page.ask(PLACES)
    # What a panel says of itself: where it is behind, what is known since a change, what is wrong. What is
    # asked of it stands in the same call: a frame of the server could come in between.
    visible, places = page.ask(f"""(() => {{
        const panel = panels[0].getRootNode().rbmviz.panels.get(0);
        panel.head.standing = 'Scores at 750 samples: this panel is behind, the first has 2,438 samples.';
        panel.head.since = 'Since sample 3,601: Step size 0.3, Decay 0.95, Sweeps per sample 12';
        panel.draw();
        return [panels[0].querySelector('.since').checkVisibility(), {PLACES}];
    }})()""")
    assert visible
    assert places == before
    # A frame without numbers, as most are while a run goes on, leaves these where they are.
    standing, since, isl = page.ask("""(() => {
        const panel = panels[0].getRootNode().rbmviz.panels.get(0), { key, run, status, n } = panel.head;
        panel.head.standing = 'Scores at 750 samples: this panel is behind, the first has 2,438 samples.';
        panel.head.since = 'Since sample 3,601: Step size 0.3, Decay 0.95, Sweeps per sample 12';
        panel.readPart({ head: { key, run, status, n: n + 3 }, blocks: {} });
        panel.draw();
        return ['.standing', '.since', '[data-readout=isl]'].map(x => panels[0].querySelector(x).textContent);
    })()""")
    assert standing.startswith("Scores at 750 samples")
    assert since.startswith("Since sample 3,601")
    assert isl != "–"
    length, places = page.ask(f"""(() => {{
        const panel = panels[0].getRootNode().rbmviz.panels.get(0);
        panel.head.warning = 'All of it is empty. '.repeat(12);
        panel.draw();
        return [panels[0].querySelector('.warning').textContent.length, {PLACES}];
    }})()""")
    assert length > 200
    assert places == before


def test_errors_of_a_link_are_shown_above_the_page(live):
    page = live().open("?p=gibbs&speed=5&cells=77")
    page.page.get_by_text("The link gives values that settings of this page cannot have").wait_for()
    page.page.get_by_text("Compare by").wait_for()  # the last row over the panels
    closing_moves_nothing(page, page.ask(PLACES))


def closing_moves_nothing(page, before):
    """Close a message that stands over the page, and assert that all is where it was."""
    close = page.page.get_by_role("button", name="Close", exact=True)
    close.click()
    close.wait_for(state="hidden")
    page.until(SETTLED)
    assert page.ask(PLACES) == before


@pytest.mark.slow
def test_a_refused_click_is_said_over_the_page_and_moves_nothing(live):
    page = live().open("chain?land_pace=1&" + "&".join(["l=gibbs"] * 12))
    styled = "getComputedStyle(document.querySelector('h1')).fontSize"  # the sheet is there still
    top = f"[panels[0].getBoundingClientRect().top, {styled}]"
    page.until(SETTLED)
    add = page.menu("Add a sampler", page.page.locator(".st-key-chain-add-gibbs button"))
    before = page.ask(top)  # which the way to the button has scrolled
    page.pick("Add a sampler", add)
    page.page.get_by_text("A page has room for 12 panels").wait_for()
    assert page.ask(top) == before


STEPS = """([url, request]) => new Promise((done, fail) => {
    const socket = new WebSocket(url);
    socket.onopen = () => socket.send(request);
    socket.onmessage = async ({ data }) => {
        done((await new Response(data).text()).match(/"n": ?(\\d+)/)[1]);
        socket.close();
    };
    socket.onclose = ({ code }) => fail(code);
})"""
"""The steps of a panel in the next frame that a live socket sends."""


def test_closing_the_tab_stops_the_runs(live):
    """Whoever connects with its token, which the server has still, is shown the same step for a second."""
    page, sent = live(), []

    def listen(socket):
        if "/live/" in socket.url:
            socket.on("framesent", lambda request: sent.append([socket.url, request]))

    page.page.on("websocket", listen)
    page.open("?p=gibbs")
    other = live()
    other.goto("_stcore/health")
    page.page.close()

    def stands():
        before = other.page.evaluate(STEPS, sent[0])
        other.page.wait_for_timeout(1000)
        return other.page.evaluate(STEPS, sent[0]) == before

    wait(stands, "a second without a step")


GRID = "panels[0].getRootNode().rbmviz"


def test_each_press_acts_once_through_lost_connections_and_lost_answers(live):
    page = live().open("?p=gibbs&p=rates_fpcd&speed=5")
    other = live().open("?p=gibbs&speed=5")
    step = "document.querySelector('.transport .step').click()"
    page.page.keyboard.press("p")
    page.until("panels.every(p => p.dataset.status === 'paused')")
    # Fifty presses in two seconds, while the connection is lost again and again.
    before = page.counts()  # on a busy machine panels may pause at different samples
    page.page.evaluate(f"""async () => {{
        const loses = setInterval(() => {GRID}.socket.close(), 330);
        for (let i = 0; i < 50; i++) {{ {step}; await new Promise(done => setTimeout(done, 40)); }}
        clearInterval(loses);
    }}""")
    page.until(f"panels.every((p, i) => Number(p.dataset.n) === {before}[i] + 50)")
    page.until("panels[0].getRootNode().querySelector('.banner').hidden")
    # The server has carried out a press, and its answer is lost: the press is sent again.
    page.page.evaluate(f"""async () => {{
        const grid = {GRID}, {{ onmessage }} = grid.socket;
        grid.socket.onmessage = event => {{ if (typeof event.data !== 'string') onmessage(event); }};
        {step};
        await new Promise(done => setTimeout(done, 300));
        window.unanswered = grid.presses.waiting.length;
        grid.socket.close();
    }}""")
    page.until(f"{GRID}.presses.waiting.length === 0")
    assert page.ask("window.unanswered") == 1
    page.until(f"panels.every((p, i) => Number(p.dataset.n) === {before}[i] + 51)")
    # The keys, and both buttons of one: an odd number of presses plays.
    page.page.evaluate("""() => {
        for (let i = 0; i < 21; i++) document.querySelector('.transport .play').click();
    }""")
    page.page.get_by_role("button", name="Pause Shortcut P").wait_for()
    page.until("panels.every(p => p.dataset.status === 'running')")
    page.page.keyboard.press("0")
    page.page.keyboard.press("s")
    page.until("panels.every(p => p.dataset.status === 'paused' && p.dataset.n === '1')")
    page.page.wait_for_timeout(500)
    assert page.counts() == [1, 1]
    # Another page of the same browser plays on.
    other.until("panels[0].dataset.status === 'running'")


def test_downloads_hold_what_the_page_shows(live, tmp_path):
    page = live().open("?p=gibbs&p=rates_fpcd")
    page.until("panels.every(p => Number(p.dataset.n) > 50)")
    page.pause()
    files = {}
    for name in ("Data (.csv)", "Live page"):
        download = page.save(name)
        files[name] = tmp_path / download.suggested_filename
        download.save_as(files[name])
    assert b"worker-src blob:" in files["Live page"].read_bytes()
    curves = files["Data (.csv)"].read_text()
    assert curves.startswith("chart,kind,x,y,sampler,n,n_scored,sweeps,isl,std_error,beta,seconds,")
    assert {row["sampler"] for row in csv.DictReader(curves.splitlines())} >= {"Gibbs", "rates-FPCD"}
    known = json.loads(next(csv.DictReader(curves.splitlines()))["origin"])
    assert (known["seeds"], list(known["data"])) == ([0], ["mnist5k"])
    assert 'rbmviz.make_sampler("rates_fpcd"' in known["command"]


@pytest.mark.slow
def test_a_connection_lost_for_long_loses_no_work(live):
    """The runs were put to rest meanwhile, and are made again: the same run, from the same sample on."""
    page = live()
    page.page.add_init_script(
        "window.sockets = []; window.WebSocket = class extends WebSocket {"
        " constructor(...of) { super(...of); window.sockets.push(this); } };"
    )
    page.open("?p=gibbs&p=rates_fpcd&speed=200")
    page.until("panels.every(p => Number(p.dataset.n) > 200)")
    run = "[...panels[0].getRootNode().rbmviz.panels.values()].map(p => p.head.run)"
    before, runs, frames = page.counts(), page.ask(run), []
    page.page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    page.page.context.set_offline(True)
    page.page.evaluate("window.sockets.forEach(socket => socket.close())")
    page.page.wait_for_timeout(1000 * (RELEASE_SECONDS + 2))
    page.page.context.set_offline(False)
    page.until(f"panels.every((p, i) => Number(p.dataset.n) > {before}[i] + 100)")
    page.until("panels.every(p => p.dataset.status === 'running')")
    assert page.ask(run) == runs
    assert any(isinstance(frame, bytes) and b'"rebuilding"' in frame for frame in frames)
    page.errors.clear()  # the browser reports what it could not reach
