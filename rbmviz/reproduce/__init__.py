"""The three papers again: recipes that repeat their figures, tables and claims, and the ledger of verdicts.

``claims`` holds claims against numbers with errors, ``recipe`` says what a recipe is, ``recipes`` has one
file for each, ``run`` runs them, ``ledger`` has the results that ship with the program.
"""

from rbmviz.reproduce.claims import (
    CONFIDENCE_BY_SIZE,
    SIZES,
    VERDICTS,
    Number,
    PaperClaim,
    Part,
    Size,
    Verdict,
    judge,
)
from rbmviz.reproduce.ledger import ledger
from rbmviz.reproduce.papers import PAPERS
from rbmviz.reproduce.recipe import Recipe, all_recipes, recipe_named
from rbmviz.reproduce.run import reproduce

__all__ = [
    "CONFIDENCE_BY_SIZE",
    "PAPERS",
    "SIZES",
    "VERDICTS",
    "Number",
    "PaperClaim",
    "Part",
    "Recipe",
    "Size",
    "Verdict",
    "all_recipes",
    "judge",
    "ledger",
    "recipe_named",
    "reproduce",
]
