"""What is prepared for publication: Spaces, notebooks in a browser."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from test_packages import PYPROJECT, ROOT

HOSTING = ROOT / "docs" / "hosting"
NOTEBOOKS = HOSTING / "notebooks"
STAND_IN = NOTEBOOKS / "safetensors/safetensors"
NOT_IN_BROWSERS = "vl_convert segno streamlit starlette uvicorn h5py xarray distributed".split()

RUN = f"""
import json, subprocess, sys, threading
sys.path.insert(0, {str(NOTEBOOKS / "safetensors")!r})
sys.modules |= dict.fromkeys({NOT_IN_BROWSERS!r})

def refuse(*words, **more):
    raise RuntimeError("browsers have none of these")

threading.Thread.start = subprocess.Popen.__init__ = refuse
names = {{}}
for cell in json.load(sys.stdin)["cells"]:
    if cell["cell_type"] == "code":
        exec("".join(cell["source"]), names)
import safetensors
assert {str(NOTEBOOKS)!r} in safetensors.__file__
"""


def front_matter(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^(\w+): (.+)$", path.read_text().split("---\n")[1], re.MULTILINE))


def test_the_space_of_the_app_has_one_port_and_the_instructions_of_the_container():
    dockerfile = (HOSTING / "space/app/Dockerfile").read_text()
    space = front_matter(HOSTING / "space/app/README.md")
    ports = re.findall(r"^(?:ENV PORT=|EXPOSE )(\d+)$", dockerfile, re.MULTILINE)
    assert ports == [space["app_port"]] * 2
    assert space["sdk"] == "docker"
    shared = ("RUN find", "HEALTHCHECK", "CMD", "ENV PATH")
    for line in (HOSTING / "Containerfile").read_text().splitlines():
        if line.startswith(shared):
            assert line in dockerfile.splitlines()


def test_a_space_says_what_it_needs_in_its_front_matter():
    for name in ("page", "app"):
        space = front_matter(HOSTING / f"space/{name}/README.md")
        assert space["license"] == PYPROJECT["project"]["license"].lower()
        assert len(space["short_description"]) <= 60  # more is refused


def test_the_browsers_environment_has_all_that_the_core_needs():
    environment = (NOTEBOOKS / "environment.yml").read_text().replace("lazy_loader", "lazy-loader")
    for line in PYPROJECT["project"]["dependencies"]:
        name = re.match(r"[\w-]+", line)[0]
        assert re.search(rf"^ +- (\./)?{name}\b", environment, re.MULTILINE) or name == "llvmlite"  # of numba


def test_the_stand_in_reads_and_writes_the_bytes_of_safetensors():
    load_, save_ = (runpy.run_path(STAND_IN / "numpy.py")[name] for name in ("load", "save"))
    safe_open = runpy.run_path(STAND_IN / "__init__.py")["safe_open"]
    for path in (ROOT / "pretrained").glob("*_pcd.safetensors"):
        header = safe_open(path, "numpy")
        arrays = load_(path.read_bytes())
        assert save_(arrays, header.metadata()) == path.read_bytes()
        assert header.get_slice("b").get_shape() == list(arrays["b"].shape)
    mixed = {str(i): np.arange(i, dtype=dtype) for i, dtype in enumerate(("?", "<f4", "<u2", "<f8"))}
    assert save_(mixed, None) == save(mixed)
    assert all((x == mixed[name]).all() for name, x in load_(save(mixed)).items())


@pytest.mark.slow
def test_the_notebooks_run_without_threads_and_without_what_browsers_lack():
    notebook = runpy.run_path(ROOT / "docs/_ext/executed.py")["notebook"]

    for name in re.search(r"gallery/\{(.*?)\}", (NOTEBOOKS / "build").read_text())[1].split(","):
        page = notebook((ROOT / f"docs/gallery/{name}.md").read_text())
        done = subprocess.run([sys.executable, "-c", RUN], input=json.dumps(page), text=True, cwd=ROOT)
        assert done.returncode == 0, name
