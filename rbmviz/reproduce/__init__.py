"""Recipes that repeat the three papers' figures, tables and claims, and the ledger of verdicts.

``claims`` compares claims with estimates, ``recipe`` defines a recipe, ``recipes`` has one file per recipe,
``run`` runs them, ``ledger`` reads the results that ship with the program.
"""

from rbmviz.reproduce.claims import (
    CONFIDENCE_BY_SIZE,
    SIZES,
    VERDICTS,
    Bound,
    Estimate,
    PaperClaim,
    Size,
    Verdict,
    judge,
)
from rbmviz.reproduce.ledger import ledger
from rbmviz.reproduce.papers import PAPERS
from rbmviz.reproduce.recipe import Recipe, all_recipes, recipe_named
from rbmviz.reproduce.run import reproduce
