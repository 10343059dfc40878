"""Run the Python on pages of documentation: ``python tests/page_examples.py PAGE ...``.

Blocks marked ``pycon`` are doctests, blocks marked ``python`` are run as they are; in blocks marked
``console``, each line after a ``$`` must print what stands below it (``...`` is anything). Each page has a
namespace of its own. The algorithms in ``docs/examples/plugin/`` are plug-ins, as the pages say.
"""

import contextlib
import doctest
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples" / "plugin" / "rbmviz_examples"
BLOCK = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A fenced block of a page: its language, and its text."""


def run_commands(text, page):
    """Run the commands of a block in bash; return how many have not printed what stands below them."""
    failed, checker = 0, doctest.OutputChecker()
    for example in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, wanted = example.partition("\n")
        shell = f'rbmviz() {{ "{sys.executable}" -m rbmviz "$@"; }}; {command}'
        done = subprocess.run(["bash", "-c", shell], stdout=-1, stderr=subprocess.STDOUT, text=True)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        if not checker.check_output(wanted, done.stdout, flags):
            sys.stdout.write(f"{page.name}: {command}\n  wanted {wanted}  got    {done.stdout}\n")
            failed += 1
    return failed


def run(page):
    """Run the blocks of a page in order; return how many examples have failed."""
    names = {"__name__": page.stem}
    failed, runner = 0, doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for language, text in BLOCK.findall(page.read_text()):
        if language == "python":
            exec(compile(text, str(page), "exec"), names)
        elif language == "console":
            failed += run_commands(text, page)
        elif language == "pycon":
            test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
            runner.run(test, clear_globs=False)
            names |= test.globs
    return failed + runner.summarize(verbose=False).failed


if __name__ == "__main__":
    os.environ["RBMVIZ_PLUGINS"] = os.pathsep.join(map(str, EXAMPLES.glob("[!_]*.py")))
    # In a folder of its own: examples make files.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        sys.exit(sum(run(Path(page)) for page in sys.argv[1:]))
