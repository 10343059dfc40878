"""The recipes: one file for each figure, table or headline claim of the papers, ``<paper>_<what>.py``.

Each file defines ``RECIPE``. A function that a ``Piece`` calls must keep to itself and the package: the file
of its result is named by a hash of its own source.
"""
