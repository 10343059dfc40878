"""The button that downloads data that are not on this machine."""

from data_mirror import newsgroups_files, publish
from page_settings import race_of
from waiting import wait

from rbmviz.datasets import list_datasets, missing_data, raw
from rbmviz_app import data_download

KEY = "train download data"


def ended():
    """Wait until no download is under way."""
    known = data_download._downloads
    wait(
        lambda: not any(download.thread.is_alive() for download in known.values()), "the end of the download"
    )
    return known


def test_data_are_downloaded_after_a_click_or_one_sentence_says_why_not(page, mirror, monkeypatch):
    data_download._downloads.clear()
    test = page("train", train_data="newsgroups", t="cd")
    race = race_of(test, "train")
    assert test.button(key=KEY).label == "Download newsgroups (1 MB)"
    assert not data_download._downloads  # a link alone downloads nothing
    test.button(key=KEY).click().run()
    ended()
    test.run()
    assert "404 File not found" in test.error[-1].value
    want, files = newsgroups_files()
    publish(mirror, "newsgroups", files, monkeypatch, shapes=want, content=None)
    test.button(key=KEY).click().run()
    known = ended()
    assert known["newsgroups"].received == sum(map(len, files.values()))
    test.run()
    assert not test.error, test.error[0].value
    assert not [button for button in test.button if button.key == KEY]
    assert race.setup.dataset.name == "newsgroups"


def test_only_what_is_published_and_missing_is_offered(mirror):
    assert missing_data("mnist55k") == ("mnist", 11.6)
    assert missing_data("usps@0.3") == ("usps", 8.4)
    for name in ("bas", "mnist5k@0.5", "reviews", "film_reviews", "nosuch", "../usps", None, 7):
        assert missing_data(name) is None
    for source in map(raw.source_of, list_datasets()):
        assert (source.megabytes > 0) == bool(source.hosts)
