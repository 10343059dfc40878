"""Population CD, table 1: bias and variance of gradient estimates on images, 16 hidden units."""

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_weights, seeds
from papers.recipes.population_cd_bias_variance import (
    beside_the_paper,
    bias_bounds,
    logarithms,
    models,
    printed_bound,
    variance_bounds,
)

IMAGES = ("letters", "mnist")


def work(size: Size) -> list[Work]:
    """Return models of two data sets."""
    n = 20_000 if size == "full" else 400
    return [job for data in IMAGES for job in models(data, n, seeds(size, quick=4, medium=16, full=12))]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    return logarithms(measured, IMAGES)


def drawing(measured: Measurements, size: Size) -> Drawing:
    return beside_the_paper(measured, IMAGES)


RECIPE = Recipe(
    paper="population_cd",
    place=45,
    title="Bias and variance, images, 16 hidden units",
    source="Section 4.2, table 1, rows of Letters and MNIST with 16 hidden units",
    claims=(
        claim(
            "bias_images",
            "On Letters and on MNIST with 16 hidden units, too, the bias of pop-CD is smaller.",
            "Letters 3.1 times (k = 1) and 5.7 times; MNIST 20 times",
            Bound("letters_1_bias", "log10 of bias, CD over pop-CD, letters, k = 1", at_least=0.2),
            Bound("letters_10_bias", "log10 of bias, CD over pop-CD, letters, k = 10", at_least=0.2),
            *bias_bounds("mnist"),
        ),
        claim(
            "variance_images",
            "There, too, the variance of pop-CD is larger, often by an order of magnitude or more.",
            "Letters 51 times (k = 1) and 34 times (k = 10); MNIST 26 times and 16 times",
            *variance_bounds("letters"),
            *variance_bounds("mnist"),
            live_link=on_weights("letters_fpcd", "pop_cd:n_chains=246", weights_more=True),
        ),
        claim(
            "printed_images",
            "The bias of CD itself is as printed.",
            "Letters 2.13e-3 (k = 1), MNIST 1.46e-2",
            *(printed_bound(data) for data in IMAGES),
        ),
    ),
    about=(
        "Models trained by CD-1 at the rate 0.1 (Letters 10,000 updates with batches of 246 rows, MNIST "
        "5,000 with 500); the exact gradient is enumerated, and where a bias is lost in the noise of the "
        "estimates, the noise stands in its place, so that a ratio is too small if anything."
    ),
    cost={"quick": 2.5, "medium": 8.0, "full": 120.0},
    live_link=on_weights("letters_fpcd", "pop_cd:n_chains=246", weights_more=True),
    needs=("letters", "mnist"),
)
