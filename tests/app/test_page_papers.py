"""The ledger's page: every claim with its verdict, contents, filters, search, and figures."""

import re
from html import unescape

import pytest
from page_settings import set_settings
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rbmviz.reproduce import PAPERS
from rbmviz.reproduce.ledger import APP, address, ledger, stored_figure
from rbmviz.session.further_run import FurtherRun
from rbmviz_app.pages.papers import figures
from rbmviz_app.pages.papers.page import live_address, prose


def bodies(test):
    return [one.proto.body for one in test.get("html")]


def entries(test):
    """Return the HTML of the entries on the page."""
    return [body for body in bodies(test) if body.startswith('<article class="papers-entry"')]


def claims(test):
    return re.findall(r'<details class="claim">.*?</details>', "".join(entries(test)))


def contents(test):
    return re.findall(r'<a href="#(\w+)">(.*?)</a>', "".join(bodies(test)))


def test_every_claim_stands_with_its_verdict(page):
    shown = claims(page("papers"))
    expected = [claim for result in ledger() for claim in result["claims"]]
    assert len(shown) == len(expected)
    for html, claim in zip(shown, expected, strict=True):
        line = html.partition("</summary>")[0]
        assert claim["verdict"] in line
        assert prose(claim["text"]) in line
        assert f'href="{live_address(claim["live_link"])}"' in unescape(html)
        assert prose(claim["reason"]) in html


def test_contents_lead_to_all_entries_by_number_of_figure_and_table(page):
    test = page("papers")
    listed = contents(test)
    assert [name for name, _ in listed] == [re.search(r'id="(\w+)"', html)[1] for html in entries(test)]
    assert dict(listed)["rates_fpcd_isl_curves"] == "Figure 2: ISL against samples on USPS"
    assert dict(listed)["unbiased_cd_bas"] == "Figures 2, 6; table 1: Training on Bars and Stripes"
    figures_of = [
        re.match(r"Figures? (\d+)", text) for name, text in listed if name.startswith("unbiased_cd")
    ]
    numbers = [int(found[1]) for found in figures_of if found]
    assert numbers == sorted(numbers)
    assert {2, 3, 4, 5} <= set(numbers)
    assert figures_of[-1] is None  # what has no number comes last


def test_filters(page):
    test = page("papers")
    set_settings(test, ledger_paper="population_cd")
    test.run()
    own = [claim for one in ledger() if one["paper"] == "population_cd" for claim in one["claims"]]
    assert len(claims(test)) == len(own)
    assert [one.value for one in test.header] == [PAPERS["population_cd"].title]
    set_settings(test, ledger_verdict="not run at this size")
    test.run()
    assert len(claims(test)) == sum(claim["verdict"] == "not run at this size" for claim in own)


def test_a_search_finds_words_of_claims_and_numbers_of_figures(page):
    test = page("papers")
    set_settings(test, ledger_search="herding FIGURE 2")
    test.run()
    assert [name for name, _ in contents(test)] == ["rates_fpcd_isl_curves"]
    assert 0 < len(claims(test)) < 5
    set_settings(test, ledger_search="<b>no such words")
    test.run()
    assert not claims(test)
    assert "No claim has this verdict and these words." in [one.value for one in test.caption]


def test_the_figure_comes_first_and_every_entry_says_how_it_is_measured(page):
    """A picture has its size before it arrives, so that nothing below it moves."""
    shown = entries(page("papers"))
    for html, result in zip(shown, ledger(), strict=True):
        assert result["command"] in unescape(html)
        if result["figure"] is None:
            assert "<img" not in html
            continue
        assert html.index("<img") < html.index('class="claim"')
        [picture] = re.findall("<img[^>]*>", html)
        width, height = figures.figure_size(result["recipe"])
        assert f'width="{width}" height="{height}"' in picture
        assert 'loading="lazy"' in picture
        assert len(re.search('alt="(.*?)"', picture)[1]) > 20


def test_an_open_entry_is_run_on_and_says_what_that_adds(page, monkeypatch):
    """Only what is undecided or of a quick run has the button, if a seed takes less than ten minutes."""
    monkeypatch.setattr(FurtherRun, "start", lambda run: None)
    test = page("papers")
    buttons = {one.key: one for one in test.button if one.label == "Run for ten minutes"}
    sizes = {result["recipe"]: result["size"] for result in ledger()}
    assert buttons.keys() >= {f"further {name}" for name, size in sizes.items() if size == "quick"}
    assert not {"further unbiased_cd_yardsticks", "further rates_fpcd_sequences"} & buttons.keys()
    assert "Further seeds, about 0.02 minutes each." in [one.value for one in test.caption]
    buttons["further rates_fpcd_speed"].click().run()
    [run] = test.session_state["further runs"].values()
    assert (run.recipe, run.minutes, run.status) == ("rates_fpcd_speed", 10, "queued")
    assert "further rates_fpcd_speed" not in {one.key for one in test.button}
    next(one for one in test.button if one.label == "Stop").click().run()
    assert run.status == "stopped"
    run.outcome, run.figure = {"changes": ["2 seeds added.", "not decided → holds: 1 < 2"]}, b"<svg/>"
    test.run()
    [report] = [body for body in bodies(test) if 'role="status"' in body]
    assert "<p>not decided → holds: 1 &lt; 2</p>" in report
    assert "data:image/svg+xml;base64,PHN2Zy8+" in report
    monkeypatch.setenv("RBMVIZ_SWEEPS", "0")
    next(one for one in test.button if one.key == "further rates_fpcd_speed").click().run()
    assert "RBMVIZ_SWEEPS" in test.toast[0].value


@pytest.mark.parametrize(("form", "begins"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_a_figure_downloads_in_the_forms_of_papers(form, begins):
    name = "rates_fpcd_decay"
    with TestClient(Starlette(routes=figures.routes)) as client:
        answer = client.get(figures.figure_address(name, form))
        assert answer.status_code == 200
        assert answer.headers["content-type"] == figures.MEDIA_TYPES[form]
        assert answer.content.startswith(begins)
        assert (answer.content == stored_figure(name)) == (form == "svg")
        for other in ("nothing", "..%2Frates_fpcd_decay", "rates_fpcd_decay-full"):
            assert client.get(figures.figure_address(other, form)).status_code == 404
        assert client.get(figures.figure_address(name, "json")).status_code == 404


def test_a_live_page_is_opened_by_its_address():
    """That of the first page has no name: Streamlit says of '/sample' that there is no such page."""
    assert live_address("sample?p=gibbs&v=2") == "./?p=gibbs&v=2"
    assert live_address("train?t=cd&v=2") == "./train?t=cd&v=2"
    for claim in (claim for result in ledger() for claim in result["claims"]):
        assert address(claim["live_link"]) == f"{APP}/{live_address(claim['live_link']).removeprefix('./')}"
