"""``rbmviz lesson``: a list, claims that hold, claims that do not, and files that are no lessons."""

import json

import pytest

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
        (["check", "no.toml"], "The lesson 'no.toml' cannot be read"),
        (["check", "stik"], "did you mean 'stick'"),
        (["list", "stick"], "it takes no file"),
    ],
)
def test_what_cannot_be_checked_is_refused(capsys, words, said):
    assert main(["lesson", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_folder_of_lessons_is_checked_before_the_app_is_served(capsys, tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD.replace("gibbs", "gibs"))
    assert main(["app", "--no-browser", "--lessons", str(tmp_path)]) == 2
    assert "The lesson 'mine.toml', step 1: " in capsys.readouterr().err


def test_a_result_of_a_challenge_is_checked(capsys, tmp_path):
    link = "chain?lesson=break-gibbs&step=1&result=1"
    won = f"{link}~land=letters%20L%20T%20X~land_depth=10~2@0:eps=0.2"
    file = tmp_path / "won.txt"
    file.write_text(won)
    assert main(["challenge", "check", str(file)]) == 0
    assert "break-gibbs: Verified: Gibbs: crossings 0 at 600 samples; " in capsys.readouterr().out
    assert main(["challenge", "check", won, link, "--json"]) == 3
    said = capsys.readouterr()
    assert [row["won"] for row in json.loads(said.out)["results"]] == [True, False]
    assert "1 of 2 results do not win: Not won: the goal is Gibbs: crossings = 0" in said.err
    assert main(["challenge", "list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["challenges"]) >= 4
    large = tmp_path / "large.txt"
    large.write_bytes(b"x" * 300_000)
    for words, sentence in (
        (["check"], "'check' at least one"),
        (["list", link], "'list' takes no result"),
        (["check", "no.txt"], "there is no such file"),
        (["check", str(tmp_path)], "as a file it cannot be read"),
        (["check", str(large)], "it has more than 200,000 bytes"),
        (["check", f"{link}~2@0:k=5"], "the knob k of panel 2 may not be turned"),
    ):
        assert main(["challenge", *words]) == 2
        assert sentence in capsys.readouterr().err
