"""First tries in Python, half of them mistakes: each answers what the transcript says."""

import doctest
from pathlib import Path

TRIES = Path(__file__).parent / "first_tries" / "python.txt"


def test_twenty_first_tries_answer_as_written():
    assert TRIES.read_text().count("\nTraceback") == 10
    tries = doctest.testfile(str(TRIES), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tries.failed == 0
