"""The browser's reader of frames, against frames that Python has written."""

import base64
import typing

import frame_cases as cases
import numpy as np
import pytest

from rbmviz.metrics.numbers import Format, digits3
from rbmviz.view import PANEL_FOLDER, SHARED_SCRIPTS

pytestmark = pytest.mark.browser

READ = """base64 => {
    const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));
    try {
        const { request, panels } = readFrame(bytes.buffer);
        const rows = block =>
            Array.from({ length: rowCount(block) }, (_, row) => [...unpackBits(block, row)]);
        const numbers = block => block.dtype === 'bits' ? rows(block) : [...block.data];
        for (const { blocks } of panels) for (const name in blocks) blocks[name] = numbers(blocks[name]);
        return { request, panels };
    } catch (error) {
        return error.message;
    }
}"""


@pytest.fixture(scope="module")
def page(chromium):
    """An empty page with the scripts that all canvases share."""
    page = chromium.new_page()
    page.add_script_tag(content="\n".join((PANEL_FOLDER / name).read_text() for name in SHARED_SCRIPTS))
    yield page
    page.close()


def read(page, frame):
    return page.evaluate(READ, base64.b64encode(frame).decode())


def test_the_browser_reads_what_python_writes(page):
    frame = read(page, cases.WHOLE)
    assert frame["request"] == cases.REQUEST
    assert [panel["head"] for panel in frame["panels"]] == cases.HEADS
    first, second = (panel["blocks"] for panel in frame["panels"])
    assert first["v"] == cases.BITS.tolist()
    for name, array in cases.ARRAYS.items():
        np.testing.assert_array_equal(np.array(first[name], array.dtype), array.ravel())
    assert second["v"] == []


def test_the_browser_refuses_what_is_damaged(page):
    for problem, frame in cases.DAMAGED.items():
        found = read(page, frame)
        assert isinstance(found, str), problem
        assert found.startswith("A frame is damaged: "), (problem, found)


def test_every_format_of_a_readout_can_be_drawn(page):
    assert set(page.evaluate("Object.keys(FORMATS)")) == set(typing.get_args(Format))
    for number, text in {0: "0", 0.012345: "0.0123", 12.5: "12.5", 1234.5: "1230", 98765: "98800"}.items():
        assert page.evaluate("x => FORMATS.digits3(x)", number) == digits3(number) == text
    written = {
        "fixed1": "0.5",
        "signed2": "+0.46",
        "share": "46 %",
        "compact": "0.456",
        "plus_minus": "± 0.5",
    }
    for name, text in written.items():
        assert page.evaluate("([name, x]) => FORMATS[name](x)", [name, 0.456]) == text
    for value, text in {(-208.62, 0.456): "-208.6 ± 0.46", (-1.5, None): "-1.5", -1.234: "-1.23"}.items():
        value = list(value) if isinstance(value, tuple) else value
        assert page.evaluate("x => FORMATS.with_error(x)", value) == text
    percents = page.evaluate("[0, 0.0012, 27.4, 99.4, 99.7, 100].map(x => FORMATS.precision2(x))")
    assert percents == ["0.0", "0.0012", "27", "99", "100", "100"]
    shown = page.evaluate("[null, NaN, 'AIS …', 2].map(x => readoutText({ format: 'fixed1', unit: '%' }, x))")
    assert shown == ["–", "NaN %", "AIS …", "2.0 %"]


def test_a_rate_is_what_has_been_seen_in_the_last_seconds(page):
    """Frames come at uneven times; a minute without steps, because they were paused, is none of slow ones."""
    ask = "rows => { const rate = new Rate(); return rows.map(([count, now]) => rate.rateAt(count, now)); }"
    rows = [[5, 0], [5, 900], [6, 1000], [6, 1900], [7, 2000], [67, 3000], [67, 5900], [67, 6100], [2, 6200]]
    assert page.evaluate(ask, rows) == [None, None, 1, 1, 1, pytest.approx(62 / 3), 60, 0, None]
    ask = """rows => {
        const spec = { name: 'rate', label: 'Rate', help: [], format: 'rate', unit: '' };
        const shown = new ShownReadout({ ...spec, formula: '', source: '' });
        return rows.map(([count, now, running]) => {
            performance.now = () => now;
            shown.draw(count, running);
            return shown.text;
        });
    }"""
    rows = [[5, 0, True], [6, 1000, True], [6, 1500, False], [6, 61000, True], [7, 62000, True]]
    unknown, one, none = "–", page.evaluate("FORMATS.rate(1)"), page.evaluate("FORMATS.rate(0)")
    assert page.evaluate(ask, rows) == [unknown, one, none, unknown, one]
