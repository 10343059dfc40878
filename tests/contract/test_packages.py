"""The packages under their names, wherever their folders are. The clean room sees that all of it travels."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = {"rbmviz": "rbmviz", "rbmviz_app": "app/rbmviz_app", "rbmviz.pretrained": "pretrained"}


def test_the_folders_are_found_by_the_names_of_their_packages():
    """Import contracts, types and tests are then about these files, and not about another installation."""
    for package, name in FOLDERS.items():
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin == str(ROOT / name / "__init__.py")


def test_models_are_found_in_a_checkout_that_is_not_installed():
    """``python`` there imports the checkout's package, also if another one is installed."""
    code = "import sys; sys.modules['rbmviz.pretrained'] = None; import rbmviz; rbmviz.load_model('bas_pcd')"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


SOUND_SINCE = {
    "distributed": ("2026.1.1", "CVE-2026-23528"),
    "pillow": ("12.3", "CVE-2026-55379"),
    "pytest": ("9.0.3", "CVE-2025-71176"),
    "scikit-learn": ("1.5.0", "CVE-2024-5206"),
    "setuptools": ("78.1.1", "CVE-2025-47273"),
    "starlette": ("1.3.1", "CVE-2026-54283"),
    "streamlit": ("1.54.0", "CVE-2026-33682"),
    "tqdm": ("4.66.3", "CVE-2024-34062"),
    "uv": ("0.9.6", "GHSA-pqhf-p39g-3x64"),
}
"""First versions without a published problem, each as its advisory has it; add what becomes known."""


def test_lowest_versions_have_none_of_these_problems():
    def numbers(version):
        return [*map(int, version.split("."))]

    named = [PYPROJECT["build-system"]["requires"], PYPROJECT["project"]["dependencies"]]
    named += PYPROJECT["project"]["optional-dependencies"].values()
    floors = [re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line) for lines in named for line in lines]
    lowest = [(found[1], found[2]) for found in floors if found]
    assert set(SOUND_SINCE) <= dict(lowest).keys()
    assert [
        (name, low)
        for name, low in lowest
        if name in SOUND_SINCE and numbers(low) < numbers(SOUND_SINCE[name][0])
    ] == []
