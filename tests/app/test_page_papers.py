"""The ledger's page: every claim with its verdict, contents, filters, search, and figures."""

import re
from html import unescape

from page_settings import set_settings

from rbmviz.ledger import PAPERS, ledger
from rbmviz_app.pages.papers.page import VERDICT_BADGES, live_address, prose


def bodies(test):
    return [one.proto.body for one in test.get("html")]


def entries(test):
    """Return the HTML of the entries on the page."""
    return [body for body in bodies(test) if body.startswith('<article class="papers-entry"')]


def claims(test):
    return re.findall(r'<details class="claim">.*?</details>', "".join(entries(test)))


def contents(test):
    """Return name, number and title, and the icons of the verdicts of each entry."""
    names = [re.search(r'id="(\w+)"', html)[1] for html in entries(test)]
    lines = [fold.label.replace("\\", "").partition(" :") for fold in test.expander]
    return [
        (name, title, re.findall(r"material/(\w+)", marks))
        for name, (title, _, marks) in zip(names, lines, strict=True)
    ]


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


def test_entries_are_folded_and_listed_with_their_verdicts(page):
    test = page("papers")
    listed = contents(test)
    assert [name for name, *_ in listed] == [result["recipe"] for result in ledger()]
    for (*_, icons), result in zip(listed, ledger(), strict=True):
        assert icons == [VERDICT_BADGES[claim["verdict"]][1] for claim in result["claims"]]
    assert not any(fold.proto.expanded for fold in test.expander)


def test_filters_and_search_find_entries(page):
    test = page("papers")
    set_settings(test, ledger_paper="population_cd", ledger_verdict="not run at this size").run()
    own = [claim for one in ledger() if one["paper"] == "population_cd" for claim in one["claims"]]
    assert len(claims(test)) == sum(claim["verdict"] == "not run at this size" for claim in own)
    assert [one.value for one in test.header] == [PAPERS["population_cd"].title]
    test = page("papers")
    set_settings(test, ledger_search="herding FIGURE 2").run()
    assert [name for name, *_ in contents(test)] == ["rates_fpcd_isl_curves"]
    assert test.expander[0].proto.expanded  # the only one
    assert 0 < len(claims(test)) < 5
    set_settings(test, ledger_search="<b>no such words").run()
    assert not claims(test)
    assert "No claim has this verdict and these words." in [one.value for one in test.caption]
