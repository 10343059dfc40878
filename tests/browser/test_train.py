"""The Train page in a browser."""

import json
import re
import struct

import numpy as np
import pytest

pytestmark = pytest.mark.browser


def test_trainers_learn_side_by_side_and_a_knob_acts(live):
    page = live().open("train?t=cd:learning_rate=0.1&t=ucd:learning_rate=0.1&pace=200")
    assert page.ask("panels.map(p => p.querySelector('h3').textContent)") == ["CD-k", "UCD"]
    before, counts = page.pictures(), page.counts()
    page.until(f"panels.every((p, i) => Number(p.dataset.n) > {counts}[i] + 150)")
    assert all(a != b for a, b in zip(before, page.pictures(), strict=True))
    page.until("panels.every(p => p.querySelector('dd[data-readout=likelihood]').textContent.match(/[0-9]/))")
    page.until("panels[1].querySelector('dd[data-readout=tau_mean]').textContent.match(/[0-9]/)")
    assert float(page.number(1, "tau_mean")) >= 2
    page.charts.nth(1).wait_for()
    # Each panel's numbers are its newest, and say so; the switch compares them where both have been.
    scored = "panels.every(p => /^Scored at [0-9,]+ updates$/.test(p.querySelector('.standing').textContent))"
    page.until(scored)
    page.page.get_by_text("Compare at the same point", exact=True).click()
    page.page.get_by_text(re.compile(r"At [0-9,]+ updates: \w.* −[0-9.]+, \w.* −[0-9.]+\.")).wait_for()
    page.page.get_by_role("radio", name="sweeps").click()
    page.page.get_by_text(re.compile(r"At [0-9,]+ Gibbs sweeps: ")).wait_for()
    page.page.get_by_role("radio", name="updates").click()
    # A learning rate of 10 throws the likelihood away; the run goes on, it is not begun anew.
    n = page.counts()[0]
    page.set_knob(0, "learning_rate", 1.0, commit=False)
    page.until("Number(panels[0].querySelector('dd[data-readout=likelihood]').textContent) < -11.5")
    assert page.counts()[0] > n
    page.set_knob(0, "learning_rate", 1.0)
    page.page.wait_for_url("**learning_rate=10.0**")


def test_branch_sample_and_keep_what_was_learned(live, tmp_path):
    page = live().open("train?t=pcd:learning_rate=0.1&pace=200")
    page.until("Number(panels[0].dataset.n) > 50")
    # Charts that come late would push the open list out of sight.
    page.charts.nth(1).wait_for()
    page.pick("Branch", page.page.get_by_test_id("stPopoverBody").get_by_role("button", name="UCD"))
    page.until(
        "panels.length === 2 && panels[1].querySelector('h3').textContent.startsWith('UCD from PCD at ')"
    )
    page.until("Number(panels[1].dataset.n) > 60")
    page.pause()
    count, files = page.counts()[0], {}
    for name in ("Model", "Checkpoint", "Data (.csv)"):
        download = page.save(name)
        files[name] = tmp_path / download.suggested_filename
        download.save_as(files[name])
    content = files["Model"].read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["rbmviz"])
    assert (header["trainer"], header["updates"]) == ("pcd", count)
    assert files["Data (.csv)"].read_text().startswith("chart,kind,x,y,trainer,")
    # The checkpoint goes on in a panel of its own, from the update where it was taken.
    uploader = page.menu("Settings", page.page.get_by_test_id("stFileUploader").last)
    uploader.locator("input[type=file]").set_input_files(files["Checkpoint"])
    page.until("panels.length === 3 && panels[2].querySelector('h3').textContent === 'PCD resumed'")
    page.until(f"Number(panels[2].dataset.n) === {count}")
    page.page.keyboard.press("Escape")
    page.page.get_by_role("button", name="To the Sample page").click()
    page.page.get_by_text("Which sampler gets stuck?").wait_for()
    page.until("panels.length === 4 && panels.every(p => Number(p.dataset.n) > 20)")
    assert "PCD" in page.page.get_by_role("combobox", name="Model").input_value()


@pytest.mark.slow
def test_bad_data_are_refused_and_own_data_survive_another_page_and_a_reload(live, tmp_path):
    page = live().open("train?t=cd&pace=200")
    own = page.page.get_by_text("All panels train on your file")
    page.page.get_by_text("Compare at the same point").wait_for()
    (tmp_path / "broken.csv").write_text("1,0,1\n1,0,oops\n")
    page.upload(tmp_path / "broken.csv", page.page.get_by_text("oops").first)
    page.page.keyboard.press("Escape")
    assert own.count() == 0
    assert page.page.get_by_role("combobox", name="Data").input_value() == "Bars and Stripes"
    rows = np.random.default_rng(0).integers(0, 2, (60, 9))
    np.savetxt(tmp_path / "rows.csv", rows, fmt="%d", delimiter=",")
    page.upload(tmp_path / "rows.csv", own)
    page.until("Number(panels[0].dataset.n) > 50 && panels[0].dataset.status === 'running'")
    page.page.keyboard.press("Escape")

    def go_and_return():
        page.open_by_bar("Sample")
        page.page.get_by_text("Which sampler gets stuck?").wait_for()
        page.open_by_bar("Train")

    for act in (go_and_return, page.page.reload):
        n = page.counts()[0]
        act()
        own.wait_for()
        page.until(f"panels.length === 1 && Number(panels[0].dataset.n) > {n}")
        assert page.page.get_by_role("combobox", name="Data").input_value() == "rows.csv"
    page.pick("Settings", "Continue without rows.csv")
    page.page.wait_for_function(
        "document.querySelector('input[aria-label=Data]').value === 'Bars and Stripes'"
    )
