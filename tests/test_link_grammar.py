"""The grammar of links: text and back, versions and their defaults, what is refused."""

import pytest

from rbmviz import BadInput, make_sampler, make_trainer
from rbmviz.knobs import knobs_of, split_knobs, write_algorithm
from rbmviz.pages import links
from rbmviz.pages.links import read_panels
from rbmviz.registry import samplers, trainers
from rbmviz.samplers import list_samplers
from rbmviz.trainers import list_trainers


@pytest.mark.parametrize(
    "algorithm",
    [*map(make_sampler, list_samplers()), *map(make_trainer, list_trainers())],
    ids=lambda algorithm: algorithm.name,
)
def test_a_link_brings_every_algorithm_back(algorithm):
    table = samplers if algorithm.name in list_samplers() else trainers
    read, refused = read_panels(table, [write_algorithm(algorithm), algorithm.name])
    assert read == [algorithm, algorithm]
    assert not refused


def test_links_with_mistakes_say_so():
    texts = ["gibbs:k=3", "gibs", "gibbs:k=0", "gibbs:hot=1", "rates_fpcd:eps=warm"]
    read, refused = read_panels(samplers, texts)
    assert read == [make_sampler("gibbs", k=3)]
    assert len(refused) == 4
    assert "did you mean 'gibbs'" in refused[0]
    with pytest.raises(BadInput, match="1 to 100"):
        samplers.read("gibbs:k=0")


def test_a_link_names_every_knob():
    """So that it opens the same when a default has changed."""
    name, _, knobs = write_algorithm(make_sampler("gibbs")).partition(":")
    assert (name, list(split_knobs(knobs, name))) == ("gibbs", list(knobs_of(samplers[name])))
    changed = [make_sampler("gibbs"), make_sampler("rates_fpcd", eps=0.1)]
    assert [links.write_changed_panel(one) for one in changed] == ["gibbs", "rates_fpcd:eps=0.1"]
    assert links.write_panels([]) == ["none"]


def test_a_link_may_hold_only_some_knobs():
    trainer = make_trainer("pop_cd", k=3, proposal="mixture", mixture=7, n_chains=40)
    assert (
        write_algorithm(make_trainer("pop_cd", k=2, momentum=0.5), ("k", "n_chains"))
        == "pop_cd:k=2,n_chains=0"
    )
    text = write_algorithm(trainer, ("k", "proposal", "mixture", "n_chains"))
    assert text == "pop_cd:proposal=mixture,mixture=7,k=3,n_chains=40"
    assert trainers.read(text) == trainer
