"""Run the Python on pages of documentation: ``python tests/page_examples.py PAGE ...``.

Blocks marked ``pycon`` are doctests, blocks marked ``python`` are run as they are. Each page has a namespace
of its own. The algorithms in ``docs/examples/plugin/`` are plug-ins, as the pages say.
"""

import contextlib
import doctest
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples" / "plugin" / "rbmviz_examples"
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
    os.environ["RBMVIZ_PLUGINS"] = os.pathsep.join(map(str, EXAMPLES.glob("[!_]*.py")))
    # In a folder of its own: examples make files.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        sys.exit(sum(run(Path(page)) for page in sys.argv[1:]))
