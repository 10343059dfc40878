"""The ledger's page: every claim with its verdict, filters, and the figure of an entry that is opened."""

from page_settings import set_settings

from rbmviz.reproduce import PAPERS
from rbmviz.reproduce.ledger import APP, address, ledger
from rbmviz_app.pages.papers.page import live_address


def claims(test):
    return [one.value for one in test.markdown if "-badge[" in one.value and "Paper:" in one.value]


def test_every_claim_stands_with_its_verdict(page):
    shown = claims(page("papers"))
    expected = [claim for result in ledger() for claim in result["claims"]]
    assert len(shown) == len(expected)
    for text, claim in zip(shown, expected, strict=True):
        assert claim["verdict"] in text
        assert claim["text"] in text
        assert f"Run\u00a0it\u00a0live]({live_address(claim['live_link'])})" in text


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


def test_details_of_every_entry(page):
    """The figure is made when an entry is opened, and of every stored result."""
    test = page("papers")
    assert not test.get("vega_lite_chart")
    for result in ledger():
        test.session_state[f"ledger details {result['recipe']}"] = True
    test.run()
    assert not test.exception
    assert len(test.get("vega_lite_chart")) >= sum(one["figure"] is not None for one in ledger())


def test_a_live_page_is_opened_by_its_address():
    """That of the first page has no name: Streamlit says of '/sample' that there is no such page."""
    assert live_address("sample?p=gibbs&v=2") == "./?p=gibbs&v=2"
    assert live_address("train?t=cd&v=2") == "./train?t=cd&v=2"
    for claim in (claim for result in ledger() for claim in result["claims"]):
        assert address(claim["live_link"]) == f"{APP}/{live_address(claim['live_link']).removeprefix('./')}"
