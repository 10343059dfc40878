"""The three papers' figures, tables and claims, repeated: ``python -m papers`` lists them.

``recipes`` has one file for each, ``recipe`` says what a recipe is, ``claims`` compares claims with
estimates, ``tables`` and ``trainings`` are shared by recipes, ``drawing`` draws, and ``run`` runs a recipe
and writes its entry of the ledger (``rbmviz.ledger``).
"""
