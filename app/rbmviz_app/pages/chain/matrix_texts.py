"""The texts of the matrix part of the page, and its matrices with their captions."""

from typing import NamedTuple

from rbmviz_app.pages.chain.matrix_charts import LEAST_DISTANCE

NO_DISTANCE = (
    f"Both chains start in the stationary distribution: no distance is above {LEAST_DISTANCE:.6f}. Start in "
    "another state, or turn off the log scale."
)

MATRIX_QUESTION = "Does a chain that stays put less often forget its start faster?"
MATRIX_ABOUT = (
    "Each row of the table has the probabilities of moving from one state to every state; the diagonal is "
    "the probability of staying. λ takes the same amount from all diagonal entries. The **stationary "
    "distribution**, how often each state is visited in the long run, does not change. Move λ and watch the "
    "**second eigenvalue**: the smaller it is, the faster the start is forgotten. Then edit a cell."
)
MATRIX_NOTES = (
    "**The matrices** The diagonal fades; what it loses goes to the other cells of its row, in proportion. "
    "Both chains have the same stationary distribution: πA = π implies πÃ = π.",
    "**The chart** The distance between the distribution after t steps and the stationary one. The "
    "eigenvalues z of A become (z − λ)/(1 − λ): all but 1 move left. The smaller the second one, the faster "
    "the curve falls; on a log scale its slope is the logarithm of that eigenvalue’s modulus.",
    "**Is the second eigenvalue always smaller?** The paper (section 3) shows that the stationary "
    "distribution is unchanged; the rest is our count. Among random chains that stay often (in each state "
    "with a probability uniform from 0 to 1), the largest λ slows 10 % with 3 states, 2 % with 4 and none "
    "with 8. Among chains with random rows it slows 62 to 75 %: an eigenvalue with a negative real part "
    "becomes the largest, often one of a complex pair.",
)
LANDSCAPE_LOOK = """
States are ordered by valley. The strong columns are the valley floors: from anywhere in a valley the chain
falls back to its floor, and steps between valleys are rare, so the second eigenvalue is close to 1.

λ must be tiny here: the least likely state hardly ever stays, and it sets the limit for all. What section 3
does to a matrix, rates-FPCD does to an RBM through its parameters: see the landscape.
"""


class MatrixPreset(NamedTuple):
    """A transition matrix, and what to look for in it."""

    caption: str
    rows: list[list[float]]


MATRICES = {
    "two wells": MatrixPreset(
        "Two weakly connected pairs of states: the less a state stays, the sooner the chain changes sides.",
        [[0.8, 0.18, 0.02, 0], [0.18, 0.8, 0, 0.02], [0.02, 0, 0.8, 0.18], [0, 0.02, 0.18, 0.8]],
    ),
    "sticky ring": MatrixPreset(
        "Six states in a ring, each with two neighbours. Near the limit the chain starts to oscillate "
        "between odd and even states.",
        [[0.7 if i == j else 0.15 if (i - j) % 6 in (1, 5) else 0 for j in range(6)] for i in range(6)],
    ),
    "one deep trap": MatrixPreset(
        "State 3 traps the chain, but state 1, which rarely stays, sets the limit: λ hardly helps.",
        [[0.2, 0.4, 0.4], [0.3, 0.4, 0.3], [0.01, 0.01, 0.98]],
    ),
    "it backfires": MatrixPreset(
        "A chain that oscillates between {1, 2} and {3, 4}. It converges only because it sometimes stays.",
        [[0.1, 0, 0.45, 0.45], [0, 0.1, 0.45, 0.45], [0.45, 0.45, 0.1, 0], [0.45, 0.45, 0, 0.1]],
    ),
    "Gibbs on 3 units": MatrixPreset(
        "The Gibbs chain of an RBM with 3 visible units. Its rarest state hardly ever stays, so λ must be "
        "small.",
        [],
    ),
}
FROM_LANDSCAPE = "the landscape’s Gibbs chain"


def speed_up_text(steps: float | None) -> str:
    """Return a sentence on how many steps of A one step of A~ replaces in the long run."""
    if steps is None:
        return ""
    if steps == 0:
        return "Ã never converges: it is periodic."
    return f"In the long run a step of Ã replaces **{steps:.2f}** of A."
