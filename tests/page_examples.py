"""Run the Python on pages of documentation: ``python tests/page_examples.py PAGE ...``.

Blocks marked ``pycon`` are doctests, blocks marked ``python`` are run as they are. Each page has a namespace
of its own. The algorithms in ``docs/examples/`` are found as if they were in ``rbmviz/samplers/`` and
``rbmviz/trainers/``.
"""

import contextlib
import doctest
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A fenced block of a page: its language, and its text."""


def run(page):
    """Run the blocks of a page in order; return how many examples have failed."""
    names = {"__name__": page.stem}
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for language, text in BLOCK.findall(page.read_text()):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        elif language == "pycon":
            test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
            runner.run(test, clear_globs=False)
            names |= test.globs
    return runner.summarize(verbose=False).failed


if __name__ == "__main__":
    import rbmviz.samplers
    import rbmviz.trainers

    for package in (rbmviz.samplers, rbmviz.trainers):
        package.__path__.append(str(ROOT / "docs" / "examples" / package.__name__.rpartition(".")[2]))
    # In a folder of its own: examples make files.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        sys.exit(sum(run(Path(page)) for page in sys.argv[1:]))
