"""Results of recipes that ship with the program: ``<recipe>-<size>.json``, and the figure beside it."""
