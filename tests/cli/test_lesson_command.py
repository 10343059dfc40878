"""``rbmviz lesson``: a list, claims that hold, claims that do not, and files that are no lessons."""

import json

import pytest
from command_line import refused

from rbmviz.cli import main
from tests.lessons.test_lessons import GOOD

pytestmark = pytest.mark.compiled


def test_all_lessons_are_listed(capsys):
    assert main(["lesson", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["lessons"]
    assert {"rbm", "stick", "push", "score", "meet"} <= {one["name"] for one in found}
    assert main(["lesson", "list"]) == 0
    assert "  1  Two valleys" in capsys.readouterr().out


def test_the_status_says_whether_all_claims_hold(capsys, tmp_path):
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("+ 2 at 300", "+ 99 at 300"))
    assert main(["lesson", "check", str(good)]) == 0
    assert "  1  holds  panel2.crossings > panel1.crossings + 2 at 300 samples  (measured: 3)" in (
        capsys.readouterr().out
    )
    assert main(["lesson", "check", str(good), str(bad), "--json"]) == 3
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert (found["claims_checked"], found["claims_failed"]) == (2, 1)
    row = {"step": 1, "claim": "panel2.crossings > panel1.crossings + 99 at 300 samples"}
    assert found["lessons"][1]["claims"] == [row | {"measured": 3.0, "compared_with": 99.0, "holds": False}]
    [sentence] = [line for line in said.err.splitlines() if "claims do not hold" in line]
    assert sentence == f"1 of 2 claims do not hold: bad, step 1: {row['claim']}."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "no.toml"], "There is no lesson 'no.toml'"),
        (["check", "stik"], "did you mean 'stick'"),
        (["list", "stick"], "it takes no file"),
    ],
)
def test_lesson_command_refuses_unreadable_lessons(capsys, words, said):
    assert said in refused(capsys, "lesson", *words)


def test_a_folder_of_lessons_is_checked_before_the_app_is_served(capsys, tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD.replace("gibbs", "gibs"))
    said = refused(capsys, "app", "--no-browser", "--lessons", tmp_path)
    assert said.startswith("The lesson 'mine.toml', step 1: ")


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (r"\begin{aligned} a &= b \\ c &= d \end{aligned}", "pages cannot show"),
        (r"\frac{a", "a brace that is not closed"),
        ("x^", "cannot be read as LaTeX"),
        (r"\href{javascript:alert(1)}{x}", r"has \href, which is not allowed"),
        (r"\style{color:red}{x}", r"has \style, which is not allowed"),
        (r"\class{x}{x}", r"has \class, which is not allowed"),
    ],
)
def test_unsupported_formula_is_refused_in_one_sentence(capsys, tmp_path, formula, said):
    path = tmp_path / "mine.toml"
    in_text = GOOD.replace('text = "With $a < b$."', f"text = '''Thus ${formula}$.'''")
    for lesson in (f"{GOOD}\nformula = '''{formula}'''\n", in_text):
        path.write_text(lesson)
        for words in (["lesson", "check", path], ["play", "--lesson", path, "--out", tmp_path / "l.html"]):
            assert said in refused(capsys, *words)
