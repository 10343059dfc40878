"""Unbiased CD, figures 4, 10 and 11 and table 3: training on Fashion-MNIST."""

from rbmviz.reproduce.claims import PaperClaim, Part
from rbmviz.reproduce.recipe import Recipe, live

RECIPE = Recipe(
    paper="unbiased_cd",
    place=30,
    title="Training on Fashion-MNIST, 1,000 hidden units",
    source="Section 6.3, figure 4; appendix B.3, figures 10 and 11 and table 3",
    claims=(
        PaperClaim(
            "converges",
            "The likelihood of CD falls and that of PCD bounces; UCD rises steadily (figure 4).",
            "CD decreasing, PCD bounces among three paths",
            (Part("end", "end, UCD less CD-1 (nats)", at_least=0),),
        ),
        PaperClaim(
            "cd_30",
            "Thirty sweeps do not help CD (figure 10).",
            "CD-k does not converge even if k is as large as 30",
            (Part("fall_30", "fall of CD-30 from its maximum (nats)", at_least=1),),
        ),
        PaperClaim(
            "tau",
            "Meeting times settle near 27 to 30 sweeps (figure 11).",
            "Gets stable around 30 after 2000 iterations; about 27 on average",
            (Part("tau", "mean meeting time after 2,000 updates (sweeps)", 20, 40),),
        ),
        PaperClaim(
            "times",
            "UCD takes longer than CD-30 (table 3).",
            "Minutes: CD-1 25.63, CD-30 311.89, UCD 494.01: 19 times CD-1, 1.6 times CD-30",
            (Part("time", "time, UCD over CD-30", at_least=1),),
        ),
    ),
    about=(
        "60,000 images, each pixel drawn with its brightness as its probability, 1,000 hidden units, batches "
        "of 1,000, rate 0.1, 1,000 chains."
    ),
    cost={"full": 5900.0},
    not_run=(
        "By the paper's own times one UCD training takes 494 minutes of 12 cores, and it is not measured "
        "here."
    ),
    live=live("train", ("cd:learning_rate=0.1", "ucd:learning_rate=0.1"), train_data="fashion_mnist"),
)
