"""Print the changelog of a release, given as its tag: ``python .github/release_notes.py v0.1.0``.

Fails, so that nothing is released, if the tag is not the version of pyproject.toml or the changelog has no
section for it. For any other name, such as a branch in a dry run, it prints what is not released yet.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def section(changelog: str, title: str) -> str:
    """Return what stands below the heading ``## title`` (with a date behind it, or none)."""
    match = re.search(
        rf"^## {re.escape(title)}(?: - .*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    if match is None:
        sys.exit(f"docs/CHANGELOG.md has no section '## {title}'.")
    return match[1].strip()


def main(tag: str) -> None:
    """Print the notes of a tag."""
    changelog = (ROOT / "docs" / "CHANGELOG.md").read_text()
    if not re.fullmatch(r"v\d+\.\d+\.\d+.*", tag):
        print(section(changelog, "Unreleased"))
        return
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if tag != f"v{version}":
        sys.exit(f"The tag is {tag}, and pyproject.toml has version {version}.")
    print(section(changelog, version))


main(sys.argv[1])
