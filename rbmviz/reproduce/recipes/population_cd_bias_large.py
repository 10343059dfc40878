"""Population CD, table 1, rows with 100 and 500 hidden units, where pop-CD loses."""

from rbmviz.reproduce.claims import PaperClaim, Part
from rbmviz.reproduce.recipe import Recipe, live

RECIPE = Recipe(
    paper="population_cd",
    place=50,
    title="Bias and variance of gradient estimates, larger models",
    source="Section 4.2, table 1, rows with 100 and 500 hidden units",
    claims=(
        PaperClaim(
            "letters_100",
            "On Letters with 100 hidden units the bias of pop-CD is larger than that of CD.",
            "1.34e-2 against 3.2e-3 (k = 1); 9.4e-3 against 3.0e-3 (k = 10)",
            (
                Part(
                    "letters", "log10 of bias of CD over pop-CD, letters, 100 hidden units, k = 1", at_most=0
                ),
            ),
        ),
        PaperClaim(
            "mnist_500",
            "On MNIST with 500 hidden units it is larger at k = 1, and smaller at k = 10.",
            "9.7e-3 against 7.6e-3 (k = 1); 2.9e-3 against 6.7e-3 (k = 10)",
            (
                Part("mnist_1", "log10 of bias of CD over pop-CD, MNIST, 500 hidden units, k = 1", at_most=0),
                Part("mnist_10", "the same, k = 10", at_least=0),
            ),
        ),
    ),
    about=(
        "Such models cannot be enumerated. The paper's reference is parallel tempering with 100 replicas, "
        "50,000 sweeps of burn-in and 200,000 samples."
    ),
    cost={"full": 900.0},
    not_run=(
        "The reference gradient of a model that cannot be enumerated, by long parallel tempering with 100 "
        "replicas, is not computed yet."
    ),
    live=live("weights", ("pop_cd:n_chains=100",), weights_model="letters_fpcd"),
)
