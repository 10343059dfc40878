"""The three papers, as in CITATION.cff."""

from typing import Literal, NamedTuple

PaperName = Literal["rates_fpcd", "population_cd", "unbiased_cd"]


class Paper(NamedTuple):
    """A paper: short title, citation and address."""

    title: str
    cite: str
    url: str


PAPERS: dict[PaperName, Paper] = {
    "rates_fpcd": Paper(
        "Rates-FPCD",
        "Breuleux, Bengio, Vincent. Quickly Generating Representative Samples from an RBM-Derived Process. "
        "Neural Computation 23(8), 2011.",
        "https://doi.org/10.1162/NECO_a_00158",
    ),
    "population_cd": Paper(
        "Population CD",
        "Krause, Fischer, Igel. Population-Contrastive-Divergence: Does Consistency help with RBM training? "
        "Pattern Recognition Letters 102, 2018.",
        "https://doi.org/10.1016/j.patrec.2017.11.022",
    ),
    "unbiased_cd": Paper(
        "Unbiased CD",
        "Qiu, Zhang, Wang. Unbiased Contrastive Divergence Algorithm for Training Energy-Based Latent "
        "Variable Models. International Conference on Learning Representations, 2020.",
        "https://openreview.net/forum?id=r1eyceSYPr",
    ),
}
