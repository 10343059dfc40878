"""The ledger that ships: every entry opens, in an installation that has no recipes."""

import json
import re
import subprocess
import sys

import pytest

from rbmviz.ledger import (
    STORED_FOLDER,
    VERDICTS,
    chance_text,
    figure_name,
    figure_size,
    ledger,
    missed_by_chance,
    stored,
)

OPEN_ALL = """
import sys
sys.modules["papers"] = None
from rbmviz import ledger
from rbmviz_app.pages.papers import page
print(sum(len(page.entry(result)) > 1000 and bool(page.label(result)) for result in ledger.ledger()))
"""


def test_every_entry_opens_without_the_recipes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", OPEN_ALL], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(len(ledger())), done.stderr
    assert len(ledger()) >= 35


def test_entries_say_all_that_the_page_shows():
    for result in ledger():
        assert result["commit"]
        assert result["machine"]["cores"]
        assert result["seeds"]
        assert result["command"].startswith(f"python -m papers {result['recipe']}")
        for claim in result["claims"]:
            assert claim["verdict"] in VERDICTS
            assert all(claim[key] for key in ("text", "paper", "reason", "live_link"))
            assert claim["measured"] or claim["verdict"] == "not run at this size"
        width, _ = figure_size(figure_name(result))
        panels = {row.get("panel") for row in result["figure"]["rows"]}
        assert width * 25.4 / 96 <= (88 if len(panels) == 1 else 180)  # a journal's column, or its page
        words = re.findall(r"<text[^>]*>([^<]*)", (STORED_FOLDER / figure_name(result)).read_text())
        assert not [word for word in words if "_" in word or "log10" in word]


def test_the_largest_run_counts():
    sizes = {path.stem: json.loads(path.read_text())["size"] for path in STORED_FOLDER.glob("*.json")}
    assert all(name.endswith(f"-{size}") for name, size in sizes.items())
    assert {"rates_fpcd_decay-quick", "rates_fpcd_decay-full"} <= sizes.keys()
    assert stored("rates_fpcd_decay")["size"] == "full"
    assert stored("rates_fpcd_decay", ["quick"])["size"] == "quick"
    assert stored("nothing") is None
    assert sum(path.stat().st_size for path in STORED_FOLDER.iterdir()) < 3_000_000


def test_what_chance_does_is_counted_from_the_stored_numbers():
    """An interval of 95 % misses once in twenty times, one of 99 % once in a hundred; exact numbers never."""

    def result(recipe, size, *errors):
        measured = [{"number": str(i), "error": error} for i, error in enumerate(errors)]
        return {
            "recipe": recipe,
            "size": size,
            "claims": [{"measured": measured}, {"measured": measured[:1]}],
        }

    made_up = [result("a", "full", *[0.1] * 60), result("b", "quick", *[0.1] * 100, 0.0, None)]
    assert missed_by_chance(made_up) == (160, pytest.approx(4))
    assert "About 4 of 160 confidence intervals miss" in chance_text(made_up)
