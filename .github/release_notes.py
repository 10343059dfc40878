"""Print the notes of a release, given as its tag: ``python .github/release_notes.py v0.1.0``.

They are what the changelog says of the version before its lists. For any other name, such as a branch in a
rehearsal, they are those of the version of pyproject.toml. Fails, so that nothing is released, if the tag or
CITATION.cff has another version, or the changelog has no section for it.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(tag: str) -> None:
    """Print the notes of a tag."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if re.fullmatch(r"v\d+\.\d+\.\d+.*", tag) and tag != f"v{version}":
        sys.exit(f"The tag is {tag}, and pyproject.toml has version {version}.")
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text():
        sys.exit(f"pyproject.toml has version {version}, and CITATION.cff another one.")
    changelog = (ROOT / "docs" / "CHANGELOG.md").read_text()
    found = re.search(rf"^## {re.escape(version)}(?: - .*)?\n\n(.+?)^##", changelog, re.MULTILINE | re.DOTALL)
    if found is None:
        sys.exit(f"docs/CHANGELOG.md has no section '## {version}' that begins with a paragraph.")
    print(found[1].strip())


main(sys.argv[1])
