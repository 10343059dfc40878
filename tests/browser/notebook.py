"""Live samplers in a real notebook, in Chromium: knobs go both ways, and pictures stay in the saved notebook.

By hand, because JupyterLab is no dependency of the tests::

    pip install jupyterlab
    python -m tests.browser.notebook
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.browser.live import open_chromium
from tests.waiting import free_port, wait, wait_for_answer

CELLS = (
    'import json, rbmviz\nlive = rbmviz.play("mnist_fpcd", ["gibbs", "rates_fpcd"], init="data")\n'
    'live.seed, live.knobs = 2, [{}, {"eps": 0.05}]\nlive',
    'live.knobs = [{"temperature": 1.5}, {"alpha": 0.95}]',
    "live.playing = False",
    """with open("made.json", "w") as file:
    json.dump({"knobs": live.knobs, "error": live.error, "seed": live.seed}, file)""",
    'rbmviz.plot.trace(rbmviz.sample("bas_pcd", "gibbs", 100))',
)

HOST = """(() => { const within = root => [...root.querySelectorAll('*')].flatMap(e =>
    [...(e.rbmviz ? [e] : []), ...(e.shadowRoot ? within(e.shadowRoot) : [])]);
    return within(document)[0]; })()"""


def until(page, script, what):
    """Wait until a script returns something true, and return that."""
    found = []
    wait(lambda: found.append(page.evaluate(script)) or found[-1], what)
    return found[-1]


class JupyterLab:
    """A notebook of JupyterLab."""

    def __init__(self, folder, port):
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        blank = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
        cells = [blank | {"id": f"cell-{i}", "source": source} for i, source in enumerate(CELLS)]
        book = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}
        (folder / "live.ipynb").write_text(json.dumps(book))
        options = f"--no-browser --port={port} --allow-root --IdentityProvider.token= --expose-app-in-browser"
        self.command = ["jupyter", "lab", *options.split(), f"--ServerApp.root_dir={folder}"]
        self.address = f"http://localhost:{port}/lab/tree/live.ipynb"

    def run(self, page, cell):
        """Run a cell."""
        ready = "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
        until(page, f"window.jupyterapp && {ready}", "an idle kernel")
        active = f"jupyterapp.shell.currentWidget.content.activeCellIndex = {cell}"
        page.evaluate(f"() => {{ {active}; return jupyterapp.commands.execute('notebook:run-cell'); }}")

    def change_theme(self, page):
        """Take the dark theme."""
        page.evaluate(
            "() => jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
        )


def walk(page, notebook):
    """Run the cells, drag a slider, and compare; raise AssertionError if something is wrong."""
    notebook.run(page, 0)
    until(page, f"{HOST} && {HOST}.rbmviz.panels.length === 2", "panels")
    until(page, f"{HOST}.rbmviz.panels.every(panel => panel.n > 100)", "samples")
    notebook.run(page, 1)
    alpha = f"{HOST}.shadowRoot.querySelectorAll('.panel')[1].querySelectorAll('.knob input.value')[1].value"
    until(page, f"{alpha} === '0.95'", "the page follows Python")
    page.evaluate(f"""(() => {{ const slider = {HOST}.shadowRoot.querySelector('.knob input[type=range]');
        slider.value = 800;
        slider.dispatchEvent(new Event('input'));
        slider.dispatchEvent(new Event('change')); }})()""")
    turned = f"Number({HOST}.shadowRoot.querySelector('.knob input.value').value)"
    temperature = until(page, f"{turned} !== 1.5 && {turned}", "the slider turns the knob")
    n = page.evaluate(f"{HOST}.rbmviz.panels[0].n")
    until(page, f"{HOST}.rbmviz.panels[0].n > {n} + 50", "samples after the turn")
    notebook.change_theme(page)
    until(page, f"{HOST}.dataset.theme === 'dark'", "the notebook's theme")
    notebook.run(page, 2)
    until(page, f"{HOST}.shadowRoot.querySelector('.play').textContent === 'Play'", "the page pauses")
    time.sleep(2)  # it tells Python what it has done
    notebook.run(page, 3)
    file = Path("made.json")
    wait(lambda: file.exists() and file.read_text(), "Python writes what it knows")
    notebook.run(page, 4)
    until(page, "document.querySelector('.jp-RenderedSVG img[src^=\"data:image/svg\"]')", "a chart")
    page.evaluate("() => jupyterapp.commands.execute('docmanager:save')")
    saved = Path("live.ipynb")
    wait(lambda: "figcaption" in saved.read_text(), "the saved notebook has the samples")
    assert not re.search("figcaption>Gibbs, 64 samples", saved.read_text()), "these are not the last ones"
    made = json.loads(file.read_text())
    assert abs(made["knobs"][0]["temperature"] - temperature) < 1e-3, made
    assert (made["knobs"][1]["alpha"], made["knobs"][1]["eps"], made["seed"]) == (0.95, 0.05, 2), made
    assert made["error"] == ""
    return made


def main():
    """Walk through one notebook."""
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    notebook = JupyterLab(folder, free_port())
    homes = ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "XDG_CONFIG_HOME")
    environment = os.environ | dict.fromkeys(homes, str(folder / "home"))
    with open(folder / "log.txt", "w") as log:
        command = [sys.executable, "-m", *notebook.command]
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        wait_for_answer(notebook.address, server)
        with open_chromium() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.route(re.compile("^https?://(?!localhost)"), lambda route: route.abort())  # no network
            said = []
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
            try:
                page.goto(notebook.address)
                print(json.dumps(walk(page, notebook)))  # noqa: T201
            finally:
                print(*said, sep="\n", file=sys.stderr)  # noqa: T201
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
