"""Links from untrusted sources: they never open files, and their text is shown as plain text."""

import functools
import itertools
import re

import pytest
from page_settings import race_of, settings_of
from waiting import wait

from rbmviz.pages import PAGES
from rbmviz_app import links as app_links
from rbmviz_app import pages
from rbmviz_app.messages import MAX_MESSAGE, plain

INJECTED = (
    "![x](http://evil.example/a.png) [a](http://evil.example) <img src=x onerror=alert(1)> :red[x] `c` $x$"
)
VALUES = [INJECTED, "1e999", "9" * 400, "", "-7.5", "\u202e\x00😀é/../x"]


def keys(page):
    """The names of an address that a page reads: of its widgets, and its own."""
    return [*pages.names_of_page(page), "paused", "paused_at", "present"]


@pytest.fixture
def visit(page):
    """Open a page by an address, as a browser does."""
    return functools.partial(page, shell=True)


def said(test):
    """What a page says about its link, and all else that it writes."""
    return [
        one.value
        for kind in ("warning", "error", "info", "caption", "markdown")
        for one in getattr(test, kind)
    ]


@pytest.mark.parametrize("shift", [0, 1, 2])
@pytest.mark.parametrize("name", ["sample", "train", "coupling", "weights", "chain", "tune"])
def test_a_hostile_link_opens_the_page_all_the_same(visit, name, shift):
    """Every name has a hostile value, and each one another: the next of the list in the next test."""
    values = itertools.islice(itertools.cycle(VALUES), 2 * shift, None)
    test = visit(name, **dict(zip(keys(name), values, strict=False)))
    assert any("link" in text for text in said(test))
    for text in said(test):
        assert not re.search(r"(?<!\\)\]\(http|(?<!\\)<img|(?<!\\):red|http://evil", text)


def test_invalid_setting_is_named_with_its_replacement(visit):
    test = visit(
        "train", hidden="abc", pace="30", part="train", train_data="bas@3", train_seed="7.0", log="1"
    )
    [warning] = test.warning
    assert warning.value == (
        "The link gives values that settings of this page cannot have: it opens with hidden = 16 "
        "(not 'abc'), train_seed = 0 (not '7.0'), log = false (not '1'), pace = 500 (not '30')."
    )
    assert (settings_of(test)["hidden"], settings_of(test)["train_data"]) == (16, "bas@3")
    assert test.run().warning  # until it is closed, and no more after it
    assert not test.button(key="train link warnings close alert").click().run().warning


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [("coupling", "coupling_start", "data"), ("train", "rule", "0.3"), ("train", "statistic", "weight_norm")],
)
def test_an_address_opens_again_where_the_page_has_other_words_for_a_value(
    visit, address_of, name, key, value
):
    test = visit(name, **{key: value})
    assert settings_of(test)[key] == value
    assert address_of(test)[key] == [value]


def test_address_has_every_setting_of_the_samples(visit, address_of):
    """It opens the same runs even if a default has changed."""
    said = address_of(visit("train", t="cd"))
    of_samples = {name for name, setting in PAGES["train"].settings.items() if setting.makes_samples}
    assert {name: said[name] for name in of_samples} == {
        "train_data": ["bas"],
        "hidden": ["16"],
        "train_seed": ["0"],
        "replicates": ["1"],
    }
    assert not set(said) - {"t", *of_samples}  # no other default


@pytest.mark.parametrize("name", ["secret.txt", "secret.txt@20", "./secret.txt", "bas/../secret.txt"])
def test_a_link_reads_no_file(visit, tmp_path, monkeypatch, name):
    (tmp_path / "secret.txt").write_text(
        "\n".join(f"the password number {i} is swordfish alpha beta" for i in range(40))
    )
    (tmp_path / "bas").mkdir()
    monkeypatch.chdir(tmp_path)
    for path in (name, str(tmp_path / name)):
        test = visit("train", train_data=path, t="cd")
        [warning] = test.warning
        assert warning.value.startswith("The server has forgotten your file")
        assert race_of(test, "train").setup.dataset.name == "bas"
        assert "swordfish" not in str(test)


def test_words_from_outside_are_plain_text():
    assert (
        plain("usps@0.5: mnist_fpcd has 256 units, 'a' 784") == "usps@0.5: mnist_fpcd has 256 units, 'a' 784"
    )
    assert plain("a\n# b\u202e\x00c") == r"a \# b c"
    assert plain("_a_ *b* `c` $d$ ~e~") == r"\_a\_ \*b\* \`c\` \$d\$ \~e\~"
    assert plain("![x](y) <b> :red[z]") == r"!\[x\](y) \<b\> \:red\[z\]"
    assert plain(r"\[a](b)") == r"\\\[a\](b)"
    for address in ("https://evil.example", "HTTP://evil.example", "www.evil.example", "a@evil.example"):
        shown = plain(f"see {address} now")
        assert address not in shown  # something invisible parts it, or it would become a link
        assert shown.replace("\u2060", "") == f"see {address} now"
    assert len(plain("x" * 10**6)) == MAX_MESSAGE + 1


@pytest.mark.parametrize(
    ("texts", "steps"),
    [
        (["30"], [30, 30]),
        (["30", "7"], [30, 7]),  # at full speed panels stand at steps of their own
        (["30", "7", "8"], [7, 7]),
        (["٣"], None),
    ],
)
def test_a_paused_page_opens_where_it_stood(page, texts, steps):
    test = page("train", t=["cd", "pcd"], paused_at=texts)
    race = race_of(test, "train")
    assert race.running == (steps is None)
    assert not [one.value for one in test.warning if "steps again" in one.value]
    if steps is not None:
        want = [(n, "paused") for n in steps]
        wait(lambda: [(s.n, s.status) for _, s in race.poll()] == want, "its steps")


def test_no_link_makes_a_server_repeat_more_steps_than_it_may(page, monkeypatch):
    """And the page says so: it stands elsewhere than the link."""
    monkeypatch.setattr(app_links, "MAX_REPEATED_STEPS", 40)
    test = page("train", t="cd", paused_at="999999999999")
    race = race_of(test, "train")
    wait(lambda: [(s.n, s.status) for _, s in race.poll()] == [(40, "paused")], "its steps")
    said = " ".join(one.value for one in [*test.warning, *test.info, *test.caption])
    assert "The link was made at step 999,999,999,999. A page makes at most 40 steps again" in said
