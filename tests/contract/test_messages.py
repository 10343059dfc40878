"""No message on a page speaks of commands: its readers may have no terminal."""

import ast
import re
from pathlib import Path

from rbmviz_app import messages

ROOT = Path(__file__).parents[2]
COMMANDS = re.compile(r"['`\"](rbmviz|pip|streamlit) [a-z]")
OF_THE_TERMINAL = ("rbmviz/cli/", "rbmviz/testing/", "rbmviz/sweeps/store.py", "app/rbmviz_app/serve")


def texts(path):
    """Yield each text of a file that is no docstring; values in it are X."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in docs | parts:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_message_on_a_page_speaks_of_commands():
    found = {}
    for path in [*(ROOT / "rbmviz").rglob("*.py"), *(ROOT / "app").rglob("*.py")]:
        name = str(path.relative_to(ROOT))
        if not name.startswith(OF_THE_TERMINAL):
            found |= {text: name for text in texts(path) if COMMANDS.search(text)}
    assert len(found) > 8  # of the package, whose sentences the terminal shows, too
    assert {text: name for text, name in found.items() if name.startswith("app/")} == {}
    # Some are the end of a sentence.
    whole = {text if text[0].isupper() else f"It is not here: {text}.": name for text, name in found.items()}
    shown = {messages.plain(text).replace("\\", ""): name for text, name in whole.items()}
    assert {text: name for text, name in shown.items() if COMMANDS.search(text)} == {}


def test_the_rest_of_the_sentence_stays():
    assert messages.plain("No rates: 'rbmviz export-model' computes them.") == "No rates."
    assert messages.plain("X is no data set ('rbmviz list datasets' shows them).") == "X is no data set."
    sentence = "It is not here: choose other data; or wait."
    assert messages.plain(sentence) == sentence
