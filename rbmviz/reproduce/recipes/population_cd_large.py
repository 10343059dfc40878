"""Population CD, figure 3: training of larger models, where pop-CD loses its advantage."""

from rbmviz.reproduce.claims import PaperClaim, Part
from rbmviz.reproduce.recipe import Recipe, live

RECIPE = Recipe(
    paper="population_cd",
    place=30,
    title="Training of larger models",
    source="Section 4.2, figure 3",
    claims=(
        PaperClaim(
            "letters_100",
            "On Letters with 100 hidden units CD is better than pop-CD.",
            "CD-1 and CD-10 performed better than pop-CD-1 and pop-CD-10 (10 trials)",
            (Part("letters", "end, CD-1 less pop-CD-1, Letters, 100 hidden (nats)", at_least=0),),
        ),
        PaperClaim(
            "mnist_500",
            "On MNIST with 500 hidden units CD diverges, and pop-CD less so.",
            "All algorithms diverge in the long run, divergence was less pronounced for pop-CD (one trial)",
            (Part("mnist", "fall of CD-1 less that of pop-CD-1, MNIST, 500 hidden (nats)", at_least=0),),
        ),
    ),
    about=(
        "The paper trains for 10^5 and 10^6 updates (Letters), 10^4 and 10^5 (MNIST), ten times, "
        "and estimates each likelihood by annealed importance sampling with 512 chains and 50,000 "
        "temperatures."
    ),
    cost={"full": 4000.0},
    not_run=(
        "It is not measured: ten trainings of 10^5 to 10^6 updates with annealed importance sampling along "
        "them are beyond the time that was spent on the stored results."
    ),
    live=live(
        "train", ("cd:learning_rate=0.1", "pop_cd:learning_rate=0.1"), train_data="letters", hidden=100
    ),
)
