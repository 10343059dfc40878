"""The grammar of links: text and back, versions and their defaults, what is refused."""

import numpy as np
import pytest

from rbmviz import BadInput, links, make_sampler, make_trainer
from rbmviz.knobs import values_of, write_knobs
from rbmviz.links import (
    knob_values,
    read_matrix,
    read_panels,
    settings_left_out,
    version_of,
    write_matrix,
    write_panel,
)
from rbmviz.registry import samplers, trainers
from rbmviz.samplers import list_samplers
from rbmviz.session import Coupling
from rbmviz.trainers import list_trainers


@pytest.mark.parametrize(
    "algorithm",
    [*map(make_sampler, list_samplers()), *map(make_trainer, list_trainers())],
    ids=lambda algorithm: algorithm.name,
)
def test_a_link_brings_every_algorithm_back(algorithm):
    table = samplers if algorithm.name in list_samplers() else trainers
    read, refused = read_panels(table, [write_panel(algorithm), algorithm.name])
    assert read == [algorithm, algorithm]
    assert not refused


def test_links_with_mistakes_say_so():
    texts = ["gibbs:k=3", "gibs", "gibbs:k=0", "gibbs:hot=1", "rates_fpcd:eps=warm"]
    read, refused = read_panels(samplers, texts)
    assert [write_panel(sampler) for sampler in read] == ["gibbs:k=3"]
    assert len(refused) == 4
    assert "did you mean 'gibbs'" in refused[0]
    with pytest.raises(BadInput, match="1 to 100"):
        links.read_panel(samplers, "gibbs:k=0")


def test_the_newest_version_has_todays_defaults():
    """Where this fails, a default has changed: add a version to ``links.DEFAULTS``, leave old ones alone."""
    known = links.DEFAULTS[links.VERSION].knobs
    today = [*map(make_sampler, list_samplers()), *map(make_trainer, list_trainers()), Coupling()]
    assert len({algorithm.name for algorithm in today}) == len(today)
    for algorithm in today:
        if algorithm.name in known:  # else it is younger than the version
            assert knob_values(type(algorithm), known[algorithm.name]) == values_of(algorithm)
            assert len(known[algorithm.name].split(",")) == len(values_of(algorithm))


def test_an_old_link_has_the_defaults_of_its_version(monkeypatch):
    """As it is after the default of a knob and that of a setting have changed: version 2 has new ones."""
    first = links.DEFAULTS[1]
    today = {**first.settings, "sample": {**first.settings["sample"], "cells": 6}}
    knobs = {**first.knobs, "gibbs": "temperature=1.0,k=2,n_chains=1"}
    second = first._replace(knobs=knobs, settings=today)
    monkeypatch.setattr(links, "DEFAULTS", {1: first, 2: second})
    monkeypatch.setattr(links, "VERSION", 2)
    for text, k in ((None, 1), ("1", 1), ("2", 2), ("3", 2)):
        version, unknown = version_of(text)
        read, _ = read_panels(samplers, ["gibbs:temperature=2"], version)
        assert values_of(read[0]) == {"temperature": 2.0, "k": k, "n_chains": 1}
        assert ("versions up to 2" in unknown) is (text == "3")
        assert settings_left_out("sample", ["seed"], version) == ({"cells": 10} if k == 1 else {})
        assert settings_left_out("sample", ["cells"], version) == {}
    # A knob that has gone since is no mistake of a link that does not name it.
    monkeypatch.setitem(first.knobs, "gibbs", "k=5,gone=3")
    assert knob_values(samplers["gibbs"], "", 1) == {"k": 5}


def test_what_is_at_its_default_stands_in_no_link(monkeypatch):
    def written(*algorithms):
        return links.write_panels(samplers, links.default_panels("sample"), algorithms)

    assert written(*map(make_sampler, links.default_panels("sample"))) == []
    changed = make_sampler("rates_fpcd", eps=0.1)
    assert written(make_sampler("gibbs"), changed) == ["gibbs", "rates_fpcd:eps=0.1"]
    assert written() == ["none"]
    # What the version does not know is written out: its default may be another one day.
    known = links.DEFAULTS[links.VERSION]
    fewer = {**known.knobs, "gibbs": "temperature=1.0"}
    monkeypatch.setitem(links.DEFAULTS, links.VERSION, known._replace(knobs=fewer))
    assert written(make_sampler("gibbs")) == ["gibbs:k=1,n_chains=1"]


@pytest.mark.parametrize("text", ["0", "-1", "1.0", "x", "", "9" * 10_000, "²", "<img>"])
def test_an_unknown_version_is_one_sentence(text):
    version, sentence = version_of(text)
    assert version == links.VERSION
    assert sentence.startswith("The link's version is '")
    assert len(sentence) < 250


def test_matrices_are_numbers_in_a_square():
    A = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0, 0, 1]])
    np.testing.assert_array_equal(read_matrix(write_matrix(A), 3, 8), A)
    for text in ("", "0.5,0.5;0.5,0.5", ",".join(["0.5"] * 10_000), ";".join([",".join(["0.1"] * 9)] * 9)):
        with pytest.raises(BadInput, match="not square"):
            read_matrix(text, 3, 8)
    for value in ("nan", "-1", "1e999", "7", "<img>"):
        with pytest.raises(BadInput, match="numbers from 0 to 1"):
            read_matrix(";".join([",".join([value] * 3)] * 3), 3, 8)


def test_a_link_may_hold_only_some_knobs():
    trainer = make_trainer("pop_cd", k=3, proposal="mixture", mixture=7, n_chains=40)
    assert write_panel(make_trainer("pop_cd", k=2, momentum=0.5), ("k", "n_chains")) == "pop_cd:k=2"
    text = write_panel(trainer, ("k", "proposal", "mixture", "n_chains"))
    assert text == "pop_cd:proposal=mixture,mixture=7,k=3,n_chains=40"
    assert links.read_panel(trainers, text) == trainer
    assert knob_values(Coupling, "scale=0.3") == {"scale": 0.3, "max_sweeps": 1000}
    assert write_knobs(Coupling(**knob_values(Coupling, "max_sweeps=50"))) == "scale=1.0,max_sweeps=50"
