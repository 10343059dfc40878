"""Links as strangers write them: nothing is read that they name, what is shown of them is plain text."""

import functools
import re

import pytest

from app.messages import MAX_MESSAGE, plain
from rbmviz import links

INJECTED = (
    "![x](http://evil.example/a.png) [a](http://evil.example) <img src=x onerror=alert(1)> :red[x] `c` $x$"
)
VALUES = {
    "injected": INJECTED,
    "infinite": "1e999",
    "digits": "9" * 400,
    "empty": "",
    "negative": "-7.5",
    "strange": "\u202e\x00😀é/../x",
}


PANELS = {"sample": "p", "train": "t", "coupling": "c", "weights": "w", "chain": "l A lam"}


def keys(page):
    """The names of an address that a page reads: of its widgets, and its own."""
    return [*links.DEFAULTS[links.VERSION].settings[page], *PANELS[page].split(), "present", "v"]


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


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("name", ["sample", "train", "coupling", "weights", "chain"])
def test_a_hostile_link_opens_the_page_all_the_same(visit, name, kind):
    test = visit(name, **dict.fromkeys(keys(name), VALUES[kind]))
    assert any("link" in text for text in said(test))
    for text in said(test):
        assert not re.search(r"(?<!\\)\]\(http|(?<!\\)<img|(?<!\\):red|http://evil", text)


@pytest.mark.parametrize("value", ["nan", "-1", "1e999", "7", "<img>"])
def test_a_matrix_that_is_none_is_left_out(visit, value):
    test = visit("chain", little="matrix", A=";".join([",".join([value] * 3)] * 3), lam=value)
    assert any("numbers from 0 to 1" in warning.value for warning in test.warning)
    test = visit("chain", little="matrix", A=",".join([value] * 10_000))
    assert any("not square" in warning.value for warning in test.warning)


@pytest.mark.parametrize("name", ["secret.txt", "secret.txt@20", "./secret.txt", "bas/../secret.txt"])
def test_a_link_reads_no_file(visit, tmp_path, monkeypatch, name):
    (tmp_path / "secret.txt").write_text(
        "\n".join(f"the password number {i} is swordfish alpha beta" for i in range(40))
    )
    (tmp_path / "bas").mkdir()
    monkeypatch.chdir(tmp_path)
    for path in (name, str(tmp_path / name)):
        test = visit("train", train_data=path, t="cd")
        [error] = test.error
        assert error.value.startswith("The link's data are left out.")
        assert test.session_state["comparisons"]["train"][0].setup.dataset.name == "bas"
        assert "swordfish" not in str(test)


def test_a_variant_of_registered_data_is_taken(visit):
    test = visit("train", train_data="bas@3", t="cd")
    assert not test.error
    assert test.session_state["comparisons"]["train"][0].setup.dataset.name == "bas@3"
    for name in ("bas@100000", "modes@nan", "modes@1e999", "bas@3@4"):
        assert len(visit("train", train_data=name, t="cd").error) == 1


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
