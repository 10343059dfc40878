"""The recipes: one file for each figure, table or headline claim of the papers, ``<paper>_<what>.py``.

Each defines ``RECIPE``, and functions ``work``, ``numbers`` and ``drawing``. What a ``Job`` calls keeps to
its own file, ``papers`` and the package: the file of its result is named by a hash of these sources.
"""
